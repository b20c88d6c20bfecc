// SPDX-License-Identifier: GPL-2.0-or-later
/* Who held a lock when: whoever wakes a waiter of a lock has just released it, and had it since
 * the release before. */
#include "analysis/waits/waits_impl.h"

enum { RELEASES = 1 << 16 };

void lock_released(struct waits *w, uint64_t lock, uint32_t waker, uint64_t now)
{
	struct lock_log *log = keyed_make(&w->locks, lock);

	w->releases[w->nr_releases % RELEASES] =
	    (struct release){.at_ns = now, .prev = log->last, .waker = waker};
	log->last = ++w->nr_releases;
}

const struct release *lock_release(struct waits *w, uint64_t lock, uint64_t *after)
{
	const struct release *r;
	uint64_t number;

	if (*after) {
		number = w->releases[(*after - 1) % RELEASES].prev;
	} else {
		const struct lock_log *log = keyed_find(&w->locks, lock);

		number = log ? log->last : 0;
	}
	if (!number || w->nr_releases - number >= RELEASES)
		return NULL;
	r = &w->releases[(number - 1) % RELEASES];
	*after = number;
	return r;
}
