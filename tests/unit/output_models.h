/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models made of records, and documents made of models: for the tests of what is printed. */
#ifndef PEAKTOP_OUTPUT_MODELS_H
#define PEAKTOP_OUTPUT_MODELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tui/report/output.h"

#define US 1000ULL
#define MS 1000000ULL
#define S 1000000000ULL
#define HOSTILE "ev\x1b[2Jil\xc2\x9b\xff\xe2\x80\xae\n\xf0\x9f\x98\x80"

typedef int output_fn(struct model *, const struct output_options *, FILE *);

/* --- records */

static inline void feed(struct model *m, struct record rec)
{
	assert_int_equal(model_feed(m, &rec), 0);
}

static inline void feed_op(struct model *m, uint32_t number, enum layer layer, const char *name,
			   const char *requested)
{
	feed(m, (struct record){.type = REC_OP,
				.op = {.op = number,
				       .layer = layer,
				       .name = name,
				       .label = name,
				       .requested = requested,
				       .module = layer == LAYER_FUNCTION ? "libx.so" : "",
				       .placement = layer == LAYER_FUNCTION ? "call sites" : ""}});
}

struct mode {
	uint64_t ns; /* the calls lie at ns, and half as many in the buckets beside it */
	uint64_t calls;
};

/* One slice of a second of one operation. */
static inline void feed_slice(struct model *m, uint32_t op, unsigned int slice,
			      const struct mode *mode, unsigned int nr, uint64_t open)
{
	static uint64_t count[PT_BUCKETS], packed[PT_BUCKETS];
	static uint32_t bucket[PT_BUCKETS];
	struct rec_profile p = {.op = op,
				.start_ns = slice * S,
				.end_ns = (slice + 1) * S,
				.open = open,
				.oldest_open_ns = open ? 12 * S : 0,
				.armed_ns = S,
				.bucket = bucket,
				.count = packed};
	unsigned int i, b;

	memset(count, 0, sizeof(count));
	for (i = 0; i < nr; i++) {
		b = pt_bucket(mode[i].ns);
		count[b] += mode[i].calls;
		count[b - 1] += mode[i].calls / 2;
		count[b + 1] += mode[i].calls / 2;
		p.sum_ns += (mode[i].calls + 2 * (mode[i].calls / 2)) * mode[i].ns;
	}
	for (i = 0; i < PT_BUCKETS; i++) {
		if (!count[i])
			continue;
		p.min_ns = p.min_ns ? p.min_ns : bucket_low_ns(i, PT_RESOLUTION);
		p.max_ns = bucket_high_ns(i, PT_RESOLUTION) - 1;
		p.calls += count[i];
		bucket[p.nr_buckets] = i;
		packed[p.nr_buckets++] = count[i];
	}
	feed(m, (struct record){.type = REC_PROFILE, .profile = p});
}

static inline void feed_tick(struct model *m, unsigned int slice)
{
	feed(m, (struct record){
		    .type = REC_TICK,
		    .tick = {.slice = slice, .start_ns = slice * S, .end_ns = (slice + 1) * S}});
}

static inline void feed_host(struct model *m)
{
	feed(m, (struct record){.type = REC_META,
				.meta = {.version = "0.1.0",
					 .host = "box",
					 .kernel = "6.18.0",
					 .boot_id = "b",
					 .cpus = 2,
					 .interval_ns = S,
					 .command = "watch",
					 .resolution = 4}});
	feed(m, (struct record){.type = REC_TARGET,
				.target = {.pid = 4321,
					   .ns_pid = 7,
					   .started_ns = 123456789,
					   .comm = "redis-server",
					   .exe = "/usr/bin/redis-server",
					   .threads = 4,
					   .requested = 1}});
}

static inline void feed_state(struct model *m)
{
	feed(m, (struct record){.type = REC_COST,
				.cost = {.at_ns = 5 * S,
					 .hits = 10000,
					 .ns = 30 * MS,
					 .target_cpu_ns = 2 * S,
					 .host_cpu_ns = 10 * S,
					 .other_ns = 10 * MS,
					 .own_cpu_ns = 70 * MS}});
	feed(m, (struct record){.type = REC_LOSS,
				.loss = {.records = 3, .samples = 5, .tainted_ns = 2 * MS}});
	feed(m, (struct record){.type = REC_NOTE,
				.note = {NOTE_WARNING, "kernel functions cannot be probed here"}});
}

enum { READ = 1, WRITE, FSYNC, FUTEX, FUNC, IDLE, WANTED };

static inline struct model *rich_model(void)
{
	const struct mode rd[] = {{2 * US, 5000}, {300 * US, 200}},
			  wr[] = {{4 * US, 3000}, {310 * US, 200}};
	const struct mode fs[] = {{8 * MS, 20}}, fn[] = {{600, 90000}, {40 * MS, 30}};
	struct model *m = model_new();
	unsigned int i;

	assert_non_null(m);
	feed_host(m);
	feed_op(m, READ, LAYER_SYSCALL, "syscall:read", "");
	feed_op(m, WRITE, LAYER_SYSCALL, "syscall:write", "");
	feed_op(m, FSYNC, LAYER_SYSCALL, "syscall:fsync", "");
	feed_op(m, FUTEX, LAYER_SYSCALL, "syscall:futex", "");
	feed_op(m, FUNC, LAYER_FUNCTION, "lookup(int, char const*)@libx.so", "lookup");
	feed_op(m, IDLE, LAYER_SYSCALL, "syscall:getpid", "");
	feed_op(m, WANTED, LAYER_SYSCALL, "syscall:splice", "syscall:splice");
	for (i = 0; i < 20; i++) {
		feed_slice(m, READ, i, rd, 2, 0);
		feed_slice(m, WRITE, i, wr, 2, 0);
		if (i % 5 == 0)
			feed_slice(m, FSYNC, i, fs, 1, 0);
		feed_slice(m, FUTEX, i, NULL, 0, 1);
		feed(m, (struct record){.type = REC_OPEN,
					.open = {.op = FUTEX,
						 .pid = 4321,
						 .tid = 4325,
						 .comm = "bio",
						 .start_ns = 1,
						 .age_ns = 12 * S}});
		feed_slice(m, FUNC, i, fn, 2, 0);
		feed_tick(m, i);
	}
	feed_state(m);
	return m;
}

static inline struct model *hostile_model(void)
{
	const struct mode mode[] = {{2 * US, 100}};
	struct model *m = model_new();

	feed(m, (struct record){.type = REC_META,
				.meta = {.version = HOSTILE,
					 .host = HOSTILE,
					 .kernel = HOSTILE,
					 .boot_id = HOSTILE,
					 .cpus = 1,
					 .command = HOSTILE}});
	feed(m, (struct record){
		    .type = REC_TARGET,
		    .target = {.pid = 1, .comm = HOSTILE, .exe = HOSTILE, .requested = 1}});
	feed(m, (struct record){.type = REC_OP,
				.op = {.op = 1,
				       .layer = LAYER_FUNCTION,
				       .name = HOSTILE,
				       .label = HOSTILE,
				       .requested = HOSTILE,
				       .module = HOSTILE,
				       .placement = HOSTILE}});
	feed_slice(m, 1, 0, mode, 1, 1);
	feed(m,
	     (struct record){.type = REC_OPEN,
			     .open = {.op = 1, .pid = 1, .tid = 1, .comm = HOSTILE, .age_ns = 1}});
	feed_tick(m, 0);
	feed(m, (struct record){.type = REC_NOTE, .note = {NOTE_INFO, HOSTILE}});
	feed(m, (struct record){.type = REC_CHECK, .check = {HOSTILE, 0, HOSTILE, HOSTILE}});
	feed(m, (struct record){.type = REC_COST, .cost = {.hits = UINT64_MAX, .ns = UINT64_MAX}});
	return m;
}

/* --- documents */

static inline char *print(output_fn *fn, struct model *m, const struct output_options *o)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(fn(m, o, f), 0);
	fclose(f);
	assert_int_equal(strlen(text), len);
	return text;
}

#endif
