// SPDX-License-Identifier: GPL-2.0-or-later
/* Judges how far an answer can be trusted: the missing shares, confidence intervals, and
 * contradictions. */
#include <math.h>

#include "analysis/descent/result_impl.h"

/* If less of the peak's time is explained, the causes are not called the root cause. */
#define EXPLAINED_LEAST 0.6
/* A missing callee with this share of the time is named in the answer. */
#define WORTH_A_NAME 0.05
/* A missing callee is followed if it takes so many times as long as the program's largest path. */
#define MISSING_LEADS 2
/* Only if the host has this share of the time: else too little is explained, which is said. */
#define HOST_LEADS 0.5
/* Tolerance for rounding, and for means over slightly different calls. */
#define SLACK 1.02
/* A path with this share of the program's time must be followed to its end. */
#define PATH_MATTERS 0.1
/* If the decisions took at least this long, the calls come slowly: two decisions that agree are
 * enough. */
#define SLOW_NS 2000000000ull
/* A stack is sampled once a millisecond: short calls may end without any sample. */
#define SHORT_NS 1000000ull
/* If so many samples are expected and there is none, that is not chance. */
#define SAMPLES_EXPECTED 10
/* How long an answer about short calls waits for samples, and one about own code. */
#define SAMPLES_WAIT_NS 8000000000ull
#define OWN_WAIT_NS 3000000000ull
/* If the next decision is further away, the answer does not wait for it. */
#define SOON_NS 1000000000.0
/* The measured calls are unlike those that were watched if their means differ by this factor. */
#define UNLIKE 1.5
/* How long the descent of calls that the user named waits for calls like those that were watched.
 */
#define UNLIKE_WAIT_NS 8000000000ull
/* Standard deviations on each side of a 95% confidence interval. */
#define SIGMAS 1.96

bool cause_of_host(enum cause_kind kind)
{
	return kind == CAUSE_PREEMPTION || kind == CAUSE_RUN_QUEUE || kind == CAUSE_INTERRUPT;
}

/* Returns true if this kind names what the time was spent on. */
static bool cause_is_named(enum cause_kind kind)
{
	return kind != CAUSE_UNMEASURED && kind != CAUSE_UNKNOWN;
}

/* Returns true if it is known what a loop does: its calls were timed, the function that it calls
 * has a name, or samples place most of the time in its own code. Otherwise the calls that were
 * too hot to be timed may be any of those that the function makes. */
static bool loop_is_named(const struct descent *d, const struct descent_result *r,
			  const struct descent_path *p)
{
	uint32_t node = r->nodes[p->frames[p->nr_frames - 1]].node;

	return p->looped.function.module || p->looped.own || !d->tree.node[node].hot_loop;
}

/* Returns true if no stack was seen in any call, although the function's own code ran for so long.
 * Then nothing confirms that what is left of its time is its own code. */
static bool lacks_samples(const struct descent *d, const struct descent_result *r,
			  const struct descent_path *p)
{
	return p->cause.kind == CAUSE_OWN_CODE && p->evidence == EVIDENCE_MEASURED &&
	       !d->ask.level_by_level && !witnesses_count(d->witnesses) &&
	       p->latency_ns * r->calls_used >= SAMPLES_EXPECTED * SHORT_NS;
}

/* Returns true if samples see the callee that they name in its own code for half of its time or
 * more. Else the time is somewhere below it: the callee is on the way, and no cause. */
static bool sampled_callee_is_leaf(const struct descent_path *p)
{
	for (unsigned int i = 0; i < p->nr_below; i++)
		if (code_equal(p->below[i].function, p->looped.function))
			return p->below[i].share * 2 >= p->looped.share;
	return false;
}

/* The share of a path whose cause is named; of calls that were not timed, what samples name. */
static double named_share(const struct descent *d, const struct descent_result *r,
			  const struct descent_path *p)
{
	bool named = cause_is_named(p->cause.kind) && !lacks_samples(d, r, p) &&
		     (p->cause.kind != CAUSE_LOOP || loop_is_named(d, r, p));

	if (p->cause.kind == CAUSE_UNMEASURED && !sampled_callee_is_leaf(p))
		return 0;
	return named ? p->share : p->looped.share;
}

static double sum_of(const struct descent_result *r, bool (*is)(enum cause_kind))
{
	double sum = 0;

	for (unsigned int i = 0; i < r->nr_paths; i++)
		sum += is(r->paths[i].cause.kind) ? r->paths[i].share : 0;
	return sum;
}

/* Returns true for causes that keep a runnable thread from a CPU, or stop it. A quota and a stop
 * count here, too, although cause_of_host() excludes them. */
static bool keeps_from_cpu(enum cause_kind kind)
{
	return cause_of_host(kind) || kind == CAUSE_QUOTA || kind == CAUSE_STOPPED;
}

static bool is_unknown(enum cause_kind kind)
{
	return kind == CAUSE_UNKNOWN;
}

/* Returns the share of waiting for a CPU and interrupts in the time of an in-peak call. */
static double host_share(const struct builder *b)
{
	const struct totals *t = descent_totals(b->d);

	return ratio(descent_host_ns(t), (double)t->latency_ns);
}

static bool is_on_a_path(const struct descent_result *r, uint32_t node)
{
	for (unsigned int i = 0; i < r->nr_paths; i++)
		for (unsigned int k = 0; k < r->paths[i].nr_frames; k++)
			if (r->paths[i].frames[k] == node)
				return true;
	return false;
}

/* Finds the largest callee that is on no path but whose caller is. */
static void find_largest_missing(struct descent_result *r)
{
	for (uint32_t i = 1; i < r->nr_nodes; i++) {
		const struct descent_fnode *n = &r->nodes[i];
		uint32_t caller = 0;

		while (caller < i && r->nodes[caller].node != n->parent)
			caller++;
		if (!n->records || n->share < WORTH_A_NAME ||
		    n->share <= r->missing.largest_share || n->share > r->missing.other ||
		    !is_on_a_path(r, caller) || is_on_a_path(r, i))
			continue;
		r->missing.largest = i;
		r->missing.largest_share = n->share;
	}
}

static void find_missing(struct builder *b)
{
	struct descent_missing *m = &b->r->missing;
	double reported = sum_of(b->r, keeps_from_cpu) + b->awaited, host = host_share(b);

	for (unsigned int i = 0; i < b->r->nr_paths; i++) {
		const struct descent_path *p = &b->r->paths[i];
		double nameless = p->share - named_share(b->d, b->r, p);

		if (p->cause.kind == CAUSE_OWN_CODE)
			m->unsampled += nameless;
		else if (!is_unknown(p->cause.kind))
			m->unmeasured += nameless;
	}
	m->unknown = sum_of(b->r, is_unknown);
	m->host = fmax(0, fmin(host - reported, 1 - b->r->explained));
	m->other = fmax(0, 1 - b->r->explained - m->host);
	find_largest_missing(b->r);
}

/* Adds paths for a missing callee that takes much longer than every path of the program: without
 * them, an answer that names the host first would name a smaller part as the program's own. Returns
 * true if it has added any. */
static bool follow_missing(struct builder *b)
{
	struct descent_result *r = b->r;

	if (host_share(b) < HOST_LEADS)
		return false;
	for (unsigned int i = 0; i < r->nr_paths; i++)
		if (!cause_of_host(r->paths[i].cause.kind) &&
		    r->paths[i].share * MISSING_LEADS >= r->missing.largest_share)
			return false;
	return r->missing.largest && result_add_unfollowed(b, r->nodes[r->missing.largest].node);
}

/* Computes what the paths name, and what is missing. */
static void add_up_named(struct builder *b)
{
	struct descent_result *r = b->r;

	r->missing = (struct descent_missing){0};
	r->named = 0;
	for (unsigned int i = 0; i < r->nr_paths; i++)
		r->named += named_share(b->d, r, &r->paths[i]);
	find_missing(b);
}

/* Computes the confidence intervals: of the mean latency from the spread of the n calls; of the
 * explained share as if each call were either explained or not (Wilson score interval). */
static void find_intervals(struct builder *b)
{
	const struct totals *t = descent_totals(b->d);
	double n = (double)t->records, z = SIGMAS * SIGMAS, p = b->r->explained, error, middle;

	if (n < 1)
		return;
	error =
	    n > 1
		? SIGMAS * sqrt(fmax(0, t->latency_squares / n - b->latency * b->latency) / (n - 1))
		: b->latency;
	b->r->latency_interval =
	    (struct descent_interval){fmax(0, b->latency - error), b->latency + error};
	middle = (p + z / (2 * n)) / (1 + z / n);
	error = SIGMAS * sqrt(p * (1 - p) / n + z / (4 * n * n)) / (1 + z / n);
	b->r->explained_interval = (struct descent_interval){fmax(0, fmin(p, middle - error)),
							     fmin(1, fmax(p, middle + error))};
}

/* Compares the measured calls with those that were watched before. They are shorter if the long
 * ones are too rare to be measured in time, or if probes made calls of a faster peak long enough to
 * count. They are longer if the cost of the probes inside them is not known well enough. */
static void find_unlike(struct builder *b)
{
	struct descent_result *r = b->r;
	double mean = (double)b->d->ask.mean_ns;

	if (mean > UNLIKE * r->latency_interval.high || mean * UNLIKE < r->latency_interval.low)
		r->expected_ns = b->d->ask.mean_ns;
	/* what is explained is the time of the measured calls only */
	if (r->expected_ns && b->latency < mean)
		r->named *= b->latency / mean;
}

static bool explains_enough(const struct builder *b)
{
	const struct descent_result *r = b->r;
	double host = sum_of(r, cause_of_host), program = r->named - host,
	       of_program = 1 - fmax(host, host_share(b));
	const struct descent_path *own = r->paths, *end = own + r->nr_paths;

	while (own < end && cause_of_host(own->cause.kind))
		own++;
	if (own < end && own->share >= WORTH_A_NAME && named_share(b->d, r, own) <= 0)
		return false;
	if (r->missing.other > fmax(program, WORTH_A_NAME))
		return false;
	if (r->named < EXPLAINED_LEAST || !r->nr_paths || r->expected_ns ||
	    named_share(b->d, r, &r->paths[0]) <= 0)
		return false;
	/* The host's part alone does not explain what the program does in the rest of the time. */
	return of_program < PROGRAM_LEAST || program >= EXPLAINED_LEAST * of_program;
}

bool descent_contradicts(const struct descent_result *r, const struct rec_descent *ask,
			 uint64_t wall_ns, char *why, size_t size)
{
	double mean = (double)r->latency_ns;

	if (!r->calls_used)
		return false;
	if (mean * SLACK < (double)ask->low_ns ||
	    (ask->high_ns != UINT64_MAX && mean > SLACK * (double)ask->high_ns)) {
		snprintf(why, size,
			 "the mean of the calls, %.0f ns, is outside the range of the peak", mean);
		return true;
	}
	if (wall_ns && mean > SLACK * (double)wall_ns) {
		snprintf(why, size,
			 "one call takes %.0f ns, but all calls were seen within %.0f ns", mean,
			 (double)wall_ns);
		return true;
	}
	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];

		if ((double)p->latency_ns > SLACK * mean) {
			snprintf(why, size, "path %u takes longer than the calls that contain it",
				 i + 1);
			return true;
		}
		for (unsigned int k = 1; k < p->nr_frames; k++) {
			const struct descent_fnode *f = &r->nodes[p->frames[k]],
						   *caller = &r->nodes[p->frames[k - 1]];

			if (f->share <= SLACK * caller->share &&
			    (double)f->latency_ns <= SLACK * (double)caller->latency_ns)
				continue;
			snprintf(why, size, "frame %u of path %u takes longer than its caller", k,
				 i + 1);
			return true;
		}
	}
	return false;
}

static void drop_paths(struct descent_result *r)
{
	while (r->nr_paths)
		free((void *)(uintptr_t)r->paths[--r->nr_paths].frames);
	r->explained = r->named = 0;
	r->missing = (struct descent_missing){.other = 1};
	for (uint32_t i = 0; i < r->nr_nodes; i++)
		r->nodes[i].root_cause = false;
}

void result_judge(struct builder *b)
{
	struct descent_result *r = b->r;
	uint64_t wall = b->d->last_end_ns - b->d->first_start_ns;

	add_up_named(b);
	if (follow_missing(b)) {
		result_add_up(b);
		add_up_named(b);
	}
	if (r->refused[0] ||
	    descent_contradicts(r, &b->d->ask, wall, r->refused, sizeof(r->refused)))
		drop_paths(r);
	find_intervals(b);
	if (b->d->ask.mean_ns && r->calls_used)
		find_unlike(b);
	r->enough = explains_enough(b);
	if ((r->status == DESCENT_ROOT_CAUSE && !r->enough) ||
	    (r->status == DESCENT_DEPTH_REACHED && r->refused[0]))
		r->status = DESCENT_PARTLY;
}

static bool is_above(const struct ftree *t, uint32_t above, uint32_t node)
{
	while (node && node != above)
		node = t->node[node].parent;
	return node == above;
}

/* Returns true if every path of the program that matters was followed to its end. */
static bool paths_are_complete(const struct descent *d, const struct descent_result *r)
{
	const struct totals *t = descent_totals(d);
	double matters = PATH_MATTERS * ratio(descent_program_ns(t), (double)t->latency_ns);

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];

		if (!cause_of_host(p->cause.kind) && p->share >= matters &&
		    !fnode_is_measured(d, r->nodes[p->frames[p->nr_frames - 1]].node))
			return false;
	}
	return true;
}

bool descent_settled(struct descent *d, uint64_t now_ns)
{
	const struct descent_path *own = NULL;
	struct descent_result r;
	bool settled = false;
	uint32_t node;

	if (descent_result(d, &r))
		return false;
	for (unsigned int i = 0; i < r.nr_paths && !own; i++)
		if (!cause_of_host(r.paths[i].cause.kind))
			own = &r.paths[i];
	if (own) {
		node = r.nodes[own->frames[own->nr_frames - 1]].node;
		settled = d->last_own.known && d->last_own.kind == own->cause.kind &&
			  is_above(&d->tree, d->last_own.node, node) && r.enough &&
			  paths_are_complete(d, &r) && now_ns - d->first_start_ns >= SLOW_NS &&
			  d->calls_used >= descent_decision_ops(d);
		d->last_own.known = true;
		d->last_own.kind = own->cause.kind;
		d->last_own.node = node;
	}
	descent_result_release(&r);
	return settled;
}

/* Returns true if samples may tell more about this path, after calls were seen for `span_ns`. */
static bool path_wants_samples(const struct descent *d, const struct descent_result *r,
			       const struct descent_path *p, uint64_t span_ns)
{
	uint32_t node = r->nodes[p->frames[p->nr_frames - 1]].node;
	struct witness_set set;
	uint64_t stacks;

	fnode_witness_set(d, node, &set);
	stacks = witness_set_stacks(d->witnesses, &set);
	if (p->cause.kind == CAUSE_UNMEASURED || p->cause.kind == CAUSE_LOOP)
		return p->looped.share <= 0 && stacks < SAMPLED_LEAST;
	return p->cause.kind == CAUSE_OWN_CODE && !stacks && span_ns < OWN_WAIT_NS;
}

bool descent_wants_samples(const struct descent *d)
{
	const struct totals *t = descent_totals(d);
	uint64_t span = d->last_end_ns - d->first_start_ns;
	struct descent_result r;
	bool wants = false;

	if (d->ask.level_by_level || !d->calls_used || span >= SAMPLES_WAIT_NS ||
	    t->latency_ns >= SHORT_NS * t->records ||
	    (double)span * descent_decision_ops(d) > SOON_NS * (double)d->calls_used ||
	    descent_result(d, &r))
		return false;
	for (unsigned int i = 0; i < r.nr_paths; i++) {
		if (cause_of_host(r.paths[i].cause.kind))
			continue;
		wants = path_wants_samples(d, &r, &r.paths[i], span);
		break;
	}
	descent_result_release(&r);
	return wants;
}

bool descent_awaits_longer_calls(const struct descent *d)
{
	struct descent_result r;
	bool awaits;

	if (d->ask.choice != DESCENT_NAMED_CALLS || !d->ask.mean_ns ||
	    d->last_end_ns - d->first_start_ns >= UNLIKE_WAIT_NS || descent_result(d, &r))
		return false;
	awaits = r.expected_ns > r.latency_ns;
	descent_result_release(&r);
	return awaits;
}
