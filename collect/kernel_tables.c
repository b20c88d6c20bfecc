// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of the BPF programs: targets, threads, open activations, return addresses. */
#include <linux/bpf.h>
#include <unistd.h>

#include "collect/kernel_side_impl.h"

int kernel_side_target_add(struct kernel_side *k, uint32_t tgid)
{
	uint32_t state = PT_TARGET_WATCHED;
	int fd = bpf_map__fd(k->skel->maps.targets),
	    err = bpf_map_update_elem(fd, &tgid, &state, BPF_NOEXIST);

	/* the BPF programs added it as a child: confirm it */
	if (err == -EEXIST)
		return bpf_map_update_elem(fd, &tgid, &state, BPF_EXIST);
	if (err)
		return err;
	/* the BPF programs compare with only_tgid if there is one target */
	if (!k->control->nr_targets)
		k->control->only_tgid = tgid;
	__atomic_fetch_add(&k->control->nr_targets, 1, __ATOMIC_SEQ_CST);
	return 0;
}

bool kernel_side_target_resume(struct kernel_side *k, uint32_t tgid)
{
	int fd = bpf_map__fd(k->skel->maps.targets);
	uint32_t state;

	if (bpf_map_lookup_elem(fd, &tgid, &state) || !(state & PT_TARGET_SUSPENDED))
		return false;
	state = PT_TARGET_WATCHED;
	if (bpf_map_update_elem(fd, &tgid, &state, BPF_EXIST))
		return false;
	if (k->control->nr_targets == 1)
		k->control->only_tgid = tgid;
	return true;
}

void kernel_side_target_remove(struct kernel_side *k, uint32_t tgid)
{
	int fd = bpf_map__fd(k->skel->maps.targets);
	uint32_t left, state;

	bpf_map_delete_elem(bpf_map__fd(k->skel->maps.phases), &tgid);
	if (bpf_map_delete_elem(fd, &tgid))
		return;
	/* only_tgid is used for a single target; 0 while it is suspended */
	if (!bpf_map_get_next_key(fd, NULL, &left) && !bpf_map_lookup_elem(fd, &left, &state))
		k->control->only_tgid = state & PT_TARGET_WATCHED ? left : 0;
	__atomic_fetch_sub(&k->control->nr_targets, 1, __ATOMIC_SEQ_CST);
}

/* Call `each` for every entry of a hash map, read in chunks. Delete the entries for which
 * `each` returns nonzero. */
typedef int (*entry_fn)(void *ctx, const void *key, const void *value);

static int table_each(int fd, size_t key_size, size_t value_size, entry_fn each, void *ctx)
{
	enum { CHUNK = 512 };
	char *keys = malloc(CHUNK * key_size), *values = malloc(CHUNK * value_size);
	uint32_t position = 0, *from = NULL, count;
	int err = keys && values ? 0 : -ENOMEM;

	while (!err) {
		count = CHUNK;
		err = bpf_map_lookup_batch(fd, from, &position, keys, values, &count, NULL);
		if (err && err != -ENOENT)
			break;
		for (uint32_t i = 0; i < count; i++) {
			if (each(ctx, keys + i * key_size, values + i * value_size))
				bpf_map_delete_elem(fd, keys + i * key_size);
		}
		from = &position;
	}
	free(keys);
	free(values);
	return err == -ENOENT ? 0 : err;
}

struct typed_walk {
	kernel_side_thread_fn thread;
	uint32_t slot;
	void *ctx;
};

static int each_thread(void *ctx, const void *key, const void *value)
{
	struct typed_walk *w = ctx;

	return w->thread(w->ctx, *(const uint32_t *)key, value);
}

int kernel_side_threads(struct kernel_side *k, kernel_side_thread_fn each, void *ctx)
{
	struct typed_walk w = {.thread = each, .ctx = ctx};

	return table_each(bpf_map__fd(k->skel->maps.threads), sizeof(uint32_t),
			  sizeof(struct pt_thread), each_thread, &w);
}

int kernel_side_behind(struct kernel_side *k, uint32_t slot, const struct pt_behind *b)
{
	return bpf_map_update_elem(bpf_map__fd(k->skel->maps.behind), &slot, b, BPF_ANY);
}

void kernel_side_activations(struct kernel_side *k, kernel_side_act_fn each, void *ctx)
{
	for (uint32_t i = 0; i < PT_ACTIVATIONS; i++) {
		struct pt_act *entry = &k->activations[i], copy;
		uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);

		if ((state & PT_ACT_STATE) != PT_ACT_OPEN)
			continue;
		copy = *entry;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* the activation may have ended while it was copied */
		if (__atomic_load_n(&entry->state, __ATOMIC_RELAXED) != state)
			continue;
		copy.state = state;
		each(ctx, i, &copy);
	}
}

bool kernel_side_activation_drop(struct kernel_side *k, uint32_t index, const struct pt_act *a)
{
	pt_u64 state = a->state;

	return index < PT_ACTIVATIONS &&
	       __atomic_compare_exchange_n(&k->activations[index].state, &state, 0, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

int kernel_side_found(struct kernel_side *k, struct pt_found *found)
{
	union bpf_iter_link_info info = {.task = {.tid = found->tid}};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(k->skel->progs.on_found, &opts);
	char nothing[1];
	int fd, err;

	/* older kernels iterate all tasks only */
	if (!link && errno != ESRCH)
		link = bpf_program__attach_iter(k->skel->progs.on_found, NULL);
	if (!link)
		return -errno;
	k->control->found = *found;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 || read(fd, nothing, sizeof(nothing)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	*found = k->control->found;
	return err;
}

int kernel_side_thread(struct kernel_side *k, uint32_t tid, struct pt_thread *out)
{
	return bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.threads), &tid, out);
}

int kernel_side_dirtiers(const struct kernel_side *k)
{
	return bpf_map__fd(k->skel->maps.dirtiers);
}

int kernel_side_thread_seed(struct kernel_side *k, uint32_t tid, const struct pt_thread *t)
{
	return bpf_map_update_elem(bpf_map__fd(k->skel->maps.threads), &tid, t, BPF_NOEXIST);
}

int kernel_side_return_known(struct kernel_side *k, uint32_t tgid, uint32_t slot, uint64_t address,
			     bool ends)
{
	struct pt_ret_key key = {.address = address, .tgid = tgid, .slot = slot};
	uint32_t state = ends ? PT_RET_ENDED : PT_RET_REPORTED;

	return bpf_map_update_elem(bpf_map__fd(k->skel->maps.returns), &key, &state, BPF_ANY);
}

struct range {
	uint32_t tgid;
	uint64_t start, end;
};

static int is_in_range(void *ctx, const void *key, const void *value)
{
	const struct range *r = ctx;
	const struct pt_ret_key *k = key;

	(void)value;
	return k->tgid == r->tgid && k->address >= r->start && k->address < r->end;
}

void kernel_side_returns_forget(struct kernel_side *k, uint32_t tgid, uint64_t start, uint64_t end)
{
	struct range r = {.tgid = tgid, .start = start, .end = end};

	table_each(bpf_map__fd(k->skel->maps.returns), sizeof(struct pt_ret_key), sizeof(uint32_t),
		   is_in_range, &r);
}
