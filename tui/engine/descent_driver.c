// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/descent_driver.h"
#include "analysis/base/array.h"

#include "analysis/descent/armed_set.h"
#include "analysis/descent/parked.h"
#include "analysis/latency/profile_record.h"
#include "tui/engine/descent_driver_private.h"

enum {
	MAX_ACTIONS = 1 << 16, /* carried out in one pump() */
};

struct descent_driver *driver_new(const struct driver_host *host)
{
	struct descent_driver *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->descent = descent_new();
	d->hops = hops_new();
	d->names = host ? name_requests_new(host) : NULL;
	if (!d->descent || !d->hops || (host && !d->names)) {
		descent_free(d->descent);
		hops_free(d->hops);
		name_requests_free(d->names);
		free(d);
		return NULL;
	}
	if (host)
		d->host = *host;
	d->live = host != NULL;
	return d;
}

void driver_free(struct descent_driver *d)
{
	if (!d)
		return;
	descent_free(d->descent);
	hops_free(d->hops);
	free(d->starts);
	callees_release(d);
	names_release(d);
	inlines_release(d);
	parts_release(d);
	free(d);
}

const struct rec_descent *driver_asked(const struct descent_driver *d)
{
	return d->asked ? &d->ask : NULL;
}

void driver_ask_question(struct descent_driver *d, uint32_t op, const struct descent_question *q)
{
	struct record rec = {.type = REC_QUESTION};

	question_to_record(q, &rec.question);
	rec.question.op = op;
	d->host.feed(d->host.ctx, &rec);
}

const struct rec_question *driver_question(const struct descent_driver *d)
{
	return d->question.op ? &d->question : NULL;
}

uint32_t driver_op(const struct descent_driver *d)
{
	return d->asked ? d->ask.op : d->question.op;
}

bool driver_is_in_kernel(const struct descent_driver *d)
{
	return d->asked && d->ask.function.module == REC_KERNEL_MODULE;
}

const struct driver_waited *driver_waited(const struct descent_driver *d)
{
	return d->beside.waited.part > 0 ? &d->beside : NULL;
}

bool driver_over(const struct descent_driver *d)
{
	return d->over;
}

const struct descent_armed *driver_armed(const struct descent_driver *d, uint32_t *nr)
{
	*nr = d->nr_armed;
	return d->armed;
}

uint32_t driver_epoch(const struct descent_driver *d)
{
	return d->epoch;
}

const struct descent *driver_descent(const struct descent_driver *d)
{
	return d->descent;
}

static const char *name_of(const void *ctx, struct rec_code function)
{
	const struct driver_symbol *s = driver_symbol(ctx, function.module, function.offset);

	return s ? s->function : NULL;
}

int driver_result(const struct descent_driver *d, struct descent_result *out)
{
	int err = d->kept ? descent_result_copy(d->kept, out) : descent_result(d->descent, out);

	if (!err)
		parked_cut(out, name_of, d);
	return err;
}

const struct hop *driver_wait(const struct descent_driver *d, const struct descent_result *r,
			      const struct descent_path *p)
{
	return hops_find(d->hops, r, p);
}

static void lose(struct descent_driver *d, uint32_t epoch, uint32_t node)
{
	struct record rec = {.type = REC_FNODE_LOST};

	rec.fnode_lost =
	    (struct rec_fnode_lost){.epoch = epoch, .node = node, .reason = FNODE_REFUSED};
	d->host.feed(d->host.ctx, &rec);
}

/* Find the two probe places of one fnode. 0; -EAGAIN: the parser has not answered yet; -ENOTSUP:
 * the fnode cannot be timed. */
static int places_of(struct descent_driver *d, const struct descent_armed *a, struct req_fnode *out)
{
	const struct rec_code last = {a->site.module, a->last_site};
	const struct parsed_call_site *first = callees_site(d, a->site), *end = first;
	bool wait = false;

	*out = (struct req_fnode){.node = a->node, .parent = a->parent};
	if (a->site.module == REC_KERNEL_MODULE || a->callee.module == REC_KERNEL_MODULE) {
		const bool inside = a->site.module == REC_KERNEL_MODULE;
		const struct rec_code at = inside ? a->site : a->callee;

		/* the collector finds the begin of the call instruction; a system call is only
		 * that of this instruction, because a function may make several */
		out->start =
		    (struct rec_site){.module = at.module, .offset = at.offset, .role = SITE_CALL};
		out->end = (struct rec_site){
		    .module = a->site.module, .offset = a->ret, .role = SITE_RETURN};
		out->only_return = inside ? 0 : a->ret;
		return 0;
	}
	if (a->last_site)
		end = callees_site(d, last);
	if (!first || !end || !(first->flags & CALL_SITE_TIMED) || !(end->flags & CALL_SITE_TIMED))
		return -ENOTSUP;
	out->start = first->start;
	if (a->only_callee) {
		const struct rec_site *entry = entry_want(d, a->callee, &wait);

		if (!entry)
			return wait ? -EAGAIN : -ENOTSUP;
		out->start = *entry;
		out->only_return = a->ret;
	}
	if (end->ret)
		out->end = end->end;
	out->start.op = d->ask.op;
	out->end.op = d->ask.op;
	return armed_set_too_short(&d->ask, out) ? -ENOTSUP : 0;
}

/* True if the parent of a fnode is armed, too, or is f0 (0). A fnode without its parent is not
 * armed. */
static bool parent_is_there(const struct req_fnode *nodes, uint32_t nr, uint32_t parent)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (nodes[i].node == parent)
			return true;
	}
	return !parent;
}

void driver_arm(struct descent_driver *d)
{
	static struct req_fnode nodes[DESCENT_MAX_SITES];
	uint32_t lost[DESCENT_MAX_SITES], nr = 0, nr_lost = 0, epoch = d->epoch;
	struct record rec = {.type = REQ_DESCEND};

	if (!d->arm_waits)
		return;
	for (uint32_t i = 0; i < d->nr_armed; i++) {
		int err = places_of(d, &d->armed[i], &nodes[nr]);

		if (err == -EAGAIN)
			return;
		if (!err && parent_is_there(nodes, nr, d->armed[i].parent))
			nr++;
		else
			lost[nr_lost++] = d->armed[i].node;
	}
	d->arm_waits = false;
	rec.descend = (struct req_descend){.epoch = d->epoch,
					   .op = d->ask.op,
					   .low_ns = d->ask.low_ns,
					   .high_ns = d->ask.high_ns,
					   .sampled = d->ask.sampled,
					   .nr_nodes = nr,
					   .nodes = nodes};
	d->host.request(d->host.ctx, &rec);
	for (uint32_t i = 0; i < nr_lost; i++)
		lose(d, epoch, lost[i]);
}

static void take_arm(struct descent_driver *d, const struct descent_action *a)
{
	d->epoch = a->epoch;
	d->unacknowledged = true;
	d->nr_armed = a->nr_armed < DESCENT_MAX_SITES ? a->nr_armed : DESCENT_MAX_SITES;
	if (d->nr_armed)
		memcpy(d->armed, a->armed, d->nr_armed * sizeof(*d->armed));
	d->arm_waits = d->live;
	driver_arm(d);
}

static void finish(struct descent_driver *d)
{
	struct record rec = {.type = REQ_DESCEND};

	if (d->over)
		return;
	d->over = true;
	d->arm_waits = false;
	rec.descend = (struct req_descend){.epoch = d->epoch,
					   .op = d->ask.op,
					   .stop = 1,
					   .low_ns = d->ask.low_ns,
					   .high_ns = d->ask.high_ns};
	if (d->live)
		d->host.request(d->host.ctx, &rec);
}

/* Ask the collector to observe the targets of an indirect call. It answers with
 * REC_INDIRECT_CALLEES. */
static void learn(struct descent_driver *d, const struct descent_armed *a)
{
	const struct parsed_call_site *s = callees_site(d, a->site);
	struct record rec = {.type = REC_INDIRECT_CALLEES};

	if (s && s->operand.kind != OPERAND_NONE && s->flags & CALL_SITE_TIMED && !a->last_site) {
		rec.type = REQ_LEARN;
		rec.learn = (struct req_learn){.op = d->ask.op,
					       .node = a->node,
					       .parent = a->parent,
					       .site = s->start,
					       .operand = s->operand};
		if (!d->host.request(d->host.ctx, &rec))
			return;
		rec.type = REC_INDIRECT_CALLEES;
	}
	rec.discovered = (struct rec_indirect_callees){.node = a->node, .error = -EOPNOTSUPP};
	d->host.feed(d->host.ctx, &rec);
}

/* Carry out the actions of the state machine until it waits or is done. */
static void pump(struct descent_driver *d)
{
	struct descent_action a;

	if (!d->asked || d->over)
		return;
	for (int i = 0; i < MAX_ACTIONS; i++) {
		descent_next(d->descent, &a);
		if (a.kind == DESCENT_WAIT)
			break;
		if (a.kind == DESCENT_DONE) {
			finish(d);
			break;
		}
		if (a.kind == DESCENT_ARM)
			take_arm(d, &a);
		else if (d->live && a.kind == DESCENT_EXPAND)
			callees_want(d, a.function);
		else if (d->live && a.kind == DESCENT_LEARN)
			learn(d, a.armed);
	}
}

/* ---- the start profile: what was measured before the descent was asked for ---- */

static struct start *start_of(struct descent_driver *d, uint32_t op)
{
	return find_first(i, d->starts, d->nr_starts, d->starts[i].op == op);
}

static void start_op(struct descent_driver *d, const struct rec_op *op)
{
	if (!layer_is_called(op->layer) || start_of(d, op->op))
		return;
	if (array_grow(d->starts, d->nr_starts, d->cap_starts, DRIVER_MAX_STARTS))
		return;
	d->starts[d->nr_starts].op = op->op;
	profile_init(&d->starts[d->nr_starts++].profile);
}

static void start_profile(struct descent_driver *d, const struct rec_profile *p)
{
	struct start *s = start_of(d, p->op);
	struct profile slice;

	if (s && !profile_of_record(&slice, p))
		profile_merge(&s->profile, &slice);
}

/* The state machine counts only from REC_DESCENT on: feed it the earlier measurements as one slice.
 */
static void start_feed(struct descent_driver *d)
{
	static struct profile_buckets buckets;
	const struct start *s = start_of(d, d->ask.op);
	struct record rec = {.type = REC_PROFILE};

	if (!s || !s->profile.calls)
		return;
	profile_to_record(&s->profile, s->op, &buckets, &rec.profile);
	descent_feed(d->descent, &rec);
}

/* Keeps what the answer so far says about waits for a CPU, if `ask` chooses a peak beside them. */
static void take_waits(struct descent_driver *d, const struct rec_descent *ask)
{
	struct descent_result found;

	if (ask->choice != DESCENT_BESIDE_WAITS) {
		d->beside = (struct driver_waited){.low_ns = 0};
		return;
	}
	/* it may change to another peak later */
	if (d->ask.choice == DESCENT_BESIDE_WAITS || !d->asked || driver_result(d, &found))
		return;
	d->beside.low_ns = d->ask.low_ns;
	choose_waited(&found, &d->beside.waited);
	descent_result_release(&found);
}

static void take_descent(struct descent_driver *d, const struct rec_descent *ask)
{
	/* A REC_DESCENT without an operation marks where the descent was stopped. */
	if (!ask->op) {
		if (d->asked && !d->over) {
			descent_stop(d->descent);
			finish(d);
		}
		return;
	}
	take_waits(d, ask);
	parts_turn(d, ask);
	d->ask = *ask;
	d->asked = true;
	d->over = false;
}

static void take_refused(struct descent_driver *d, const struct rec_refused *r)
{
	if (!d->asked || d->over || r->op != d->ask.op)
		return;
	/* an armed set is refused afterwards if the file of its functions is overwritten */
	if (r->error != -ESTALE && (!d->unacknowledged || r->epoch != d->epoch))
		return;
	descent_stop(d->descent);
	finish(d);
}

/* Say once that votes of a saved descent were dropped. The note is in the stream. */
static void note_contradicted(struct descent_driver *d)
{
	struct record rec = {.type = REC_NOTE};
	struct descent_progress p;

	descent_progress(d->descent, &p);
	if (!p.contradicted || d->contradicted || !d->live)
		return;
	d->contradicted = true;
	rec.note = (struct rec_note){
	    NOTE_WARNING,
	    "saved votes that the new calls contradict were dropped: these calls take "
	    "another path than the saved ones, which is measured from where it leaves theirs"};
	d->host.feed(d->host.ctx, &rec);
}

void driver_take(struct descent_driver *d, const struct record *rec)
{
	bool first = rec->type == REC_DESCENT && (!d->asked || rec->descent.op != d->ask.op);
	int err;

	/* The fnodes of a descent that goes on come before the calls that were seen now. */
	if (first)
		first = !rec->descent.resumes;
	else
		first = rec->type == REC_SAVED_PROFILE;

	switch (rec->type) {
	case REC_MODULE:
		names_module(d, &rec->module);
		return;
	case REC_META:
		names_kernel(d, &rec->meta);
		return;
	case REC_BUILD_ID:
		names_build_id(d, &rec->build_id);
		return;
	case REC_SYMBOL:
		names_symbol(d, &rec->symbol);
		return;
	case REC_INLINES:
		inlines_take(d, &rec->inlines);
		return;
	case REC_OP:
		start_op(d, &rec->op);
		return;
	case REC_PROFILE:
		start_profile(d, &rec->profile);
		break;
	case REC_REFUSED:
		take_refused(d, &rec->refused);
		return;
	case REC_ACK:
		if (rec->ack.epoch == d->epoch)
			d->unacknowledged = false;
		return;
	case REC_PARTS:
		parts_take(d, &rec->parts);
		return;
	case REC_QUESTION:
		d->question = rec->question;
		return;
	case REC_DESCENT:
		take_descent(d, &rec->descent);
		if (!rec->descent.op)
			return;
		break;
	default:
		break;
	}
	/* Later records of a descent that is over must not change its result. */
	if (d->over && rec->type != REC_TARGET && rec->type != REC_TARGET_END)
		return;
	if (rec->type == REC_DESCENT)
		hops_forget(d->hops);
	hops_feed(d->hops, d->asked ? d->ask.op : 0, rec);
	err = descent_feed(d->descent, rec);
	if (err == -EINVAL && rec->type == REC_DESCENT) {
		d->asked = false;
		return;
	}
	if (first && !err)
		start_feed(d);
	if (err == -ENOMEM && d->live)
		d->host.message(d->host.ctx, "out of memory: the descent is incomplete");
	note_contradicted(d);
	pump(d);
}

int driver_begin(struct descent_driver *d, const struct rec_descent *ask)
{
	struct record rec = {.type = REC_DESCENT, .descent = *ask};

	if (!ask->op || !d->live)
		return -EINVAL;
	d->host.feed(d->host.ctx, &rec);
	return d->asked ? 0 : -EINVAL;
}

void driver_stop(struct descent_driver *d)
{
	struct record rec = {.type = REC_DESCENT};

	if (!d->asked || d->over)
		return;
	if (d->live)
		d->host.feed(d->host.ctx, &rec);
	else
		driver_take(d, &rec);
}
