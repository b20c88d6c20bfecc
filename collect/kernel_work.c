// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_work.h"

#include <bpf/bpf.h>

#include "analysis/base/array.h"
#include "analysis/waits/kinds.h"
#include "collect/kernel_names.h"
#include "collect/state.h"
#include "collect/target.h"

/* What the kernel does, if a hint tells it. The first one counts. */
static const struct {
	uint32_t hint, object;
} works[] = {{HINT_THROTTLED, SLEEP_IN_DIRTY},
	     {HINT_RECLAIM, SLEEP_IN_RECLAIM},
	     {HINT_COMPACTION, SLEEP_IN_COMPACTION},
	     {HINT_SWAP, SLEEP_IN_SWAP}};

static bool any_begins(const char *const *names, uint32_t nr, const char *const *list)
{
	return any_of(i, nr, kernel_name_begins(names[i], list));
}

/*
 * Returns an object SLEEP_IN_..., or 0. A thread that spins for a lock while it does other work for
 * itself waits for the lock; if it sleeps for this lock, it is reported as a sleep.
 */
static uint32_t work_of(uint32_t hints, bool sleeps)
{
	for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
		if (hints & works[i].hint)
			return works[i].object;
	}
	if (!sleeps && hints & HINT_LOCK)
		return SLEEP_IN_SPIN;
	if (hints & HINT_HUGE_PAGE)
		return SLEEP_IN_HUGE_PAGE;
	/* a page fault is a cause of its own, whatever is read for it */
	return !sleeps && hints & HINT_SUBMIT && !(hints & HINT_PAGE) ? SLEEP_IN_SUBMIT : 0;
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
static void spin_fill(const struct pt_record_stack *r, uint32_t hints, const char *caller,
		      struct kernel_work *out)
{
	struct pt_lock_owner owner =
	    r->owners[hints & HINT_ADDRESS_SPACE ? PT_OWNER_MEMORY : PT_OWNER_OBJECT];

	if (contended_by_other(&r->work, r->head.tid) && !r->work.holder_reads)
		holder_fill(r->work.holder, r->work.holder_pid, out->holder, sizeof(out->holder));
	else if (owner.pid && !owner.reads && owner.pid != r->head.tid && hints & HINT_OWNED) {
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
	const char *names[PT_KERNEL_FRAMES], *caller;
	uint32_t nr = names_of(r->kernel, r->nr_kernel, names),
		 hints = wait_hints_of(names, nr, &caller);

	*out = (struct kernel_work){.object = work_of(hints, false)};
	if (out->object == SLEEP_IN_SPIN)
		spin_fill(r, hints, caller, out);
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
	    nr ? work_of(wait_hints_of(names, nr, &caller), true) : object_of(r->work.doing);
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

void kernel_work_of_snapshot(const struct pt_task_now *t, struct kernel_work *out)
{
	struct pt_kernel_work work = {.limit = t->memory.limit, .group = t->memory.group};
	const char *names[PT_KERNEL_FRAMES], *caller;
	uint32_t nr = names_of((const uint64_t *)t->kernel, t->nr_kernel, names),
		 hints = wait_hints_of(names, nr, &caller);

	*out = (struct kernel_work){.object = kernel_stop_of(t->state)};
	if (!out->object && t->state && hints & HINT_FREEZER)
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
	out->object = work_of(hints, t->state != 0);
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
