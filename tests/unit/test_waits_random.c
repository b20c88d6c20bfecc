// SPDX-License-Identifier: GPL-2.0-or-later
/* Random programs on the simulated scheduler: what must hold whatever they do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/waits_check.h"

enum { PROGRAMS = 400, TASKS = 7, OPS = 40 };

static struct sim_op script[TASKS][OPS];
static struct sim dice;

static uint64_t random_below(uint64_t n)
{
	return sim_random(&dice) % n;
}

static uint32_t put(struct sim_op *ops, uint32_t n, struct sim_op op)
{
	ops[n] = op;
	return n + 1;
}

/* Loops over a few steps; every wait has a timer, so that all go on. */
static void make_script(struct sim_op *ops, int self)
{
	static const int how[] = {HOW_PIPE, HOW_UNIX, HOW_CONDITION, HOW_POLL};
	uint32_t n = put(ops, 0, (struct sim_op){LOOP, 100000});

	while (n < OPS - 8) {
		int64_t ns = (int64_t)(1000 + random_below(random_below(4) ? 300 * US : 5 * MS));
		int64_t other = (int64_t)random_below(TASKS);

		switch (random_below(9)) {
		case 0:
			n = put(ops, n, (struct sim_op){POST, 10 + other});
			break;
		case 1:
			n = put(ops, n,
				(struct sim_op){WAIT_FOR, 10 + self, how[random_below(4)], ns});
			break;
		case 2:
			n = put(ops, n, (struct sim_op){SLEEP, ns});
			break;
		case 3:
			n = put(ops, n, (struct sim_op){IO, OBJECT_NR_FILE, ns / 4, ns});
			break;
		case 4:
		case 5:
			n = put(ops, n, (struct sim_op){LOCK, self % 2});
			n = put(ops, n, (struct sim_op){RUN, ns});
			n = put(ops, n, (struct sim_op){UNLOCK, self % 2});
			break;
		case 6:
			n = put(ops, n, (struct sim_op){POST_SOFT, 10 + other});
			break;
		default:
			n = put(ops, n, (struct sim_op){RUN, ns});
			break;
		}
	}
	n = put(ops, n, (struct sim_op){RUN, 1 * US});
	n = put(ops, n, (struct sim_op){NEXT});
	put(ops, n, (struct sim_op){EXIT});
}

static uint64_t own_run_ns(const char *comm)
{
	return chain_ns(comm, ACCOUNT_RUN_UNSAMPLED) + chain_ns(comm, ACCOUNT_RUN_SAMPLED);
}

/* Back from any instant to any earlier one: all of the time between lies on the path. */
static void expect_calls(const struct sim_task *t, uint64_t begin)
{
	for (unsigned int i = 0; i < 10; i++) {
		uint64_t entry = begin + MS + random_below(40 * MS),
			 back = entry + 1 + random_below(30 * MS), sum = 0;
		struct critical_path p = {0};

		assert_int_equal(waits_call_path(waits, t->tid, t->start_ns, entry, back, &p), 1);
		assert_true(p.length_ns == back - entry && p.deficit_ns == 0);
		for (uint32_t k = 0; k < p.nr_states; k++)
			sum += p.states[k].critical_ns;
		assert_true(sum == p.length_ns);
		critical_path_release(&p);
	}
}

static void one_program(uint64_t seed)
{
	const char *const names[TASKS] = {"a", "b", "c", "d", "e", "f", "g"};
	uint64_t targets = 1 + seed % 3, observed;

	dice.random = seed;
	sim_begin(&sim, 1 + (uint32_t)random_below(4));
	for (int i = 0; i < TASKS; i++) {
		make_script(script[i], i);
		sim_task(&sim, names[i], (uint64_t)i < targets ? TASK_TARGET : 0,
			 (uint32_t)random_below(sim.nr_cpus), script[i]);
	}
	sim_play(80 * MS, TASKS);
	feed_all(NULL);
	observed = stats.observed_ns;
	assert_int_equal(stats.lost_records, 0);
	assert_int_equal(stats.mismatches, 0);
	assert_true(account.ns[ACCOUNT_LOST] == 0);
	assert_true(account.ns[ACCOUNT_UNKNOWN] == 0);
	/* every nanosecond of every target is told once; they live all the time */
	assert_true(account.total_ns <= targets * observed);
	assert_true(account.total_ns + targets * 100 * US >= targets * observed);
	assert_true(chains.total_ns == account.total_ns && !chains.no_room_ns);
	/* each target ran as long as the scheduler says: records have instants of their own */
	for (uint64_t i = 0; i < targets; i++) {
		uint64_t told = own_run_ns(names[i]), truth = sim.task[i].run_ns;

		if (told > truth + 100 * US || truth > told + 100 * US) {
			chains_show();
			fail_msg("seed %llu: %s ran %.3f ms, told %.3f", (unsigned long long)seed,
				 names[i], (double)truth / 1e6, (double)told / 1e6);
		}
	}
	expect_sound();
	for (uint64_t i = 0; i < targets; i++)
		expect_calls(&sim.task[i], sim.now - 80 * MS);
	sim_release(&sim);
}

static void test_random_programs(void **state)
{
	uint64_t first = getenv("PEAKTOP_SEED") ? strtoull(getenv("PEAKTOP_SEED"), NULL, 0) : 1;

	for (uint64_t seed = first; seed < first + PROGRAMS; seed++)
		one_program(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_random_programs, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
