// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/crowds.h"

#include "analysis/base/array.h"

enum { STACK_ALIGNED = 4096 /* the stacks of threads begin with a page */ };

uint64_t crowd_place(const struct pt_task_now *now)
{
	const uint64_t words[] = {now->tgid, now->state, now->regs[PT_REG_IP],
				  now->regs[PT_REG_ORIG_AX], now->regs[PT_REG_SP] % STACK_ALIGNED};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		hash = ((hash >> 29 ^ hash) ^ words[i]) * 0x9e3779b97f4a7c15ull;
	return hash;
}

static int by_place(const void *a, const void *b)
{
	const struct crowd_member *x = a, *y = b;

	return ascending(x->place, y->place) ?: descending(x->read, y->read)
	       ?: ascending(x->order, y->order) ?: ascending(x->index, y->index);
}

static bool is_to_read(const struct crowd_member *m)
{
	return !m->read && !m->gone && !m->joined;
}

static int by_turn(const void *a, const void *b)
{
	const struct crowd_member *x = a, *y = b;

	return descending(is_to_read(x), is_to_read(y))
	       ?: ascending(x->crowd / (1 + x->waited), y->crowd / (1 + y->waited))
	       ?: by_place(a, b);
}

/* Returns the end of the crowd that begins at `i`, in a list in the order of places. */
static size_t crowd_end(const struct crowd_member *list, size_t nr, size_t i)
{
	size_t end = i;

	while (end < nr && list[end].place == list[i].place)
		end++;
	return end;
}

size_t crowds_choose(struct crowd_member *list, size_t nr)
{
	size_t to_read = 0;

	if (!nr)
		return 0;
	qsort(list, nr, sizeof(*list), by_place);
	for (size_t i = 0, end; i < nr; i = end) {
		uint32_t there = 0, chosen = 0;

		end = crowd_end(list, nr, i);
		for (size_t k = i; k < end; k++)
			there += !list[k].gone;
		for (size_t k = i; k < end; k++) {
			list[k].crowd = there;
			if (list[k].gone)
				continue;
			list[k].joined = !list[k].read && chosen >= CROWD_MAX;
			chosen++;
			to_read += is_to_read(&list[k]);
		}
	}
	qsort(list, nr, sizeof(*list), by_turn);
	return to_read;
}

void crowds_spread(struct crowd_member *list, size_t nr)
{
	if (!nr)
		return;
	qsort(list, nr, sizeof(*list), by_place);
	for (size_t i = 0, end; i < nr; i = end) {
		uint64_t ns = 0, read = 0;

		end = crowd_end(list, nr, i);
		for (size_t k = i; k < end; k++)
			read += list[k].read;
		for (size_t k = i; read && k < end; k++) {
			if (!list[k].read && (list[k].joined || list[k].gone)) {
				ns += list[k].ns;
				list[k].ns = 0;
			}
		}
		/* those that are read come first; the first one takes what is left over */
		for (size_t k = i; read && k < i + read; k++)
			list[k].ns += ns / read + (k == i ? ns % read : 0);
	}
}
