// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a thread in poll() or select() waits for. Its list of descriptors lies in its memory, which
 * the collector reads; what they refer to is known to the kernel, where the next iteration looks
 * them up.
 */
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "collect/process/small_file.h"
#include "collect/target.h"
#include "collect/thread_snapshots_state.h"

bool snapshot_polls(const struct pt_task_now *t)
{
	switch ((int64_t)t->regs[PT_REG_ORIG_AX]) {
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
		return true;
	default:
		return false;
	}
}

static void polled_add(struct pt_polled *out, uint32_t fd)
{
	if (out->nr < PT_POLLED)
		out->fd[out->nr] = fd;
	out->nr++;
}

static void polled_in_list(const struct pt_task_now *t, struct pt_polled *out)
{
	struct pollfd list[PT_POLLED];
	uint64_t n = t->regs[PT_REG_SI];

	if (!n || n > PT_POLLED ||
	    target_read((pid_t)t->tgid, t->regs[PT_REG_DI], list, n * sizeof(*list)))
		return;
	for (uint64_t i = 0; i < n; i++) {
		if (list[i].fd >= 0)
			polled_add(out, (uint32_t)list[i].fd);
	}
}

static void polled_in_sets(const struct pt_task_now *t, struct pt_polled *out)
{
	unsigned char set[2][FD_SETSIZE / 8] = {{0}};
	uint64_t n = t->regs[PT_REG_DI];

	if (!n || n > FD_SETSIZE)
		return;
	for (int i = 0; i < 2; i++) {
		uint64_t at = t->regs[i ? PT_REG_DX : PT_REG_SI];

		/* the kernel reads and writes whole words */
		if (at && target_read((pid_t)t->tgid, at, set[i], (n + 63) / 64 * 8))
			return;
	}
	for (uint32_t fd = 0; fd < n; fd++) {
		if ((set[0][fd / 8] | set[1][fd / 8]) & 1 << fd % 8)
			polled_add(out, fd);
	}
}

static bool is_in_epoll(const struct pt_task_now *t)
{
	switch ((int64_t)t->regs[PT_REG_ORIG_AX]) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return true;
	default:
		return false;
	}
}

/* The first descriptors of an epoll. */
static void polled_in_epoll(const struct pt_task_now *t, struct pt_polled *out)
{
	FILE *f = small_file_open("/proc/%u/fdinfo/%u", t->tid, (uint32_t)t->regs[PT_REG_DI]);
	char line[256];
	uint32_t fd;

	if (!f)
		return;
	while (out->nr < PT_POLLED && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "tfd: %" SCNu32, &fd) == 1)
			out->fd[out->nr++] = fd;
	}
	fclose(f);
}

bool snapshots_polled_read(const struct pt_task_now *t, struct pt_polled *out)
{
	uint64_t call = t->regs[PT_REG_ORIG_AX];

	*out = (struct pt_polled){0};
	if (!t->state || !(snapshot_polls(t) || is_in_epoll(t)))
		return false;
	if (call == SYS_poll || call == SYS_ppoll)
		polled_in_list(t, out);
	else if (snapshot_polls(t))
		polled_in_sets(t, out);
	else
		polled_in_epoll(t, out);
	if (out->nr > PT_POLLED)
		out->nr = 0;
	return true;
}

void snapshots_polled_ask(struct collector *c, const struct pt_task_now *t)
{
	struct pt_polled polled;

	/* the iteration sees by itself what is in an epoll without clients */
	if (is_in_epoll(t) && (t->awaits == PT_AWAITS_OWN || t->awaits == PT_AWAITS_PAIR))
		return;
	if (!snapshots_polled_read(t, &polled) ||
	    !ports_find(&c->thread_snapshots->ports, t->tgid, now_ns(), &polled))
		return;
	kernel_side_polled(c->kernel, t->tid, &polled);
}

void snapshots_polled_take(struct pt_task_now *t, const struct pt_task_now *again)
{
	t->awaits = again->awaits;
	t->fd = again->fd;
	t->object = again->object;
}
