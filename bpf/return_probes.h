/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other tools' return probes (uretprobes). At a call of a probed function the kernel replaces the
 * return address in the stack by the address of its trampoline, and keeps the true one.
 */
#pragma once

#include "bpf/measure.h"

enum { MOST_RETURN_PROBES = 64 }; /* MAX_URETPROBE_DEPTH of the kernel */

/* The innermost open call of the task with a return probe; NULL: none. */
INLINE struct return_instance *return_probe_of(struct task_struct *task)
{
	struct uprobe_task *u = 0;

	if (bpf_core_field_exists(task->utask))
		u = BPF_CORE_READ(task, utask);
	return u ? BPF_CORE_READ(u, return_instances) : 0;
}

/* The address of the trampoline in the task's process; 0: none. */
INLINE u64 trampoline_of(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct xol_area *area = mm ? BPF_CORE_READ(mm, uprobes_state.xol_area) : 0;

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/*
 * The true return address of a call of the current thread, if the word `word` stands at the place
 * `slot` of its return address: `word` itself, unless it is the trampoline's address. 0: not known.
 */
SEPARATE u64 true_return(u64 slot, u64 word)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_instance *r = return_probe_of(task);

	if (!r || word != trampoline_of(task))
		return word;
	for (int i = 0; i < MOST_RETURN_PROBES && r; i++) {
		if (BPF_CORE_READ(r, stack) == slot)
			return BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
	}
	return 0;
}

/* Note the calls from the one at this address on, the innermost first. */
SEPARATE int replaced_list(struct pt_replaced *out, u64 innermost)
{
	struct return_instance *r = (struct return_instance *)innermost;

	if (!out)
		return -1;
	for (int i = 0; i < PT_REPLACED && r; i++) {
		out->at[i].slot = BPF_CORE_READ(r, stack);
		out->at[i].address = BPF_CORE_READ(r, orig_ret_vaddr);
		out->nr = i + 1;
		r = BPF_CORE_READ(r, next);
	}
	return 0;
}

/* Note the return addresses that are replaced in the stack of a task. */
INLINE void replaced_fill(struct pt_replaced *out, struct task_struct *task)
{
	struct return_instance *innermost = return_probe_of(task);

	out->nr = 0;
	out->trampoline = trampoline_of(task);
	if (innermost)
		replaced_list(out, (u64)innermost);
}
