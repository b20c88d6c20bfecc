// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The small decisions on what the front has learnt of a target: which definition an import means,
 * which function a name, where a path ends at a parked goroutine, what the frames of a stack are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/descent/armed_set.h"
#include "analysis/descent/imports.h"
#include "analysis/descent/parked.h"
#include "analysis/parser/frames.h"
#include "analysis/parser/functions.h"
#include "analysis/walk/known_stacks.h"
#include "analysis/walk/names.h"

/* ---- imports ---- */

static void the_loader_takes_the_first_export(void **state)
{
	const struct import_definition list[] = {{{1, 0x10}, "server", false, false},
						 {{2, 0x20}, "ld-linux-x86-64.so.2", true, false},
						 {{3, 0x30}, "libfast.so", true, false},
						 {{4, 0x40}, "libc.so.6", true, false}};

	assert_int_equal(import_resolve(list, 4).module, 3);
	assert_int_equal(import_resolve(list, 4).offset, 0x30);
	/* the loader's own only where there is no other */
	assert_int_equal(import_resolve(list, 2).module, 2);
	assert_int_equal(import_resolve(list, 1).module, 0);
	assert_int_equal(import_resolve(NULL, 0).module, 0);
}

static void an_ifunc_is_not_resolved(void **state)
{
	const struct import_definition list[] = {{{1, 0x10}, "libc.so.6", true, true},
						 {{2, 0x20}, "libother.so", true, false}};

	assert_int_equal(import_resolve(list, 2).module, 0);
	assert_int_equal(import_resolve(list + 1, 1).module, 2);
}

/* ---- names ---- */

static struct parsed_functions functions(const struct parsed_function *list, uint32_t nr)
{
	return (struct parsed_functions){.nr = nr, .total = nr, .functions = list};
}

static void old_versions_of_a_symbol_are_left(void **state)
{
	const struct parsed_function
	    list[] = {{.symbol = "memcpy@GLIBC_2.2.5", .function = "", .offset = 1},
		      {.symbol = "memcpy@@GLIBC_2.14", .function = "", .offset = 2},
		      {.symbol = "memcpy", .function = "", .offset = 3}},
	    step[] = {{.symbol = "step", .function = "step", .offset = 4},
		      {.symbol = "step", .function = "step@GLIBC_2.2.5", .offset = 5}};
	struct parsed_functions a = functions(list, 2);

	assert_int_equal(functions_only(&a)->offset, 2);
	/* the only one, however old */
	a = functions(list, 1);
	assert_int_equal(functions_only(&a)->offset, 1);
	a = functions(list, 3);
	assert_null(functions_only(&a));
	a = functions(list, 0);
	assert_null(functions_only(&a));
	/* there are more than were listed */
	a = functions(list, 2);
	a.total = 3;
	assert_null(functions_only(&a));
	/* the symbol table of the debug file has no versions, that of the library has */
	a = functions(step, 2);
	assert_non_null(functions_only(&a));
	assert_int_equal(functions_only(&a)->offset, 4);
}

static void names_of_starts_and_locks(void **state)
{
	assert_true(walk_name_starts("_start"));
	assert_true(walk_name_starts("__libc_start_main@@GLIBC_2.34"));
	assert_false(walk_name_starts("_start_server"));
	assert_false(walk_name_starts("start"));
	assert_true(walk_name_takes_lock("pthread_mutex_lock@GLIBC_2.2.5"));
	assert_true(walk_name_takes_lock("Monitor::lock(Thread*)"));
	assert_false(walk_name_takes_lock("pthread_mutex_lock_all"));
	assert_false(walk_name_takes_lock("pthread_cond_wait"));
	assert_true(walk_name_takes_lock("PyEval_RestoreThread"));
	assert_true(walk_name_waits_for_condition("pthread_cond_clockwait@@GLIBC_2.34"));
	assert_false(walk_name_waits_for_condition("pthread_cond_signal"));
	assert_true(walk_name_is_python("python3.11"));
	assert_true(walk_name_is_python("libpython3.11.so.1.0"));
	assert_false(walk_name_is_python("python"));
	assert_true(walk_name_schedules("runtime.schedule"));
	assert_false(walk_name_schedules("runtime.scheduler"));
	assert_true(walk_name_is_libc("libc.so.6"));
	assert_true(walk_name_is_libc("ld-musl-x86_64.so.1"));
	assert_false(walk_name_is_libc("libcurl.so.4"));
}

/* ---- paths that end where a goroutine parks itself ---- */

static const char *name_of(const void *ctx, struct rec_code function)
{
	if (function.offset == 0x60)
		return "sync.(*WaitGroup).Wait";
	return function.offset == 0x30 ? "runtime.gopark" : function.offset ? "main.work" : NULL;
}

static uint32_t *indices(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t *list = malloc(3 * sizeof(*list));

	assert_non_null(list);
	list[0] = a;
	list[1] = b;
	list[2] = c;
	return list;
}

static void a_parked_goroutine_ends_the_path(void **state)
{
	struct descent_fnode nodes[] = {{.function = {1, 0x10}},
					{.function = {1, 0x20}},
					{.function = {1, 0x30}},
					{.function = {1, 0x40}},
					{.function = {1, 0x50}}};
	struct descent_path paths[] = {
	    {.share = 0.4, .nr_frames = 3, .frames = indices(0, 1, 3)},
	    {.share = 0.3, .nr_frames = 3, .frames = indices(0, 2, 3), .nr_pcs = 2},
	    {.share = 0.2, .nr_frames = 3, .frames = indices(0, 2, 4)},
	};
	struct descent_result r = {.nr_nodes = 5, .nodes = nodes, .nr_paths = 3, .paths = paths};

	paths[1].cause.kind = paths[2].cause.kind = CAUSE_OWN_CODE;
	parked_cut(&r, name_of, NULL);
	/* both that park end in the same call now: one path, the heaviest */
	assert_int_equal(r.nr_paths, 2);
	assert_true(r.paths[0].share > 0.49 && r.paths[0].share < 0.51);
	assert_int_equal(r.paths[0].nr_frames, 2);
	assert_int_equal(r.paths[0].frames[1], 2);
	assert_int_equal(r.paths[0].nr_pcs, 0);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_WAIT);
	assert_string_equal(r.paths[0].cause.detail, "the goroutine was parked");
	/* the other one stays */
	assert_int_equal(r.paths[1].nr_frames, 3);
	for (unsigned int i = 0; i < r.nr_paths; i++)
		free((void *)(uintptr_t)r.paths[i].frames);
}

static void wait_at(struct descent_path *p, const char *reason)
{
	p->cause.kind = CAUSE_WAIT;
	snprintf(p->cause.detail, sizeof(p->cause.detail), "the goroutine was parked: %s", reason);
}

/* Waits whose goroutine brought no stack join the only path that parked for the same reason. */
static void a_wait_without_a_stack_joins_its_path(void **state)
{
	struct descent_fnode nodes[] = {
	    {.function = {1, 0x10}}, {.function = {1, 0x20}}, {.function = {1, 0x30}}};

	for (unsigned int other = 0; other < 3; other++) {
		struct descent_path paths[] = {
		    {.share = 0.5, .nr_frames = 1, .frames = indices(0, 0, 0), .latency_ns = 5},
		    {.share = 0.4, .nr_frames = 2, .frames = indices(0, 2, 0), .latency_ns = 4},
		    {.share = 0.1, .nr_frames = 3, .frames = indices(0, 1, 2), .latency_ns = 1},
		};
		struct descent_result r = {
		    .nr_nodes = 3, .nodes = nodes, .nr_paths = 3, .paths = paths};

		wait_at(&paths[0], "chan receive");
		wait_at(&paths[1], other == 1 ? "select" : "chan receive");
		wait_at(&paths[2], other == 2 ? "chan receive" : "sleep");
		parked_cut(&r, name_of, NULL);
		/* another reason, or two paths for this reason: nothing is joined */
		assert_int_equal(r.nr_paths, other ? 3 : 2);
		assert_int_equal(r.paths[0].nr_frames, other ? 1 : 2);
		assert_int_equal(r.paths[0].latency_ns, other ? 5 : 9);
		for (unsigned int i = 0; i < r.nr_paths; i++)
			free((void *)(uintptr_t)r.paths[i].frames);
	}
}

/* A mutex and a group park for the same reason. */
static void a_group_of_goroutines_is_no_lock(void **state)
{
	struct descent_fnode nodes[] = {{.function = {1, 0x10}},
					{.function = {1, 0x60}},
					{.function = {1, 0x30}},
					{.function = {1, 0x20}},
					{.function = {1, 0x30}}};
	struct descent_path paths[] = {
	    {.share = 0.6, .nr_frames = 3, .frames = indices(0, 1, 2)},
	    {.share = 0.4, .nr_frames = 3, .frames = indices(0, 3, 4)},
	};
	struct descent_result r = {.nr_nodes = 5, .nodes = nodes, .nr_paths = 2, .paths = paths};

	wait_at(&paths[0], "semacquire");
	wait_at(&paths[1], "semacquire");
	paths[0].cause.kind = paths[1].cause.kind = CAUSE_LOCK;
	parked_cut(&r, name_of, NULL);
	assert_int_equal(r.nr_paths, 2);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_WAIT);
	assert_string_equal(r.paths[0].cause.name, "other goroutines");
	assert_int_equal(r.paths[1].cause.kind, CAUSE_LOCK);
	for (unsigned int i = 0; i < r.nr_paths; i++)
		free((void *)(uintptr_t)r.paths[i].frames);
}

/* ---- frames ---- */

static void frames_in_both_directions(void **state)
{
	const struct parsed_frame in[] = {
	    {1, 0x11, 0x10, 0x7000, 0}, {1, 0x21, 0x20, 0x7100, 0}, {2, 0x31, 0x30, 0x7200, 0}};
	struct parsed_frames a = {.nr = 3, .frames = in};
	struct rec_frame out[4];

	assert_int_equal(frames_callers(&a, out, 4), 3);
	assert_int_equal(out[0].offset, 0x11);
	assert_int_equal(frames_callers(&a, out, 2), 2);
	/* a stack that was cut ends in callers that are not known */
	a.stop = 1;
	assert_int_equal(frames_callers(&a, out, 4), 4);
	assert_int_equal(out[2].module, a.frames[2].module);
	assert_int_equal(out[3].module, 0);
	assert_true(out[3].function == CALLERS_UNKNOWN);
	assert_int_equal(frames_callers(&a, out, 3), 3);
	assert_true(out[2].function == CALLERS_UNKNOWN);
	a.nr = 0;
	assert_int_equal(frames_callers(&a, out, 4), 0);
	a.nr = 3;
	a.stop = 0;
	assert_int_equal(out[1].function, 0x20);
	assert_int_equal(frames_outermost_first(&a, out, 4), 3);
	assert_int_equal(out[0].module, 2);
	assert_int_equal(out[2].offset, 0x11);
	assert_int_equal(frames_outermost_first(&a, out, 2), 0);
	assert_int_equal(frames_from_cfa(&a, 0x7100, out, 4), 2);
	assert_int_equal(out[0].offset, 0x21);
	assert_int_equal(out[1].offset, 0x11);
	assert_int_equal(frames_from_cfa(&a, 0x7150, out, 4), 0);
	assert_int_equal(frames_from_cfa(&a, 0x7200, out, 2), 0);
}

static void the_kernel_part_is_split_at_f0(void **state)
{
	const uint32_t m = REC_KERNEL_MODULE;
	const struct rec_frame in[] = {{m, REC_KERNEL_CALL | 1, REC_KERNEL_CALL | 1},
				       {m, 0x104, 0x100},
				       {m, 0x204, 0x200},
				       {m, 0x204, 0x200}};
	struct rec_frame out[4];

	/* a recursion is one call of f0, that of its outermost frame */
	assert_int_equal(frames_kernel_callers(in, 4, (struct rec_code){m, 0x200}, out), 2);
	assert_true(out[0].function == 0x100);
	assert_true(out[1].function == (REC_KERNEL_CALL | 1));
	assert_int_equal(
	    frames_kernel_callers(in, 4, (struct rec_code){m, REC_KERNEL_CALL | 1}, out), 0);
	out[0].function = 7;
	assert_int_equal(frames_kernel_callers(in, 4, (struct rec_code){m, 0x300}, out), 4);
	assert_int_equal(out[0].function, 7);
}

static void a_sleep_at_a_known_place_gets_its_frames(void **state)
{
	const struct rec_frame frames[] = {{1, 0x11, 0x10}, {1, 0x21, 0x20}};
	const struct rec_frame others[] = {{1, 0x91, 0x90}, {1, 0x21, 0x20}};
	const struct rec_frame elsewhere[] = {{1, 0x18, 0x10}, {1, 0x21, 0x20}};
	uint64_t regs[20] = {[16] = 0x401000, [19] = 0x7ffe0000};
	struct rec_thread_snapshot seen = {
	    .pid = 9, .tid = 10, .kind = WITNESS_SLEEP, .nr_frames = 2, .frames = frames};
	struct rec_thread_snapshot bare = {.pid = 9, .tid = 10, .kind = WITNESS_SLEEP};
	struct stack_place at = stack_place_of(&seen, regs, 20);
	struct known_stacks *k = known_stacks_new();

	assert_non_null(k);
	assert_false(known_stacks_fill(k, at, &bare));
	/* one that is cut off says nothing */
	seen.stop = 1;
	known_stacks_note(k, at, &seen);
	assert_false(known_stacks_fill(k, at, &bare));
	seen.stop = 0;
	known_stacks_note(k, at, &seen);
	known_stacks_note(k, at, &seen);
	assert_true(known_stacks_fill(k, at, &bare));
	assert_int_equal(bare.nr_frames, 2);
	assert_int_equal(bare.frames[1].offset, 0x21);
	/* another thread, another height of the stack, no registers */
	bare.nr_frames = 0;
	at.tid = 11;
	assert_false(known_stacks_fill(k, at, &bare));
	at.tid = 10;
	at.sp += 8;
	assert_false(known_stacks_fill(k, at, &bare));
	assert_false(known_stacks_fill(k, stack_place_of(&seen, regs, 16), &bare));
	/* another call of the same function */
	at.sp -= 8;
	seen.frames = elsewhere;
	known_stacks_note(k, at, &seen);
	assert_true(known_stacks_fill(k, at, &bare));
	/* two callers at one height: not known which */
	seen.frames = others;
	known_stacks_note(k, at, &seen);
	assert_false(known_stacks_fill(k, at, &bare));
	known_stacks_free(k);
}

static void a_cut_stack_at_a_known_place_gets_its_callers(void **state)
{
	const struct rec_frame frames[] = {{1, 0x11, 0x10}, {1, 0x21, 0x20}, {1, 0x31, 0x30}};
	const struct rec_frame inner[] = {{1, 0x21, 0x20}, {1, 0x32, 0x30}};
	const struct rec_frame others[] = {{1, 0x91, 0x90}, {1, 0x31, 0x30}};
	uint64_t regs[20] = {[16] = 0x401000, [19] = 0x7ffe0000};
	struct rec_thread_snapshot seen = {
	    .pid = 9, .tid = 10, .kind = WITNESS_SLEEP, .nr_frames = 3, .frames = frames};
	struct rec_thread_snapshot cut = {.pid = 9,
					  .tid = 10,
					  .kind = WITNESS_SLEEP,
					  .stop = 1,
					  .stop_text = "cut",
					  .nr_frames = 2,
					  .frames = others};
	struct stack_place at = stack_place_of(&seen, regs, 20);
	struct known_stacks *k = known_stacks_new();

	assert_non_null(k);
	assert_false(known_stacks_complete(k, at, &cut));
	known_stacks_note(k, at, &seen);
	/* it was reached from elsewhere */
	assert_false(known_stacks_complete(k, at, &cut));
	assert_int_equal(cut.nr_frames, 2);
	assert_int_equal(cut.stop, 1);
	cut.frames = inner;
	assert_true(known_stacks_complete(k, at, &cut));
	assert_int_equal(cut.nr_frames, 3);
	assert_int_equal(cut.stop, 0);
	assert_string_equal(cut.stop_text, "");
	known_stacks_free(k);
}

static void open_fnodes_are_frames(void **state)
{
	const struct descent_armed armed[] = {
	    {.node = 5, .site = {1, 0x110}, .ret = 0x115, .callee = {1, 0x200}},
	    {.node = 6, .parent = 5, .site = {1, 0x210}, .callee = {2, 0x300}},
	    {.node = 7, .parent = 5, .site = {1, 0x220}, .ret = 0x225},
	    {.node = 8, .parent = 99, .site = {1, 0x230}, .ret = 0x235}};
	struct rec_frame out[DESCENT_MAX_DEPTH + 1];
	const struct rec_code f0 = {1, 0x100};

	assert_int_equal(armed_set_frames(armed, 4, f0, 6, out), 3);
	assert_int_equal(out[0].offset, 0x115);
	assert_int_equal(out[0].function, 0x100);
	/* a tail call has no return address: its site */
	assert_int_equal(out[1].offset, 0x210);
	assert_int_equal(out[2].module, 2);
	assert_int_equal(out[2].function, 0x300);
	/* what it calls is not known: it ends at the call */
	assert_int_equal(armed_set_frames(armed, 4, f0, 7, out), 2);
	assert_int_equal(out[1].offset, 0x225);
	assert_int_equal(armed_set_frames(armed, 4, f0, 8, out), 0);
	assert_int_equal(armed_set_frames(armed, 4, f0, 4, out), 0);
	assert_int_equal(armed_set_frames(armed, 4, f0, 0, out), 1);
	assert_int_equal(out[0].offset, 0x100);
}

static void a_step_hides_short_calls(void **state)
{
	struct rec_descent ask = {.low_ns = 900, .high_ns = 1600, .step_ns = 700};
	struct req_fnode n = {.start = {.class = SITE_STEPPED}};

	assert_true(armed_set_too_short(&ask, &n));
	ask.step_ns = 500;
	assert_false(armed_set_too_short(&ask, &n));
	ask.step_ns = 700;
	n.start.class = SITE_EMULATED;
	assert_false(armed_set_too_short(&ask, &n));
	n.end = (struct rec_site){.module = 1, .class = SITE_STEPPED};
	assert_true(armed_set_too_short(&ask, &n));
	/* the slowest calls have no upper end */
	ask.low_ns = 1500;
	ask.high_ns = UINT64_MAX;
	assert_false(armed_set_too_short(&ask, &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_loader_takes_the_first_export),
	    cmocka_unit_test(an_ifunc_is_not_resolved),
	    cmocka_unit_test(old_versions_of_a_symbol_are_left),
	    cmocka_unit_test(names_of_starts_and_locks),
	    cmocka_unit_test(a_parked_goroutine_ends_the_path),
	    cmocka_unit_test(a_wait_without_a_stack_joins_its_path),
	    cmocka_unit_test(a_group_of_goroutines_is_no_lock),
	    cmocka_unit_test(frames_in_both_directions),
	    cmocka_unit_test(the_kernel_part_is_split_at_f0),
	    cmocka_unit_test(a_sleep_at_a_known_place_gets_its_frames),
	    cmocka_unit_test(a_cut_stack_at_a_known_place_gets_its_callers),
	    cmocka_unit_test(open_fnodes_are_frames),
	    cmocka_unit_test(a_step_hides_short_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
