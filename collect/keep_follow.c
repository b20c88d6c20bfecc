// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows calls that were found open to their end, and adds what was seen of them to their story.
 */

#include "analysis/base/array.h"
#include "collect/functions.h"
#include "collect/keep.h"
#include "collect/keep_open_state.h"
#include "collect/reader.h"
#include "collect/thread_snapshots_state.h"
#include "collect/units.h"

enum {
	YOUNG_MS = 500,
	CHECK_MS = 1000,
	REST_MS = 10000,
};

struct followed **followed_of(struct keep_open *o, uint32_t tid)
{
	return find_first(i, o->followed, FOLLOWED,
			  o->followed[i] && o->followed[i]->found.tid == tid);
}

/* ---- following a call */

static void act_drop(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct collector *c = ctx;
	const struct followed *f = c->keep_open->dropped;

	if (a->arg_mask & PT_ACT_FOUND && a->tid == f->found.tid && a->start == f->found.start)
		kernel_side_activation_drop(c->kernel, index, a);
}

void followed_drop(struct collector *c, struct followed **f)
{
	struct keep_open *o = c->keep_open;

	/* else the end of another call in its frame would be taken for its own */
	if ((*f)->found.start) {
		o->dropped = *f;
		kernel_side_activations(c->kernel, act_drop, c);
	}
	attachment_release(&(*f)->end, false);
	free(*f);
	*f = NULL;
}

/* What the thread waits for, as far as its memory tells. */
static void waits_fill(const struct candidate *t, struct pt_found *f)
{
	struct asked_by by = asked_by(&t->now);
	uint64_t value[2] = {0};
	struct reader_piece pieces[3] = {{.pid = (pid_t)t->now.tgid,
					  .address = by.timespec,
					  .bytes = by.timespec ? sizeof(value) : 0,
					  .to = value},
					 {.pid = (pid_t)t->now.tgid,
					  .address = by.words,
					  .bytes = by.words ? sizeof(f->words) : 0,
					  .to = f->words},
					 {.pid = (pid_t)t->now.tgid,
					  .address = by.fd_at,
					  .bytes = by.fd_at ? sizeof(f->fd) : 0,
					  .to = &f->fd}};

	f->fd = by.fd;
	reader_memory(pieces, ARRAY_SIZE(pieces));
	f->asked = by.ns;
	if (by.timespec && pieces[0].got == sizeof(value))
		f->asked = asked_of_timespec(&by, value, f->since);
}

static struct followed *followed_new(const struct candidate *t, const struct stack_return *at)
{
	struct followed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->now = t->now;
	f->bytes = t->bytes;
	memcpy(f->stack, t->stack, sizeof(f->stack));
	f->found = (struct pt_found){.tid = t->now.tid,
				     .slot = at->slot,
				     .switches = t->now.switches,
				     .cfa = at->cfa,
				     .ret = at->address,
				     .since = t->since,
				     .seen = t->looked->off_ns,
				     .woken = t->woken};
	waits_fill(t, &f->found);
	return f;
}

/* Set a breakpoint for the return of a call. NULL: nothing was done. */
static struct followed **end_await(struct collector *c, struct keep_open *o,
				   const struct candidate *t, const struct stack_return *at)
{
	struct followed **room = followed_of(o, t->now.tid);
	uint32_t index;

	if (room)
		followed_drop(c, room);
	else
		room = find_first(i, o->followed, FOLLOWED, !o->followed[i]);
	if (!room || !(*room = followed_new(t, at)))
		return NULL;
	(*room)->found_ns = (*room)->seen_ns = now_ns();
	(*room)->open = true;
	index = (uint32_t)(room - o->followed);
	kernel_side_control(c->kernel)->break_misses[index] = 0;
	if (!attach_breakpoint(&(*room)->end, kernel_side_program(c->kernel, PROGRAM_BREAK),
			       (int)t->now.tid, at->address, (index + 1ull) << 32 | at->slot))
		return room;
	followed_drop(c, room);
	return NULL;
}

/* Have the kernel follow the call, as long as its thread has not run since. False: it has. */
static bool found_again(struct collector *c, struct followed *f)
{
	f->found.state = PT_FOUND_GONE;
	if (kernel_side_found(c->kernel, &f->found) || f->found.state == PT_FOUND_GONE)
		return false;
	/* a call does not begin after it was seen */
	if (f->seen_ns < f->found.since)
		f->seen_ns = f->found.since;
	return true;
}

/*
 * The breakpoint is set before the thread is looked at again: so its return is not missed. A call
 * that was found in an earlier sleep of the thread is given up: only its present stack can tell
 * that it is open still, and not left by an exception, so that it counts from this sleep on.
 */
void follow(struct collector *c, struct keep_open *o, const struct candidate *t,
	    const struct stack_return *at)
{
	struct followed **f = end_await(c, o, t, at);

	t->looked->again_ns = o->now + AGAIN_MS * MS;
	if (!f) {
		o->missed_ns = o->now;
		return;
	}
	units_watch_scheduler(c);
	if (!found_again(c, *f)) {
		followed_drop(c, f);
		return;
	}
	t->looked->again_ns = UINT64_MAX;
	if ((*f)->found.state != PT_FOUND_LATE)
		attachment_release(&(*f)->end, false);
}

void keep_open_again(struct collector *c)
{
	struct keep_open *o = c->keep_open;

	for (uint32_t i = 0; o && i < FOLLOWED; i++) {
		struct followed *f = o->followed[i];

		/* at this moment it is being found */
		if (!f || f->found.state == PT_FOUND_GONE)
			continue;
		if (f->found.state == PT_FOUND_LATE && !f->moved && found_again(c, f))
			continue;
		/* a thread that has run is looked at anew; so is a call that was seen to begin,
		 * because it has no breakpoint */
		looked_of(o, f->found.tid)->again_ns = 0;
		followed_drop(c, &o->followed[i]);
	}
}

/* ---- calls that are over */

static void mark_open(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct keep_open *o = ctx;

	(void)index;
	for (uint32_t i = 0; i < FOLLOWED; i++) {
		struct followed *f = o->followed[i];

		if (f && f->found.tid == a->tid && f->found.slot == a->key.slot &&
		    f->found.start == a->start)
			f->open = true;
	}
}

void followed_misses(struct collector *c, struct keep_open *o)
{
	const struct pt_control *control = kernel_side_control(c->kernel);

	for (uint32_t i = 0; i < FOLLOWED; i++) {
		struct followed *f = o->followed[i];

		if (!f || control->break_misses[i] < PT_BREAK_MISSES)
			continue;
		looked_of(o, f->found.tid)->rests_ns = now_ns() + REST_MS * MS;
		followed_drop(c, &o->followed[i]);
	}
}

void keep_open_missed(struct collector *c)
{
	if (c->keep_open)
		followed_misses(c, c->keep_open);
}

/* Forget calls whose activations are gone. If the thread is still in the same sleep, the end of a
 * burst has given the call up: it is found again. */
void followed_check(struct collector *c, struct keep_open *o)
{
	if (o->now < o->checked_ns + CHECK_MS * MS || !any_of(i, FOLLOWED, o->followed[i]))
		return;
	o->checked_ns = o->now;
	for (uint32_t i = 0; i < FOLLOWED; i++) {
		if (o->followed[i])
			o->followed[i]->open = false;
	}
	kernel_side_activations(c->kernel, mark_open, o);
	for (uint32_t i = 0; i < FOLLOWED; i++) {
		struct followed *f = o->followed[i];

		if (!f || f->open)
			continue;
		looked_of(o, f->found.tid)->again_ns = 0;
		followed_drop(c, &o->followed[i]);
	}
}

void keep_open_closed(struct collector *c)
{
	if (c->keep_open)
		c->keep_open->checked_ns = 0;
}

bool keep_open_waits(const struct collector *c)
{
	const struct keep_open *o = c->keep_open;
	const uint64_t now = now_ns();

	return o && any_of(i, FOLLOWED,
			   o->followed[i] && !o->followed[i]->moved &&
			       now < o->followed[i]->found_ns + YOUNG_MS * MS);
}

/* ---- the story */

/* The sleep in which the thread was found, of which only the begin is known. */
static void sleep_tell(struct collector *c, const struct followed *f)
{
	struct pt_record_sleep r = {.head = {.kind = PT_RECORD_SLEEP,
					     .slot = f->found.slot,
					     .tgid = f->now.tgid,
					     .tid = f->now.tid,
					     .at = f->seen_ns},
				    .slept = f->seen_ns - f->found.since,
				    .since = f->found.since,
				    .syscall = (int64_t)f->now.regs[PT_REG_ORIG_AX],
				    .asked = f->found.asked,
				    .fd = f->found.fd,
				    .object = f->now.object};

	for (int i = 0; i < 3; i++)
		r.args[i] = snapshot_argument(&f->now, i);
	keep_sleep(c, &r);
}

static void stack_tell(struct collector *c, const struct followed *f, uint64_t at, bool sleeps)
{
	static struct pt_record_stack r;

	r.head = (struct pt_record){.kind = PT_RECORD_STACK,
				    .slot = f->found.slot,
				    .tgid = f->now.tgid,
				    .tid = f->now.tid,
				    .at = at};
	memcpy(r.regs, f->now.regs, sizeof(r.regs));
	/* true return addresses are in the copy already */
	r.replaced = (struct pt_replaced){0};
	r.cfa = f->found.cfa;
	r.sleeps = sleeps;
	r.epoch = SLOW_CALL_EPOCH;
	r.bytes = f->bytes;
	r.syscall = (int64_t)f->now.regs[PT_REG_ORIG_AX];
	r.nr_kernel = f->now.nr_kernel < PT_KERNEL_FRAMES ? f->now.nr_kernel : PT_KERNEL_FRAMES;
	memcpy(r.kernel, f->now.kernel, r.nr_kernel * sizeof(r.kernel[0]));
	memcpy(r.stack, f->stack, f->bytes);
	keep_found_stack(c, &r);
}

void keep_open_tell(struct collector *c, const struct pt_record_call *r)
{
	struct followed **f = c->keep_open ? followed_of(c->keep_open, r->head.tid) : NULL;
	uint64_t until;
	bool sleeps;

	if (!f || (*f)->found.slot != r->head.slot || (*f)->found.start != r->head.at)
		return;
	sleeps = (*f)->found.woken != (*f)->found.since && !kernel_stop_of((*f)->now.state);
	until = (*f)->seen_ns;
	if (sleeps) {
		if (!keep_has_sleep(c, (*f)->now.tid, (*f)->found.since, &until))
			sleep_tell(c, *f);
	}
	stack_tell(c, *f, until, sleeps);
	followed_drop(c, f);
}
