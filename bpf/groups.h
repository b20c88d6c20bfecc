/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a task's cgroups, and the limits that they have reached. */
#pragma once

#include "bpf/measure.h"

enum { GROUP_DEPTH = 8, PAGE_BYTES = 4096, NEAR_PAGES = 64 };
#define NO_QUOTA (~0ull)
#define NO_PAGE_LIMIT (1ull << 50) /* pages; larger values mean "max", no limit */

INLINE struct kernfs_node *node_above(struct kernfs_node *kn)
{
	if (bpf_core_field_exists(kn->__parent))
		return BPF_CORE_READ(kn, __parent);
	return BPF_CORE_READ(kn, parent);
}

/* The last parts of the path of a cgroup; the root has none. */
INLINE void fill_group(struct pt_group *out, struct cgroup *cgroup)
{
	struct kernfs_node *kn = cgroup ? BPF_CORE_READ(cgroup, kn) : 0, *above;

	for (int i = 0; i < PT_GROUP_LEVELS; i++) {
		out->part[i][0] = 0;
		above = kn ? node_above(kn) : 0;
		if (!above)
			continue;
		bpf_probe_read_kernel_str(out->part[i], PT_GROUP_NAME, BPF_CORE_READ(kn, name));
		kn = above;
	}
}

/* The state of a cgroup v1 or v2 controller for this task; NULL: none. */
INLINE struct cgroup_subsys_state *group_state(struct task_struct *task, u64 controller)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0;
	void *at;

	if (!set)
		return 0;
	at = __builtin_preserve_access_index(&set->subsys);
	if (bpf_probe_read_kernel(&css, sizeof(css), at + controller * sizeof(css)))
		return 0;
	return css;
}

enum { POLICY_FIFO = 1, POLICY_RR = 2, POLICY_DEADLINE = 6 };

INLINE bool is_real_time(struct task_struct *task)
{
	return task->policy == POLICY_FIFO || task->policy == POLICY_RR;
}

/* True if a cgroup of the task has used up its CPU quota, or the task its own budget. */
INLINE bool is_throttled(struct task_struct *task)
{
	struct cfs_rq *queue = 0;

	if (task->policy == POLICY_DEADLINE)
		return BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_throttled);
	if (is_real_time(task))
		return bpf_core_field_exists(task->rt.rt_rq) &&
		       BPF_CORE_READ(task, rt.rt_rq, rt_throttled);
	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	if (!bpf_core_field_exists(queue->throttle_count) ||
	    !bpf_core_field_exists(task->se.cfs_rq))
		return false;
	queue = BPF_CORE_READ(task, se.cfs_rq);
	return queue && BPF_CORE_READ(queue, throttle_count) > 0;
}

/* The address of the task's scheduling group, as a number: the verifier does not allow other
 * pointers as arguments of a separate function. */
INLINE u64 quota_group(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_task_group))
		return 0;
	return (u64)BPF_CORE_READ(task, sched_task_group);
}

/* The cgroup whose quota is used up: the innermost one from this one on that is throttled on this
 * CPU, else the innermost one that has a quota; 0: none. */
SEPARATE u64 quota_used_up(u64 address)
{
	struct task_group *group = (struct task_group *)address, *found = 0;
	struct cfs_rq **queues, *queue;
	u32 cpu = bpf_get_smp_processor_id();

	if (!bpf_core_field_exists(group->cfs_bandwidth))
		return 0;
#pragma nounroll
	for (int i = 0; i < GROUP_DEPTH && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != NO_QUOTA) {
			if (!found)
				found = group;
			queues = BPF_CORE_READ(group, cfs_rq);
			if (!bpf_probe_read_kernel(&queue, sizeof(queue), queues + cpu) && queue &&
			    BPF_CORE_READ_BITFIELD_PROBED(queue, throttled))
				return (u64)group;
		}
		group = BPF_CORE_READ(group, parent);
	}
	return (u64)found;
}

/* The innermost cgroup from this one on with a limit for real-time threads; 0: none. */
SEPARATE u64 rt_limit_of(u64 address)
{
	struct task_group *group = (struct task_group *)address;

	if (!bpf_core_field_exists(group->rt_bandwidth))
		return 0;
#pragma nounroll
	for (int i = 0; i < GROUP_DEPTH && group; i++) {
		if (BPF_CORE_READ(group, rt_bandwidth.rt_runtime) != NO_QUOTA)
			return (u64)group;
		group = BPF_CORE_READ(group, parent);
	}
	return 0;
}

/* A quota: its kind (enum pt_quota_kind), and the address of the cgroup, or of the task, that has
 * it; 0: none. */
struct quota_of {
	u64 address;
	u32 kind;
};

/* The quota that a throttled task waits for. */
INLINE struct quota_of find_quota(struct task_struct *task)
{
	if (task->policy == POLICY_DEADLINE)
		return (struct quota_of){(u64)task, PT_QUOTA_DEADLINE};
	if (is_real_time(task))
		return (struct quota_of){rt_limit_of(quota_group(task)), PT_QUOTA_RT};
	return (struct quota_of){quota_used_up(quota_group(task)), PT_QUOTA_FAIR};
}

SEPARATE int describe_group_quota(struct pt_quota *out, u64 address, u32 kind)
{
	struct task_group *group = (struct task_group *)address;

	if (!out || !address)
		return 0;
	fill_group(&out->of, BPF_CORE_READ(group, css.cgroup));
	if (kind == PT_QUOTA_RT && bpf_core_field_exists(group->rt_bandwidth)) {
		out->ns = BPF_CORE_READ(group, rt_bandwidth.rt_runtime);
		out->period_ns = BPF_CORE_READ(group, rt_bandwidth.rt_period);
	} else if (kind == PT_QUOTA_FAIR && bpf_core_field_exists(group->cfs_bandwidth)) {
		out->ns = BPF_CORE_READ(group, cfs_bandwidth.quota);
		out->period_ns = BPF_CORE_READ(group, cfs_bandwidth.period);
	}
	return 0;
}

/* Describe the quota that find_quota() has found for this task. */
INLINE void describe_quota(struct pt_quota *out, struct task_struct *task, struct quota_of *q)
{
	out->kind = q->kind;
	if (q->kind != PT_QUOTA_DEADLINE) {
		describe_group_quota(out, q->address, q->kind);
		return;
	}
	out->of.part[0][0] = 0;
	out->ns = BPF_CORE_READ(task, dl.dl_runtime);
	out->period_ns = BPF_CORE_READ(task, dl.dl_period);
}

/* Describe the quota that a throttled task waits for. */
INLINE void fill_quota_of(struct pt_quota *out, struct task_struct *task)
{
	struct quota_of q = find_quota(task);

	describe_quota(out, task, &q);
}

/* The address of the cgroup that the task's memory is charged to, as a number; 0: none. */
INLINE u64 memory_group(struct task_struct *task)
{
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	return (u64)group_state(task, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
}

/* Describe the innermost of this cgroup and those above it whose memory is at its limit. */
SEPARATE int fill_memory_limit(struct pt_kernel_work *out, u64 address)
{
	struct mem_cgroup *group = (struct mem_cgroup *)address;
	u64 usage, limit, high;

	if (!out)
		return 0;
	out->limit = 0;
	out->group.part[0][0] = 0;
#pragma nounroll
	for (int i = 0; i < GROUP_DEPTH && group; i++) {
		usage = BPF_CORE_READ(group, memory.usage.counter);
		limit = BPF_CORE_READ(group, memory.max);
		high = BPF_CORE_READ(group, memory.high);
		if (high && high < limit)
			limit = high;
		if (limit < NO_PAGE_LIMIT && usage + NEAR_PAGES >= limit) {
			fill_group(&out->group, BPF_CORE_READ(group, css.cgroup));
			out->limit = limit * PAGE_BYTES;
			return 0;
		}
		group = (struct mem_cgroup *)BPF_CORE_READ(group, css.parent);
	}
	return 0;
}
