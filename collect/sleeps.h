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

/* Fills in object, lock and exclusive of `s`, whose call is known; a name goes into `name`, which
 * `s` then points to. */
void sleep_object(const struct pt_record_sleep *r, struct rec_sleep *s, char *name, size_t n);
/* The same by where in the kernel it slept (NULL: not known), and the file of a page that was
 * missing. */
void sleep_refine(const struct pt_record_sleep *r, const struct pt_record_stack *stack,
		  struct rec_sleep *s, char *name, size_t n);
/* "irq 11", "softirq NET_RX", ...; enum PT_IRQ_... of bpf/records.h. */
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
/* enum sleep_end. */
uint32_t sleep_end(const struct pt_record_sleep *r, const struct rec_sleep *s);

#endif
