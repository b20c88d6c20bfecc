// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decision logic on random programs (docs/notes/descent.md): at least 2,000 of
 * them, half with seeds that are new in each run, against an answer computed by brute
 * force. PEAKTOP_SEED repeats a run, PEAKTOP_PROGRAMS asks for another number,
 * PEAKTOP_ONE=SEED tells one program's story.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "tests/unit/descent/harness.h"
#include "tests/unit/descent/judge.h"

enum { MAX_CALLS = 12000, EXTRA_CALLS = 400, ALL_PROGRAMS = 2000 };
#ifdef __SANITIZE_ADDRESS__
enum { PROGRAMS = 500 }; /* that one looks for errors of memory, and takes several times as long */
#else
enum { PROGRAMS = ALL_PROGRAMS };
#endif

struct score {
	unsigned int programs, wrong, unfinished, rounds_over_3, shares, shares_wrong;
	unsigned int required, optional;
	uint64_t rounds, in_peak_calls, calls;
	unsigned int max_rounds;
};

static bool verbose;

static const char *const judged_text[J_KINDS] = {"self",      "blocked",   "fault",
						 "preempted", "run queue", "interrupt"};

static const struct t_site *site_at(const struct program *p, uint64_t offset)
{
	unsigned int f = (unsigned int)(offset >> 16) - 1;

	(void)p;
	return &p->function[f].site[(offset - p->function[f].offset - 16) / 8];
}

/*
 * Leave out who has left by a jump: a stack cannot tell whether a function was called or
 * jumped to.
 */
static void without_tail_calls(const struct program *p, const char *path, char *out, size_t size)
{
	unsigned int site, function, first = 0;
	size_t n = 0, pending = 0;

	out[0] = '\0';
	while (sscanf(path, ">%x.%x", &site, &function) == 2 && n < size) {
		if (site && !site_at(p, (uint64_t)site << 3)->rec.ret) {
			n = pending; /* overwrite the caller, keep its site */
			site = first;
		}
		pending = n;
		first = site;
		n += (size_t)snprintf(out + n, size - n, ">%x.%x", site, function);
		path = strchr(path + 1, '>');
		if (!path)
			break;
	}
}

static bool same_path(const struct program *p, const char *a, const char *b)
{
	char x[PATH_TEXT], y[PATH_TEXT];

	without_tail_calls(p, a, x, sizeof(x));
	without_tail_calls(p, b, y, sizeof(y));
	return !strcmp(x, y);
}

/* Does the way to an entry lead through a site that a fuse had to remove? Then `path` may end
 * there. */
static bool ends_before_hot(const struct harness *h, const struct judge *j, int entry,
			    const char *path)
{
	unsigned int i, site;
	const char *last;

	for (; j->entry[entry].parent >= 0; entry = j->entry[entry].parent) {
		last = strrchr(j->entry[entry].path, '>');
		if (sscanf(last, ">%x", &site) != 1)
			continue;
		for (i = 0; i < h->nr_hot; i++)
			if (h->hot_site[i] >> 3 == site &&
			    same_path(h->p, j->entry[j->entry[entry].parent].path, path))
				return true;
	}
	return false;
}

/*
 * A way that few of the calls take (less than a tenth, and who has seen some forty
 * calls may think so up to a third) need not be followed to its end: whatever is
 * said of its time there is true.
 */
static bool few_go_there(const struct harness *h, const struct judge *j, const char *path,
			 bool spread)
{
	unsigned int i;

	for (i = 0; i < j->nr; i++) {
		const struct entry *e = &j->entry[i];

		if (e->votes < 0.3 * (double)j->calls &&
		    same_path(h->p, spread && e->parent >= 0 ? j->entry[e->parent].path : e->path,
			      path))
			return true;
	}
	return false;
}

/* The path of an answer as the judge writes it. */
static void path_text(const struct program *p, const struct descent_result *r,
		      const struct descent_path *path, char *out, size_t size)
{
	unsigned int i;
	size_t n = (size_t)snprintf(out, size, ">0.0");

	for (i = 1; i < path->nr_frames && n < size; i++) {
		const struct descent_fnode *f = &r->nodes[path->frames[i]];

		n += (size_t)snprintf(out + n, size - n, ">%x.%x",
				      (unsigned int)(f->site.offset >> 3),
				      function_at(p, f->function.offset));
	}
}

static bool is_host(enum cause_kind k)
{
	return k == CAUSE_PREEMPTION || k == CAUSE_RUN_QUEUE || k == CAUSE_INTERRUPT;
}

static bool function_untimed(const struct program *p, unsigned int f)
{
	unsigned int i;

	for (i = 0; i < p->function[f].nr_sites; i++)
		if (!(p->function[f].site[i].rec.flags & (CALL_SITE_TIMED | CALL_SITE_NORETURN)))
			return true;
	return false;
}

static bool sleep_kind_fits(const struct program *p, enum cause_kind k)
{
	return k == CAUSE_SLEEP || k == p->sleep->cause;
}

/* Is the first step of a path a jump out of f0? */
static bool leaves_by_jump(const struct program *p, const char *path)
{
	unsigned int site;

	path = strchr(path + 1, '>');
	return path && sscanf(path, ">%x", &site) == 1 && !site_at(p, (uint64_t)site << 3)->rec.ret;
}

/* Is this the right word for what the judge found there? */
static bool cause_fits(const struct harness *h, const struct judge *j, const struct leaf *l,
		       enum cause_kind k)
{
	const struct entry *e = &j->entry[l->entry];
	bool untimed = function_untimed(h->p, e->function) || h->hot[e->function];

	switch (l->kind) {
	case J_PREEMPTED:
		return k == CAUSE_PREEMPTION;
	case J_RUNQUEUE:
		return k == CAUSE_RUN_QUEUE;
	case J_INTERRUPT:
		return k == CAUSE_INTERRUPT;
	case J_BLOCKED: /* without f0 in the stacks, which has left by a jump, nobody can say why */
		return sleep_kind_fits(h->p, k) ||
		       (k == CAUSE_UNKNOWN && leaves_by_jump(h->p, e->path));
	case J_FAULT:
		return k == CAUSE_PAGE_FAULT;
	default:
		break;
	}
	if (e->depth >= h->p->max_depth && h->p->function[e->function].nr_sites)
		return k == CAUSE_UNMEASURED || k == CAUSE_PAGE_FAULT || k == CAUSE_OWN_CODE ||
		       sleep_kind_fits(h->p, k);
	if (k == CAUSE_UNMEASURED)
		return untimed;
	if (k == CAUSE_LOOP)
		return e->loop_ns > e->own_ns * 0.8 || h->hot[e->function];
	return k == CAUSE_OWN_CODE && e->own_ns > (e->loop_ns + e->untimed_ns) * 0.8;
}

static bool leaf_fits(const struct harness *h, const struct judge *j, const struct leaf *l,
		      const char *path, const struct descent_path *got)
{
	if (is_host(got->cause.kind))
		return l->kind >= J_PREEMPTED && cause_fits(h, j, l, got->cause.kind);
	/* Where a callee cannot be timed, all that it does is its caller's rest. */
	if (ends_before_hot(h, j, l->entry, path))
		return true;
	if (l->kind == J_SELF && function_untimed(h->p, j->entry[l->entry].function) &&
	    same_path(h->p, j->entry[l->entry].path, path) && j->entry[l->entry].untimed_ns > 0 &&
	    (sleep_kind_fits(h->p, got->cause.kind) || got->cause.kind == CAUSE_PAGE_FAULT ||
	     (got->cause.kind == CAUSE_UNKNOWN && leaves_by_jump(h->p, path))))
		return true;
	return same_path(h->p, j->entry[l->entry].path, path) &&
	       cause_fits(h, j, l, got->cause.kind);
}

static void tell_story(const struct harness *h, const struct judge *j, const struct verdict *v,
		       const struct descent_result *r)
{
	char path[PATH_TEXT];
	unsigned int i;

	printf("  peak %llu..%llu, base %.0f, %u rounds, %llu in-peak calls, %s\n",
	       (unsigned long long)h->p->low_ns, (unsigned long long)h->p->high_ns, h->p->base_ns,
	       r->rounds, (unsigned long long)r->calls_used, descent_status_text(r->status));
	for (i = 0; i < v->nr; i++) {
		const struct entry *e = &j->entry[v->leaf[i].entry];

		printf("  %s %s %s (%.0f votes of %.0f; own %.0f loop %.0f untimed %.0f)\n",
		       v->leaf[i].required ? "must" : "may", e->path, judged_text[v->leaf[i].kind],
		       e->self[v->leaf[i].kind], (double)j->calls, e->own_ns, e->loop_ns,
		       e->untimed_ns);
	}
	for (i = 0; verbose && i < r->nr_nodes; i++)
		printf(
		    "  fnode %u of %u: site %x callee %x state %u share %.3f maxcount %llu of %llu "
		    "measured in %llu%s\n",
		    r->nodes[i].node, r->nodes[i].parent,
		    (unsigned int)(r->nodes[i].site.offset >> 3),
		    function_at(h->p, r->nodes[i].function.offset), (unsigned int)r->nodes[i].state,
		    r->nodes[i].share, (unsigned long long)r->nodes[i].maxcount,
		    (unsigned long long)r->nodes[i].votes, (unsigned long long)r->nodes[i].records,
		    r->nodes[i].root_cause ? ", root cause" : "");
	for (i = 0; i < r->nr_paths; i++) {
		path_text(h->p, r, &r->paths[i], path, sizeof(path));
		printf("  said %s %s, share %.3f, %llu votes\n", path,
		       cause_kind_text(r->paths[i].cause.kind), r->paths[i].share,
		       (unsigned long long)r->paths[i].maxcount);
	}
}

/* Every path that must be there is, and none that may not. */
static bool answer_is_right(const struct harness *h, const struct judge *j,
			    const struct descent_result *r)
{
	struct verdict v;
	char path[PATH_TEXT];
	unsigned int i, k;
	bool found, right = true;

	judge_answer(j, &v);
	for (i = 0; i < r->nr_paths; i++) {
		path_text(h->p, r, &r->paths[i], path, sizeof(path));
		found = few_go_there(h, j, path, !strncmp(r->paths[i].cause.detail, "spread", 6));
		/* beside what the host took, a few percent of the time: some calls cannot tell who
		 * has them */
		found |= i > 0 && is_host(r->paths[0].cause.kind) && r->paths[i].share < 0.06;
		for (k = 0; k < v.nr; k++)
			found |= leaf_fits(h, j, &v.leaf[k], path, &r->paths[i]);
		if (!found)
			printf("  not right: %s %s\n", path,
			       cause_kind_text(r->paths[i].cause.kind));
		right &= found;
	}
	for (k = 0; k < v.nr; k++) {
		for (i = 0, found = !v.leaf[k].required; i < r->nr_paths; i++) {
			path_text(h->p, r, &r->paths[i], path, sizeof(path));
			found |= leaf_fits(h, j, &v.leaf[k], path, &r->paths[i]);
		}
		if (!found)
			printf("  missed: %s %s\n", j->entry[v.leaf[k].entry].path,
			       judged_text[v.leaf[k].kind]);
		right &= found;
	}
	right &= r->nr_paths > 0;
	if (!right || verbose)
		tell_story(h, j, &v, r);
	return right;
}

/* With one path and one culprit, the share must be what the culprit took. */
static void check_share(const struct program *p, const struct judge *j,
			const struct descent_result *r, uint64_t seed, struct score *score)
{
	double is = j->culprit / j->latency;

	if (p->mode[p->asked].nr != 1 || r->nr_paths != 1 ||
	    r->paths[0].cause.kind == CAUSE_UNMEASURED)
		return;
	score->shares++;
	if (fabs(r->paths[0].share - is) < 0.1)
		return;
	score->shares_wrong++;
	printf("  share: PEAKTOP_ONE=%llu: said %.3f, is %.3f\n", (unsigned long long)seed,
	       r->paths[0].share, is);
}

static void count_leaves(const struct judge *j, struct score *score)
{
	struct verdict v;
	unsigned int i;

	judge_answer(j, &v);
	for (i = 0; i < v.nr; i++) {
		if (v.leaf[i].required)
			score->required++;
		else
			score->optional++;
	}
}

static void check_sums(const struct descent_result *r)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < r->nr_paths; i++) {
		assert_true(r->paths[i].share >= 0);
		sum += r->paths[i].share;
	}
	assert_true(fabs(sum - r->explained) < 1e-9);
	assert_true(r->explained <= 1 + 1e-9);
}

static void run_program(uint64_t seed, struct score *score)
{
	static struct program p;
	static struct harness h;
	static struct call c;
	struct judge j;
	struct descent_result r;
	bool level = seed & 1, right;
	unsigned int i;

	program_make(&p, seed);
	memset(&h, 0, sizeof(h));
	h.p = &p;
	h.now = 1000;
	h.d = descent_new();
	h.witness_period = (double)p.low_ns / (1 + 8 * uniform());
	judge_init(&j, &p);
	harness_ask(&h, level);
	for (i = 0; i < MAX_CALLS && !harness_done(&h); i++) {
		execute_call(&p, pick_mode(&p), &c);
		remember_seen(&h, &c);
		if (in_peak(&p, &c))
			judge_call(&j, &c);
		send_call(&h, &c);
	}
	for (i = 0; i < EXTRA_CALLS; i++) {
		execute_call(&p, &p.mode[p.asked], &c);
		if (in_peak(&p, &c))
			judge_call(&j, &c);
	}
	assert_int_equal(descent_result(h.d, &r), 0);
	check_sums(&r);
	if (h.too_many_sites)
		printf("  %u sites armed: PEAKTOP_ONE=%llu\n", h.max_armed_sites,
		       (unsigned long long)seed);
	assert_false(h.too_many_sites);
	assert_false(h.orphan);
	for (i = 0; verbose && i < p.nr_functions; i++)
		for (unsigned int k = 0; k < p.function[i].nr_sites; k++)
			printf("  function %x site %x kind %u flags %u block %u callee %x of %u, p "
			       "%.1f, "
			       "repeat %u\n",
			       i, (unsigned int)(p.function[i].site[k].rec.offset >> 3),
			       p.function[i].site[k].rec.kind, p.function[i].site[k].rec.flags,
			       p.function[i].site[k].rec.block, p.function[i].site[k].target[0],
			       p.function[i].site[k].nr_targets, p.function[i].site[k].p,
			       p.function[i].site[k].repeat);
	if (verbose)
		printf("seed %llu:\n", (unsigned long long)seed);
	right = answer_is_right(&h, &j, &r);
	if (right)
		check_share(&p, &j, &r, seed, score);
	count_leaves(&j, score);
	score->programs++;
	score->wrong += !right;
	score->unfinished += r.status == DESCENT_IN_PROGRESS;
	score->rounds += level ? 0 : r.rounds;
	score->rounds_over_3 += !level && r.rounds > 3;
	score->in_peak_calls += r.calls_used;
	score->calls += h.calls;
	if (!right)
		printf("  wrong: PEAKTOP_ONE=%llu (%s)\n", (unsigned long long)seed,
		       level ? "level by level" : "witnessed");
	descent_result_release(&r);
	judge_release(&j);
	descent_free(h.d);
	program_release(&p);
}

static void report(const char *what, const struct score *s)
{
	printf("%s: %u programs, %u wrong (%.2f%%), %u not finished; in-peak calls to the answer "
	       "%.0f, "
	       "calls %.0f\n",
	       what, s->programs, s->wrong, 100.0 * s->wrong / s->programs, s->unfinished,
	       (double)s->in_peak_calls / s->programs, (double)s->calls / s->programs);
}

static void test_random_programs(void **state)
{
	const char *text = getenv("PEAKTOP_SEED"), *number = getenv("PEAKTOP_PROGRAMS");
	const char *one = getenv("PEAKTOP_ONE");
	uint64_t fresh = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
	unsigned int n = number ? (unsigned int)strtoul(number, NULL, 0) : PROGRAMS, i;
	struct score fixed = {0}, new = {0};

	if (one) {
		verbose = true;
		run_program(strtoull(one, NULL, 0), &new);
		return;
	}
	printf("PEAKTOP_SEED=%llu\n", (unsigned long long)fresh);
	for (i = 0; i < n / 2; i++)
		run_program(i, &fixed);
	for (i = 0; i < n - n / 2; i++)
		run_program((fresh << 20) + i, &new);
	report("fixed seeds", &fixed);
	report("new seeds", &new);
	printf("witnessed: %.2f armed rounds on average, %u of %u took more than 3\n",
	       (double)(fixed.rounds + new.rounds) / (n / 2),
	       fixed.rounds_over_3 + new.rounds_over_3, n / 2);
	printf("paths that had to be found: %u, that could be: %u; shares compared: %u, off by "
	       "more than "
	       "0.1: %u\n",
	       fixed.required + new.required, fixed.optional + new.optional,
	       fixed.shares + new.shares, fixed.shares_wrong + new.shares_wrong);
	/* of few programs by chance somewhat more than one in a hundred may be missed */
	assert_true((fixed.wrong + new.wrong) * 100 <= (n < ALL_PROGRAMS ? 2 : 1) * n);
	assert_true((fixed.shares_wrong + new.shares_wrong) * 50 <= fixed.shares + new.shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
