// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracing of waits: work items of the kernel that followed tasks queue, and who executes them. */
#include "bpf/waits.h"

/* enum work_event */
enum { WORK_IS_QUEUED = 0, WORK_BEGINS, WORK_ENDS };

NOINLINE int work_send(struct pt_control *c, u64 work, u32 event, struct brackets *b, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_waits_work *r;

	WAITS_RECORD(c, r, PT_WAITS_WORK, now);
	if (!r)
		return 0;
	r->work = work;
	r->start = task->pid ? task->start_boottime : 0;
	r->brackets = b ? b->word : 0;
	r->cause = b ? b->cause : 0;
	r->tid = task->pid;
	r->event = event;
	WAITS_SEND(r);
	return 0;
}

/* Record a work item that a followed task queues, or a request of such a task. */
NOINLINE int work_queued(struct pt_control *c, struct work_struct *work)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 window = c->waits.window, number;
	u64 key = (u64)work, now, function;
	struct pt_follow *f = follow_of(c, current);
	struct irq_context *irq = irq_here();
	struct brackets b = {};

	if (!f && !(irq && irq->brackets))
		return 0;
	now = bpf_ktime_get_ns();
	brackets_read(c, &b, now);
	if (b.cause ? !bpf_map_lookup_elem(&waits_requests, &b.cause) : !f || b.hard || b.soft)
		return 0;
	if (f)
		follow_show(c, f, current, now);
	bpf_map_update_elem(&waits_works, &key, &window, BPF_ANY);
	function = (u64)BPF_CORE_READ(work, func);
	number = handler_number(c, IN_WORK, function, now);
	work_send(c, key, WORK_IS_QUEUED | number << 16, &b, now);
	waits_charge(now);
	return 0;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(on_work_queued, int cpu, void *pwq, struct work_struct *work)
{
	struct pt_control *c = the_control();

	if (waits_on(c))
		work_queued(c, work);
	return 0;
}

INLINE bool work_is_known(struct pt_control *c, u64 key)
{
	u32 *window = bpf_map_lookup_elem(&waits_works, &key);

	return window && *window == c->waits.window;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_work_begin, struct work_struct *work)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	struct pt_follow *f;
	u64 now;

	if (!waits_on(c) || !work_is_known(c, (u64)work))
		return 0;
	now = bpf_ktime_get_ns();
	f = follow_of(c, current);
	if (f) {
		f->until = now + EXPIRES_NS;
	} else {
		f = follow_begin(c, current, c->waits.hops, now + EXPIRES_NS);
		if (f)
			waits_announce(c, current, f->flags, 'R', now);
	}
	work_send(c, (u64)work, WORK_BEGINS, 0, now);
	waits_charge(now);
	return 0;
}

/* `work` may be freed by now: only its address is used. */
SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(on_work_end, struct work_struct *work)
{
	struct pt_control *c = the_control();
	u64 key = (u64)work;

	if (!waits_on(c) || !work_is_known(c, key))
		return 0;
	work_send(c, key, WORK_ENDS, 0, bpf_ktime_get_ns());
	bpf_map_delete_elem(&waits_works, &key);
	return 0;
}
