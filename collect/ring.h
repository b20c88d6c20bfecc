/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the records that the BPF programs send through the ring buffer. */
#pragma once

struct collector;

/* Carry out all records that are in the ring buffer. */
void ring_drain(struct collector *c);
/* The same, and what follows from all of them together: a descent goes on, and functions are armed
 * in code that was mapped. */
void ring_read(struct collector *c);
/*
 * True if only layers are measured: then the loop need not turn more often than they do. Stacks and
 * waits would overflow their ring buffers.
 */
bool layers_alone(const struct collector *c);
/* The time until the next ring_read(). */
uint64_t ring_interval_ns(const struct collector *c);
