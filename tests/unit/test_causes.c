// SPDX-License-Identifier: GPL-2.0-or-later
/* What a sleep was for, by what is known of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/descent/causes.h"

static void test_causes_of_sleeps(void **state)
{
	static const struct {
		struct rec_sleep sleep;
		enum cause_kind kind;
		const char *name, *detail;
	} row[] = {
	    {{.call = "clock_nanosleep", .ended_by = ENDED_TIMER},
	     CAUSE_SLEEP,
	     "",
	     "clock_nanosleep"},
	    {{.call = "nanosleep", .ended_by = ENDED_SIGNAL},
	     CAUSE_SLEEP,
	     "",
	     "nanosleep, ended by a signal"},
	    {{.call = "poll", .ended_by = ENDED_TIMER}, CAUSE_SLEEP, "", "poll"},
	    {{.call = "fsync",
	      .object = SLEEP_ON_FILE,
	      .name = "/a",
	      .ended_by = ENDED_TASK,
	      .waker = "jbd2",
	      .waker_tid = 9},
	     CAUSE_IO,
	     "/a",
	     "fsync, woken by jbd2 9"},
	    {{.call = "io_getevents", .object = SLEEP_ON_DEVICE, .name = "sda"},
	     CAUSE_IO,
	     "sda",
	     "io_getevents"},
	    {{.call = "sync", .ended_by = ENDED_REQUEST, .name = "sdb"}, CAUSE_IO, "sdb", "sync"},
	    {{.call = "recv",
	      .object = SLEEP_ON_SOCKET,
	      .name = "10.0.0.1:80",
	      .ended_by = ENDED_NETWORK},
	     CAUSE_NETWORK,
	     "10.0.0.1:80",
	     "recv"},
	    {{.call = "poll",
	      .object = SLEEP_ON_SOCKET,
	      .name = "10.0.0.1:80",
	      .ended_by = ENDED_TIMER},
	     CAUSE_TIMEOUT,
	     "10.0.0.1:80",
	     "poll"},
	    {{.call = "read",
	      .object = SLEEP_ON_PIPE,
	      .ended_by = ENDED_TASK,
	      .waker = "gzip",
	      .waker_tid = 12},
	     CAUSE_WAIT,
	     "gzip",
	     "read, woken by gzip 12"},
	    {{.call = "wait4", .object = SLEEP_ON_CHILD, .ended_by = ENDED_TASK, .waker = "cc1"},
	     CAUSE_WAIT,
	     "cc1",
	     "wait4, woken by cc1 0"},
	    {{.call = "recv", .object = SLEEP_ON_LOCAL, .ended_by = ENDED_TIMER, .name = "/run/s"},
	     CAUSE_TIMEOUT,
	     "/run/s",
	     "recv"},
	    {{.call = "futex",
	      .object = SLEEP_ON_FUTEX,
	      .exclusive = 1,
	      .holder = "writer",
	      .ended_by = ENDED_TASK,
	      .waker = "other"},
	     CAUSE_LOCK,
	     "writer",
	     "futex, woken by other 0"},
	    {{.call = "futex",
	      .object = SLEEP_ON_FUTEX,
	      .exclusive = 1,
	      .ended_by = ENDED_TASK,
	      .waker = "other"},
	     CAUSE_LOCK,
	     "other",
	     "futex, woken by other 0"},
	    {{.call = "futex", .object = SLEEP_ON_FUTEX, .ended_by = ENDED_TASK, .waker = "pool"},
	     CAUSE_WAIT,
	     "pool",
	     "futex, woken by pool 0"},
	    {{.call = "futex", .object = SLEEP_ON_FUTEX, .ended_by = ENDED_TIMER},
	     CAUSE_TIMEOUT,
	     "",
	     "futex"},
	    {{.call = "mmap", .object = SLEEP_ON_KERNEL_LOCK, .holder = "x"},
	     CAUSE_LOCK,
	     "x",
	     "mmap"},
	    {{.call = "flock", .object = SLEEP_ON_FILE_LOCK, .name = "/a", .ended_by = ENDED_TASK, .waker = "a", .holder = "a"},
	     CAUSE_LOCK, "a", "flock of /a, woken by a 0"},
	    {{.call = "fcntl", .object = SLEEP_ON_FILE_LOCK, .name = "/a"}, CAUSE_LOCK, "", "fcntl of /a"},
	    {{.object = SLEEP_ON_PAGE, .name = "/lib/a", .ended_by = ENDED_REQUEST},
	     CAUSE_PAGE_FAULT,
	     "/lib/a",
	     ""},
	    {{.call = "ioctl", .object = SLEEP_ON_OTHER}, CAUSE_UNKNOWN, "", "ioctl"},
	    {{.call = "ioctl", .object = SLEEP_ON_OTHER, .ended_by = ENDED_TASK, .waker = "drv"},
	     CAUSE_WAIT,
	     "drv",
	     "ioctl, woken by drv 0"},
	    /* An interrupt on top of an innocent task: it is named, no task is. */
	    {{.call = "ioctl",
	      .object = SLEEP_ON_NOTHING,
	      .ended_by = ENDED_INTERRUPT,
	      .waker = "nvme0q1"},
	     CAUSE_UNKNOWN,
	     "nvme0q1",
	     "ioctl, ended by interrupt nvme0q1"},
	    {{.call = NULL, .object = 999}, CAUSE_UNKNOWN, "", ""},
	    /* What is known of the other end, of the timer, and of who had the lock. */
	    {{.call = "recvfrom", .object = SLEEP_ON_LOCAL, .name = "Unix socket /run/a of b 7", .ended_by = ENDED_TASK, .waker = "b",
	      .waker_tid = 7},
	     CAUSE_WAIT, "b", "recvfrom from Unix socket /run/a of b 7, woken by b 7"},
	    {{.call = "write", .object = SLEEP_ON_PIPE, .name = "pipe:[9]", .ended_by = ENDED_TASK, .waker = "gzip", .waker_tid = 12},
	     CAUSE_WAIT, "gzip", "write to a full pipe, woken by gzip 12"},
	    {{.call = "write", .object = SLEEP_ON_PIPE, .name = "/run/f", .ended_by = ENDED_TASK, .waker = "gzip", .waker_tid = 12},
	     CAUSE_WAIT, "gzip", "write to a full pipe, /run/f, woken by gzip 12"},
	    {{.call = "read", .object = SLEEP_ON_OTHER, .name = "an eventfd", .ended_by = ENDED_TASK, .waker = "io", .waker_tid = 3},
	     CAUSE_WAIT, "io", "read from an eventfd, woken by io 3"},
	    {{.call = "recvfrom", .object = SLEEP_ON_SOCKET, .name = "10.0.0.1:80", .ended_by = ENDED_NETWORK, .retransmits = 2},
	     CAUSE_NETWORK, "10.0.0.1:80", "recvfrom, 2 TCP retransmissions to 10.0.0.1:80"},
	    {{.call = "recvfrom", .object = SLEEP_ON_LOCAL, .name = "127.0.0.1:80", .ended_by = ENDED_TASK, .waker = "b", .retransmits = 1},
	     CAUSE_NETWORK, "127.0.0.1:80", "recvfrom, 1 TCP retransmission to 127.0.0.1:80, woken by b 0"},
	    {{.call = "poll", .object = SLEEP_ON_SOCKET, .name = "10.0.0.1:53 (DNS server)", .ended_by = ENDED_TIMER,
	      .asked_ns = 5000000, .slept_ns = 5100000},
	     CAUSE_TIMEOUT, "10.0.0.1:53 (DNS server)", "poll, asked for 5 ms"},
	    {{.call = "clock_nanosleep", .ended_by = ENDED_TIMER, .asked_ns = 100000, .slept_ns = 10000000, .slack_ns = 10000000},
	     CAUSE_SLEEP, "timer slack", "clock_nanosleep, asked for 100 us, slept 10 ms, timer slack 10 ms"},
	    {{.call = "clock_nanosleep", .ended_by = ENDED_TIMER, .asked_ns = 100000, .slept_ns = 10000000, .slack_ns = 50000},
	     CAUSE_SLEEP, "", "clock_nanosleep, asked for 100 us, slept 10 ms"},
	    {{.call = "clock_nanosleep", .ended_by = ENDED_TIMER, .asked_ns = 2000000, .slept_ns = 2060000, .slack_ns = 50000},
	     CAUSE_SLEEP, "", "clock_nanosleep, asked for 2 ms"},
	    {{.call = "futex", .object = SLEEP_ON_FUTEX, .exclusive = 1, .holder = "a", .ended_by = ENDED_TASK, .waker = "a",
	      .waker_tid = 5, .doing = "was in fsync"},
	     CAUSE_LOCK, "a", "futex, woken by a 5, which was in fsync"},
	    {{.call = "futex", .object = SLEEP_ON_FUTEX, .exclusive = 1, .holder = "a", .doing = "ran"},
	     CAUSE_LOCK, "a", "futex, held by a, which ran"},
	    {{.object = SLEEP_ON_GOROUTINE, .name = "chan receive"}, CAUSE_WAIT, "another goroutine",
	     "the goroutine was parked: chan receive"},
	    {{.object = SLEEP_ON_GOROUTINE, .name = "sleep"}, CAUSE_SLEEP, "", "the goroutine was parked: sleep"},
	    {{.object = SLEEP_ON_GOROUTINE, .name = "semacquire"}, CAUSE_LOCK, "", "the goroutine was parked: semacquire"},
	    {{.object = SLEEP_ON_GOROUTINE, .name = ""}, CAUSE_WAIT, "another goroutine", "the goroutine was parked"},
	    {{.call = "sendfile", .object = SLEEP_ON_LOCAL, .name = "127.0.0.1:80", .ended_by = ENDED_REQUEST}, CAUSE_IO, "", "sendfile"},
	    /* As looked at while it sleeps: nobody has ended it yet. */
	    {{.call = "pselect6", .object = SLEEP_ON_NOTHING}, CAUSE_SLEEP, "", "pselect6"},
	    {{.call = "poll", .object = SLEEP_ON_NOTHING}, CAUSE_SLEEP, "", "poll"},
	    {{.call = "pselect6", .object = SLEEP_ON_OTHER}, CAUSE_UNKNOWN, "", "pselect6"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct cause c;

		cause_of_sleep(&row[i].sleep, &c);
		assert_string_equal(cause_kind_text(c.kind), cause_kind_text(row[i].kind));
		assert_string_equal(c.name, row[i].name);
		assert_string_equal(c.detail, row[i].detail);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_causes_of_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
