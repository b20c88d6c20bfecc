// SPDX-License-Identifier: GPL-2.0-or-later
/* How often the files of all processes may be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/kernel_pipes.h"

enum { MS = 1000000, SCAN = 5 * MS };

/* Look up as often as that is allowed, without a pause. */
static unsigned int scans_at_once(struct scan_pace *p, uint64_t now)
{
	unsigned int nr = 0;

	for (; scan_pace_allows(p, now); nr++)
		p->owed_ns += SCAN;
	return nr;
}

static void test_pace_of_scans(void **state)
{
	struct scan_pace p = {0};
	uint64_t now = 1000ull * MS, second = 1000ull * MS;

	assert_int_equal(scans_at_once(&p, now), SCANS_NS / SCAN);
	assert_int_equal(scans_at_once(&p, now), 0);
	/* from then on, 10 ms each second */
	for (int i = 0; i < 10; i++) {
		now += second;
		assert_int_equal(scans_at_once(&p, now), 10 * MS / SCAN);
	}
	/* a pause allows no more than a new begin does */
	assert_int_equal(scans_at_once(&p, now + 1000 * second), SCANS_NS / SCAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pace_of_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
