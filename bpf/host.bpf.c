// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel and other tasks do to a thread inside a call of f0: signals, reclaim and
 * compaction of memory, throttling of writers. Attached during descents only. A kernel may lack any
 * of these tracepoints.
 */
#include "bpf/descend.h"
#include "bpf/groups.h"

/* ---- signals */

enum { SIGNAL_STOP = 19, SIGNAL_TTOU = 22 }; /* SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal_sent, int sig, void *info, struct task_struct *task)
{
	struct pt_control *c = the_control();
	struct pt_stopper s = {.signal = sig};
	u32 tgid;

	if (!c || !c->descend_slot || sig < SIGNAL_STOP || sig > SIGNAL_TTOU ||
	    !is_target(c, task->tgid))
		return 0;
	tgid = task->tgid;
	s.pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(s.comm, PT_COMM);
	bpf_map_update_elem(&stoppers, &tgid, &s, BPF_ANY);
	return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int sig, void *info, struct k_sigaction *action)
{
	struct pt_control *c = the_control();
	struct pt_descent *d = c ? descent_of(c, bpf_get_current_task_btf()) : 0;
	u64 handler;

	if (!d)
		return 0;
	handler = (u64)BPF_CORE_READ(action, sa.sa_handler);
	/* SIG_DFL and SIG_IGN */
	if (handler <= 1)
		return 0;
	d->record.handlers++;
	d->record.handler = handler;
	d->record.handler_signal = sig;
	return 0;
}

/* ---- memory */

INLINE struct pt_descent *work_begin(u32 doing)
{
	struct pt_control *c = the_control();
	struct pt_descent *d = c ? descent_of(c, bpf_get_current_task_btf()) : 0;

	if (d)
		d->work.doing |= doing;
	return d;
}

INLINE void work_done(u32 doing)
{
	struct pt_control *c = the_control();

	if (c)
		work_end(c, doing);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	work_begin(PT_DOING_RECLAIM);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end)
{
	work_done(PT_DOING_RECLAIM);
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim_begin)
{
	struct pt_descent *d = work_begin(PT_DOING_GROUP_RECLAIM);

	if (d)
		fill_memory_limit(&d->work, memory_group(bpf_get_current_task_btf()));
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end)
{
	work_done(PT_DOING_GROUP_RECLAIM);
	return 0;
}

SEC("tp_btf/mm_compaction_begin")
int BPF_PROG(on_compaction_begin)
{
	work_begin(PT_DOING_COMPACTION);
	return 0;
}

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(on_compaction_end)
{
	work_done(PT_DOING_COMPACTION);
	return 0;
}

/* A writer may be throttled. Count the pages that each process dirties, in order to name the
 * process that writes most. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_dirty, struct bdi_writeback *wb)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_dirtier fresh = {}, *one;
	struct backing_dev_info *bdi = BPF_CORE_READ(wb, bdi);
	struct pt_control *c = the_control();
	u32 tgid = task->tgid;
	struct pt_descent *d;

	if (!c || !c->descend_slot)
		return 0;
	one = bpf_map_lookup_elem(&dirtiers, &tgid);
	if (!one) {
		bpf_get_current_comm(fresh.comm, PT_COMM);
		bpf_map_update_elem(&dirtiers, &tgid, &fresh, BPF_NOEXIST);
		one = bpf_map_lookup_elem(&dirtiers, &tgid);
		if (!one)
			return 0;
	}
	__sync_fetch_and_add(&one->pages, BPF_CORE_READ(task, nr_dirtied));
	if (bpf_core_field_exists(bdi->dev_name))
		bpf_probe_read_kernel_str(one->device, PT_DEVICE_NAME,
					  __builtin_preserve_access_index(&bdi->dev_name));
	d = work_begin(PT_DOING_DIRTY);
	if (d)
		__builtin_memcpy(d->work.device, one->device, PT_DEVICE_NAME);
	return 0;
}
