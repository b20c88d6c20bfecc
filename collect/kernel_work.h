/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what the kernel was doing for a thread when its stack was sampled: freeing memory,
 * swapping, throttling a writer, spinning for a lock. It uses the kernel functions on the
 * stack and, if available, pairs of tracepoints.
 */
#pragma once

#include "collect/host_waits.h"

struct collector;

struct kernel_work {
	uint32_t object; /* SLEEP_IN_...; 0: no such work */
	char name[GROUP_PATH];
	char holder[32]; /* holder of the lock, or the process that writes most; "" */
	char about[96];
};

/* Find the kernel work that a stack sample shows. */
void kernel_work_of_sample(struct collector *c, const struct pt_record_stack *r,
			   struct kernel_work *out);
/* `stack` is the stack with which the thread fell asleep; NULL if it was not copied. */
void kernel_work_of_sleep(struct collector *c, const struct pt_record_sleep *r,
			  const struct pt_record_stack *stack, struct kernel_work *out);
/* What holds up a task in this state of the kernel: SLEEP_STOPPED, _TRACED, _FROZEN, or 0. */
uint32_t kernel_stop_of(uint32_t state);
/*
 * The same for a snapshot, by its kernel frames, its state and the limit of its memory.
 */
void kernel_work_of_snapshot(const struct pt_task_now *t, struct kernel_work *out);
/*
 * True if the stack is in the kernel because of a probe: in the breakpoint, in the single step
 * after it, or in the trampoline that newer kernels use. Such a sample shows the cost of the probe,
 * not of the program.
 */
bool kernel_in_probe(const struct pt_record_stack *r);
/*
 * True if an interrupt had come when the sample was taken. Its time is measured and is told apart
 * from that of the program.
 */
bool kernel_in_interrupt(const struct pt_record_stack *r);
/* Copy the work into a sleep's record, if there is any. `s` then points into `w`. */
void kernel_work_send(const struct kernel_work *w, struct rec_sleep *s);
