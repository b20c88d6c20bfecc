// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/descent.h"

#include "analysis/descent/armed_set.h"
#include "analysis/descent/descent_impl.h"
#include "analysis/latency/profile_record.h"

enum {
	MAX_OPS = 1000000,
	MIN_FIRST = 5,	 /* in-peak calls needed before the first call sites are armed */
	MOVED_SHORT = 4, /* calls longer than this multiple of the probes' cost can be distinguished
			    from it */
	/* slices to skip after arming, because they mix old and new probes */
	MOVED_SLICES = 2,
	MOVED_CALLS = 200,	/* calls to expect in the peak before it may count as moved */
	MOVED_FACTOR = 20,	/* the peak has moved if fewer than 1/20 of these came */
	STACKS_NS = 2000000000, /* the answer for a system call waits so long for stack samples */
	/* the first decision about a function waits so long for stack samples */
	SAMPLES_NS = 300000000,
};

void descent_options_init(struct rec_descent *options)
{
	*options = (struct rec_descent){
	    .start_ops = 100,
	    .decision_ops = 20,
	    .maxcount_ppm = 500000,
	    .max_depth = DESCENT_DEFAULT_DEPTH,
	    .max_sites = 64,
	};
}

struct descent *descent_new(void)
{
	struct descent *d = calloc(1, sizeof(*d));

	if (d)
		d->status = DESCENT_IN_PROGRESS;
	return d;
}

/* Forget f0 and everything below it. */
static void forget_tree(struct descent *d)
{
	ftree_release(&d->tree);
	witnesses_free(d->witnesses);
	free(d->vector);
	free(d->restored);
	d->witnesses = NULL;
	d->vector = NULL;
	d->restored = NULL;
	d->cap_vector = 0;
	d->phase = PHASE_IDLE;
}

void descent_free(struct descent *d)
{
	if (!d)
		return;
	forget_tree(d);
	free(d);
}

static void end(struct descent *d, enum descent_status status)
{
	if (d->phase == PHASE_DONE || d->phase == PHASE_IDLE)
		return;
	if (status == DESCENT_ROOT_CAUSE && descent_compare_saved(d, change_moved_since_saved))
		status = DESCENT_CHANGED;
	d->phase = PHASE_DONE;
	d->status = status;
}

/* No more calls will come: decide with the calls that were counted. If they are too few for a
 * decision, do not count it as one; the status then says so. */
static void decide_now(struct descent *d)
{
	bool few = d->window.records < d->ask.decision_ops;

	if (d->phase != PHASE_RUN || d->decided || d->resuming || d->window.records < MIN_FIRST)
		return;
	descent_decide(d);
	if (few)
		d->decisions--;
}

void descent_stop(struct descent *d)
{
	decide_now(d);
	if (d->ask.sampled && witnesses_count(d->witnesses) >= SAMPLED_LEAST)
		end(d, DESCENT_ROOT_CAUSE);
	else
		end(d, d->decisions ? DESCENT_IN_PROGRESS : DESCENT_TOO_FEW);
}

enum descent_status descent_status(const struct descent *d)
{
	return d->phase == PHASE_DONE ? d->status : DESCENT_IN_PROGRESS;
}

static int arm_first(struct descent *d)
{
	struct fnode *root = &d->tree.node[0];
	uint32_t f0 = root->function;

	d->phase = PHASE_RUN;
	if (d->ask.sampled) {
		descent_arm_nothing(d);
		return 0;
	}
	if (root->votes && root->first_child != NO_INDEX) { /* continue where the session stood */
		descent_decide(d);
		return descent_go_on(d);
	}
	if (d->ask.level_by_level) {
		root->live = root->self_kept[CANDIDATE_SELF] = d->decided = true;
		return descent_plan(d);
	}
	/* Stack samples need calls of f0 alone; the parser works meanwhile. */
	if (d->tree.function[f0].state == FUNCTION_NEW) {
		d->tree.function[f0].state = FUNCTION_ASKED;
		d->expand[d->nr_expand++] = f0;
	}
	descent_arm_nothing(d);
	return 0;
}

static int begin_when_ready(struct descent *d)
{
	if (d->phase != PHASE_START || d->change.start.calls < d->ask.start_ops)
		return 0;
	if (d->ask.resumes && !d->saved_start.calls)
		return 0;
	descent_compare_saved(d, change_since_saved);
	if (change_seen(&d->change)) {
		end(d, DESCENT_CHANGED);
		return 0;
	}
	return arm_first(d);
}

static bool options_make_sense(const struct rec_descent *a)
{
	return a->function.module && a->low_ns < a->high_ns && a->start_ops <= MAX_OPS &&
	       a->decision_ops && a->decision_ops <= MAX_OPS && a->maxcount_ppm &&
	       a->maxcount_ppm <= 1000000 && a->max_depth && a->max_depth <= DESCENT_MAX_DEPTH &&
	       a->max_sites && a->max_sites <= DESCENT_MAX_SITES;
}

/* Another peak is asked for: keep what is known of the code, reset all counts. */
static void forget_counts(struct descent *d)
{
	for (uint32_t i = 0; i < d->tree.nr_nodes; i++) {
		struct fnode *n = &d->tree.node[i];

		free(n->tried);
		n->tried = NULL;
		n->nr_tried = n->chunks = n->second_looks = n->decisions = 0;
		n->unmeasured = n->hot_loop = n->closed = n->depth_limit = n->by_witness = false;
		n->kept = n->live = n->undecided = n->pending = n->trusted = false;
		n->spread = 0;
		n->opened = false;
		n->learn_asked = n->discovered;
		memset(n->self_kept, 0, sizeof(n->self_kept));
		memset(n->own, 0, sizeof(n->own));
		n->maxcount = n->votes = n->own_ns = n->loop_ns = n->longest_ns = 0;
		n->own_longest_ns = 0;
		memset(&n->all, 0, sizeof(n->all));
		memset(&n->window, 0, sizeof(n->window));
		memset(&n->dropped, 0, sizeof(n->dropped));
		if (n->state == FNODE_ARMED || n->state == FNODE_MEASURED)
			n->state = FNODE_UNTRIED;
		if (n->last != n->site)
			n->replaced = false;
	}
	for (uint32_t i = 0; i < d->tree.nr_functions; i++)
		if (d->tree.function[i].state == FUNCTION_ASKED)
			d->tree.function[i].state = FUNCTION_NEW;
	d->tree.tried_bytes = 0;
	witnesses_forget(d->witnesses);
}

static int take_ask(struct descent *d, const struct rec_descent *ask)
{
	bool again = d->phase != PHASE_IDLE && ask->op == d->ask.op &&
		     code_equal(ask->function, d->ask.function);

	if (!options_make_sense(ask))
		return -EINVAL;
	if (again) {
		forget_counts(d);
		d->change.low_ns = ask->low_ns;
		d->change.high_ns = ask->high_ns;
		change_forget_window(&d->change);
	} else {
		forget_tree(d);
		change_init(&d->change, ask->low_ns, ask->high_ns);
		d->witnesses = witnesses_new(ask->function);
		if (!d->witnesses || ftree_init(&d->tree, ask->function)) {
			forget_tree(d);
			return -ENOMEM;
		}
	}
	if (armed_set_goes_into_kernel(ask))
		witnesses_keep_syscalls(d->witnesses);
	d->ask = *ask;
	d->phase = PHASE_START;
	d->status = DESCENT_IN_PROGRESS;
	d->rounds = d->decisions = 0;
	d->calls_used = 0;
	d->nr_armed = d->nr_expand = d->nr_learn = 0;
	d->epoch_armed = false;
	d->say_arm = d->decided = d->plan_again = d->resuming = d->restarted = false;
	d->first_start_ns = d->last_end_ns = d->first_call_ns = 0;
	profile_init(&d->saved_start);
	d->changed_since_saved = false;
	d->scheduling_known = d->scheduling_unknown = 0;
	d->last_own.known = false;
	memset(&d->window, 0, sizeof(d->window));
	memset(&d->all, 0, sizeof(d->all));
	memset(&d->preempted_by, 0, sizeof(d->preempted_by));
	d->nr_handlers = 0;
	d->several_handlers = false;
	memset(&d->queued_by, 0, sizeof(d->queued_by));
	memset(&d->interrupts, 0, sizeof(d->interrupts));
	return again ? begin_when_ready(d) : 0;
}

static uint64_t calls_in_peak(const struct descent *d, const struct profile *p)
{
	uint32_t i, last = pt_bucket(d->ask.high_ns - 1);
	uint64_t calls = 0;

	for (i = pt_bucket(d->ask.low_ns); i <= last && i < PT_BUCKETS; i++)
		calls += p->count[i];
	return calls;
}

/* Returns true if f0 is still called, but hardly any call is in the peak since its callees are
 * timed: the probes take longer than the calls, and the correction for their cost is not exact
 * enough. */
static bool peak_has_moved(struct descent *d, const struct profile *p, uint64_t probes_ns)
{
	const struct profile *start = &d->change.start;
	struct armed_profile seen;
	double expected;

	if (d->ask.low_ns > MOVED_SHORT * probes_ns || d->phase != PHASE_RUN || !d->nr_armed ||
	    !start->calls || d->say_arm || d->seen.slices++ < MOVED_SLICES)
		return false;
	d->seen.calls += p->calls;
	d->seen.in_peak += calls_in_peak(d, p);
	seen = d->seen;
	expected = (double)seen.calls * (double)calls_in_peak(d, start) / (double)start->calls;
	if (expected < MOVED_CALLS)
		return false;
	d->seen.calls = d->seen.in_peak = 0;
	return (double)seen.in_peak * MOVED_FACTOR < expected;
}

static int take_profile(struct descent *d, const struct rec_profile *r)
{
	struct profile p;

	if (d->phase == PHASE_IDLE || d->phase == PHASE_DONE || r->op != d->ask.op)
		return 0;
	if (profile_of_record(&p, r))
		return -EINVAL;
	if (!p.calls)
		return 0;
	change_add(&d->change, &p, d->ask.start_ops, r->correction_ns);
	if (d->phase == PHASE_RUN && d->change.all.calls >= 2 * d->change.compared)
		descent_compare_saved(d, change_moved_since_saved);
	if (change_seen(&d->change))
		end(d, DESCENT_CHANGED);
	else if (peak_has_moved(d, &p, r->correction_ns))
		descent_lose_armed(d);
	return begin_when_ready(d);
}

/* Returns true if half of decision_ops calls are enough for a first decision, because their stack
 * samples are there; of rare calls MIN_FIRST are enough. The stack samples only propose what to
 * measure next, so this decision must not end the descent. */
static bool witnesses_are_enough(struct descent *d)
{
	uint32_t half = d->ask.decision_ops / 2,
		 enough = descent_decision_ops(d) < d->ask.decision_ops ? MIN_FIRST : half;

	if (d->ask.level_by_level || d->nr_armed || d->decisions || half < MIN_FIRST ||
	    d->window.records < enough || d->window.records > half ||
	    witnesses_count(d->witnesses) < enough)
		return false;
	descent_decide(d);
	d->decisions--;
	return fnode_wants_opening(d, 0);
}

/* Returns true while the first decision waits for stack samples, with f0 alone armed. Twenty fast
 * calls may end before their samples arrive. Below a system call, samples are the only source
 * beside its times. */
static bool waits_for_stacks(const struct descent *d, uint64_t now_ns)
{
	bool call = d->ask.function.module == REC_KERNEL_MODULE;
	/* Below a system call, count all stack samples with kernel frames or callers: sleeps
	 * without them come first and add no information. */
	uint64_t seen = call ? witnesses_stacks(d->witnesses) : witnesses_count(d->witnesses);

	if (d->ask.level_by_level && !call)
		return false;
	return !d->nr_armed && !d->decisions &&
	       now_ns - d->first_call_ns < (call ? STACKS_NS : SAMPLES_NS) &&
	       seen < (d->ask.decision_ops + 1) / 2;
}

static bool is_asked(const struct descent *d, const struct rec_call *c)
{
	if (c->op != d->ask.op || c->outcome == CALL_OPEN || d->ask.sampled)
		return false;
	return c->outcome == CALL_BLURRED ||
	       (c->latency_ns >= d->ask.low_ns && c->latency_ns < d->ask.high_ns);
}

static int take_call(struct descent *d, const struct rec_call *c)
{
	int err, late;

	if ((d->phase != PHASE_START && d->phase != PHASE_RUN) || !is_asked(d, c))
		return 0;
	if (c->raw_ns > c->latency_ns && c->outcome != CALL_BLURRED)
		change_probes(&d->change, c->raw_ns - c->latency_ns);
	/* Match stack samples with the uncorrected end, because they were taken while the probes
	 * ran. */
	late = witnesses_call(d->witnesses, c->tid, c->start_ns,
			      c->start_ns + (c->raw_ns ? c->raw_ns : c->latency_ns));
	if (d->phase != PHASE_RUN || c->epoch != d->epoch || c->outcome == CALL_BLURRED ||
	    descent_half_known(d, c) || descent_drowns(d, c))
		return late;
	err = descent_vote(d, c);
	if (err)
		return err;
	if (d->resuming)
		return late;
	if (d->window.records == 1)
		d->first_call_ns = c->start_ns;
	if ((d->window.records % descent_decision_ops(d) == 0 &&
	     !waits_for_stacks(d, c->start_ns)) ||
	    witnesses_are_enough(d)) {
		descent_decide(d);
		if (descent_settled(d, c->start_ns + c->latency_ns))
			end(d, DESCENT_ROOT_CAUSE);
		else
			err = descent_plan(d);
	}
	return err ? err : late;
}

/* Counts a sample of a descent by samples alone: it was taken in f0, in whichever call. */
static int take_sample(struct descent *d, const struct rec_witness *w)
{
	int err;

	if (d->phase != PHASE_RUN || w->op != d->ask.op || w->kind == WITNESS_SLEEP)
		return 0;
	err = witnesses_count_one(d->witnesses, w);
	d->first_call_ns = d->first_call_ns ? d->first_call_ns : w->at_ns;
	if (descent_samples_suffice(d, w->at_ns))
		end(d, DESCENT_ROOT_CAUSE);
	return err;
}

static int take_witness(struct descent *d, const struct rec_witness *w)
{
	if (d->ask.sampled)
		return take_sample(d, w);
	if ((d->phase != PHASE_START && d->phase != PHASE_RUN) || w->op != d->ask.op)
		return 0;
	return witnesses_add(d->witnesses, w);
}

static void take_target(struct descent *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->nr_targets; i++)
		if (d->target[i] == pid)
			return;
	if (d->nr_targets < DESCENT_MAX_TARGETS)
		d->target[d->nr_targets++] = pid;
}

/* Ends the descent when the last target process has ended. */
static void take_target_end(struct descent *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->nr_targets; i++) {
		if (d->target[i] == pid) {
			d->target[i] = d->target[--d->nr_targets];
			break;
		}
	}
	if (!d->nr_targets) {
		decide_now(d);
		end(d, DESCENT_TARGET_END);
	}
}

int descent_feed(struct descent *d, const struct record *rec)
{
	switch ((int)rec->type) {
	case REC_DESCENT:
		return take_ask(d, &rec->descent);
	case REC_FNODE:
		return descent_restore(d, &rec->fnode);
	case REC_SAVED_PROFILE:
		return descent_take_saved_profile(d, &rec->profile);
	case REC_PROFILE:
		return take_profile(d, &rec->profile);
	case REC_CALL:
		return take_call(d, &rec->call);
	case REC_WITNESS:
		return take_witness(d, &rec->witness);
	case REC_CALLEES:
		return descent_take_callees(d, &rec->callees);
	case REC_INDIRECT_CALLEES:
		return descent_take_indirect_callees(d, &rec->discovered);
	case REC_FNODE_LOST:
		return descent_take_lost(d, &rec->fnode_lost);
	case REC_TARGET:
		take_target(d, rec->target.pid);
		return 0;
	case REC_TARGET_END:
		take_target_end(d, rec->target_end.pid);
		return 0;
	default:
		return 0;
	}
}

void descent_next(struct descent *d, struct descent_action *a)
{
	*a = (struct descent_action){.kind = DESCENT_WAIT, .epoch = d->epoch};
	if (d->phase == PHASE_DONE) {
		a->kind = DESCENT_DONE;
	} else if (d->nr_expand) {
		a->kind = DESCENT_EXPAND;
		a->function = d->tree.function[d->expand[0]].key;
		memmove(d->expand, d->expand + 1, --d->nr_expand * sizeof(d->expand[0]));
	} else if (d->nr_learn) {
		a->kind = DESCENT_LEARN;
		a->node = d->learn[0];
		fnode_report(d, a->node, &d->learn_out);
		a->armed = &d->learn_out;
		memmove(d->learn, d->learn + 1, --d->nr_learn * sizeof(d->learn[0]));
	} else if (d->say_arm) {
		a->kind = DESCENT_ARM;
		a->nr_armed = d->nr_armed;
		a->armed = d->armed_out;
		d->say_arm = false;
	}
}

const struct profile *descent_start_profile(const struct descent *d)
{
	return &d->change.start;
}

void descent_progress(const struct descent *d, struct descent_progress *out)
{
	*out = (struct descent_progress){.status = descent_status(d),
					 .rounds = d->rounds,
					 .calls_used = d->calls_used,
					 .armed = d->phase == PHASE_RUN ? d->nr_armed : 0,
					 .decisions = d->decisions,
					 .contradicted = d->tree.contradicted};
	if (d->phase == PHASE_IDLE)
		return;
	out->until_next =
	    descent_decision_ops(d) - (unsigned int)(d->window.records % descent_decision_ops(d));
	out->start_calls = d->change.start.calls;
	out->witnesses = witnesses_count(d->witnesses);
}
