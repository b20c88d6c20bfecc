// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/attach.h"

#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/cleaner.h"
#include "collect/detach.h"
#include "collect/guard.h"
#include "collect/probed.h"

/* The part of union bpf_attr for BPF_LINK_CREATE, with fields that the headers of Debian 12
 * lack. */
struct link_create {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	union {
		struct {
			uint64_t cookie;
		} perf_event;
		struct {
			uint64_t path;
			uint64_t offsets;
			uint64_t ref_ctr_offsets;
			uint64_t cookies;
			uint32_t cnt;
			uint32_t flags;
			uint32_t pid;
		} uprobe_multi;
	};
};

enum { KERNEL_ENOTSUPP = 524, PERF_EVENT_ATTACH = 41 };

static int link_create(struct link_create *attr)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	if (fd < 0)
		return errno == KERNEL_ENOTSUPP ? -EOPNOTSUPP : -errno;
	guard_own(fd);
	return fd;
}

int attach_program(bool multi)
{
	struct bpf_insn insns[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t) "GPL";
	attr.expected_attach_type = multi ? ATTACH_TRACE_UPROBE_MULTI : 0;
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd >= 0 ? fd : -errno;
}

bool attach_has_multi(void)
{
	struct link_create attr = {.attach_type = ATTACH_TRACE_UPROBE_MULTI};
	uint64_t offset = 0;
	int prog = attach_program(true), fd;

	if (prog < 0)
		return false;
	/* a folder cannot be probed: a kernel that knows the link type returns EBADF, an older
	 * kernel EINVAL */
	attr.prog_fd = (uint32_t)prog;
	attr.uprobe_multi.path = (uint64_t)(uintptr_t) "/";
	attr.uprobe_multi.offsets = (uint64_t)(uintptr_t)&offset;
	attr.uprobe_multi.cnt = 1;
	fd = link_create(&attr);
	if (fd >= 0)
		guard_close(fd);
	close(prog);
	return fd == -EBADF;
}

static int attach_multi(struct attachment *a, int prog, int file_fd, int pid,
			const struct attach_point *points, size_t n)
{
	uint64_t *offsets = calloc(2 * n, sizeof(*offsets)), *cookies;
	struct link_create attr = {.attach_type = ATTACH_TRACE_UPROBE_MULTI};
	char path[64];
	int fd;

	a->fd = malloc(sizeof(*a->fd));
	if (!offsets || !a->fd) {
		free(offsets);
		return -ENOMEM;
	}
	cookies = offsets + n;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = points[i].offset;
		cookies[i] = points[i].cookie;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	attr.prog_fd = (uint32_t)prog;
	attr.uprobe_multi.path = (uint64_t)(uintptr_t)path;
	attr.uprobe_multi.offsets = (uint64_t)(uintptr_t)offsets;
	attr.uprobe_multi.cookies = (uint64_t)(uintptr_t)cookies;
	attr.uprobe_multi.cnt = (uint32_t)n;
	attr.uprobe_multi.pid = (uint32_t)pid;
	fd = link_create(&attr);
	free(offsets);
	if (fd < 0)
		return fd;
	a->fd[0] = fd;
	a->nr = 1;
	return 0;
}

/* Read one number from a sysfs file of a perf event source with a scanf format. Returns the
 * number or a negative errno. */
static int event_source(const char *path, const char *format)
{
	FILE *f = fopen(path, "re");
	int value = -ENOENT;

	if (!f)
		return -errno;
	if (fscanf(f, format, &value) != 1 || value < 0)
		value = -EINVAL;
	fclose(f);
	return value;
}

/* Whom a perf event counts: a thread or a process, or whatever runs on a CPU; -1: any. */
struct event_scope {
	int pid, cpu;
};

/* Open a perf event and link the program to it. fds[0] is the event, fds[1] the link. Returns
 * 0 or a negative errno. */
static int attach_event(int prog, struct perf_event_attr *attr, const struct event_scope *place,
			uint64_t cookie, int fds[2])
{
	struct link_create link = {.attach_type = PERF_EVENT_ATTACH};

	attr->size = sizeof(*attr);
	fds[0] = (int)syscall(SYS_perf_event_open, attr, place->pid, place->cpu, -1,
			      PERF_FLAG_FD_CLOEXEC);
	if (fds[0] < 0)
		return errno == KERNEL_ENOTSUPP ? -EOPNOTSUPP : -errno;
	guard_own(fds[0]);
	link.prog_fd = (uint32_t)prog;
	link.target_fd = (uint32_t)fds[0];
	link.perf_event.cookie = cookie;
	fds[1] = link_create(&link);
	if (fds[1] < 0) {
		guard_close(fds[0]);
		return fds[1];
	}
	return 0;
}

/* The same for one event that is an attachment of its own. */
static int attach_single(struct attachment *a, int prog, struct perf_event_attr *attr,
			 const struct event_scope *place, uint64_t cookie)
{
	int err;

	*a = (struct attachment){.fd = calloc(2, sizeof(int))};
	err = a->fd ? attach_event(prog, attr, place, cookie, a->fd) : -ENOMEM;
	if (err) {
		free(a->fd);
		*a = (struct attachment){0};
		return err;
	}
	a->nr = 2;
	return 0;
}

int attach_breakpoint(struct attachment *a, int prog, int tid, uint64_t address, uint64_t cookie)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = address;
	attr.bp_len = sizeof(long);
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attach_single(a, prog, &attr, &(struct event_scope){.pid = tid, .cpu = -1}, cookie);
}

static int attach_kprobe(struct attachment *a, int prog, struct perf_event_attr *attr,
			 uint64_t cookie)
{
	int type = event_source("/sys/bus/event_source/devices/kprobe/type", "%d");

	if (type < 0)
		return -EOPNOTSUPP;
	attr->type = (uint32_t)type;
	/* the perf event is opened on CPU 0, but the probe acts on all CPUs */
	return attach_single(a, prog, attr, &(struct event_scope){.pid = -1, .cpu = 0}, cookie);
}

int attach_kernel_place(struct attachment *a, int prog, const char *function, uint64_t offset,
			uint64_t cookie)
{
	struct perf_event_attr attr = {.config1 = (uint64_t)(uintptr_t)function, .config2 = offset};

	return attach_kprobe(a, prog, &attr, cookie);
}

int attach_kernel(struct attachment *a, int prog, const char *function, bool at_return,
		  uint64_t cookie)
{
	static const char retprobe[] = "/sys/bus/event_source/devices/kprobe/format/retprobe";
	int bit = at_return ? event_source(retprobe, "config:%d") : 0;
	struct perf_event_attr attr = {.config1 = (uint64_t)(uintptr_t)function};

	if (bit < 0 || bit > 63)
		return -EOPNOTSUPP;
	attr.config = (uint64_t)at_return << bit;
	return attach_kprobe(a, prog, &attr, cookie);
}

/* Open an event only to learn whether that is permitted. */
static bool may_open(struct perf_event_attr *attr, const struct event_scope *place)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, attr, place->pid, place->cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno != EACCES && errno != EPERM;
	close(fd);
	return true;
}

static void clock_event(struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
}

bool attach_may_open_clocks(void)
{
	struct perf_event_attr attr;

	clock_event(&attr);
	return may_open(&attr, &(struct event_scope){.pid = -1, .cpu = 0});
}

static int attach_clock(struct attachment *a, int prog, int cpu, unsigned int hz)
{
	struct perf_event_attr attr;

	clock_event(&attr);
	attr.freq = 1;
	attr.sample_freq = hz;
	return attach_single(a, prog, &attr, &(struct event_scope){.pid = -1, .cpu = cpu}, 0);
}

void clocks_attach(struct clocks *c, int prog, uint32_t cpus, unsigned int hz)
{
	for (uint32_t cpu = 0; cpu < cpus && cpu < MAX_CLOCKS; cpu++) {
		if (!attach_clock(&c->clock[c->nr], prog, (int)cpu, hz))
			c->nr++;
	}
}

void clocks_run(const struct clocks *c, bool run)
{
	for (uint32_t i = 0; i < c->nr; i++)
		ioctl(c->clock[i].fd[0], run ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void clocks_release(struct clocks *c)
{
	while (c->nr)
		attachment_release(&c->clock[--c->nr], false);
}

static int uprobe_event_type(void)
{
	return event_source("/sys/bus/event_source/devices/uprobe/type", "%d");
}

bool attach_may_open_uprobes(void)
{
	int pmu = uprobe_event_type();
	/* The kernel checks the rights first. Then it refuses a folder, so that nothing is probed.
	 */
	struct perf_event_attr attr = {.type = (uint32_t)pmu, .config1 = (uint64_t)(uintptr_t) "/"};

	return pmu >= 0 && may_open(&attr, &(struct event_scope){.pid = 0, .cpu = -1});
}

/* True if the kernel refuses this address, and not the process, the file or our rights. */
static bool is_refused_address(int err)
{
	return err == -EOPNOTSUPP || err == -EINVAL || err == -EIO;
}

static int attach_perf(struct attachment *a, int prog, int file_fd, int pid,
		       struct attach_points *points)
{
	int pmu = uprobe_event_type(), err = 0;
	/* an event of every process is opened on CPU 0, but its probe acts on all CPUs */
	const struct event_scope scope = {.pid = pid ? pid : -1, .cpu = pid ? -1 : 0};
	struct perf_event_attr attr = {.type = (uint32_t)pmu};
	char path[64];

	if (pmu < 0)
		return pmu;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	a->fd = calloc(2 * points->nr, sizeof(*a->fd));
	if (!a->fd)
		return -ENOMEM;
	attr.config1 = (uint64_t)(uintptr_t)path;
	for (size_t i = 0; i < points->nr; i++) {
		attr.config2 = points->list[i].offset;
		err = attach_event(prog, &attr, &scope, points->list[i].cookie, &a->fd[a->nr]);
		if (err) {
			if (is_refused_address(err) || err == -ENOEXEC)
				points->refused = i;
			break;
		}
		a->nr += 2;
	}
	return err;
}

/* Find the index of a point that the kernel refuses, by bisection. */
static size_t find_refused(int prog, int file_fd, int pid, const struct attach_point *points,
			   size_t n)
{
	size_t low = 0;

	while (n > 1) {
		struct attachment a = {0};
		size_t half = n / 2;
		int err = attach_multi(&a, prog, file_fd, pid, points + low, half);

		attachment_release(&a, false);
		if (err) {
			n = half;
		} else {
			low += half;
			n -= half;
		}
	}
	return low;
}

static int attach_any(struct attachment *a, int prog, bool multi, int file_fd, int pid,
		      struct attach_points *points)
{
	int err;

	points->refused = points->nr;
	if (!points->nr)
		return 0;
	cleaner_note(file_fd, points->list, points->nr);
	if (multi)
		err = attach_multi(a, prog, file_fd, pid, points->list, points->nr);
	else
		err = attach_perf(a, prog, file_fd, pid, points);
	if (!err)
		return 0;
	attachment_release(a, false);
	if (multi && is_refused_address(err))
		points->refused = find_refused(prog, file_fd, pid, points->list, points->nr);
	return err;
}

int attach_points(struct attachment *a, int prog, bool multi, int file_fd, int pid,
		  struct attach_points *points)
{
	uint64_t since = attach_cpu_begin();
	int err;

	*a = (struct attachment){0};
	err = attach_any(a, prog, multi, file_fd, pid, points);
	attach_cpu_end(since);
	return err;
}

void attachment_release(struct attachment *a, bool wait)
{
	for (size_t i = a->nr; i > 0; i--) {
		if (wait || !detach_later(a->fd[i - 1]))
			guard_close(a->fd[i - 1]);
	}
	if (a->probed)
		probed_remove(a->probed, a->nr_probes);
	free(a->fd);
	*a = (struct attachment){0};
}

struct attachment *attachments_next(struct attachments *all, unsigned int max)
{
	return array_grow(all->list, all->nr, all->cap, max) ? NULL : &all->list[all->nr];
}

void attachments_release(struct attachments *all)
{
	while (all->nr)
		attachment_release(&all->list[--all->nr], false);
	free(all->list);
	*all = (struct attachments){0};
}
