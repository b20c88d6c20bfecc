// SPDX-License-Identifier: GPL-2.0-or-later
/* Below a system call the descent goes on: into functions of the kernel that stacks have shown. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/descent/armed_set.h"
#include "analysis/descent/descent.h"
#include "bpf/buckets.h"

enum { OP = 12, NR = 17, US = 1000, MS = 1000000, ARMED = 16 };

static const struct rec_code f0 = {REC_KERNEL_MODULE, REC_KERNEL_CALL | NR};

/* A frame in the function that begins at `function`, which has called the next one. */
static struct rec_frame kernel(uint64_t function, uint64_t at)
{
	return (struct rec_frame){
	    .module = REC_KERNEL_MODULE, .offset = function + at, .function = function};
}

/* f0 itself: its callees return into the kernel's entry code. */
static struct rec_frame root(void)
{
	return (struct rec_frame){.module = f0.module, .offset = 0x5010, .function = f0.offset};
}

struct run {
	struct descent *d;
	uint64_t now;
	uint32_t epoch, nr;
	struct descent_armed armed[ARMED];
	uint64_t refused; /* function that cannot be armed; 0: none */
	uint32_t nr_user; /* frames of the program, before those of the kernel; 0: f0 is of it */
};

/* A function of the program as f0, which calls another one, which makes the system call. */
static const struct rec_code user_f0 = {1, 0x1000};
static const struct rec_call_site user_site = {.offset = 0x100b,
					       .ret = 0x1010,
					       .kind = CALLEE_DIRECT,
					       .flags = CALL_SITE_TIMED,
					       .callee = {1, 0x2000}};
static const struct rec_frame in_f0 = {1, 0x1010, 0x1000}, in_wrapper = {1, 0x2005, 0x2000};

static void feed(struct run *r, const struct record *rec);

/* What belongs to the kernel is refused where that is not probed. */
static void feed_saved(struct run *r, const struct record *rec)
{
	int err = descent_feed(r->d, rec);

	assert_true(!err || (err == -EINVAL && rec->fnode.callee.module == REC_KERNEL_MODULE));
}

static void take_arm(struct run *r, const struct descent_action *a)
{
	struct record lost = {.type = REC_FNODE_LOST};

	r->epoch = a->epoch;
	r->nr = a->nr_armed;
	assert_true(r->nr <= ARMED);
	if (r->nr)
		memcpy(r->armed, a->armed, r->nr * sizeof(*r->armed));
	for (uint32_t i = 0; i < r->nr; i++) {
		if (!r->nr_user || r->armed[i].site.module == REC_KERNEL_MODULE) {
			assert_int_equal(r->armed[i].site.module, REC_KERNEL_MODULE);
			assert_int_equal(r->armed[i].site.offset, r->armed[i].ret - 1);
		}
		if (r->armed[i].callee.offset != r->refused)
			continue;
		lost.fnode_lost = (struct rec_fnode_lost){
		    .epoch = r->epoch, .node = r->armed[i].node, .reason = FNODE_REFUSED};
		feed(r, &lost);
		return;
	}
}

static void feed(struct run *r, const struct record *rec)
{
	struct descent_action a;

	assert_int_equal(descent_feed(r->d, rec), 0);
	for (;;) {
		descent_next(r->d, &a);
		if (a.kind == DESCENT_ARM) {
			take_arm(r, &a);
		} else if (a.kind == DESCENT_EXPAND) {
			/* as the driver answers: the kernel's code is not read */
			struct record answer = {.type = REC_CALLEES,
						.callees = {.function = a.function}};

			if (code_equal(a.function, user_f0)) {
				answer.callees.nr_sites = answer.callees.total = 1;
				answer.callees.sites = &user_site;
			}
			assert_int_equal(descent_feed(r->d, &answer), 0);
		} else {
			assert_true(a.kind == DESCENT_WAIT || a.kind == DESCENT_DONE);
			return;
		}
	}
}

/* The fnodes of a descent that is to go on. */
struct saved {
	unsigned int nr;
	struct record fnode[ARMED];
};

static int save(void *ctx, const struct record *rec)
{
	struct saved *s = ctx;

	assert_true(s->nr < ARMED);
	s->fnode[s->nr++] = *rec;
	return 0;
}

static void resume_at(struct run *r, struct rec_code function, uint64_t kernel_ns,
		      const struct saved *saved)
{
	struct record ask = {.type = REC_DESCENT}, profile = {.type = REC_PROFILE};
	const uint32_t bucket = pt_bucket(3 * MS);
	const uint64_t count = 200;

	*r = (struct run){
	    .d = descent_new(), .now = MS, .nr_user = function.module == REC_KERNEL_MODULE ? 0 : 2};
	descent_options_init(&ask.descent);
	ask.descent.op = OP;
	ask.descent.function = function;
	ask.descent.low_ns = 2 * MS;
	ask.descent.high_ns = 4 * MS;
	ask.descent.kernel_ns = kernel_ns;
	ask.descent.resumes = saved->nr > 0;
	feed(r, &ask);
	for (unsigned int i = 0; i < saved->nr; i++)
		feed_saved(r, &saved->fnode[i]);
	profile.profile = (struct rec_profile){.op = OP,
					       .calls = count,
					       .sum_ns = count * 3 * MS,
					       .min_ns = 3 * MS,
					       .max_ns = 3 * MS,
					       .nr_buckets = 1,
					       .bucket = &bucket,
					       .count = &count};
	if (saved->nr) {
		profile.type = REC_SAVED_PROFILE;
		feed(r, &profile);
		profile.type = REC_PROFILE;
	}
	feed(r, &profile);
}

static void begin_at(struct run *r, struct rec_code function, uint64_t kernel_ns)
{
	const struct saved none = {0};

	resume_at(r, function, kernel_ns, &none);
}

static void begin(struct run *r, uint64_t kernel_ns)
{
	begin_at(r, f0, kernel_ns);
}

/* The frames of this stack that an armed fnode stands for: it and its callers were all called. */
static bool is_called(const struct run *r, const struct descent_armed *a,
		      const struct rec_frame *stack, uint32_t nr)
{
	const struct descent_armed *parent = NULL;
	uint32_t at = 1;

	while (at < nr &&
	       (stack[at].function != a->callee.offset || stack[at - 1].offset != a->ret))
		at++;
	if (at == nr)
		return false;
	for (uint32_t i = 0; i < r->nr; i++)
		if (r->armed[i].node == a->parent)
			parent = &r->armed[i];
	return parent ? is_called(r, parent, stack, at) : at == 1;
}

/* One in-peak call that waits, or runs, at the end of this stack. */
static void call(struct run *r, const struct rec_frame *stack, uint32_t nr, bool sleeps)
{
	static const struct rec_sleep pipe = {.syscall = 0,
					      .call = "read",
					      .object = OBJECT_PIPE,
					      .name = "pipe:[7]",
					      .waker = "feeder",
					      .waker_tid = 99,
					      .holder = ""};
	struct record c = {.type = REC_CALL}, w = {.type = REC_WITNESS};
	struct rec_call_node node[ARMED];
	uint64_t latency = 3 * MS, blocked = sleeps ? 2900 * US : 0;

	c.call = (struct rec_call){.epoch = r->epoch,
				   .op = OP,
				   .pid = 5,
				   .tid = 5,
				   .start_ns = r->now,
				   .latency_ns = latency,
				   .raw_ns = latency,
				   .oncpu_ns = latency - blocked,
				   .blocked_ns = blocked,
				   .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED |
					    CALL_KNOWN_RUNQUEUE | CALL_KNOWN_INTERRUPT |
					    CALL_KNOWN_FAULTS | CALL_KNOWN_NODE_FAULT |
					    CALL_KNOWN_NODE_RUNQUEUE | CALL_KNOWN_NODE_INTERRUPT,
				   .nodes = node,
				   .interrupt_name = "",
				   .preempted_by = ""};
	for (uint32_t i = 0; i < r->nr; i++)
		if (is_called(r, &r->armed[i], stack, nr))
			node[c.call.nr_nodes++] =
			    (struct rec_call_node){.node = r->armed[i].node,
						   .count = 1,
						   .max_ns = latency - 20 * US,
						   .sum_ns = latency - 20 * US,
						   .blocked_ns = blocked};
	w.witness = (struct rec_witness){.op = OP,
					 .tid = 5,
					 .at_ns = r->now + latency / 2,
					 .weight_ns = sleeps ? blocked : latency,
					 .kind = sleeps ? WITNESS_SLEEP : WITNESS_RUN,
					 .sleep = pipe,
					 .epoch = r->epoch,
					 .nr_frames = r->nr_user ? r->nr_user : nr,
					 .frames = stack,
					 .kernel = stack + r->nr_user,
					 .nr_kernel = nr - r->nr_user};
	feed(r, &w);
	feed(r, &c);
	r->now += 5 * MS;
}

static void assert_frames(const struct descent_result *result, const uint64_t *functions,
			  unsigned int nr)
{
	const struct descent_path *p = &result->paths[0];

	assert_true(result->nr_paths > 0);
	assert_int_equal(p->nr_frames, nr + 1);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(result->nodes[p->frames[i + 1]].function.offset, functions[i]);
}

static void test_measured(void **state)
{
	const struct rec_frame stack[] = {root(), kernel(0x100, 8), kernel(0x200, 9),
					  kernel(0x300, 7)};
	const uint64_t functions[] = {0x100, 0x200, 0x300};
	struct descent_result result;
	struct run r;

	begin(&r, 1 * US);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++)
		call(&r, stack, 4, true);
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_frames(&result, functions, 3);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_WAIT);
	assert_string_equal(result.paths[0].cause.name, "feeder");
	assert_int_equal(result.paths[0].evidence, EVIDENCE_MEASURED);
	/* nothing of the kernel is left to be told by stacks */
	assert_int_equal(result.paths[0].nr_kernel, 0);
	for (unsigned int i = 1; i < 4; i++)
		assert_true(result.nodes[result.paths[0].frames[i]].records > 0);
	descent_result_release(&result);
	descent_free(r.d);
}

/* From a function of the program through its system call: what it calls in the kernel is armed,
 * too.
 */
static void test_from_the_program(void **state)
{
	const struct rec_frame stack[] = {in_f0, in_wrapper, root(), kernel(0x100, 8),
					  kernel(0x200, 9)};
	const uint64_t functions[] = {0x2000, f0.offset, 0x100, 0x200};
	struct descent_result result;
	struct run r;

	begin_at(&r, user_f0, 1 * US);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++)
		call(&r, stack, 5, true);
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_frames(&result, functions, 4);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_WAIT);
	assert_int_equal(result.paths[0].nr_kernel, 0);
	for (unsigned int i = 1; i < 5; i++)
		assert_true(result.nodes[result.paths[0].frames[i]].records > 0);
	descent_result_release(&result);
	descent_free(r.d);
}

/* What was measured in the kernel is armed again at once, without a stack. */
static void test_resumed(void **state)
{
	const struct rec_frame stack[] = {in_f0, in_wrapper, root(), kernel(0x100, 8),
					  kernel(0x200, 9)};
	const uint64_t functions[] = {0x2000, f0.offset, 0x100, 0x200};
	struct descent_result result;
	struct saved saved = {0};
	struct run r;

	begin_at(&r, user_f0, 1 * US);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++)
		call(&r, stack, 5, true);
	assert_int_equal(descent_save(r.d, save, &saved), 0);
	descent_free(r.d);
	assert_int_equal(saved.nr, 5);

	resume_at(&r, user_f0, 1 * US, &saved);
	assert_int_equal(r.nr, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(r.armed[i].callee.offset, functions[i]);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++)
		call(&r, stack, 5, true);
	assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_frames(&result, functions, 4);
	descent_result_release(&result);
	descent_free(r.d);

	/* a kernel that is not probed: the path of the program alone */
	resume_at(&r, user_f0, 0, &saved);
	for (uint32_t i = 0; i < r.nr; i++)
		assert_int_equal(r.armed[i].callee.module, 1);
	descent_free(r.d);
}

/* Where the kernel is not probed, the same path ends at the function that makes the system call. */
static void test_ends_at_the_call(void **state)
{
	const struct rec_frame stack[] = {in_f0, in_wrapper, root(), kernel(0x100, 8),
					  kernel(0x200, 9)};
	const uint64_t functions[] = {0x2000};
	struct descent_result result;
	struct run r;

	begin_at(&r, user_f0, 0);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++) {
		call(&r, stack, 5, false);
		for (uint32_t k = 0; k < r.nr; k++)
			assert_int_equal(r.armed[k].site.module, 1);
	}
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_frames(&result, functions, 1);
	assert_int_equal(result.paths[0].cause.kind, CAUSE_KERNEL);
	assert_int_equal(result.paths[0].kernel_evidence, EVIDENCE_SAMPLED);
	assert_int_equal(result.paths[0].kernel[2].function, 0x200);
	descent_result_release(&result);
	descent_free(r.d);
}

/* Two system calls at one instruction, as in syscall(): none of them stands for both. */
static void test_two_system_calls(void **state)
{
	struct rec_frame one[] = {in_f0, in_wrapper, root(), kernel(0x100, 8)},
			 two[] = {in_f0, in_wrapper, root(), kernel(0x300, 8)};
	struct run r;

	two[2].function++;
	begin_at(&r, user_f0, 1 * US);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++) {
		call(&r, i % 2 ? one : two, 4, true);
		for (uint32_t k = 0; k < r.nr; k++)
			assert_int_equal(r.armed[k].site.module, 1);
	}
	assert_int_not_equal(descent_status(r.d), DESCENT_IN_PROGRESS);
	descent_free(r.d);
}

/* A function that cannot be armed is told by stacks. */
static void test_refused(void **state)
{
	const struct rec_frame stack[] = {root(), kernel(0x100, 8), kernel(0x200, 9),
					  kernel(0x300, 7)};
	const uint64_t functions[] = {0x100};
	struct descent_result result;
	struct run r;

	begin(&r, 1 * US);
	r.refused = 0x200;
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++)
		call(&r, stack, 4, true);
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_frames(&result, functions, 1);
	assert_int_equal(result.paths[0].nr_kernel, 2);
	assert_int_equal(result.paths[0].kernel[0].function, 0x200);
	assert_int_equal(result.paths[0].kernel[1].function, 0x300);
	assert_int_equal(result.paths[0].kernel_evidence, EVIDENCE_WITNESSED);
	descent_result_release(&result);
	descent_free(r.d);
}

/* Without kprobes, or if calls are as short as the probes, nothing is armed below f0. */
static void test_not_entered(void **state)
{
	const struct rec_frame stack[] = {root(), kernel(0x100, 8), kernel(0x200, 9)};
	const uint64_t kernel_ns[] = {0, 2 * MS};
	struct descent_result result;
	struct run r;

	for (unsigned int i = 0; i < 2; i++) {
		begin(&r, kernel_ns[i]);
		for (int k = 0; k < 100; k++)
			call(&r, stack, 1, true);
		assert_int_equal(r.nr, 0);
		assert_int_equal(descent_status(r.d), DESCENT_ROOT_CAUSE);
		assert_int_equal(descent_result(r.d, &result), 0);
		assert_frames(&result, NULL, 0);
		descent_result_release(&result);
		descent_free(r.d);
	}
}

/* Below an indirect call several functions were seen, none of which stands for it. */
static void test_several_callees(void **state)
{
	const struct rec_frame one[] = {root(), kernel(0x100, 8), kernel(0x200, 9)},
			       two[] = {root(), kernel(0x100, 8), kernel(0x300, 9)};
	const uint64_t functions[] = {0x100};
	struct descent_result result;
	struct run r;

	begin(&r, 1 * US);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++) {
		call(&r, i % 2 ? one : two, 3, false);
		for (uint32_t k = 0; k < r.nr; k++)
			assert_int_equal(r.armed[k].callee.offset, 0x100);
	}
	assert_int_equal(descent_result(r.d, &result), 0);
	assert_frames(&result, functions, 1);
	/* samples tell them apart */
	assert_int_equal(result.nr_paths, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(result.paths[i].cause.kind, CAUSE_KERNEL);
		assert_int_equal(result.paths[i].evidence, EVIDENCE_SAMPLED);
		assert_int_equal(result.paths[i].nr_kernel, 1);
	}
	assert_int_equal(result.paths[0].kernel[0].function + result.paths[1].kernel[0].function,
			 0x500);
	descent_result_release(&result);
	descent_free(r.d);
}

/* Few calls show a callee of an indirect call, the first of them the same one: it does not stand
 * for all. */
static void test_first_callee(void **state)
{
	const struct rec_frame one[] = {root(), kernel(0x100, 8), kernel(0x200, 9)},
			       two[] = {root(), kernel(0x100, 8), kernel(0x300, 9)};
	struct run r;

	begin(&r, 1 * US);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++) {
		call(&r, i < 50 || i % 20 ? one : two, i % 10 ? 1 : 3, false);
		for (uint32_t k = 0; k < r.nr; k++)
			assert_int_equal(r.armed[k].callee.offset, 0x100);
	}
	descent_free(r.d);
}

/* A call site that stacks show late, before the one that is armed, is armed, too. */
static void test_shown_late(void **state)
{
	const struct rec_frame early[] = {root(), kernel(0x100, 0x80), kernel(0x200, 9)},
			       late[] = {root(), kernel(0x100, 0x40), kernel(0x300, 9)};
	bool armed = false;
	struct run r;

	begin(&r, 1 * US);
	for (int i = 0; i < 12; i++)
		call(&r, early, 3, true);
	for (int i = 0; i < 400 && descent_status(r.d) == DESCENT_IN_PROGRESS; i++) {
		call(&r, i % 4 ? late : early, 3, true);
		for (uint32_t k = 0; k < r.nr; k++) {
			armed |= r.armed[k].callee.offset == 0x300;
			if (r.armed[k].callee.offset == 0x300)
				assert_int_equal(r.armed[k].ret, 0x140);
			if (r.armed[k].callee.offset == 0x200)
				assert_int_equal(r.armed[k].ret, 0x180);
		}
	}
	assert_true(armed);
	descent_free(r.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_measured),	     cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_from_the_program), cmocka_unit_test(test_ends_at_the_call),
	    cmocka_unit_test(test_two_system_calls), cmocka_unit_test(test_resumed),
	    cmocka_unit_test(test_not_entered),	     cmocka_unit_test(test_several_callees),
	    cmocka_unit_test(test_first_callee),     cmocka_unit_test(test_shown_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
