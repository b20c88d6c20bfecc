/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the kernel side that traces waits: its tracepoints, its ring buffer and its maps. */
#pragma once

#include "bpf/records.h"

struct kernel_side;

/* False if the kernel refused the BPF programs with the tracing of waits. */
bool kernel_waits_available(const struct kernel_side *k);
/* Write which tracepoints this kernel lacks, each with what is not known without it, into `out`;
 * "" if none. Returns `out`. */
const char *kernel_waits_missing(const struct kernel_side *k, char *out, size_t n);

/* Open the ring buffer of these records, before the first window: it has 8 MB. Does nothing if it
 * is open. */
int kernel_waits_open(struct kernel_side *k);
void kernel_waits_close(struct kernel_side *k);

/* Attach the tracepoints and open a window with this number, from 1; 0: close it and detach. */
void kernel_waits_window(struct kernel_side *k, uint32_t number);
/* Forget which tasks are followed. */
void kernel_waits_forget_tasks(struct kernel_side *k);
/* Forget which stacks, objects and names were sent, so that they are sent again. */
void kernel_waits_forget_sent(struct kernel_side *k);
/* Follow the tasks of the targets, or of the process `pid` if it is not 0. The ring buffer then
 * has a record for each that sleeps. */
int kernel_waits_follow(struct kernel_side *k, uint32_t pid);
/* The invoking user may (or may not) trace this process. */
void kernel_waits_allow(struct kernel_side *k, uint32_t tgid, bool allowed);
/* How many records of each CPU found no room in the window `number`. */
void kernel_waits_lost(struct kernel_side *k, uint32_t number, uint32_t lost[PT_CPUS]);

/* Call `each` for every record in the ring buffer. */
typedef void (*kernel_waits_fn)(void *ctx, const struct pt_waits_head *r, size_t size);
void kernel_waits_drain(struct kernel_side *k, kernel_waits_fn each, void *ctx);
