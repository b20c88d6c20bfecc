// SPDX-License-Identifier: GPL-2.0-or-later
/* Measures the latencies of user functions and of kernel functions. */
#define PT_DEFINE_MAPS
#include "bpf/activations.h"
#include "bpf/descend.h"
#include "bpf/kernel_calls.h"
#include "bpf/measure.h"
#include "bpf/pace.h"
#include "bpf/phases.h"
#include "bpf/return_probes.h"

char LICENSE[] SEC("license") = "GPL";
const volatile unsigned int waits_built = 1;

/*
 * The frame address that identifies an activation: its CFA. In Go a stack may be moved while a
 * call is open, but a frame keeps its distance from the stack's top. r14 points to the
 * goroutine, which holds the top of its stack.
 */
INLINE u64 frame_of(u64 cfa, u64 goroutine, u64 top)
{
	return top ? (goroutine << 20) ^ (top - cfa) : cfa;
}

/* The top of the goroutine's stack; 0: the site is not Go. */
INLINE u64 stack_top(struct pt_site *s, struct pt_regs *regs)
{
	u64 top = 0;

	if (s->flags & PT_SITE_GO &&
	    bpf_probe_read_user(&top, sizeof(top), (void *)(regs->r14 + GO_STACK_TOP)))
		return 0;
	return top;
}

/* A call's latency without the time of other functions' probes inside it. */
INLINE u64 without_probes(struct pt_act *a, struct pt_thread *t, u32 tid, u64 ns)
{
	u64 probes;

	if (!t || a->tid != tid || t->probe_ns < a->snap.probe_ns)
		return ns;
	probes = t->probe_ns - a->snap.probe_ns;
	/* the estimate is not exact: leave at least an eighth */
	return probes < ns - (ns >> 3) ? ns - probes : (ns >> 3) + !ns;
}

/* Add the cost of this hit to the thread's probe time: after the end of a call is handled, but
 * before a start. */
INLINE void charge_hit(struct pt_control *c, struct pt_site *s, u32 tid)
{
	struct pt_thread *t;

	if (!c->nested)
		return;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t)
		t->probe_ns += c->hit_ns[s->class ? 1 : 0];
}

INLINE void sample_behind(struct pt_record_sample *r, struct pt_act *a)
{
	u32 known = a->arg_mask / PT_ACT_BLOCK0 & 0x1f;

	if (!known)
		return;
	r->known |= known * KNOWN_MEMBER0;
	__builtin_memcpy(r->blocks, a->blocks, sizeof(r->blocks));
	if (known & PT_ACT_TEXT / PT_ACT_BLOCK0)
		__builtin_memcpy(r->text, a->text, sizeof(r->text));
}

/* Count a call that has returned, and sample it. `ret`: its return value; NULL: not known. */
INLINE void activation_count(struct pt_control *c, struct pt_act_key *key, struct pt_act *a,
			     const u64 *ret, u64 now, u32 tid)
{
	struct pt_record_sample *r;
	u64 ns = now - a->start;

	if (descends_into(c, key->slot))
		ns -= a->tid == tid ? descent_end(c, key->slot, key->cfa, a->start, now) : 0;
	if (c->nested)
		ns = without_probes(a, bpf_map_lookup_elem(&threads, &tid), tid, ns);
	if (!counts_still(c, a->start))
		return;
	ns = hist_count(c, key->slot, ns);
	r = sample_begin(c, key->slot, key->tgid, tid, a->start, ns);
	if (r) {
		/* if a coroutine has changed threads, the counters cannot be compared */
		if (a->tid == tid)
			sample_deltas(r, c, &a->snap, bpf_get_current_task_btf(),
				      bpf_map_lookup_elem(&threads, &tid));
		if (ret) {
			r->known |= KNOWN_RET;
			r->ret = *ret;
		}
		r->known |= KNOWN_ARG0 * (a->arg_mask & 0x3f);
		for (int i = 0; i < PT_ARGS; i++)
			r->args[i] = a->args[i];
		sample_behind(r, a);
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
}

/* The call of an open activation has returned. `ret`: its return value; NULL: not known. */
INLINE void activation_close(struct pt_control *c, struct pt_act_key *key, struct pt_act *a,
			     const u64 *ret, u64 now, u32 tid)
{
	if (a->arg_mask & PT_ACT_FOUND && a->tid == tid && c->keep)
		descent_end(c, key->slot, key->cfa, a->start, now);
	if (!(a->arg_mask & PT_ACT_OUTSIDE))
		activation_count(c, key, a, ret, now, tid);
	act_state(a, 0);
	if (c->phase_end_slot && c->phase_end_slot == key->slot)
		phase_end(c, key->tgid);
}

/* End the activation with this key. Returns false if there is none. */
INLINE bool activation_end(struct pt_control *c, struct pt_act_key *key, u64 ret, bool ret_valid,
			   u64 now, u32 tid)
{
	struct pt_act *a = act_find(key, act_hash(key));

	if (a)
		activation_close(c, key, a, ret_valid ? &ret : NULL, now, tid);
	return a;
}

INLINE void site_end(struct pt_control *c, struct pt_site *s, struct pt_regs *ctx, u64 now, u64 id)
{
	struct pt_act_key key = {};

	key.cfa = frame_of(ctx->sp + (s64)s->end_cfa, ctx->r14, stack_top(s, ctx));
	key.tgid = id >> 32;
	key.slot = s->end_slot;
	if (s->flags & PT_SITE_YIELDS) {
		struct pt_act *a = act_find(&key, act_hash(&key));

		if (!a)
			return;
		if (a->arg_mask & PT_ACT_RETURNS) {
			a->exit = now;
			return;
		}
	}
	activation_end(c, &key, ctx->ax, s->flags & PT_SITE_RET_VALID, now, (u32)id);
}

/*
 * True if an armed site stands at the return address. An unknown return address is reported to
 * the collector once. If that record is lost, the next call reports it again.
 */
INLINE bool return_known(struct pt_control *c, u64 address, u32 tgid, u32 slot, u32 tid)
{
	struct pt_ret_key key = {.address = address, .tgid = tgid, .slot = slot};
	u32 *state = bpf_map_lookup_elem(&returns, &key), reported = PT_RET_REPORTED;

	if (state)
		return *state == PT_RET_ENDED;
	if (!bpf_map_update_elem(&returns, &key, &reported, BPF_NOEXIST) &&
	    !record_send(c, PT_RECORD_NEW_RETURN, slot, tgid, tid, address))
		bpf_map_delete_elem(&returns, &key);
	return false;
}

/*
 * The entry for an activation that begins; NULL: the table is full, or an open activation goes
 * on. If the frame already has an activation, a throw or longjmp left it open, unless it passed
 * an exit. At a site with PT_SITE_REPEATS the open activation goes on.
 */
INLINE struct pt_act *activation_begin(struct pt_control *c, struct pt_site *s, struct pt_hist *h,
				       struct pt_act_key *key)
{
	u32 hash = act_hash(key);
	struct pt_act *a = act_find(key, hash);
	bool counts;

	if (!a) {
		a = act_take(key, hash);
		if (!a)
			__sync_fetch_and_add(&c->lost_acts, 1);
		return a;
	}
	if (s->flags & PT_SITE_REPEATS && !(a->arg_mask & PT_ACT_FOUND))
		return 0;
	counts = !(a->arg_mask & PT_ACT_OUTSIDE) && counts_still(c, a->start);
	if (a->exit && counts)
		hist_count(c, key->slot, a->exit - a->start);
	else if (counts)
		__sync_fetch_and_add(&h->abnormal, 1);
	if (c->phase_end_slot && c->phase_end_slot == key->slot)
		phase_end(c, key->tgid);
	act_state(a, PT_ACT_TAKEN);
	a->exit = 0;
	return a;
}

/*
 * Returns 0 if a call of this slot that this thread begins now counts, else PT_ACT_OUTSIDE. If the
 * function both begins and ends phases, nest_begin() begins the phase later, when it is certain
 * that the call's end will be seen.
 */
INLINE u32 phase_of_start(struct pt_control *c, u32 slot, u32 tgid, u32 tid)
{
	u32 unchosen = is_chosen(c, tgid, tid) ? 0 : PT_ACT_OUTSIDE;

	if (!c->phase_mode)
		return unchosen;
	if (slot == c->phase_begin_slot) {
		if (!phase_nests(c))
			phase_begin(c, tgid);
		else if (!c->phase_blind)
			return unchosen;
	}
	return in_phase(c, tgid) ? unchosen : PT_ACT_OUTSIDE;
}

INLINE void nest_begin(struct pt_control *c, u32 slot, u32 tgid)
{
	if (c->phase_mode && slot == c->phase_begin_slot && phase_nests(c))
		phase_begin(c, tgid);
}

/* The return address of a call that begins; 0: not known. */
INLINE u64 return_address(struct pt_site *s, struct pt_regs *ctx, u64 cfa)
{
	u64 word = 0, ret;

	if (s->call_bytes)
		return ctx->ip + s->call_bytes;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)(cfa - 8)))
		return 0;
	ret = true_return(cfa - 8, word);
	if (ret != word)
		s->replaced = 1;
	return ret;
}

/* True if a site at the return address ends this call. */
INLINE bool returns_to_site(struct pt_control *c, struct pt_site *s, u64 ret,
			    const struct pt_act_key *key, u32 tid)
{
	/* most calls have the same caller as the last call */
	if (ret && ret == s->last_ret && c->nr_targets == 1)
		return true;
	if (!return_known(c, ret, key->tgid, key->slot, tid))
		return false;
	s->last_ret = ret;
	return true;
}

/* `now`: when this program, or its part for starts, began. */
INLINE void site_start(struct pt_control *c, struct pt_site *s, struct pt_regs *ctx, u64 now,
		       u64 id)
{
	struct pt_act_key key = {};
	u32 tid = (u32)id, mask = 0, outside;
	struct pt_thread *t;
	struct pt_hist *h;
	struct pt_act *a;
	u64 ret = 0, top = stack_top(s, ctx), cfa = ctx->sp + (s64)s->start_cfa, g = ctx->r14;

	/* keep the values: the verifier refuses a pointer into the context */
	HIDE(cfa);
	HIDE(g);
	key.cfa = frame_of(cfa, g, top);
	key.tgid = id >> 32;
	key.slot = s->start_slot;
	h = hist_of(c, key.slot);
	if (!h)
		return;
	outside = phase_of_start(c, key.slot, key.tgid, tid);
	if (s->flags & PT_SITE_READ_RET) {
		ret = return_address(s, ctx, cfa);
		if (returns_to_site(c, s, ret, &key, tid)) {
			mask = PT_ACT_RETURNS;
		} else if (s->flags & PT_SITE_NEED_RET) {
			if (!outside)
				__sync_fetch_and_add(&h->unseen, 1);
			return;
		}
	}
	a = activation_begin(c, s, h, &key);
	if (!a)
		return;
	/* an older activation of this frame is closed; an activation outside of a phase is
	 * kept only if its end closes a phase */
	if (outside && key.slot != c->phase_end_slot) {
		act_state(a, 0);
		return;
	}
	nest_begin(c, key.slot, key.tgid);
	a->ret = ret;
	a->tid = tid;
	a->arg_mask = mask | s->arg_mask | outside;
	act_args(a, ctx);
	if (s->flags & PT_SITE_BEHIND)
		act_behind(a, key.slot);
	t = thread_now(c, key.tgid, tid);
	snapshot_take(&a->snap, c, bpf_get_current_task_btf(), t);
	if (!outside && descends_into(c, key.slot))
		descent_start(c,
			      &(struct descent_call){.key = key.cfa,
						     .goroutine = top ? g : 0,
						     .cfa = cfa - top,
						     .slot = key.slot,
						     .arg_mask = s->arg_mask & 0x3f,
						     .args = a->args},
			      tid, &a->snap);
	if (!outside)
		__sync_fetch_and_add(&h->entries, 1);
	if (t)
		t->last_cfa = key.cfa;
	if (s->pace)
		pace_take(s, h, tid, now);
	a->start = bpf_ktime_get_ns();
	if (s->pace)
		pace_hit(h, s, a->start - now);
	s->last = a->start;
	if (t)
		t->last_start = a->start;
	act_state(a, a->start << PT_ACT_START_SHIFT | PT_ACT_OPEN);
}

enum { COLD_NS = 50000 }; /* after so long without a hit, assume cold caches */

/* Count hits with cold caches: they cost several times as much. */
INLINE void count_cold(u64 now)
{
	u64 *last = counter_here(PT_LAST_HIT);

	if (!last)
		return;
	if (now - *last > COLD_NS)
		count_hit(PT_HIT_COLD);
	*last = now;
}

INLINE int site_hit(struct pt_regs *ctx)
{
	u64 now, id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
	u32 index = (u32)cookie;
	struct pt_control *c = the_control();
	struct pt_site *s = bpf_map_lookup_elem(&sites, &index);

	if (!c || !s || !site_counts(c, cookie, id >> 32))
		return 0;
	/* an end uses the time before its own work; a start reads the clock again after its
	 * work */
	now = bpf_ktime_get_ns();
	count_hit(s->class ? PT_HIT_STEPPED : PT_HIT_EMULATED);
	count_cold(now);
	/* after a blown fuse no fnode begins here; for other sites the governor decides */
	if (fuse_blows(s)) {
		report_blown(c, s, index, id, ctx->ip);
		if (s->start_slot &&
		    (s->start_slot == c->phase_begin_slot || s->start_slot == c->phase_end_slot))
			c->phase_blind = 1;
	}
	if (s->flags & PT_SITE_FNODE_END)
		descent_fnode_end(c, s, ctx, now, (u32)id);
	if (s->flags & PT_SITE_END) {
		site_end(c, s, ctx, now, id);
		now = pace_end(c, s, now);
	}
	charge_hit(c, s, (u32)id);
	if (s->closed)
		return 0;
	if (s->flags & PT_SITE_START)
		site_start(c, s, ctx, now, id);
	if (s->flags & PT_SITE_FNODE_START && !s->blown &&
	    !descent_fnode_start(c, s, index, ctx, (u32)id) && !__sync_fetch_and_add(&s->blown, 1))
		report_blown(c, s, index, id, ctx->ip);
	if (s->flags & PT_SITE_LEARN && !s->blown)
		descent_learn(c, s, ctx);
	return 0;
}

/* Two copies of one program: for uprobe_multi links (kernel 6.6) and for perf events, because
 * the attach type is fixed at load. */
SEC("uprobe")
int on_site_multi(struct pt_regs *ctx)
{
	return site_hit(ctx);
}

SEC("uprobe")
int on_site(struct pt_regs *ctx)
{
	return site_hit(ctx);
}

enum { BREAK_NS = 1500 }; /* assumed cost of a breakpoint that is hit by another call */

/* Another call has hit a breakpoint; `follower`: of which followed call + 1, 0: of none. The
 * collector removes one that is hit often, because each hit costs the thread an exception. */
INLINE void break_missed(struct pt_control *c, u64 follower, u64 id, u64 ip)
{
	__sync_fetch_and_add(&c->snapshot_ns, BREAK_NS);
	follower--;
	HIDE(follower);
	if (follower >= PT_FOLLOWED_CALLS)
		return;
	if (__sync_fetch_and_add(&c->break_misses[follower], 1) + 1 == PT_BREAK_MISSES)
		record_send(c, PT_RECORD_MISSED, 0, id >> 32, (u32)id, ip);
}

/*
 * A hardware breakpoint at the return address of one open call, in its thread only. It shows
 * the end of a slow call after a burst, when no probe is attached. Its cookie: the slot, and above
 * it what break_missed() needs.
 */
SEC("perf_event")
int on_break(struct bpf_perf_event_data *ctx)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct pt_control *c = the_control();
	struct pt_act_key key = {};

	if (!c || !is_target(c, id >> 32))
		return 0;
	key.cfa = ctx->regs.sp;
	key.tgid = id >> 32;
	key.slot = (u32)cookie;
	if (activation_end(c, &key, ctx->regs.ax, true, now, (u32)id))
		record_send(c, PT_RECORD_CLOSED, key.slot, id >> 32, (u32)id, ctx->regs.ip);
	else
		break_missed(c, cookie >> 32, id, ctx->regs.ip);
	return 0;
}

SEC("kprobe")
int on_kernel_entry(struct pt_regs *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	struct pt_control *c = the_control();
	struct pt_act_key key = {};
	u32 tid = (u32)id, outside;
	struct pt_site *s = c ? kernel_hit(c, ctx, id) : 0;
	struct pt_act *a;
	u64 sp;

	if (!s || s->closed || s->blown)
		return 0;
	if (!gate_is_open(c, GATE_KERNEL, bpf_ktime_get_ns()))
		return 0;
	sp = ctx->sp;
	HIDE(sp);
	kernel_key(&key, sp, id, s->start_slot);
	outside = phase_of_start(c, key.slot, key.tgid, tid);
	a = kernel_begin(c, &key, sp);
	if (!a)
		return 0;
	if (outside && key.slot != c->phase_end_slot) {
		act_state(a, 0);
		return 0;
	}
	nest_begin(c, key.slot, key.tgid);
	a->ret = sp;
	a->tid = tid;
	a->arg_mask = 0x3f | outside;
	act_args(a, ctx);
	snapshot_take(&a->snap, c, bpf_get_current_task_btf(), thread_now(c, key.tgid, tid));
	/* slow calls are kept of system calls and user functions only */
	if (!outside && !c->keep && descends_into(c, key.slot))
		descent_start(c,
			      &(struct descent_call){.key = key.cfa,
						     .cfa = kernel_frame(ctx),
						     .slot = key.slot,
						     .is_call = 1,
						     .arg_mask = 0x3f,
						     .args = a->args},
			      tid, &a->snap);
	a->start = bpf_ktime_get_ns();
	act_state(a, a->start << PT_ACT_START_SHIFT | PT_ACT_OPEN);
	return 0;
}

SEC("kretprobe")
int on_kernel_exit(struct pt_regs *ctx)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct pt_control *c = the_control();
	struct pt_site *s = c ? kernel_hit(c, ctx, id) : 0;
	struct pt_act_key key = {};
	struct pt_act *a;
	u64 sp, ret;

	if (!s)
		return 0;
	sp = ctx->sp;
	ret = ctx->ax;
	HIDE(sp);
	kernel_key(&key, sp, id, s->start_slot);
	a = act_find(&key, act_hash(&key));
	if (a && kernel_returns(a->ret, sp))
		activation_close(c, &key, a, &ret, now, (u32)id);
	return 0;
}
