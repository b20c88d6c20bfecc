// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/host_waits.h"

#include <signal.h>

_Static_assert((int)HOST_WAIT_QUEUE == (int)PT_WAIT_WOKEN &&
		   (int)HOST_WAIT_PREEMPTED == (int)PT_WAIT_PREEMPTED &&
		   (int)HOST_WAIT_QUOTA == (int)PT_WAIT_QUOTA &&
		   (int)HOST_WAIT_STOPPED == (int)PT_WAIT_STOPPED &&
		   (int)HOST_WAIT_TRACED == (int)PT_WAIT_TRACED &&
		   (int)HOST_WAIT_FROZEN == (int)PT_WAIT_FROZEN,
	       "bpf/records.h repeats enum host_wait");

void group_path(const struct pt_group *g, char *out, size_t n)
{
	size_t used = 0;

	out[0] = '\0';
	if (g->part[PT_GROUP_LEVELS - 1][0])
		used = (size_t)snprintf(out, n, "...");
	for (int i = PT_GROUP_LEVELS; i-- > 0;) {
		if (g->part[i][0] && used < n)
			used += (size_t)snprintf(out + used, n - used, "/%.*s", PT_GROUP_NAME,
						 g->part[i]);
	}
}

static struct rec_host_wait *wait_add(struct host_waits *out, uint32_t kind, uint64_t ns)
{
	struct rec_host_wait *w = &out->wait[out->nr++];

	*w = (struct rec_host_wait){.kind = kind, .ns = ns, .name = "", .detail = ""};
	return w;
}

/* Add a record for each task that ran while the thread waited, and one without a name for the
 * rest of the wait. */
static void runners_fill(struct host_waits *out, uint32_t kind, uint64_t ns,
			 const struct pt_runners *runners)
{
	uint64_t known = 0, longest = 0;
	struct rec_host_wait *w;

	for (int i = 0; i < PT_RUNNERS; i++) {
		const struct pt_runner *r = &runners->one[i];

		if (!r->ns || known + r->ns > ns)
			continue;
		known += r->ns;
		snprintf(out->comm[out->nr], sizeof(out->comm[0]), "%.*s", PT_COMM, r->comm);
		w = wait_add(out, kind, r->ns);
		w->name = out->comm[out->nr - 1];
		w->pid = r->pid;
		w->tid = r->tid;
		if (kind != HOST_WAIT_PREEMPTED || r->ns <= longest)
			continue;
		longest = r->ns;
		out->preempted_by = w->name;
		out->preempted_by_pid = w->pid;
	}
	if (ns > known)
		wait_add(out, kind, ns - known);
}

static const char *signal_word(uint32_t signal)
{
	switch (signal) {
	case SIGSTOP:
		return "SIGSTOP";
	case SIGTSTP:
		return "SIGTSTP";
	case SIGTTIN:
		return "SIGTTIN";
	case SIGTTOU:
		return "SIGTTOU";
	default:
		return "a signal";
	}
}

static void stops_fill(struct host_waits *out, const struct pt_host_waits *w)
{
	for (uint32_t kind = HOST_WAIT_STOPPED; kind <= HOST_WAIT_FROZEN; kind++) {
		struct rec_host_wait *one;

		if (!w->ns[kind])
			continue;
		one = wait_add(out, kind, w->ns[kind]);
		if (kind == HOST_WAIT_FROZEN) {
			group_path(&w->frozen, out->frozen, sizeof(out->frozen));
			one->name = out->frozen;
			continue;
		}
		snprintf(out->comm[out->nr - 1], sizeof(out->comm[0]), "%.*s", PT_COMM, w->stopper);
		one->name = out->comm[out->nr - 1];
		one->pid = w->stopper_pid;
		if (kind == HOST_WAIT_STOPPED)
			one->detail = signal_word(w->stop_signal);
	}
}

void quota_text(const struct pt_quota *q, char *out, size_t n)
{
	static const char *const kinds[] = {[PT_QUOTA_FAIR] = "",
					    [PT_QUOTA_RT] = " for real-time threads",
					    [PT_QUOTA_DEADLINE] = ", SCHED_DEADLINE"};

	out[0] = '\0';
	if (q->ns && q->period_ns && q->kind <= PT_QUOTA_DEADLINE)
		snprintf(out, n, "%g ms of CPU time each %g ms%s", (double)q->ns / 1e6,
			 (double)q->period_ns / 1e6, kinds[q->kind]);
}

void quota_owner(const struct pt_quota *q, char *out, size_t n)
{
	if (q->kind == PT_QUOTA_DEADLINE)
		snprintf(out, n, "the thread itself");
	else
		group_path(&q->of, out, n);
}

void host_waits_fill(struct host_waits *out, const struct pt_host_waits *w, uint64_t steal_ns)
{
	struct rec_host_wait *one;

	out->nr = 0;
	out->preempted_by_pid = 0;
	out->preempted_by = "";
	for (uint32_t kind = 0; kind < PT_RUNNER_KINDS; kind++)
		runners_fill(out, kind, w->ns[kind], &w->runners[kind]);
	if (w->ns[HOST_WAIT_QUOTA]) {
		quota_owner(&w->quota, out->quota_of, sizeof(out->quota_of));
		one = wait_add(out, HOST_WAIT_QUOTA, w->ns[HOST_WAIT_QUOTA]);
		one->name = out->quota_of;
		quota_text(&w->quota, out->quota, sizeof(out->quota));
		one->detail = out->quota;
	}
	stops_fill(out, w);
	if (steal_ns)
		wait_add(out, HOST_WAIT_STEAL, steal_ns);
}
