// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/keyed.h"

enum { WAYS = 8 };

int keyed_init(struct keyed *k, unsigned int bits, size_t size)
{
	*k = (struct keyed){.size = size, .nr_sets = (1ull << bits) / WAYS};
	k->entries = calloc(k->nr_sets * WAYS, size);
	return k->entries ? 0 : -ENOMEM;
}

void keyed_release(struct keyed *k)
{
	free(k->entries);
	k->entries = NULL;
}

static unsigned char *set_of(const struct keyed *k, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15u;

	return k->entries + (hash >> 32) % k->nr_sets * WAYS * k->size;
}

void *keyed_find(struct keyed *k, uint64_t key)
{
	unsigned char *at = set_of(k, key);

	for (unsigned int i = 0; i < WAYS; i++, at += k->size) {
		struct keyed_head *head = (struct keyed_head *)(void *)at;

		if (head->used && head->key == key) {
			head->used = ++k->clock;
			return head;
		}
	}
	return NULL;
}

void *keyed_make(struct keyed *k, uint64_t key)
{
	struct keyed_head *oldest = keyed_find(k, key);
	unsigned char *at = set_of(k, key);

	if (oldest)
		return oldest;
	oldest = (struct keyed_head *)(void *)at;
	for (unsigned int i = 0; i < WAYS; i++, at += k->size) {
		struct keyed_head *head = (struct keyed_head *)(void *)at;

		if (head->used < oldest->used)
			oldest = head;
	}
	memset(oldest, 0, k->size);
	oldest->key = key;
	oldest->used = ++k->clock;
	return oldest;
}

void keyed_drop(struct keyed *k, uint64_t key)
{
	struct keyed_head *head = keyed_find(k, key);

	if (head)
		head->used = 0;
}

void keyed_clear(struct keyed *k)
{
	memset(k->entries, 0, k->nr_sets * WAYS * k->size);
}
