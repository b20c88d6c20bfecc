// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The model against programs whose number of modes is known: recorded quiet and
 * under load, in bursts, with the samples by which shadows are told. The rules
 * were made with the set "train" and corrected once with each of the others;
 * docs/notes/peaks.md has the figures of the first try.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_feed.h"

enum { MAX_LINE = 1 << 18, FIELDS = 9 };

struct score {
	const char *set;
	unsigned int right[2], all[2]; /* quiet, loaded */
};

static struct score scores[] = {
    {.set = "train"}, {.set = "test"}, {.set = "final"}, {.set = "held"}};

struct program {
	struct model *m;
	char set[16], name[32], load[16];
	unsigned int least, modes;
	uint64_t slice;
};

static void feed_slice_line(struct program *p, const char *s)
{
	struct rec_profile rec = {.op = 1};
	uint64_t figure[6], count[PT_BUCKETS];
	uint32_t bucket[PT_BUCKETS];
	char *end;

	for (unsigned int i = 0; i < 6; i++, s = end)
		figure[i] = strtoull(s, &end, 10);
	rec.start_ns = figure[0];
	rec.end_ns = figure[1];
	rec.armed_ns = figure[2];
	rec.sum_ns = figure[3];
	rec.min_ns = figure[4];
	rec.max_ns = figure[5];
	while (rec.nr_buckets < PT_BUCKETS) {
		unsigned long b = strtoul(s, &end, 10);

		if (end == s || *end != ':')
			break;
		bucket[rec.nr_buckets] = (uint32_t)b;
		count[rec.nr_buckets] = strtoull(end + 1, &end, 10);
		rec.calls += count[rec.nr_buckets++];
		s = end;
	}
	rec.bucket = bucket;
	rec.count = count;
	assert_int_equal(feed_profile_record(p->m, &rec), 0);
}

static void feed_samples_line(struct program *p, const char *s)
{
	char *end;

	for (;;) {
		uint64_t f[FIELDS], copies;

		for (unsigned int i = 0; i < FIELDS; i++) {
			f[i] = strtoull(s, &end, 10);
			if (end == s)
				return;
			s = end + 1;
		}
		copies = strtoull(s, &end, 10);
		s = end;
		for (uint64_t i = 0; i < copies; i++) {
			struct rec_sample rec = {
			    .op = 1,
			    .latency_ns = f[0],
			    .known = (uint32_t)f[1] & ~(uint32_t)(SAMPLE_RET | SAMPLE_ARG0 * 0x3f),
			    .oncpu_ns = f[2],
			    .runqueue_ns = f[3],
			    .interrupt_ns = f[4],
			    .preempted = f[5],
			    .sleeps = f[6],
			    .minor_faults = f[7],
			    .chance_ppm = 1000000 / f[8],
			};

			assert_int_equal(feed_sample(p->m, &rec), 0);
		}
	}
}

static void begin(struct program *p, const char *s)
{
	memset(p, 0, sizeof(*p));
	assert_int_equal(
	    sscanf(s, "%15s %31s %15s %u %u", p->set, p->name, p->load, &p->least, &p->modes), 5);
	p->m = model_new();
	assert_non_null(p->m);
	assert_int_equal(feed_op(p->m, 1, LAYER_FUNCTION, "serve@modes"), 0);
}

/* The samples come last: all is there, and one tick more looks for the peaks. */
static void judge(struct program *p)
{
	unsigned int loaded = strcmp(p->load, "loaded") == 0;
	const struct op *op = model_op_by_number(p->m, 1);
	uint64_t calls = 0;

	assert_non_null(op);
	for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++) {
		if (strcmp(scores[i].set, p->set))
			continue;
		scores[i].all[loaded]++;
		if (op->nr_peaks >= p->least && op->nr_peaks <= p->modes)
			scores[i].right[loaded]++;
		else
			print_message("  miss: %s %s %s: %u peaks of %u\n", p->set, p->name,
				      p->load, op->nr_peaks, p->modes);
	}
	/* What is folded is not lost: with all listed the same calls are there. */
	for (unsigned int i = 0; i < op->nr_peaks + op->nr_folded; i++)
		calls += op->peaks[i].calls;
	assert_ptr_equal(op->folded, op->peaks + op->nr_peaks);
	model_list_all_peaks(p->m, true);
	op = model_op_by_number(p->m, 1);
	assert_int_equal(op->nr_folded, 0);
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		calls -= op->peaks[i].calls;
		assert_int_equal(op->peaks[i].rank, i + 1);
	}
	assert_int_equal(calls, 0);
	model_free(p->m);
	p->m = NULL;
}

static void test_known_modes(void **state)
{
	FILE *f = fopen("tests/unit/corpus/modes.txt", "re");
	char *line = malloc(MAX_LINE);
	struct program p = {0};
	unsigned int right = 0, all = 0;

	assert_non_null(f);
	assert_non_null(line);
	while (fgets(line, MAX_LINE, f)) {
		if (!strncmp(line, "program ", 8))
			begin(&p, line + 8);
		else if (!strncmp(line, "slice ", 6))
			feed_slice_line(&p, line + 6);
		else if (!strncmp(line, "samples ", 8)) {
			feed_samples_line(&p, line + 8);
			judge(&p);
		}
	}
	free(line);
	fclose(f);
	for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++) {
		print_message("%s: quiet %u of %u, loaded %u of %u\n", scores[i].set,
			      scores[i].right[0], scores[i].all[0], scores[i].right[1],
			      scores[i].all[1]);
		right += scores[i].right[0] + scores[i].right[1];
		all += scores[i].all[0] + scores[i].all[1];
	}
	assert_true(all >= 100);
	assert_true(right * 20 >= all * 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_modes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
