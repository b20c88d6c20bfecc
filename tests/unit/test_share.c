// SPDX-License-Identifier: GPL-2.0-or-later
/* The share of the CPU time of functions that are too short to be timed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/share.c" /* not among the pure libraries */

enum { SLOT = 5, MODULE = 1, CORRECTION = 3000 };

static struct pt_control control = {.nr_cpus = 2};
static struct collector collector;

struct pt_control *kernel_side_control(struct kernel_side *k)
{
	(void)k;
	return &control;
}

int kernel_side_program(const struct kernel_side *k, enum kernel_program which)
{
	(void)k;
	(void)which;
	return -1;
}

void clocks_attach(struct clocks *c, int prog, uint32_t cpus, unsigned int hz)
{
	(void)prog;
	(void)hz;
	c->nr = cpus;
}

void clocks_release(struct clocks *c)
{
	c->nr = 0;
}

/* One that was looked at before, until all clocks were stopped, counts from 0: no difference to
 * what it had is told. */
static void test_looked_at_again(void **state)
{
	static struct rec_op meta = {.module_id = MODULE, .offset = 0x100, .size = 0x40};
	static struct function f = {.meta = &meta};
	static struct file_mapping mapping = {
	    .pid = 7, .module = MODULE, .start = 0x1000, .end = 0x3000};
	static struct pt_hist h;
	struct slot_info *info = &collector.slots[SLOT];

	(void)state;
	control.correction[SLOT] = CORRECTION;
	collector.files.mappings = &mapping;
	collector.files.nr_mappings = 1;
	info->function = &f;
	h.count[pt_bucket(CORRECTION / 10)] = 2 * SHARE_MIN_CALLS;
	share_look(&collector, SLOT, &h);
	assert_int_equal(info->share, 1);
	assert_int_equal(control.shares[0].low, 0x1100);
	assert_int_equal(control.shares[0].high, 0x1140);
	/* told */
	info->last_ticks = control.shares[0].ticks = 500;
	info->last_in = control.shares[0].in = 20;
	share_end(&collector);
	assert_int_equal(info->share, 0);
	share_look(&collector, SLOT, &h);
	assert_int_equal(info->share, 1);
	assert_int_equal(control.shares[0].ticks, 0);
	assert_true(info->last_ticks <= control.shares[0].ticks);
	assert_true(info->last_in <= control.shares[0].in);
	share_end(&collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_looked_at_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
