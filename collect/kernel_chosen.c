// SPDX-License-Identifier: GPL-2.0-or-later
/* The map of the threads whose calls count. */
#include "collect/kernel_side_impl.h"

static void map_empty(int fd, size_t key_size)
{
	uint64_t key;

	_Static_assert(sizeof(key) >= sizeof(uint32_t), "room for each key");
	while (key_size <= sizeof(key) && !bpf_map_get_next_key(fd, NULL, &key) &&
	       !bpf_map_delete_elem(fd, &key))
		;
}

static int chosen_add(int fd, const struct rec_chosen *one)
{
	uint32_t how = 0;

	bpf_map_lookup_elem(fd, &one->id, &how);
	how |= one->is_process ? PT_CHOSEN_PROCESS : PT_CHOSEN_THREAD;
	return bpf_map_update_elem(fd, &one->id, &how, BPF_ANY);
}

int kernel_side_choose(struct kernel_side *k, const struct rec_chosen *list, uint32_t nr)
{
	int fd = bpf_map__fd(k->skel->maps.chosen), err = 0;

	if (nr > PT_CHOSEN)
		return -E2BIG;
	__atomic_store_n(&k->control->chosen, nr ? 1 : 0, __ATOMIC_SEQ_CST);
	map_empty(fd, sizeof(uint32_t));
	/* from one call to the next one of a thread: an interval must not span two choices */
	map_empty(bpf_map__fd(k->skel->maps.paces), sizeof(uint64_t));
	for (uint32_t i = 0; i < nr && !err; i++)
		err = chosen_add(fd, &list[i]);
	return err;
}
