// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The peak finder against two labelled corpora.
 * PEAKTOP_SEED=N repeats a run's new synthetic profiles.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/checked_peaks.h"
#include "tests/unit/corpus/families.h"
#include "tests/unit/corpus/recorded.h"

enum {
	EACH_FIXED = 10, /* profiles of each family */
	EACH_NEW = 10,
	NR_RECORDED = 60,
	NR_DEVELOPMENT = 40,
};

static bool right(const struct peak_span *peak, unsigned int found, const struct mode *mode,
		  unsigned int n)
{
	if (found != n)
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (peak[i].mode < mode[i].low || peak[i].mode > mode[i].high)
			return false;
	return true;
}

static void print_miss(enum family f, uint64_t seed, const struct mixture *m,
		       const struct profile *p, const struct mode *mode, unsigned int n)
{
	print_message("  miss: %s, seed %llu, %llu calls, clock %g ns\n    mixture", family_name[f],
		      (unsigned long long)seed, (unsigned long long)p->calls, m->step_ns);
	for (unsigned int i = 0; i < m->nr; i++)
		print_message(" (shape %d at %.2f spread %.3f weight %.5f)", m->part[i].shape,
			      m->part[i].at, m->part[i].spread, m->part[i].weight);
	print_message("\n    wanted");
	for (unsigned int i = 0; i < n; i++)
		print_message(" %.3f", mode[i].bucket / 8.0);
	print_message("\n");
}

/* Number of misses among `each` profiles of each family. */
static unsigned int judge(uint64_t seed, unsigned int each)
{
	struct mode mode[MIXTURE_MAX_MODES];
	struct peak_span peak[MAX_PEAKS];
	unsigned int misses = 0, n, found;
	struct mixture m;
	struct profile p;

	for (unsigned int f = 0; f < NR_FAMILIES; f++) {
		for (unsigned int i = 0; i < each; i++) {
			struct random r = {seed + f * 1000 + i};

			n = family_draw((enum family)f, &r, &m, mode);
			do
				mixture_draw(&m, &r, &p);
			while (p.calls < 20);
			found = find_checked(&p, peak, MAX_PEAKS);
			if (right(peak, found, mode, n))
				continue;
			misses++;
			print_miss((enum family)f, seed, &m, &p, mode, n);
			print_found(peak, found);
		}
	}
	return misses;
}

static uint64_t new_seed(void)
{
	const char *wanted = getenv("PEAKTOP_SEED");
	struct random r;

	if (wanted)
		return strtoull(wanted, NULL, 0);
	r.state = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
	return random_bits(&r) >> 16;
}

static void test_synthetic_fixed(void **state)
{
	unsigned int all = NR_FAMILIES * EACH_FIXED, misses = judge(20060101, EACH_FIXED);

	print_message("  fixed seeds: %u of %u right\n", all - misses, all);
	assert_true(all - misses >= 0.98 * all);
}

static void test_synthetic_new(void **state)
{
	unsigned int all = NR_FAMILIES * EACH_NEW, misses;
	uint64_t seed = new_seed();

	print_message("  PEAKTOP_SEED=%llu\n", (unsigned long long)seed);
	misses = judge(seed, EACH_NEW);
	print_message("  new seeds: %u of %u right\n", all - misses, all);
	assert_true(all - misses >= 0.98 * all);
}

/* The judge itself: labels that are wrong by half a doubling or one peak must fail. */
static void test_judge_can_say_no(void **state)
{
	struct random r = {4};
	struct mode mode[MIXTURE_MAX_MODES], wrong[MIXTURE_MAX_MODES];
	struct peak_span peak[MAX_PEAKS];
	struct mixture m;
	struct profile p;
	unsigned int n = family_draw(FAMILY_RARE, &r, &m, mode), found;

	mixture_draw(&m, &r, &p);
	found = find_checked(&p, peak, MAX_PEAKS);
	assert_true(right(peak, found, mode, n));
	assert_false(right(peak, found, mode, n - 1));
	memcpy(wrong, mode, sizeof(wrong));
	wrong[1].low += 8;
	wrong[1].high += 8;
	assert_false(right(peak, found, wrong, n));
}

/* Labels follow from the parameters: normals far apart, and one that two near ones make. */
static void test_labels_of_mixtures(void **state)
{
	struct mixture m = {.calls = 1e6, .step_ns = 1};
	struct mode mode[MIXTURE_MAX_MODES];

	mixture_add(&m, SHAPE_NORMAL, 10, 0.3, 1);
	mixture_add(&m, SHAPE_NORMAL, 20, 0.3, 1);
	assert_int_equal(mixture_modes(&m, mode), 2);
	assert_in_range(mode[0].bucket, 79, 80);
	assert_in_range(mode[1].bucket, 159, 160);
	/* Two equal normals have one mode up to a distance of two deviations. */
	m.part[1].at = 10.55;
	assert_int_equal(mixture_modes(&m, mode), 1);
	/* A dip of 8% is neither here nor there. */
	m.part[1].at = 10.78;
	assert_int_equal(mixture_modes(&m, mode), -1);
	/* A peak of three calls is not a label. */
	m.part[1].at = 20;
	m.part[1].weight = 3e-6;
	assert_int_equal(mixture_modes(&m, mode), -1);
}

/* Found from the top of the tree, or beside the build directory. */
static const char *corpus_path(const char *name, char *buf, size_t size)
{
	char self[4096], *slash;
	ssize_t n;

	snprintf(buf, size, "tests/unit/corpus/%s", name);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (access(buf, R_OK) == 0 || n <= 0)
		return buf;
	self[n] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	snprintf(buf, size, "%s/../../tests/unit/corpus/%s", self, name);
	return buf;
}

static void print_unlike_label(const struct recorded *r, const struct peak_span *peak,
			       unsigned int n)
{
	print_message("  miss: %s\n    wanted", r->name);
	for (unsigned int k = 0; k < r->nr_labels; k++)
		print_message(" %.2f-%.2f%s", r->label[k].low, r->label[k].high,
			      r->label[k].optional ? "?" : "");
	print_message("\n");
	print_found(peak, n);
}

static void judge_recorded(const char *name, int wanted)
{
	static struct recorded r[NR_RECORDED + 1];
	struct peak_span peak[MAX_PEAKS];
	unsigned int good = 0, n, open = 0;
	char path[8192];

	assert_int_equal(recorded_read(corpus_path(name, path, sizeof(path)), r, NR_RECORDED + 1),
			 wanted);
	for (int i = 0; i < wanted; i++) {
		bool optional = false;

		for (unsigned int k = 0; k < r[i].nr_labels; k++)
			optional |= r[i].label[k].optional;
		open += optional;
		n = find_checked(&r[i].profile, peak, MAX_PEAKS);
		if (recorded_pair(&r[i], 0, peak, 0, n))
			good++;
		else
			print_unlike_label(&r[i], peak, n);
	}
	print_message("  %s: %u of %d right (%u have a feature left open)\n", name, good, wanted,
		      open);
	assert_true(good >= 0.95 * wanted);
}

static void test_recorded(void **state)
{
	judge_recorded("real.txt", NR_RECORDED);
}

static void test_recorded_for_development(void **state)
{
	judge_recorded("development.txt", NR_DEVELOPMENT);
}

static void test_pairing_of_labels(void **state)
{
	struct recorded r = {.nr_labels = 3,
			     .label = {{8, 8.5, false}, {9, 10, true}, {11, 12, false}}};
	struct peak_span peak[3] = {{.mode = 66}, {.mode = 76}, {.mode = 90}};

	assert_true(recorded_pair(&r, 0, peak, 0, 3));
	peak[1].mode = 90;
	assert_true(recorded_pair(&r, 0, peak, 0, 2));
	assert_false(recorded_pair(&r, 0, peak, 0, 1));
	assert_false(recorded_pair(&r, 0, peak, 0, 3));
	peak[0].mode = 70;
	assert_false(recorded_pair(&r, 0, peak, 0, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_synthetic_fixed),
	    cmocka_unit_test(test_synthetic_new),
	    cmocka_unit_test(test_judge_can_say_no),
	    cmocka_unit_test(test_labels_of_mixtures),
	    cmocka_unit_test(test_recorded),
	    cmocka_unit_test(test_recorded_for_development),
	    cmocka_unit_test(test_pairing_of_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
