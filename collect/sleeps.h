/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the facts of a sleep: the object behind its descriptor, the context of its waking, what
 * others did meanwhile. What the sleep was and who ended it is decided in analysis/waits/.
 */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

struct kernel_side;

/* Fill in which call it sleeps for to try it again, in `about`, and which process has the lock that
 * the call wants, in `holder`, to which `s` then points; nothing if it does not. */
void sleep_tried(const struct pt_record_sleep *r, struct rec_sleep *s, char *about, size_t n,
		 char *holder, size_t holder_size);
/* Fill in the arguments, the object behind the descriptor and its name, or the file of a missing
 * page, for `s`, whose `call` is set. The name is written to `name`, which `s` then points to. */
void sleep_object(struct kernel_side *k, const struct pt_record_sleep *r, struct rec_sleep *s,
		  char *name, size_t n);
/*
 * Fill in how full the queue is in which a message or a connection had no room, for `s`, whose
 * object is known. Returns the process that takes from it, named in `holder`, which `s` then points
 * to; 0: not known.
 */
uint32_t sleep_queue(struct kernel_side *k, const struct pt_record_sleep *r, struct rec_sleep *s,
		     char *holder, size_t n);
/* Fill in in what context the waking came, which task was current, and what the kernel noted. The
 * comm is written to `waker`, which `s` then points to. */
void sleep_waking(const struct pt_record_sleep *r, struct rec_sleep *s, char *waker, size_t n);
/* Name of an interrupt (PT_IRQ_... of bpf/records.h): "irq 11", "softirq NET_RX". May use
 * `out`. */
const char *irq_name(uint32_t number, char *out, size_t n);
enum { SOFTIRQS = 10, VECTORS = 4 };
extern const char *const softirq_names[SOFTIRQS], *const vector_names[VECTORS];
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
