// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_side_impl.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analysis/base/parameters.h"
#include "collect/attach.h"
#include "collect/guard.h"
#include "collect/kernel_waits.h"

_Static_assert((int)SAMPLE_ARGS == (int)PT_ARGS, "argument registers");
_Static_assert((int)SAMPLE_MEMBERS == (int)PT_BLOCKS &&
		   (int)PARAMETER_STRING_BYTES == (int)PT_TEXT &&
		   (int)PARAMETER_MOST_OFFSET == (int)PT_OFFSETS,
	       "values behind arguments");
_Static_assert((int)PT_LAST_HIT < (int)PT_COUNTERS_ROOM, "counters of a CPU");
_Static_assert(SAMPLE_RET == 1 && SAMPLE_ARG0 == 2 && SAMPLE_ONCPU == 1 << 7 &&
		   SAMPLE_RUNQUEUE == 1 << 11 && SAMPLE_MEMBER0 == 1 << 13 &&
		   SAMPLE_TEXT == 1 << 17,
	       "bpf/measure.h repeats enum sample_known");
_Static_assert(LAYER_SYSCALL == 0 && LAYER_BLOCK == 3 && LAYER_LOCK == 4 && LAYER_RUNQUEUE == 5 &&
		   LAYER_URING == 6 && LAYER_NET == 7 && (int)LAYER_MAX <= (int)PT_GATES,
	       "bpf/measure.h repeats enum layer");

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	if (getenv("PEAKTOP_LIBBPF_DEBUG"))
		return vfprintf(stderr, format, args);
	return 0;
}

bool kernel_at_least(int major, int minor)
{
	struct utsname u;
	int a, b;

	if (uname(&u) || sscanf(u.release, "%d.%d", &a, &b) != 2)
		return false;
	return a > major || (a == major && b >= minor);
}

/* Open the programs and leave out those that this kernel cannot run. `waits`: with the tracing of
 * waits. */
static int programs_open(struct kernel_side *k, bool waits)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	uint32_t id;
	int err;

	/* A type that vmlinux lacks is searched for in the types of all kernel modules. That
	 * requires CAP_SYS_ADMIN, and without it libbpf gives up. With a named file it does not
	 * search. */
	if (bpf_btf_get_next_id(0, &id) && errno == EPERM)
		options.btf_custom_path = "/sys/kernel/btf/vmlinux";
	k->skel = peaktop_bpf__open_opts(&options);
	if (!k->skel)
		return -errno;
	k->skel->rodata->waits_built = waits;
	k->nr_links = 0;
	links_declare(k);
	err = links_look(k);
	if (err)
		return err;
	bpf_program__set_autoload(k->skel->progs.on_kernel_entry, k->kprobes);
	bpf_program__set_autoload(k->skel->progs.on_kernel_exit, k->kprobes);
	bpf_program__set_autoload(k->skel->progs.on_kernel_site, k->kprobes);
	bpf_program__set_autoload(k->skel->progs.on_kernel_name, kernel_at_least(6, 1));
	/* as descents into the kernel, see calibrate_kernel() */
	bpf_program__set_autoload(k->skel->progs.on_kernel_code,
				  k->kprobes && kernel_at_least(6, 7));
	bpf_program__set_autoload(k->skel->progs.on_site_multi, k->uprobes == UPROBE_MULTI);
	bpf_program__set_autoload(k->skel->progs.on_site, k->uprobes == UPROBE_PERF);
	if (k->uprobes == UPROBE_MULTI)
		bpf_program__set_expected_attach_type(
		    k->skel->progs.on_site_multi, (enum bpf_attach_type)ATTACH_TRACE_UPROBE_MULTI);
	if (k->nr_cpus < 0)
		return k->nr_cpus;
	for (k->shards = 1; k->shards < PT_MAX_SHARDS && k->shards < (unsigned int)k->nr_cpus;)
		k->shards *= 2;
	err = bpf_map__set_max_entries(k->skel->maps.hists, k->shards * PT_SLOTS);
	return err ? err
		   : bpf_map__set_max_entries(k->skel->maps.counters,
					      (uint32_t)k->nr_cpus * PT_COUNTERS_ROOM);
}

int kernel_side_new(struct kernel_side **out, bool waits)
{
	struct kernel_side *k;
	int err;

	libbpf_set_print(quiet);
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return -ENODEV;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->nr_cpus = libbpf_num_possible_cpus();
	if (kernel_at_least(6, 10) && attach_has_multi())
		k->uprobes = UPROBE_MULTI;
	else if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0)
		k->uprobes = attach_may_open_uprobes() ? UPROBE_PERF : UPROBE_DENIED;
	k->kprobes = access("/sys/bus/event_source/devices/kprobe/type", R_OK) == 0;
	err = programs_open(k, waits);
	if (err) {
		kernel_side_free(k);
		return err;
	}
	*out = k;
	return 0;
}

static void *map_share(struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = ((size_t)bpf_map__value_size(map) + 7) / 8 * 8 * bpf_map__max_entries(map);
	void *p = mmap(NULL, (size + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

void maps_keep_from_children(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	void *start, *end;

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "anon_inode:bpf-map") && sscanf(line, "%p-%p", &start, &end) == 2)
			madvise(start, (size_t)((char *)end - (char *)start), MADV_DONTFORK);
	}
	if (f)
		fclose(f);
}

static int ring_record(void *ctx, void *data, size_t size)
{
	struct kernel_side *k = ctx;

	if (size >= sizeof(struct pt_record))
		k->each(k->each_ctx, data, size);
	return 0;
}

int kernel_side_load(struct kernel_side *k)
{
	int err = peaktop_bpf__load(k->skel);

	/* the tracing of waits must not take everything else along */
	if (err && err != -EPERM && kernel_waits_available(k)) {
		peaktop_bpf__destroy(k->skel);
		k->skel = NULL;
		err = programs_open(k, false);
		if (!err)
			err = peaktop_bpf__load(k->skel);
	}
	if (err)
		return err;
	k->control = map_share(k->skel->maps.control);
	k->hists = map_share(k->skel->maps.hists);
	k->sites = map_share(k->skel->maps.sites);
	k->tokens = map_share(k->skel->maps.tokens);
	k->counters = map_share(k->skel->maps.counters);
	k->fnodes = map_share(k->skel->maps.fnodes);
	k->learns = map_share(k->skel->maps.learns);
	k->activations = map_share(k->skel->maps.activations);
	k->ring = ring_buffer__new(bpf_map__fd(k->skel->maps.ring), ring_record, k, NULL);
	if (!k->control || !k->hists || !k->sites || !k->tokens || !k->counters || !k->fnodes ||
	    !k->learns || !k->activations || !k->ring)
		return -ENOMEM;
	/* edge-triggered: readable only after a BPF program's wake-up, not while records
	 * merely wait */
	if (epoll_ctl(ring_buffer__epoll_fd(k->ring), EPOLL_CTL_MOD,
		      bpf_map__fd(k->skel->maps.ring),
		      &(struct epoll_event){.events = EPOLLIN | EPOLLET}))
		return -errno;
	maps_keep_from_children();
	k->control->next_slot = 1;
	k->control->nr_cpus = (uint32_t)k->nr_cpus;
	k->control->hist_mask = k->shards - 1;
	k->control->steal_offset = k->steal_offset;
	return 0;
}

static void link_detach(struct layer_link *l)
{
	if (l->link)
		guard_forget(bpf_link__fd(l->link));
	bpf_link__destroy(l->link);
	l->link = NULL;
}

void kernel_side_free(struct kernel_side *k)
{
	if (!k)
		return;
	for (unsigned int i = 0; i < k->nr_links; i++)
		link_detach(&k->links[i]);
	bpf_link__destroy(k->tasks);
	bpf_link__destroy(k->files);
	kernel_waits_close(k);
	ring_buffer__free(k->ring);
	peaktop_bpf__destroy(k->skel);
	free(k);
}

static int link_attach(struct layer_link *l)
{
	if (l->link || !l->exists)
		return 0;
	l->link = bpf_program__attach(l->prog);
	if (!l->link)
		return -errno;
	/* the links for fork, exec and exit cost almost nothing and stay attached */
	if (l->layers != UINT32_MAX)
		guard_own(bpf_link__fd(l->link));
	return 0;
}

uint32_t kernel_side_layers(struct kernel_side *k, uint32_t wanted)
{
	uint32_t run = (wanted & kernel_side_available(k)) | (k->waits ? KERNEL_SIDE_WAITS : 0u);

	k->wanted = wanted;
	/*
	 * Programs that stay attached for another layer check this: they must see the first event
	 * of a layer that begins. A call that ends while a layer is being detached must not count
	 * as one that it has seen all of.
	 */
	k->control->layers = run;
	for (unsigned int i = 0; i < k->nr_links; i++) {
		struct layer_link *l = &k->links[i];

		if (l->layers == UINT32_MAX)
			continue;
		/* on a busy host each may take long, but the loop does not hang */
		guard_turn();
		if (l->layers & run) {
			/* programs that only add detail to a descent are optional */
			if (link_attach(l))
				run &= l->layers & KERNEL_SIDE_DESCENT
					   ? run
					   : ~(l->layers & ~KERNEL_SIDE_WAITS);
		} else if (l->link) {
			link_detach(l);
		}
	}
	k->control->layers = run;
	return run;
}

void kernel_side_syscalls_drain(struct kernel_side *k)
{
	for (unsigned int i = 0; i < k->nr_links; i++) {
		struct layer_link *l = &k->links[i];

		if (l->prog != k->skel->progs.on_sys_enter || !l->link)
			continue;
		link_detach(l);
	}
}

int kernel_side_attach_life(struct kernel_side *k)
{
	for (unsigned int i = 0; i < k->nr_links; i++) {
		if (k->links[i].layers == UINT32_MAX) {
			int err = link_attach(&k->links[i]);

			if (err)
				return err;
		}
	}
	return 0;
}

enum uprobe_method kernel_side_uprobes(const struct kernel_side *k)
{
	return k->uprobes;
}

bool kernel_side_has_uprobes(const struct kernel_side *k)
{
	return k->uprobes == UPROBE_PERF || k->uprobes == UPROBE_MULTI;
}

int kernel_side_program(const struct kernel_side *k, enum kernel_program which)
{
	const struct bpf_program *const programs[] = {
	    [PROGRAM_SITE] =
		k->uprobes == UPROBE_MULTI ? k->skel->progs.on_site_multi : k->skel->progs.on_site,
	    [PROGRAM_BREAK] = k->skel->progs.on_break,
	    [PROGRAM_SAMPLE] = k->skel->progs.on_sample,
	    [PROGRAM_SNAPSHOT] = k->skel->progs.on_snapshot,
	    [PROGRAM_SHARE] = k->skel->progs.on_share,
	    [PROGRAM_RUN_SAMPLE] = k->skel->progs.on_run_sample,
	    [PROGRAM_KERNEL_ENTRY] = k->skel->progs.on_kernel_entry,
	    [PROGRAM_KERNEL_EXIT] = k->skel->progs.on_kernel_exit,
	    [PROGRAM_KERNEL_SITE] = k->skel->progs.on_kernel_site,
	};

	return bpf_program__fd(programs[which]);
}

int tasks_link(struct bpf_link **link, struct bpf_program *prog, uint32_t pid)
{
	union bpf_iter_link_info info = {.task = {.pid = pid}};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

	bpf_link__destroy(*link);
	*link = pid ? bpf_program__attach_iter(prog, &opts) : NULL;
	/*
	 * older kernels (6.0) cannot iterate a single process; the BPF program skips other
	 * processes
	 */
	if (!*link)
		*link = bpf_program__attach_iter(prog, NULL);
	return *link ? 0 : -errno;
}

static int tasks_read(struct bpf_link *link, kernel_side_task_fn each, void *ctx)
{
	static struct pt_task_now tasks[64];
	size_t have = 0, n;
	ssize_t got = 0;
	int fd, err;

	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	while ((got = read(fd, (char *)tasks + have, sizeof(tasks) - have)) > 0 ||
	       (got < 0 && errno == EAGAIN)) {
		have += got > 0 ? (size_t)got : 0;
		n = have / sizeof(tasks[0]);
		for (size_t i = 0; i < n; i++)
			each(ctx, &tasks[i]);
		have -= n * sizeof(tasks[0]);
		memmove(tasks, &tasks[n], have);
	}
	err = got < 0 ? -errno : 0;
	close(fd);
	return err;
}

int kernel_side_tasks(struct kernel_side *k, uint32_t pid, kernel_side_task_fn each, void *ctx)
{
	int err = 0;

	if (!k->tasks || k->tasks_pid != pid)
		err = tasks_link(&k->tasks, k->skel->progs.on_task, pid);
	k->tasks_pid = pid;
	return err ? err : tasks_read(k->tasks, each, ctx);
}

int kernel_side_task(struct kernel_side *k, uint32_t tid, kernel_side_task_fn each, void *ctx)
{
	union bpf_iter_link_info info = {.task = {.tid = tid}};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(k->skel->progs.on_task, &opts);
	int err;

	if (!link) /* older kernels iterate all tasks only */
		return errno == ESRCH ? -ESRCH : kernel_side_tasks(k, 0, each, ctx);
	err = tasks_read(link, each, ctx);
	bpf_link__destroy(link);
	return err;
}

void kernel_side_polled(struct kernel_side *k, uint32_t tid, const struct pt_polled *polled)
{
	bpf_map_update_elem(bpf_map__fd(k->skel->maps.polled), &tid, polled, BPF_ANY);
}

struct pt_control *kernel_side_control(struct kernel_side *k)
{
	return k->control;
}

bool kernel_side_has_kprobes(const struct kernel_side *k)
{
	return k->kprobes;
}

struct pt_fnode *kernel_side_fnodes(struct kernel_side *k)
{
	return k->fnodes;
}

struct pt_learn *kernel_side_learns(struct kernel_side *k)
{
	return k->learns;
}

int kernel_side_context_add(struct kernel_side *k, const struct pt_context *key, uint32_t index)
{
	int err =
	    bpf_map_update_elem(bpf_map__fd(k->skel->maps.contexts), key, &index, BPF_NOEXIST);

	return err == -EEXIST ? 0 : err;
}

void kernel_side_contexts_clear(struct kernel_side *k)
{
	int fd = bpf_map__fd(k->skel->maps.contexts);
	struct pt_context key;

	while (!bpf_map_get_next_key(fd, NULL, &key)) {
		if (bpf_map_delete_elem(fd, &key))
			return;
	}
}

struct pt_site *kernel_side_sites(struct kernel_side *k)
{
	return k->sites;
}

uint64_t *kernel_side_tokens(struct kernel_side *k)
{
	return k->tokens;
}

static uint64_t load(const pt_u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

void kernel_side_hist(struct kernel_side *k, uint32_t slot, bool extremes, struct pt_hist *out)
{
	pt_u64 *sums = (pt_u64 *)out;

	memset(out, 0, sizeof(*out));
	for (unsigned int s = 0; s < k->shards; s++) {
		struct pt_hist *h = &k->hists[(size_t)s * PT_SLOTS + slot];
		uint64_t min, max;

		/* read `calls` before the buckets, because BPF programs update them in the
		 * opposite order */
		out->calls += __atomic_load_n(&h->calls, __ATOMIC_ACQUIRE);
		for (size_t i = offsetof(struct pt_hist, sum) / sizeof(*sums);
		     i < sizeof(*h) / sizeof(*sums); i++)
			sums[i] += load(&((const pt_u64 *)h)[i]);
		min = extremes ? __atomic_exchange_n(&h->min, 0, __ATOMIC_RELAXED) : load(&h->min);
		max = extremes ? __atomic_exchange_n(&h->max, 0, __ATOMIC_RELAXED) : load(&h->max);
		if (min && (!out->min || min < out->min))
			out->min = min;
		if (max > out->max)
			out->max = max;
	}
}

void kernel_side_hist_clear(struct kernel_side *k, uint32_t slot)
{
	for (unsigned int s = 0; s < k->shards; s++)
		memset(&k->hists[(size_t)s * PT_SLOTS + slot], 0, sizeof(*k->hists));
}

void kernel_side_counters(struct kernel_side *k, uint64_t out[PT_COUNTERS])
{
	memset(out, 0, PT_COUNTERS * sizeof(*out));
	for (int cpu = 0; cpu < k->nr_cpus; cpu++)
		for (unsigned int i = 0; i < PT_COUNTERS; i++)
			out[i] += load(&k->counters[cpu * PT_COUNTERS_ROOM + (int)i]);
}

int kernel_side_wake_fd(const struct kernel_side *k)
{
	return ring_buffer__epoll_fd(k->ring);
}

void kernel_side_woken(struct kernel_side *k)
{
	struct epoll_event woken;

	while (epoll_wait(ring_buffer__epoll_fd(k->ring), &woken, 1, 0) > 0)
		;
}

void kernel_side_drain(struct kernel_side *k, kernel_side_record_fn each, void *ctx)
{
	k->each = each;
	k->each_ctx = ctx;
	ring_buffer__consume(k->ring);
}
