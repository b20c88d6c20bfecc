// SPDX-License-Identifier: GPL-2.0-or-later
/* What `peaktop critical` prints of a saved session of simulated programs. */
#include "tests/unit/waits_session.h"

static void critical_path(void **state)
{
	json_t *json, *states;
	uint64_t on_path = 0;
	const char *text;

	reopen_triangle();
	json = document(output_critical_json);
	assert_string_equal(text_of(json, "kind"), "critical");
	assert_string_equal(text_of(json_array_get(json_object_get(json, "queues"), 0), "state"),
			    "empty");
	states = json_object_get(json, "states");
	for (size_t i = 0; i < json_array_size(states); i++)
		on_path += number(json_array_get(states, i), "critical_ns");
	assert_true(on_path <= number(json, "length_ns"));
	assert_true(on_path * 100 >= 99 * number(json, "length_ns"));
	/* 3 of 6 ms of each round */
	assert_string_equal(text_of(json_array_get(states, 0), "machine"), "C");
	assert_true(json_real_value(json_object_get(json_array_get(states, 0), "criticality")) >
		    0.45);
	assert_true(json_array_size(json_object_get(json, "next")) >= 3);
	assert_string_equal(text_of(json_array_get(json_object_get(json, "next"), 0), "without"),
			    "C 502: running");
	assert_string_equal(
	    text_of(json_array_get(json_object_get(json, "machines"), 0), "machine"), "C");
	json_decref(json);
	text = print(output_critical_text, NULL);
	expect_text(text, "critical path: ");
	expect_text(text, "  C 502: running\n");
	expect_text(text, "What would be saved at most if this state took no time\n");
}

/* A producer is quicker than its consumer: the queue between them is full. */
static void back_pressure(void **state)
{
	static const struct sim_op producer[] = {
	    {LOOP, 20}, {RUN, 1 * MS}, {POST, 1}, {WAIT, 2, HOW_PIPE_FULL}, {NEXT}, {EXIT}};
	static const struct sim_op consumer[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_PIPE}, {RUN, 3 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	json_t *json, *queue;

	sim_begin(&sim, 2);
	sim_task(&sim, "fast", TASK_TARGET, 0, producer);
	sim_task(&sim, "slow", 0, 1, consumer);
	sim_play(100 * MS, 2);
	reopen("fast");
	expect_text(print(output_critical_text, NULL),
		    "Who waits for room or data in a queue (newest window)\n");
	expect_text(printed, "pipe:[1] is full: fast 500 waits until slow 501 reads\n");
	expect_text(printed, "pipe:[1] is empty: slow 501 waits until fast 500 writes\n");
	json = document(output_critical_json);
	queue = json_array_get(json_object_get(json, "queues"), 0);
	assert_string_equal(text_of(queue, "state"), "full");
	assert_string_equal(text_of(queue, "waits_for"), "slow");
	assert_int_equal(number(queue, "count"), 20);
	assert_true(number(queue, "ns") > 58 * MS && number(queue, "ns") < 62 * MS);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(critical_path, end),
	    cmocka_unit_test_teardown(back_pressure, end),
	};

	return cmocka_run_group_tests_name("output_critical", tests, NULL, NULL);
}
