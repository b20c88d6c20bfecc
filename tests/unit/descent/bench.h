/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small program by hand for tests of single rules of the descent: functions are
 * letters ('0' is f0), a fnode is named by the letters of its path ("ab": f0 calls a,
 * which calls b; '?': a callee that is not known). The parser's answers are given as soon
 * as they are asked for.
 */
#ifndef PEAKTOP_TEST_BENCH_H
#define PEAKTOP_TEST_BENCH_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/descent/descent.h"
#include "bpf/buckets.h"

enum { OP = 7, BENCH_SITES = 512, BENCH_ARMED = 256, ALL_KNOWN = 0x1ff };
#define US 1000ull
#define MS 1000000ull

static const struct rec_sleep on_purpose = {
    .syscall = 35, .call = "nanosleep", .bracket = BRACKET(BRACKET_CLOCK, 0)};

struct bench_site {
	char caller, callee;
	uint32_t kind, flags, block;
	uint64_t inside_ns, total_ns;
};

struct bench {
	struct descent *d;
	unsigned int nr_sites;
	struct bench_site site[BENCH_SITES];
	uint32_t epoch, nr_armed;
	struct descent_armed armed[BENCH_ARMED];
	unsigned int expands, learns, arms;
	bool hold_expand;    /* do not answer */
	char expanded[64];   /* letters, in the order of asking */
	uint32_t learn_node; /* the last one asked for */
	struct descent_armed learn_site;
	bool done;
	uint64_t now, mean_ns; /* mean_ns: that of the question */
	uint32_t known;	       /* enum call_known of the calls */
	struct rec_call call;  /* further fields for the next call */
	/* letters of the kernel functions of the next stacks below a system call; NULL: in user
	 * space */
	const char *kernel;
	bool other_call; /* ... below another one than usual */
};

static struct rec_code code(char function)
{
	return (struct rec_code){function == '?' ? 0 : 1,
				 function == '?' ? 0 : (uint64_t)function << 16};
}

/* Site number i of a function, from 0. */
static uint64_t site_offset(char function, unsigned int i)
{
	return ((uint64_t)function << 16) + 16 * (i + 1);
}

static struct bench_site *site(struct bench *b, char caller, char callee)
{
	struct bench_site *s = &b->site[b->nr_sites++];

	assert_true(b->nr_sites <= BENCH_SITES);
	*s = (struct bench_site){.caller = caller, .callee = callee, .flags = CALL_SITE_TIMED};
	return s;
}

static int feed(struct bench *b, const struct record *rec)
{
	return descent_feed(b->d, rec);
}

static void answer_expand(struct bench *b, struct rec_code function)
{
	struct rec_call_site list[BENCH_SITES];
	struct record rec = {.type = REC_CALLEES};
	char letter = (char)(function.offset >> 16);
	unsigned int i, n = 0;

	for (i = 0; i < b->nr_sites; i++) {
		const struct bench_site *s = &b->site[i];

		if (s->caller != letter)
			continue;
		list[n] = (struct rec_call_site){
		    .offset = site_offset(letter, n),
		    .ret = s->kind >= CALLEE_TAIL ? 0 : site_offset(letter, n) + 5,
		    .kind = s->kind,
		    .flags = s->flags,
		    .block = s->block,
		    .callee = code(s->callee),
		    .inside_ns = s->inside_ns,
		    .total_ns = s->total_ns,
		};
		n++;
	}
	rec.callees.function = function;
	rec.callees.nr_sites = rec.callees.total = n;
	rec.callees.sites = list;
	assert_int_equal(feed(b, &rec), 0);
}

static void act(struct bench *b)
{
	struct descent_action a;

	for (;;) {
		descent_next(b->d, &a);
		if (a.kind == DESCENT_EXPAND) {
			if (b->expands < sizeof(b->expanded) - 1)
				b->expanded[b->expands] = (char)(a.function.offset >> 16);
			b->expands++;
			if (b->hold_expand)
				continue;
			answer_expand(b, a.function);
		} else if (a.kind == DESCENT_LEARN) {
			b->learns++;
			b->learn_node = a.node;
			b->learn_site = *a.armed;
		} else if (a.kind == DESCENT_ARM) {
			assert_true(a.epoch > b->epoch);
			b->epoch = a.epoch;
			b->nr_armed = a.nr_armed;
			memcpy(b->armed, a.armed, a.nr_armed * sizeof(*a.armed));
			b->arms++;
		} else {
			b->done = a.kind == DESCENT_DONE;
			return;
		}
	}
}

static void bench_begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->d = descent_new();
	assert_non_null(b->d);
	b->known = ALL_KNOWN;
	b->now = MS;
}

static void bench_end(struct bench *b)
{
	descent_free(b->d);
}

/* The peak is 8 to 16 ms wherever a test does not say otherwise. */
static struct record ask_record(bool level_by_level)
{
	struct record rec = {.type = REC_DESCENT};

	descent_options_init(&rec.descent);
	rec.descent.op = OP;
	rec.descent.function = code('0');
	rec.descent.low_ns = 8 * MS;
	rec.descent.high_ns = 16 * MS;
	rec.descent.level_by_level = level_by_level;
	return rec;
}

static void ask(struct bench *b, bool level_by_level)
{
	struct record rec = ask_record(level_by_level);

	rec.descent.mean_ns = b->mean_ns;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
}

static void profile_corrected(struct bench *b, uint64_t calls, uint64_t latency,
			      uint64_t correction)
{
	uint32_t bucket = pt_bucket(latency);
	struct record rec = {.type = REC_PROFILE};

	rec.profile.op = OP;
	rec.profile.calls = calls;
	rec.profile.sum_ns = calls * latency;
	rec.profile.min_ns = rec.profile.max_ns = latency;
	rec.profile.correction_ns = correction;
	rec.profile.nr_buckets = 1;
	rec.profile.bucket = &bucket;
	rec.profile.count = &calls;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
}

static void profile(struct bench *b, uint64_t calls, uint64_t latency)
{
	profile_corrected(b, calls, latency, 0);
}

/* Ask, and have enough calls in the start profile. */
static void start(struct bench *b, bool level_by_level)
{
	ask(b, level_by_level);
	profile(b, 100, 10 * MS);
}

/* The armed fnode of a path; NULL: not armed. */
static const struct descent_armed *armed(const struct bench *b, const char *path)
{
	const struct descent_armed *found = NULL;
	uint32_t parent = 0, i;

	for (; *path; path++) {
		for (i = 0, found = NULL; i < b->nr_armed; i++)
			if (b->armed[i].parent == parent &&
			    b->armed[i].callee.offset == code(*path).offset &&
			    b->armed[i].callee.module == code(*path).module)
				found = &b->armed[i];
		if (!found)
			return NULL;
		parent = found->node;
	}
	return found;
}

/* The collector ends the probes of a path. */
static inline void lose(struct bench *b, const char *path, enum fnode_lost reason)
{
	struct record rec = {.type = REC_FNODE_LOST};

	rec.fnode_lost.epoch = b->epoch;
	rec.fnode_lost.node = armed(b, path)->node;
	rec.fnode_lost.reason = reason;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
}

/* What the pointer that was asked for last calls. */
static inline void discover(struct bench *b, const struct rec_code *callees, uint32_t nr)
{
	struct record rec = {.type = REC_INDIRECT_CALLEES};

	rec.discovered.node = b->learn_node;
	rec.discovered.nr_callees = nr;
	rec.discovered.callees = callees;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
}

/* What a fnode took in one call. */
struct part {
	const char *path;
	uint64_t sum, max, count, blocked, runqueue, interrupt, fault;
};

static inline void call_parts(struct bench *b, uint64_t latency, const struct part *part,
			      unsigned int n)
{
	struct rec_call_node node[BENCH_ARMED];
	struct record rec = {.type = REC_CALL, .call = b->call};
	unsigned int i, nr = 0;

	for (i = 0; i < n; i++) {
		const struct descent_armed *a = armed(b, part[i].path);

		if (!a)
			continue;
		node[nr++] = (struct rec_call_node){
		    .node = a->node,
		    .count = part[i].count ? part[i].count : 1,
		    .sum_ns = part[i].sum,
		    .max_ns = part[i].max ? part[i].max
					  : part[i].sum - part[i].runqueue - part[i].interrupt,
		    .blocked_ns = part[i].blocked,
		    .runqueue_ns = part[i].runqueue,
		    .interrupt_ns = part[i].interrupt,
		    .fault_ns = part[i].fault,
		};
	}
	rec.call.op = OP;
	rec.call.epoch = b->epoch;
	rec.call.tid = 5;
	rec.call.start_ns = b->now;
	rec.call.latency_ns = latency;
	rec.call.known = b->known;
	rec.call.nr_nodes = nr;
	rec.call.nodes = node;
	assert_int_equal(feed(b, &rec), 0);
	b->now += latency + 1;
	act(b);
}

#define CALL(b, latency, ...)                                                                      \
	call_parts(b, latency, (const struct part[]){__VA_ARGS__},                                 \
		   sizeof((const struct part[]){__VA_ARGS__}) / sizeof(struct part))
#define CALLS(n, b, latency, ...)                                                                  \
	do {                                                                                       \
		for (unsigned int n_ = 0; n_ < (n); n_++)                                          \
			CALL(b, latency, __VA_ARGS__);                                             \
	} while (0)
/* P("ab", sum, .max = ...): what the fnode of that path took. */
#define P(path_, sum_, ...)                                                                        \
	{                                                                                          \
		.path = path_, .sum = sum_, ##__VA_ARGS__                                          \
	}
#define NOTHING P("-", 0)

static inline void give_witness(struct bench *b, const struct rec_frame *frames, uint32_t nr,
				uint64_t weight, const struct rec_sleep *sleep)
{
	uint64_t call = REC_KERNEL_CALL | (b->other_call ? 78 : 77);
	struct rec_frame kernel[16] = {{REC_KERNEL_MODULE, call, call}};
	struct record rec = {.type = REC_WITNESS};
	uint32_t nr_kernel = b->kernel ? 1 : 0;

	for (const char *f = b->kernel; f && *f; f++)
		kernel[nr_kernel++] = (struct rec_frame){
		    REC_KERNEL_MODULE, (uint64_t)*f * 0x100 + 4, (uint64_t)*f * 0x100};
	rec.witness = (struct rec_witness){.op = OP,
					   .tid = 5,
					   .at_ns = b->now + 1000,
					   .weight_ns = weight,
					   .kind = sleep ? WITNESS_SLEEP : WITNESS_RUN,
					   .nr_frames = nr,
					   .frames = frames,
					   .nr_kernel = nr_kernel,
					   .kernel = kernel};
	if (sleep)
		rec.witness.sleep = *sleep;
	assert_int_equal(feed(b, &rec), 0);
}

/*
 * A stack inside the next call: letters of its frames below f0, called through site 0 of each; T is
 * the trampoline of a signal.
 */
static inline void stack(struct bench *b, const char *letters, uint64_t weight,
			 const struct rec_sleep *sleep)
{
	struct rec_frame frame[128];
	unsigned int n = (unsigned int)strlen(letters), i, k, s;

	assert_true(n < 127);
	for (i = 0; i <= n; i++) {
		char f = i ? letters[i - 1] : '0';

		frame[i] =
		    (struct rec_frame){1, code(f).offset + (f == 'T' ? 0 : 3), code(f).offset};
		for (k = s = 0; i < n && k < b->nr_sites; k++) {
			if (b->site[k].caller != f)
				continue;
			if (b->site[k].callee == letters[i] || b->site[k].callee == '?') {
				frame[i].offset = site_offset(f, s) + 5;
				break;
			}
			s++;
		}
	}
	give_witness(b, frame, n + 1, weight, sleep);
}

/* A sleep inside the next call whose stack was not read: it only says that f0 was open. */
static inline void sleep_without_stack(struct bench *b, uint64_t weight,
				       const struct rec_sleep *sleep)
{
	struct rec_frame frame = {1, code('0').offset, code('0').offset};
	struct record rec = {.type = REC_WITNESS};

	rec.witness = (struct rec_witness){.op = OP,
					   .tid = 5,
					   .at_ns = b->now + 1000,
					   .weight_ns = weight,
					   .kind = WITNESS_SLEEP,
					   .sleep = *sleep,
					   .nr_frames = 1,
					   .frames = &frame,
					   .partial = 1};
	assert_int_equal(feed(b, &rec), 0);
}

/* The path of an answer in letters, into a static buffer. */
static const char *letters_of(const struct descent_result *r, unsigned int path)
{
	static char text[80];
	unsigned int i;

	assert_true(path < r->nr_paths);
	for (i = 1; i < r->paths[path].nr_frames; i++) {
		const struct descent_fnode *n = &r->nodes[r->paths[path].frames[i]];

		text[i - 1] = n->function.module ? (char)(n->function.offset >> 16) : '?';
	}
	text[i - 1] = '\0';
	return text;
}

static inline void expect_path(struct bench *b, unsigned int path, const char *letters,
			       enum cause_kind kind)
{
	struct descent_result r;

	assert_int_equal(descent_result(b->d, &r), 0);
	assert_string_equal(letters_of(&r, path), letters);
	assert_string_equal(cause_kind_text(r.paths[path].cause.kind), cause_kind_text(kind));
	descent_result_release(&r);
}

static inline unsigned int nr_paths(struct bench *b)
{
	struct descent_result r;
	unsigned int n;

	assert_int_equal(descent_result(b->d, &r), 0);
	n = r.nr_paths;
	descent_result_release(&r);
	return n;
}

static inline void expect_done(struct bench *b, enum descent_status status)
{
	assert_string_equal(descent_status_text(descent_status(b->d)), descent_status_text(status));
	assert_int_equal(b->done, status != DESCENT_IN_PROGRESS);
}

#endif
