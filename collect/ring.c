// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ring.h"

#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/keep.h"
#include "collect/keep_open.h"
#include "collect/learn.h"
#include "collect/module_hold.h"
#include "collect/modules.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/thread_snapshots.h"
#include "collect/waits.h"

#define MS 1000000ull

enum {
	WAITING_MS = 2,
	DESCENT_MS = 5,	  /* often: a blown fuse costs the target until it is read */
	FUNCTION_MS = 25, /* a function's callers are probed once a record names them */
	STACKS_MS = 50,	  /* on a timer: wake-ups by BPF programs would be traced, too; only a
			     blown fuse does */
	CALM_MS = 100,	  /* in the same turn as units.c */
};

static void call_take(struct collector *c, const struct pt_record_call *r, size_t size)
{
	if (c->keeping)
		keep_call(c, r);
	else
		armed_call(c, r, size);
}

static void sleep_take(struct collector *c, const struct pt_record_sleep *r)
{
	if (c->keeping)
		keep_sleep(c, r);
	else
		armed_sleep(c, r);
}

static void stack_take(struct collector *c, const struct pt_record_stack *r)
{
	if (c->keeping)
		keep_stack(c, r);
	else
		armed_stack(c, r);
}

static void on_ring(void *ctx, const struct pt_record *rec, size_t size)
{
	struct collector *c = ctx;
	struct record out = {.type = REC_NEW_RETURN};
	struct target *t;

	switch (rec->kind) {
	case PT_RECORD_SAMPLE:
		if (size >= sizeof(struct pt_record_sample))
			sample_take(c, (const struct pt_record_sample *)rec);
		break;
	case PT_RECORD_NEW_RETURN:
		if (rec->slot < PT_SLOTS && c->slots[rec->slot].function) {
			out.new_return = (struct rec_new_return){
			    .op = c->slots[rec->slot].op,
			    .pid = rec->tgid,
			    .address = ((const struct pt_record_address *)rec)->address};
			send_record(c, &out);
		}
		break;
	case PT_RECORD_FORK:
		if (size >= sizeof(struct pt_record_fork))
			target_forked(c, (const struct pt_record_fork *)rec);
		break;
	case PT_RECORD_EXEC:
		target_executed(c, rec->tgid);
		break;
	case PT_RECORD_MAPPED:
		t = target_by_pid(c, rec->tgid);
		/* one scan covers all mappings that were made before it */
		if (t && rec->at >= t->scanned_ns)
			modules_scan(c, t);
		break;
	case PT_RECORD_EXIT:
		if (c->exited.nr < sizeof(c->exited.tid) / sizeof(c->exited.tid[0]))
			c->exited.tid[c->exited.nr++] = rec->tid;
		target_exits(c, (const struct pt_record_address *)rec);
		break;
	case PT_RECORD_CALL:
		if (size >= offsetof(struct pt_record_call, sums))
			call_take(c, (const struct pt_record_call *)rec, size);
		break;
	case PT_RECORD_SLEEP:
		if (size >= sizeof(struct pt_record_sleep))
			sleep_take(c, (const struct pt_record_sleep *)rec);
		break;
	case PT_RECORD_STACK:
		if (size >= offsetof(struct pt_record_stack, stack))
			stack_take(c, (const struct pt_record_stack *)rec);
		break;
	case PT_RECORD_THREAD_SNAPSHOT:
		if (size >= offsetof(struct pt_record_thread_snapshot, stack))
			snapshot_running(c, (const struct pt_record_thread_snapshot *)rec, size);
		break;
	case PT_RECORD_CALLEES:
		if (size >= sizeof(struct pt_record_callees))
			learn_callees(c, (const struct pt_record_callees *)rec);
		break;
	case PT_RECORD_CLOSED:
		function_closed(c, rec->slot);
		keep_open_closed(c);
		break;
	case PT_RECORD_MISSED:
		keep_open_missed(c);
		break;
	case PT_RECORD_BLOWN:
		function_blown(c, rec->slot, rec->at);
		break;
	}
}

void ring_drain(struct collector *c)
{
	kernel_side_drain(c->kernel, on_ring, c);
	waits_drain(c);
}

void ring_read(struct collector *c)
{
	ring_drain(c);
	waits_turn(c, now_ns());
	descend_settle(c);
	modules_follow(c);
	modules_hold_look(c);
	if (c->files.changed) {
		c->files.changed = false;
		functions_new_mapping(c);
	}
}

bool layers_alone(const struct collector *c)
{
	return !c->functions.nr && !c->descent && !c->thread_snapshots && !c->waits;
}

uint64_t ring_interval_ns(const struct collector *c)
{
	if (functions_waiting(c))
		return WAITING_MS * MS;
	if (descend_is_armed(c))
		return DESCENT_MS * MS;
	if (c->functions.nr)
		return FUNCTION_MS * MS;
	return (layers_alone(c) ? CALM_MS : STACKS_MS) * MS;
}
