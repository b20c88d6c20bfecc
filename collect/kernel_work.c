// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_work.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

#include "analysis/base/array.h"
#include "collect/kernel_names.h"
#include "collect/state.h"
#include "collect/target.h"

/* Prefixes of kernel functions that only this kind of work calls. If several rules match a
 * stack, the first one counts. */
static const struct work_rule {
	uint32_t object;
	const char *begins[14];
} rules[] = {
    {SLEEP_IN_DIRTY, {"balance_dirty_pages"}},
    {SLEEP_IN_RECLAIM,
     /* not try_to_free_buffers(): truncating a file calls it, too */
     {"try_to_free_pages", "try_to_free_mem_cgroup", "do_try_to_free_pages", "shrink_node",
      "shrink_lruvec", "reclaim_throttle", "reclaim_high", "mem_cgroup_handle_over_high",
      "__mem_cgroup_handle_over_high", "__alloc_pages_direct_reclaim", "throttle_direct_reclaim",
      "throttle_vm_writeout"}},
    {SLEEP_IN_COMPACTION, {"try_to_compact_", "compact_zone", "__alloc_pages_direct_compact"}},
    {SLEEP_IN_SWAP,
     {"do_swap_page", "swapin_", "swap_cluster_readahead", "swap_vma_readahead", "shmem_swapin",
      "swap_read"}},
    {SLEEP_IN_HUGE_PAGE,
     {"do_huge_pmd_", "__do_huge_pmd_", "clear_huge_page", "vma_alloc_anon_folio_pmd",
      "collapse_huge_page", "hugetlb_no_page", "hugetlb_fault"}},
};

/*
 * Functions that hand requests for I/O to a device. On virtual machines most of the time of an I/O
 * may pass here, since the hypervisor does its part at once.
 */
static const char *const submit_functions[] = {
    "submit_bio",   "__submit_bio",	   "blk_mq_submit_bio", "blk_finish_plug",
    "__blk_flush_", "blk_mq_run_hw_queue", "blk_mq_dispatch_",	NULL};
/* A page fault is a cause of its own, whatever is read for it. */
static const char *const fault_functions[] = {"asm_exc_page_fault", "do_user_addr_fault", NULL};

/* Functions in which the kernel spins for one of its own locks or is about to sleep for it. */
static const char *const lock_functions[] = {"osq_lock",
					     "rwsem_spin_on_owner",
					     "rwsem_optimistic_spin",
					     "rwsem_down_",
					     "mutex_spin_on_owner",
					     "mutex_optimistic_spin",
					     "rt_mutex_slowlock",
					     "rtmutex_spin_on_owner",
					     "__mutex_lock",
					     "native_queued_spin_lock_slowpath",
					     "__pv_queued_spin_lock_slowpath",
					     "queued_spin_lock_slowpath",
					     "queued_read_lock_slowpath",
					     "queued_write_lock_slowpath",
					     "percpu_rwsem_wait",
					     "__percpu_down",
					     NULL};
/* Frames between lock_functions and the function that wants the lock. */
static const char *const lock_wrappers[] = {"down_",
					    "__down_",
					    "mutex_lock",
					    "_raw_",
					    "__raw_",
					    "do_raw_",
					    "queued_",
					    "rwsem_",
					    "percpu_down_",
					    "rt_mutex_wait_proxy_lock",
					    "lock_page_lruvec",
					    "folio_lruvec_lock",
					    NULL};
/* Functions of locks that record their owner; spinlocks do not. */
static const char *const owned_locks[] = {"osq_lock",
					  "rwsem_",
					  "__mutex_lock",
					  "mutex_spin_on_owner",
					  "mutex_optimistic_spin",
					  "rt_mutex_",
					  "rtmutex_",
					  NULL};
static const char *const memory_functions[] = {
    "vm_mmap",	     "do_mmap", "__vm_munmap",	      "vm_munmap",	  "do_mprotect",
    "do_madvise",    "madvise", "lock_mm_",	      "vm_brk",		  "__do_sys_brk",
    "__x64_sys_brk", "mremap",	"__do_sys_mremap",    "__x64_sys_mremap", "mm_populate",
    "__mm_populate", "dup_mm",	"do_user_addr_fault", "exit_mmap",	  "mlock",
    "do_mlock",	     NULL};

static bool any_begins(const char *const *names, uint32_t nr, const char *const *list)
{
	return any_of(i, nr, kernel_name_begins(names[i], list));
}

/*
 * Classify a stack by the names of its functions, innermost first (NULL: not known). Returns an
 * object SLEEP_IN_..., or 0. With SLEEP_IN_SPIN, *caller is the function that wants the lock;
 * "" if it is not known.
 */
static uint32_t kernel_work_by_names(const char *const *names, uint32_t nr, bool sleeps,
				     const char **caller)
{
	uint32_t outermost = 0;

	*caller = "";
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		/* check huge pages last: a thread that spins for a lock while making one waits
		 * for the lock */
		if (rules[i].object == SLEEP_IN_HUGE_PAGE)
			break;
		if (any_begins(names, nr, rules[i].begins))
			return rules[i].object;
	}
	for (uint32_t i = 0; i < nr; i++) {
		if (kernel_name_begins(names[i], lock_functions))
			outermost = i + 1;
	}
	/* if the thread sleeps for this lock, it is reported as a sleep */
	if (outermost && !sleeps) {
		while (outermost < nr && kernel_name_begins(names[outermost], lock_wrappers))
			outermost++;
		if (outermost < nr && names[outermost])
			*caller = names[outermost];
		return SLEEP_IN_SPIN;
	}
	if (any_begins(names, nr, rules[ARRAY_SIZE(rules) - 1].begins))
		return SLEEP_IN_HUGE_PAGE;
	return !sleeps && any_begins(names, nr, submit_functions) &&
		       !any_begins(names, nr, fault_functions)
		   ? SLEEP_IN_SUBMIT
		   : 0;
}

/* True if the stack wants the lock of the address space (mmap_lock). */
static bool kernel_work_of_memory_lock(const char *const *names, uint32_t nr)
{
	return any_begins(names, nr, memory_functions);
}

static uint32_t names_of(const uint64_t *frames, uint32_t nr, const char *names[PT_KERNEL_FRAMES])
{
	if (nr > PT_KERNEL_FRAMES)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		names[i] = kernel_name(frames[i]);
	return nr;
}

/* The object by the pairs of tracepoints that are open, used if there is no stack. */
static uint32_t object_of(uint32_t doing)
{
	if (doing & PT_DOING_DIRTY)
		return SLEEP_IN_DIRTY;
	if (doing & (PT_DOING_RECLAIM | PT_DOING_GROUP_RECLAIM))
		return SLEEP_IN_RECLAIM;
	return doing & PT_DOING_COMPACTION ? SLEEP_IN_COMPACTION : 0;
}

static void reclaim_fill(const struct pt_kernel_work *w, bool of_group, struct kernel_work *out)
{
	if (!of_group) {
		snprintf(out->about, sizeof(out->about), "the host is short of memory");
		return;
	}
	if (w->doing & PT_DOING_GROUP_RECLAIM)
		group_path(&w->group, out->name, sizeof(out->name));
	if (w->doing & PT_DOING_GROUP_RECLAIM && w->limit)
		snprintf(out->about, sizeof(out->about), "memory limit of %.4g MiB reached",
			 (double)w->limit / (1 << 20));
	else
		snprintf(out->about, sizeof(out->about),
			 "the memory limit of its cgroup is reached");
}

/* The process that has dirtied most pages of this device since it was first seen. Returns
 * false if none is known. */
static bool top_dirtier(struct collector *c, const char *device, struct pt_dirtier *out)
{
	int fd = kernel_side_dirtiers(c->kernel);
	uint32_t key = 0, *from = NULL;
	struct pt_dirtier one;

	*out = (struct pt_dirtier){0};
	for (int i = 0; i < PT_DIRTIERS && !bpf_map_get_next_key(fd, from, &key); i++) {
		from = &key;
		if (!bpf_map_lookup_elem(fd, &key, &one) && one.pages > out->pages &&
		    !strncmp(one.device, device, sizeof(one.device)))
			*out = one;
	}
	return out->pages > 0;
}

static void dirty_fill(struct collector *c, const struct pt_kernel_work *w, struct kernel_work *out)
{
	struct pt_dirtier top;

	snprintf(out->about, sizeof(out->about), "too many dirty pages");
	if (!(w->doing & PT_DOING_DIRTY) || !w->device[0])
		return;
	snprintf(out->name, sizeof(out->name), "%.*s", PT_DEVICE_NAME, w->device);
	if (top_dirtier(c, w->device, &top))
		snprintf(out->holder, sizeof(out->holder), "%.*s", PT_COMM, top.comm);
}

/* Functions that free memory of a cgroup that is at its limit. */
static const char *const group_functions[] = {
    "try_to_free_mem_cgroup",	     "try_charge", "reclaim_high", "mem_cgroup_handle_over_high",
    "__mem_cgroup_handle_over_high", NULL};

static void work_fill(struct collector *c, const struct pt_kernel_work *w, const char *const *names,
		      uint32_t nr, struct kernel_work *out)
{
	if (out->object == SLEEP_IN_DIRTY)
		dirty_fill(c, w, out);
	else if (out->object == SLEEP_IN_RECLAIM)
		reclaim_fill(
		    w, w->doing & PT_DOING_GROUP_RECLAIM || any_begins(names, nr, group_functions),
		    out);
	else if (out->object == SLEEP_IN_SUBMIT)
		snprintf(out->about, sizeof(out->about), "handing requests to the device");
}

static void holder_fill(const char *comm, uint32_t tid, char *out, size_t n)
{
	snprintf(out, n, "%.*s %u", PT_COMM, comm, tid);
}

static void caller_fill(const char *caller, struct kernel_work *out)
{
	snprintf(out->name, sizeof(out->name), "%s", caller);
	snprintf(out->about, sizeof(out->about), "spinning for a kernel lock%s%.40s",
		 *caller ? " in " : "", caller);
}

/* True if another task held the lock that thread `tid` wants. */
static bool contended_by_other(const struct pt_kernel_work *w, uint32_t tid)
{
	return w->doing & PT_DOING_LOCK && w->holder_pid && w->holder_pid != tid;
}

/*
 * The holder of the lock that the task spins for: from the tracepoint, or else from the
 * kind of lock.
 */
static void spin_fill(const struct pt_record_stack *r, const char *const *names, uint32_t nr,
		      const char *caller, struct kernel_work *out)
{
	struct pt_lock_owner owner =
	    r->owners[kernel_work_of_memory_lock(names, nr) ? PT_OWNER_MEMORY : PT_OWNER_OBJECT];

	if (contended_by_other(&r->work, r->head.tid) && !r->work.holder_reads)
		holder_fill(r->work.holder, r->work.holder_pid, out->holder, sizeof(out->holder));
	else if (owner.pid && !owner.reads && owner.pid != r->head.tid &&
		 any_begins(names, nr, owned_locks)) {
		/* a futex only has its number */
		if (!owner.comm[0])
			target_thread_comm((pid_t)owner.pid, (pid_t)owner.pid, owner.comm,
					   sizeof(owner.comm));
		holder_fill(owner.comm, owner.pid, out->holder, sizeof(out->holder));
	}
	caller_fill(caller, out);
}

static bool stack_has(const struct pt_record_stack *r, const char *const *list)
{
	const char *names[PT_KERNEL_FRAMES];

	return any_begins(names, names_of(r->kernel, r->nr_kernel, names), list);
}

bool kernel_in_probe(const struct pt_record_stack *r)
{
	static const char *const list[] = {"asm_exc_int3",	   "asm_exc_debug",
					   "uprobe_notify_resume", "__x64_sys_uprobe",
					   "__x64_sys_uretprobe",  NULL};

	return stack_has(r, list);
}

bool kernel_in_interrupt(const struct pt_record_stack *r)
{
	static const char *const entry[] = {"asm_sysvec_", "asm_common_interrupt", NULL},
				 *const soft[] = {"handle_softirqs", "__do_softirq", NULL},
				 *const after[] = {"task_work_run", "exit_to_user_mode",
						   "irqentry_exit", "preempt_schedule_irq", NULL};

	/* the way back to the program is no part of the interrupt, but for soft interrupts */
	return stack_has(r, entry) && (stack_has(r, soft) || !stack_has(r, after));
}

void kernel_work_of_sample(struct collector *c, const struct pt_record_stack *r,
			   struct kernel_work *out)
{
	const char *names[PT_KERNEL_FRAMES], *caller = "";
	uint32_t nr = names_of(r->kernel, r->nr_kernel, names);

	*out = (struct kernel_work){0};
	if (nr)
		out->object = kernel_work_by_names(names, nr, false, &caller);
	if (out->object == SLEEP_IN_SPIN)
		spin_fill(r, names, nr, caller, out);
	else
		work_fill(c, &r->work, names, nr, out);
}

void kernel_work_of_sleep(struct collector *c, const struct pt_record_sleep *r,
			  const struct pt_record_stack *stack, struct kernel_work *out)
{
	const char *names[PT_KERNEL_FRAMES], *caller;
	uint32_t nr = stack ? names_of(stack->kernel, stack->nr_kernel, names) : 0;

	*out = (struct kernel_work){0};
	out->object =
	    nr ? kernel_work_by_names(names, nr, true, &caller) : object_of(r->work.doing);
	work_fill(c, &r->work, names, nr, out);
	/*
	 * The thread slept for a kernel lock. Of several readers the last one that got it is known:
	 * if it is also the one that released it to this thread, it had the lock all the time.
	 */
	if (!out->object && contended_by_other(&r->work, r->head.tid) &&
	    (!r->work.holder_reads || (r->work.holder_pid == r->waker_tid && !r->waker_irq)))
		holder_fill(r->work.holder, r->work.holder_pid, out->holder, sizeof(out->holder));
}

uint32_t kernel_stop_of(uint32_t state)
{
	enum { STOPPED = 4, TRACED = 8, FROZEN = 0x8000 };

	if (state & TRACED)
		return SLEEP_TRACED;
	if (state & STOPPED)
		return SLEEP_STOPPED;
	return state & FROZEN ? SLEEP_FROZEN : 0;
}

/*
 * True if a sleeping task is frozen, by its stack: cgroups of version 2, and older kernels, have no
 * state for that. What get_signal() itself sleeps for is the freezer, whose function may be
 * inlined.
 */
static bool is_frozen(const char *const *names, uint32_t nr)
{
	static const char *const scheduler[] = {"schedule", "__schedule", NULL},
				 *const freezer[] = {"do_freezer_trap", "get_signal",
						     "__refrigerator", NULL};
	uint32_t i = 0;

	while (i < nr && kernel_name_begins(names[i], scheduler))
		i++;
	return i < nr && kernel_name_begins(names[i], freezer);
}

void kernel_work_of_snapshot(const struct pt_task_now *t, struct kernel_work *out)
{
	struct pt_kernel_work work = {.limit = t->memory.limit, .group = t->memory.group};
	const char *names[PT_KERNEL_FRAMES], *caller = "";
	uint32_t nr = names_of((const uint64_t *)t->kernel, t->nr_kernel, names);

	*out = (struct kernel_work){.object = kernel_stop_of(t->state)};
	if (!out->object && t->state && is_frozen(names, nr))
		out->object = SLEEP_FROZEN;
	if (out->object == SLEEP_STOPPED)
		snprintf(out->about, sizeof(out->about), "by a signal");
	if (t->throttled && !t->state) {
		out->object = SLEEP_IN_QUOTA;
		quota_owner(&t->quota, out->name, sizeof(out->name));
		quota_text(&t->quota, out->about, sizeof(out->about));
	}
	if (!nr || out->object)
		return;
	out->object = kernel_work_by_names(names, nr, t->state != 0, &caller);
	/* the host may free memory for this thread although its group is at its limit, too */
	if (work.limit && any_begins(names, nr, group_functions))
		work.doing = PT_DOING_GROUP_RECLAIM;
	if (out->object == SLEEP_IN_SPIN)
		caller_fill(caller, out);
	else
		work_fill(NULL, &work, names, nr, out);
}

void kernel_work_send(const struct kernel_work *w, struct rec_sleep *s)
{
	if (!w->object) {
		if (w->holder[0])
			s->holder = w->holder;
		return;
	}
	s->work = w->object;
	/* if the device is not known, the file says where */
	if ((w->object != SLEEP_IN_DIRTY && w->object != SLEEP_IN_SUBMIT) || w->name[0])
		s->name = w->name;
	s->holder = w->holder;
	s->about = w->about;
}
