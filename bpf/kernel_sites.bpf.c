// SPDX-License-Identifier: GPL-2.0-or-later
/* Times the callees of kernel functions in a descent. */
#include "bpf/descend.h"
#include "bpf/kernel_calls.h"

/*
 * True if the current task is in the call `d` on the stack at `sp`: an interrupt that came in the
 * call runs on a stack of its own, unless the call itself is made in one.
 */
INLINE bool is_on_stack_of(struct pt_descent *d, u64 sp, u64 id)
{
	struct pt_act_key key = {};

	if (!(d->key & PT_ACT_KERNEL))
		return is_on_own_stack(bpf_get_current_task_btf(), sp);
	kernel_key(&key, sp, id, d->slot);
	return key.cfa == d->key;
}

/* The address of a frame in that call: less than those of the program, as in kernel_frame(). */
INLINE u64 frame_at(u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return is_on_own_stack(task, sp) ? sp - (u64)task->stack : sp;
}

/*
 * A call site of a kernel function, or the return address of one: as a site of the program
 * (site_hit()), but every task of the host hits it. The time of this program is measured, because
 * it is most of what such a hit costs.
 */
SEC("kprobe")
int on_kernel_site(struct pt_regs *ctx)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), sp = ctx->sp, frame, ns;
	u32 index = (u32)bpf_get_attach_cookie(ctx), opened = 0;
	struct pt_site *s = bpf_map_lookup_elem(&sites, &index);
	struct pt_control *c = the_control();
	struct pt_fnode_open *o;
	struct pt_descent *d;

	if (!c || !s)
		return 0;
	if (fuse_blows(s))
		report_blown(c, s, index, id, 0);
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_KERNEL_SITE_OTHER);
		return 0;
	}
	count_hit(PT_HIT_KERNEL);
	HIDE(sp);
	d = descent_of(c, bpf_get_current_task_btf());
	if (d && d->record.epoch == c->descend_epoch && is_on_stack_of(d, sp, id)) {
		frame = frame_at(sp);
		if (s->flags & PT_SITE_FNODE_END) {
			d->look = d->depth;
			look_above(d, frame, false);
			fnodes_close(d, d->look, now, (u32)id);
		}
		if (s->flags & PT_SITE_FNODE_CALL && !s->blown)
			opened = fnode_open(d, false, index, frame, (u32)id);
		s->opened += opened;
	}
	if (d && s->flags & PT_SITE_FNODE_CALL && site_too_hot(s, d, sp, bpf_ktime_get_ns()) &&
	    !__sync_fetch_and_add(&s->blown, 1))
		report_blown(c, s, index, id, 0);
	ns = bpf_ktime_get_ns() - now;
	__sync_fetch_and_add(&s->program_ns, ns);
	if (!d)
		return 0;
	ns += c->kernel_ns;
	d->cost += ns;
	o = opened ? open_at(d, d->depth) : 0;
	if (o)
		o->cost += ns;
	return 0;
}
