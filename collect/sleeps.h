/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find the object that a thread slept on from its system call, and what ended the sleep
 * from its waker.
 */
#ifndef PEAKTOP_COLLECT_SLEEPS_H
#define PEAKTOP_COLLECT_SLEEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/session/record.h"
#include "bpf/records.h"

/* Fill in object, lock, exclusive and name of `s`, whose `call` is set. The name is written to
 * `name`, which `s` then points to. */
void sleep_object(const struct pt_record_sleep *r, struct rec_sleep *s, char *name, size_t n);
/* Refine the object by the kernel functions in which the thread slept (`stack`; NULL: not
 * known), and find the file of a missing page. */
void sleep_refine(const struct pt_record_sleep *r, const struct pt_record_stack *stack,
		  struct rec_sleep *s, char *name, size_t n);
/* Name of an interrupt (PT_IRQ_... of bpf/records.h): "irq 11", "softirq NET_RX". May use
 * `out`. */
const char *irq_name(uint32_t number, char *out, size_t n);
/*
 * The kernel's number of an interrupt: the line, the soft interrupt, or the vector of the
 * local timer.
 */
uint32_t irq_number(uint32_t number);
/*
 * True if the goroutine in f0 is parked. Then the sleep of its thread is unrelated, because
 * the thread only has nothing else to run.
 */
bool sleep_of_goroutine(const struct pt_record_sleep *r, struct rec_sleep *s);
/*
 * Describe what the waker, or the owner of the mutex, did meanwhile. Sets `doing`, which
 * points into `text`.
 */
void sleep_doing(const struct pt_record_sleep *r, struct rec_sleep *s, char *text, size_t n);
/* What ended the sleep: enum sleep_end. */
uint32_t sleep_end(const struct pt_record_sleep *r, const struct rec_sleep *s);

#endif
