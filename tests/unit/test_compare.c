// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The comparison of profiles, judged on labelled pairs. The labels come from
 * the parameters of the generator alone. Half of the pairs are the same in
 * every run, half are new; PEAKTOP_SEED repeats a run, PEAKTOP_PAIRS makes it longer.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "analysis/latency/compare.h"
#include "tests/unit/corpus/recorded.h"
#include "tests/unit/profiles.h"

#define S 1000000000ULL

enum { MAX_MODES = 6, FIXED_SEED = 20060606, MAX_RECORDED = 80 };

static uint64_t seed, state;
static struct recorded recorded[MAX_RECORDED];
static int nr_recorded;

/* --- the generator */

static double uniform(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

static double between(double low, double high)
{
	return low + (high - low) * uniform();
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static uint64_t poisson(double mean)
{
	double limit = exp(-mean), p = 1;
	uint64_t n = 0;

	if (mean > 60)
		return (uint64_t)fmax(0, round(mean + sqrt(mean) * normal()));
	while ((p *= 1 - uniform()) > limit)
		n++;
	return n;
}

/* A mode of calls: log-normal, with a share of them in a Pareto tail above it. */
struct mode {
	double at;     /* log2 of ns */
	double width;  /* doublings */
	double weight; /* of all; normalised when sampled */
	double tail;   /* share of the mode's calls */
};

struct shape {
	unsigned int nr;
	struct mode mode[MAX_MODES];
	double calls;
	const struct profile
	    *real;    /* a recorded one, with the weight 1 beside the modes, NULL if none */
	double shift; /* of the recorded one, in doublings */
};

static double below(const struct mode *m, double x)
{
	double bulk = 0.5 * erfc(-(x - m->at) / m->width / M_SQRT2);

	return (1 - m->tail) * bulk + (x > m->at ? m->tail * (1 - exp2(-1.5 * (x - m->at))) : 0);
}

/* Share of a recorded profile in bucket i once it is shifted; between buckets linearly. */
static double recorded_share(const struct shape *s, unsigned int i)
{
	double at = i - s->shift * PT_RESOLUTION, part = at - floor(at);
	int low = (int)floor(at);
	double a = low >= 0 && low < PT_BUCKETS ? (double)s->real->count[low] : 0;
	double b = low >= -1 && low < PT_BUCKETS - 1 ? (double)s->real->count[low + 1] : 0;

	return (a * (1 - part) + b * part) / (double)s->real->calls;
}

static double weight_of_all(const struct shape *s)
{
	double total = s->real ? 1 : 0;
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		total += s->mode[i].weight;
	return total;
}

static void sample(const struct shape *s, struct profile *p)
{
	double total = weight_of_all(s), expected, low, high;
	unsigned int i, k;
	uint64_t n;

	profile_init(p);
	for (i = 0; i < PT_BUCKETS; i++) {
		low = (double)i / PT_RESOLUTION;
		high = low + 1.0 / PT_RESOLUTION;
		for (k = 0, expected = s->real ? recorded_share(s, i) : 0; k < s->nr; k++)
			expected += s->mode[k].weight *
				    (below(&s->mode[k], high) - below(&s->mode[k], low));
		n = poisson(expected / total * s->calls);
		p->count[i] = n;
		p->calls += n;
		p->sum_ns += n * (uint64_t)exp2(low + 0.5 / PT_RESOLUTION);
		if (n && !p->min_ns)
			p->min_ns = bucket_low_ns(i, PT_RESOLUTION);
		if (n)
			p->max_ns = bucket_high_ns(i, PT_RESOLUTION) - 1;
	}
}

static double free_place(const struct shape *s, double apart)
{
	double at = 0, near;
	unsigned int i, tries;

	for (tries = 0; tries < 200; tries++) {
		at = between(7, 28);
		for (i = 0, near = INFINITY; i < s->nr; i++)
			near = fmin(near, fabs(s->mode[i].at - at));
		if (near >= apart)
			break;
	}
	return at;
}

static struct shape random_shape(unsigned int modes, double fewest, double most)
{
	struct shape s = {0};
	unsigned int i;

	s.calls = exp(between(log(fewest), log(most)));
	for (i = 0; i < modes; i++) {
		s.mode[i].at = free_place(&s, 1.5);
		s.mode[i].width = between(0.12, 0.5);
		s.mode[i].weight = between(0.1, 1);
		s.nr++;
	}
	return s;
}

static unsigned int any(unsigned int n)
{
	return (unsigned int)(uniform() * n);
}

static unsigned int heaviest(const struct shape *s)
{
	unsigned int i, best = 0;

	for (i = 1; i < s->nr; i++)
		best = s->mode[i].weight > s->mode[best].weight ? i : best;
	return best;
}

/* Noise of every run: a little more or less of everything. */
static void drift(struct shape *s)
{
	double all = between(-0.08, 0.08);
	unsigned int i;

	s->calls *= between(0.65, 1.5);
	s->shift += all;
	for (i = 0; i < s->nr; i++) {
		s->mode[i].at += all + between(-0.04, 0.04);
		s->mode[i].weight *= between(0.93, 1.07);
		s->mode[i].width *= between(0.92, 1.08);
	}
}

enum kind {
	SAME_NOISE,
	SAME_DRIFT,
	SAME_FEW,
	SAME_TAIL,
	SAME_REAL,
	SAME_KINDS,
	NEW_MODE = SAME_KINDS,
	GONE_MODE,
	MOVED_MODE,
	WEIGHT,
	MORE_CALLS,
	FEWER_CALLS,
	WIDER,
	RARE_AND_SLOW,
	ALL_SLOWER,
	REAL_SLOWER,
	REAL_NEW_MODE,
	KINDS,
};
static const char *const kind_names[KINDS] = {
    "noise",	     "drift",	   "few calls",	      "heavy tail",
    "recorded",	     "new mode",   "gone mode",	      "moved mode",
    "weight",	     "more calls", "fewer calls",     "wider",
    "rare and slow", "all slower", "recorded slower", "recorded new mode",
};

static void add_mode(struct shape *s, double at, double share)
{
	double weight = weight_of_all(s) * share / (1 - share);

	s->mode[s->nr++] = (struct mode){at, between(0.12, 0.4), weight, 0};
}

/* A share of the calls from which a new mode is worth seeing, and can be seen. */
static double new_share(const struct shape *s)
{
	return fmax(exp(between(log(0.01), log(0.3))), 45 / s->calls);
}

static double either_way(double low, double high)
{
	return (uniform() < 0.5 ? -1 : 1) * between(low, high);
}

/* A place for a new mode beyond the calls of a recorded profile. */
static double beyond(const struct profile *p)
{
	unsigned int i, last = 0;

	for (i = 0; i < PT_BUCKETS; i++)
		last = p->count[i] ? i : last;
	return (double)last / PT_RESOLUTION + between(1.5, 5);
}

static struct shape base_of(enum kind kind)
{
	struct shape s;

	if (kind == SAME_REAL || kind == REAL_SLOWER || kind == REAL_NEW_MODE) {
		s = (struct shape){.real = &recorded[any((unsigned int)nr_recorded)].profile};
		s.calls = exp(between(log(400), log(1e5)));
		return s;
	}
	s = random_shape(kind == WEIGHT ? 2 + any(3) : 1 + any(4), kind == SAME_FEW ? 25 : 400,
			 kind == SAME_FEW ? 300 : 1e6);
	if (kind == SAME_TAIL)
		s.mode[any(s.nr)].tail = between(0.05, 0.4);
	if (kind == RARE_AND_SLOW)
		s.calls = exp(between(log(2e4), log(1e6)));
	return s;
}

static void change(enum kind kind, struct shape *a, struct shape *b)
{
	unsigned int i = heaviest(b);

	switch (kind) {
	case NEW_MODE:
		add_mode(b, free_place(b, 1.5), new_share(b));
		break;
	case GONE_MODE:
		add_mode(a, free_place(a, 1.5), new_share(a));
		break;
	case MOVED_MODE:
		b->mode[i].at += either_way(0.6, 3);
		break;
	case WEIGHT: /* of half to 90% of the calls, a sixth to nine tenths go elsewhere */
		a->mode[i].weight = (weight_of_all(a) - a->mode[i].weight) * between(1, 9);
		b->mode[i].weight = a->mode[i].weight * between(0.05, 0.5);
		break;
	case MORE_CALLS:
		b->calls = a->calls * between(2.5, 10);
		break;
	case FEWER_CALLS:
		b->calls = a->calls / between(2.5, 10);
		break;
	case WIDER:
		for (i = 0; i < b->nr; i++) {
			a->mode[i].width = between(0.15, 0.3);
			b->mode[i].width = a->mode[i].width * between(3, 5);
		}
		break;
	case RARE_AND_SLOW: /* too few calls to matter, but for their time */
		for (i = 0; i < b->nr; i++)
			a->mode[i].at = b->mode[i].at = between(8, 14);
		add_mode(b, between(23, 28),
			 fmax(exp(between(log(0.0003), log(0.005))), 45 / b->calls));
		break;
	case ALL_SLOWER:
		for (i = 0; i < b->nr; i++)
			b->mode[i].at += between(0.6, 0.8);
		break;
	case REAL_SLOWER:
		b->shift += either_way(0.6, 2);
		break;
	case REAL_NEW_MODE:
		add_mode(b, beyond(b->real), new_share(b));
		break;
	default:
		break;
	}
}

/* A pair of shapes that differ as `kind` says, besides what differs from run to run. */
static void make_pair(enum kind kind, struct shape *a, struct shape *b)
{
	*a = base_of(kind);
	*b = *a;
	if (kind == SAME_NOISE)
		b->calls *= between(0.65, 1.5);
	else
		drift(b);
	change(kind, a, b);
}

/* --- the verdicts */

static struct tally {
	unsigned int pairs, wrong;
} by_kind[KINDS];

/* The metrics alone, for comparison with OSprof's own table (section 5.3). */
enum { METRICS = 4, KEPT = 1000 };
static const char *const metric_names[METRICS] = {"emd", "calls", "latency", "chi-square"};
static struct {
	double value[METRICS];
	bool changed;
} kept[KEPT];
static unsigned int nr_kept;

static void keep_metrics(const struct compare_metrics *m, bool changed)
{
	if (nr_kept == KEPT)
		return;
	kept[nr_kept].value[0] = m->emd;
	kept[nr_kept].value[1] = fabs(m->calls);
	kept[nr_kept].value[2] = fabs(m->latency);
	kept[nr_kept].value[3] = m->chi_square;
	kept[nr_kept++].changed = changed;
}

/* The share of pairs that one metric gets wrong with the threshold that suits it best. */
static double best_alone(unsigned int metric)
{
	unsigned int i, j, wrong, best = nr_kept;

	for (i = 0; i < nr_kept; i++) {
		for (j = 0, wrong = 0; j < nr_kept; j++)
			wrong +=
			    (kept[j].value[metric] >= kept[i].value[metric]) != kept[j].changed;
		best = wrong < best ? wrong : best;
	}
	return nr_kept ? (double)best / nr_kept : 0;
}

static bool judge(uint64_t from, enum kind kind, bool show)
{
	struct compare_item x = {.name = "x"}, y = {.name = "x"};
	struct compare_pair pair;
	struct profile p, q;
	struct shape a, b;
	bool changed = kind >= SAME_KINDS, wrong;
	struct buf words;
	unsigned int i;

	state = from * 0x9e3779b97f4a7c15ULL + kind * 0xbf58476d1ce4e5b9ULL + 1;
	uniform();
	make_pair(kind, &a, &b);
	sample(&a, &p);
	sample(&b, &q);
	x.profile = &p;
	y.profile = &q;
	compare_profiles(&x, &y, 5 * S, 5 * S, NULL, &pair);
	keep_metrics(&pair.metrics, changed);
	wrong = changed != (pair.verdict == COMPARE_CHANGED);
	by_kind[kind].pairs++;
	by_kind[kind].wrong += wrong;
	if (wrong && show) {
		buf_init(&words, 4096);
		for (i = 0; i < pair.nr_reasons; i++) {
			buf_puts(&words, "; ");
			compare_reason_words(&words, &pair.reason[i], true);
		}
		printf("# seed %llu, %s: verdict %d, emd %.3f, slower %.3f, faster %.3f, calls "
		       "%llu %llu%s\n",
		       (unsigned long long)from, kind_names[kind], pair.verdict, pair.metrics.emd,
		       pair.metrics.slower, pair.metrics.faster, (unsigned long long)p.calls,
		       (unsigned long long)q.calls, words.data ? words.data : "");
		buf_release(&words);
	}
	return wrong;
}

static void test_labelled_pairs(void **s)
{
	const char *more = getenv("PEAKTOP_PAIRS");
	unsigned int each = more ? (unsigned int)strtoul(more, NULL, 0) / 2 : 225;
	unsigned int i, fresh, wrong[2] = {0}, changed;
	double rate;

	for (i = 0; i < 2 * each; i++) {
		changed = i & 1;
		fresh = (i >> 1) & 1;
		wrong[changed] +=
		    judge((fresh ? seed : FIXED_SEED) + i,
			  changed ? (enum kind)(SAME_KINDS + i / 4 % (KINDS - SAME_KINDS))
				  : (enum kind)(i / 4 % SAME_KINDS),
			  wrong[changed] < 20);
	}
	for (i = 0; i < KINDS; i++)
		printf("# %-17s %5u pairs %3u wrong\n", kind_names[i], by_kind[i].pairs,
		       by_kind[i].wrong);
	for (i = 0; i < METRICS; i++)
		printf("# by %s alone, at its best threshold: %.1f%% wrong\n", metric_names[i],
		       100 * best_alone(i));
	for (i = 0; i < 2; i++) {
		rate = 100.0 * wrong[i] / each;
		printf("# false %s: %.2f%% of %u\n", i ? "negatives" : "positives", rate, each);
	}
	assert_true(2 * each >= 250);
	assert_true(wrong[0] <= 0.02 * each);
	assert_true(wrong[1] <= 0.02 * each);
}

/* --- what is said */

static void calls_at(struct profile *p, double ns, unsigned int n)
{
	while (n--)
		profile_add(p, (uint64_t)(ns * (0.98 + 0.04 * uniform())));
}

static struct compare_pair compared(const struct profile *p, const struct profile *q)
{
	struct compare_item x = {"x", p, 1, 0}, y = {"x", q, 1, 0};
	struct compare_pair pair;

	compare_profiles(&x, &y, S, S, NULL, &pair);
	return pair;
}

static void expect_words(const struct compare_pair *pair, const char *want)
{
	struct buf b;
	unsigned int i;

	buf_init(&b, 4096);
	for (i = 0; i < pair->nr_reasons; i++) {
		buf_puts(&b, i ? "; " : "");
		compare_reason_words(&b, &pair->reason[i], true);
	}
	assert_string_equal(b.data ? b.data : "", want);
	buf_release(&b);
}

static void test_reasons(void **s)
{
	struct profile p, q;
	struct compare_pair pair;

	profile_init(&p);
	profile_init(&q);
	calls_at(&p, 980, 1000);
	q = p;
	pair = compared(&p, &q);
	assert_int_equal(pair.verdict, COMPARE_SAME);
	assert_int_equal(pair.phase, COMPARE_PREFILTER);
	assert_true(pair.metrics.emd == 0 && pair.metrics.chi_square == 0);

	calls_at(&q, 38.2e6, 250);
	pair = compared(&p, &q);
	assert_int_equal(pair.verdict, COMPARE_CHANGED);
	assert_int_equal(pair.phase, COMPARE_PEAKS);
	expect_words(&pair, "new peak at 38.2 ms, with 20% of the calls");
	pair = compared(&q, &p);
	expect_words(&pair, "the peak at 38.2 ms disappeared; it held 20% of the calls");

	/* the fast peak has a smaller share, but did not change */
	p = q;
	calls_at(&q, 38.2e6, 2750);
	pair = compared(&p, &q);
	expect_words(&pair,
		     "more calls: 4k calls/s, was 1.25k calls/s; the peak at 38.2 ms holds 75% of "
		     "the calls, previously 20%");

	profile_init(&p);
	profile_init(&q);
	calls_at(&p, 980, 1000);
	calls_at(&q, 3920, 1100);
	pair = compared(&p, &q);
	expect_words(&pair, "the peak at 981 ns moved to 3.92 us; it holds 100% of the calls");
	assert_true(fabs(pair.metrics.emd - 2) < 0.1);
}

static void test_few_and_none(void **s)
{
	struct compare_item x = {"x", NULL, 1, 0};
	struct compare_pair pair;
	struct profile p, q;

	profile_init(&p);
	profile_init(&q);
	assert_int_equal(compared(&p, &q).verdict, COMPARE_SAME);
	calls_at(&p, 1000, 15);
	calls_at(&q, 900000, 15);
	assert_int_equal(compared(&p, &q).verdict, COMPARE_TOO_FEW);
	calls_at(&q, 900000, 15);
	assert_int_equal(compared(&p, &q).verdict, COMPARE_CHANGED);
	x.profile = &q;
	compare_profiles(NULL, &x, S, S, NULL, &pair);
	assert_int_equal(pair.verdict, COMPARE_CHANGED);
	expect_words(&pair, "only in the second: 30 calls/s");
	compare_profiles(&x, NULL, S, S, NULL, &pair);
	expect_words(&pair, "only in the first: 30 calls/s");
}

/* Weighted counts are only as certain as what was seen of them. */
static void test_bursts(void **s)
{
	struct compare_item x = {"x", NULL, 0.001, 0}, y = {"x", NULL, 0.001, 0};
	struct compare_pair pair;
	struct profile p, q;
	unsigned int i;

	profile_init(&p);
	profile_init(&q);
	calls_at(&p, 1000, 60);
	calls_at(&q, 1000, 57);
	calls_at(&q, 90000, 3);
	for (i = 0; i < PT_BUCKETS; i++) {
		p.count[i] *= 1000;
		q.count[i] *= 1000;
	}
	p.calls *= 1000;
	q.calls *= 1000;
	x.profile = &p;
	y.profile = &q;
	compare_profiles(&x, &y, S, S, NULL, &pair);
	assert_int_equal(pair.verdict, COMPARE_SAME);
	x.share_seen = y.share_seen = 1;
	compare_profiles(&x, &y, S, S, NULL, &pair);
	assert_int_equal(pair.verdict, COMPARE_CHANGED);
}

/* Rates, not counts, where both times are known. */
static void test_rates(void **s)
{
	struct compare_item x = {"x", NULL, 1, 0}, y = {"x", NULL, 1, 0};
	struct compare_pair pair;
	struct profile p, q;

	profile_init(&p);
	profile_init(&q);
	calls_at(&p, 1000, 1000);
	calls_at(&q, 1000, 4000);
	x.profile = &p;
	y.profile = &q;
	compare_profiles(&x, &y, S, 4 * S, NULL, &pair);
	assert_int_equal(pair.verdict, COMPARE_SAME);
	compare_profiles(&x, &y, S, 0, NULL, &pair);
	assert_int_equal(pair.verdict, COMPARE_CHANGED);
	compare_profiles(&x, &y, 4 * S, S, NULL, &pair);
	expect_words(&pair, "more calls: 4k calls/s, was 250 calls/s");
}

static void test_sets(void **s)
{
	static struct profile p[6], q[6];
	const struct compare_item x[] = {{"read", &p[0], 1, 0},
					 {"write", &p[1], 1, 0},
					 {"fsync", &p[2], 1, 0},
					 {"rare", &p[3], 1, 0},
					 {"gone", &p[4], 1, 0}};
	const struct compare_item y[] = {{"rare", &q[3], 1, 0},
					 {"new", &q[5], 1, 0},
					 {"fsync", &q[2], 1, 0},
					 {"write", &q[1], 1, 0},
					 {"read", &q[0], 1, 0}};
	const struct compare_set before = {5, x, S}, after = {5, y, S}, empty = {0, NULL, S};
	struct compare_result r;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		profile_init(&p[i]);
		profile_init(&q[i]);
	}
	calls_at(&p[0], 1000, 40000); /* read: the same */
	calls_at(&q[0], 1000, 41000);
	calls_at(&p[1], 2000, 9000); /* write: a little worse */
	calls_at(&q[1], 2000, 9000);
	calls_at(&q[1], 50000, 500);
	calls_at(&p[2], 1e6, 200); /* fsync: much worse, and most of the time */
	calls_at(&q[2], 30e6, 200);
	calls_at(&p[3], 500, 30); /* rare: changed, but who cares */
	calls_at(&q[3], 900, 40);
	calls_at(&p[4], 100000, 300);
	calls_at(&q[5], 100000, 300);
	assert_int_equal(compare_sets(&before, &after, NULL, &r), 0);
	assert_int_equal(r.nr, 6);
	assert_int_equal(r.nr_changed, 4);
	assert_true(r.rates);
	assert_string_equal(r.pair[0].name, "fsync");
	for (i = 0; i < r.nr; i++) {
		if (!strcmp(r.pair[i].name, "read"))
			assert_int_equal(r.pair[i].verdict, COMPARE_SAME);
		if (!strcmp(r.pair[i].name, "rare"))
			assert_int_equal(r.pair[i].verdict, COMPARE_NEGLIGIBLE);
		if (!strcmp(r.pair[i].name, "gone"))
			assert_int_equal(r.pair[i].reason[0].kind, COMPARE_VANISHED);
		if (!strcmp(r.pair[i].name, "new"))
			assert_int_equal(r.pair[i].reason[0].kind, COMPARE_APPEARED);
		assert_int_equal(i < r.nr_changed, r.pair[i].verdict == COMPARE_CHANGED);
		assert_true(!i || i == r.nr_changed || r.pair[i].score <= r.pair[i - 1].score);
	}
	compare_release(&r);
	assert_int_equal(compare_sets(&empty, &empty, NULL, &r), 0);
	assert_int_equal(r.nr, 0);
	compare_release(&r);
	assert_int_equal(compare_sets(&empty, &after, NULL, &r), 0);
	assert_int_equal(r.nr, 5);
	compare_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_labelled_pairs), cmocka_unit_test(test_reasons),
	    cmocka_unit_test(test_few_and_none),   cmocka_unit_test(test_bursts),
	    cmocka_unit_test(test_rates),	   cmocka_unit_test(test_sets),
	};
	const char *given = getenv("PEAKTOP_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	nr_recorded = recorded_read("tests/unit/corpus/real.txt", recorded, MAX_RECORDED);
	if (nr_recorded < 1) {
		printf("Bail out! no recorded profiles\n");
		return 1;
	}
	printf("# PEAKTOP_SEED=%llu\n", (unsigned long long)seed);
	state = 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
