// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_waits.h"

#include <linux/bpf.h>
#include <unistd.h>

#include "collect/kernel_side_impl.h"

bool kernel_waits_available(const struct kernel_side *k)
{
	return k->skel->rodata->waits_built;
}

/* What is not known without a tracepoint. */
static const char *lost_without(const struct kernel_side *k, const struct bpf_program *prog)
{
	const struct {
		const struct bpf_program *prog;
		const char *text;
	} list[] = {
	    {k->skel->progs.on_irq_entry, "devices that wake tasks"},
	    {k->skel->progs.on_timer_entry, "the local timer"},
	    {k->skel->progs.on_softirq_entry, "the network as a waker"},
	    {k->skel->progs.on_hrtimer_entry, "sleeps that time out"},
	    {k->skel->progs.on_expiry_entry, "sleeps that time out"},
	    {k->skel->progs.on_reschedule_entry, "wakings by another CPU"},
	    {k->skel->progs.on_call_entry, "wakings by another CPU"},
	    {k->skel->progs.on_call_single_entry, "wakings by another CPU"},
	    {k->skel->progs.on_irq_work_entry, "wakings by deferred interrupts"},
	    {k->skel->progs.on_block_start, "the time before a block request is queued"},
	    {k->skel->progs.on_block_insert, "the time that a block request is queued"},
	    {k->skel->progs.on_block_issue, "block requests"},
	    {k->skel->progs.on_block_complete, "block requests"},
	    {k->skel->progs.on_block_done, "the end of a block request's wakings"},
	    {k->skel->progs.on_rename, "new names of threads"},
	    {k->skel->progs.on_work_queued, "who queued work for a kernel worker"},
	    {k->skel->progs.on_work_begin, "who queued work for a kernel worker"},
	    {k->skel->progs.on_work_end, "who queued work for a kernel worker"},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].prog == prog)
			return list[i].text;
	}
	return NULL;
}

const char *kernel_waits_missing(const struct kernel_side *k, char *out, size_t n)
{
	size_t used = 0;

	out[0] = '\0';
	for (const struct layer_link *l = k->links; l < k->links + k->nr_links && used < n; l++) {
		const char *name = strchr(bpf_program__section_name(l->prog), '/'),
			   *what = lost_without(k, l->prog);

		if (!l->exists && l->layers & KERNEL_SIDE_WAITS && what && name)
			used += (size_t)snprintf(out + used, n - used, "%s%s (%s)",
						 used ? ", " : "", name + 1, what);
	}
	return out;
}

static int ring_record(void *ctx, void *data, size_t size)
{
	struct kernel_side *k = ctx;

	if (size >= sizeof(struct pt_waits_head))
		k->waits_each(k->waits_ctx, data, size);
	return 0;
}

int kernel_waits_open(struct kernel_side *k)
{
	if (k->waits_ring)
		return 0;
	k->waits_ring =
	    ring_buffer__new(bpf_map__fd(k->skel->maps.waits_ring), ring_record, k, NULL);
	maps_keep_from_children();
	return k->waits_ring ? 0 : -ENOMEM;
}

void kernel_waits_close(struct kernel_side *k)
{
	ring_buffer__free(k->waits_ring);
	bpf_link__destroy(k->waits_tasks);
}

void kernel_waits_drain(struct kernel_side *k, kernel_waits_fn each, void *ctx)
{
	k->waits_each = each;
	k->waits_ctx = ctx;
	ring_buffer__consume(k->waits_ring);
}

void kernel_waits_window(struct kernel_side *k, uint32_t number)
{
	k->waits = number != 0;
	/* the programs must see every event from the begin of the window on */
	if (!number)
		__atomic_store_n(&k->control->waits.window, 0, __ATOMIC_SEQ_CST);
	kernel_side_layers(k, k->wanted);
	if (number)
		__atomic_store_n(&k->control->waits.window, number, __ATOMIC_SEQ_CST);
}

static void map_clear(const struct bpf_map *map, size_t key_size)
{
	unsigned char key[16], next[16];
	int fd = bpf_map__fd(map);
	bool more = key_size <= sizeof(key) && !bpf_map_get_next_key(fd, NULL, key);

	while (more) {
		more = !bpf_map_get_next_key(fd, key, next);
		bpf_map_delete_elem(fd, key);
		memcpy(key, next, sizeof(key));
	}
}

void kernel_waits_forget_tasks(struct kernel_side *k)
{
	static const uint64_t none[PT_FOLLOW_BITS / 64];
	uint32_t zero = 0;

	map_clear(k->skel->maps.followed, sizeof(uint32_t));
	bpf_map_update_elem(bpf_map__fd(k->skel->maps.follow_bits), &zero, none, BPF_ANY);
}

void kernel_waits_forget_sent(struct kernel_side *k)
{
	map_clear(k->skel->maps.traces, sizeof(uint32_t));
	map_clear(k->skel->maps.places, sizeof(uint64_t));
	map_clear(k->skel->maps.handlers, sizeof(uint64_t));
	map_clear(k->skel->maps.waits_objects, sizeof(struct pt_inode));
	k->control->waits.handlers = 0;
	k->control->waits.objects = 0;
}

int kernel_waits_follow(struct kernel_side *k, uint32_t pid)
{
	char buffer[64];
	int fd, err = tasks_link(&k->waits_tasks, k->skel->progs.on_waits_task, pid);
	ssize_t got;

	if (err)
		return err;
	fd = bpf_iter_create(bpf_link__fd(k->waits_tasks));
	if (fd < 0)
		return -errno;
	/* the program writes nothing here; reading lets it go through all tasks */
	do {
		got = read(fd, buffer, sizeof(buffer));
	} while (got > 0 || (got < 0 && errno == EAGAIN));
	err = got < 0 ? -errno : 0;
	close(fd);
	return err;
}

void kernel_waits_allow(struct kernel_side *k, uint32_t tgid, bool allowed)
{
	int fd = bpf_map__fd(k->skel->maps.traceable);
	uint32_t yes = 1;

	if (allowed)
		bpf_map_update_elem(fd, &tgid, &yes, BPF_ANY);
	else
		bpf_map_delete_elem(fd, &tgid);
}

void kernel_waits_lost(struct kernel_side *k, uint32_t number, uint32_t lost[PT_CPUS])
{
	struct {
		uint32_t window, lost;
	} values[PT_CPUS];
	uint32_t zero = 0;

	memset(lost, 0, PT_CPUS * sizeof(lost[0]));
	if (k->nr_cpus > PT_CPUS ||
	    bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.waits_cpus), &zero, values))
		return;
	for (int cpu = 0; cpu < k->nr_cpus; cpu++) {
		if (values[cpu].window == number)
			lost[cpu] = values[cpu].lost;
	}
}
