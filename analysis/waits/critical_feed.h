/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks, requests and work items as machines of the critical path; for analysis/waits only. */
#pragma once

#include "analysis/waits/critical.h"
#include "analysis/waits/waits_impl.h"

struct critical_feed;
struct critical_feed *critical_feed_new(void);
void critical_feed_free(struct critical_feed *f);

void critical_window_begin(struct waits *w, uint64_t now);
/* The path that ends here is added to those of the windows before. */
void critical_window_end(struct waits *w, uint64_t now);
/* The task has begun the segment that is open. */
void critical_turn(struct waits *w, uint32_t task, uint64_t now);
/* Called when `wakee` is woken, or is woken before it has fallen asleep. `key` identifies the
 * request that it waited for. */
void critical_waking(struct waits *w, uint32_t wakee, const struct wait_cause *cause, uint64_t key,
		     uint64_t now);
void critical_fork(struct waits *w, uint32_t parent, uint32_t child, uint64_t now);
/* Submitted, or issued. */
void critical_request(struct waits *w, uint64_t key, struct block_request *q, uint64_t now);
/* `cause`: of the brackets in which the work was queued. */
void critical_queued(struct waits *w, uint64_t key, uint32_t task, uint64_t cause, uint64_t now);
void critical_begun(struct waits *w, uint64_t key, uint32_t worker, uint64_t now);
