/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of fixed size, found by a 64-bit key: requests, work items, sockets, locks. A key has
 * eight places; when they are taken, the entry that was used longest ago makes room. */
#pragma once

/* The first member of every entry. */
struct keyed_head {
	uint64_t key;
	uint64_t used; /* 0: free */
};

struct keyed {
	unsigned char *entries;
	size_t size; /* of one */
	uint64_t nr_sets, clock;
};

/* Room for 2^bits entries. 0 or -ENOMEM. */
int keyed_init(struct keyed *k, unsigned int bits, size_t size);
void keyed_release(struct keyed *k);
/* NULL: not there. */
void *keyed_find(struct keyed *k, uint64_t key);
/* The entry of this key; a new one is zero but for its head. Never NULL. */
void *keyed_make(struct keyed *k, uint64_t key);
void keyed_drop(struct keyed *k, uint64_t key);
void keyed_clear(struct keyed *k);
