/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the records that the BPF programs send through the ring buffer. */
#ifndef PEAKTOP_COLLECT_RING_H
#define PEAKTOP_COLLECT_RING_H

struct collector;

/* Carry out all records that are in the ring buffer. */
void ring_drain(struct collector *c);
/* The same, and what follows from all of them together: a descent goes on, and functions are armed
 * in code that was mapped. */
void ring_read(struct collector *c);

#endif
