// SPDX-License-Identifier: GPL-2.0-or-later
/* Who holds the lock for which a thread sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/snapshot_locks.c" /* not among the pure libraries */

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- futexes */

static void assert_holder(uint32_t op, uint32_t value, const uint32_t word[FUTEX_WORDS],
			  uint32_t pid, uint32_t tid)
{
	struct lock_holder h = futex_holder(100, op, value, word);

	assert_int_equal(h.tid, tid);
	if (tid)
		assert_int_equal(h.pid, pid);
}

static void test_futex(void **state)
{
	const uint32_t mutex[] = {2, 0, 107, 1, 0}, shared[] = {2, 0, 207, 1, 0x80},
		       custom[] = {2, 0, 1, 0, 0}, priority[] = {FUTEX_WAITERS | 207, 0, 0, 0, 0},
		       no_mutex[] = {2, 0, 107, 1 << 20, 0};

	(void)state;
	assert_holder(FUTEX_WAIT_PRIVATE, 2, mutex, 100, 107);
	assert_holder(FUTEX_WAIT_PRIVATE, 1, mutex, 0, 0);
	assert_holder(FUTEX_WAIT_PRIVATE, 2, no_mutex, 0, 0);
	assert_holder(FUTEX_WAIT, 2, shared, 207, 207);
	assert_holder(FUTEX_LOCK_PI, 0, priority, 207, 207);
	assert_holder(FUTEX_LOCK_PI_PRIVATE, 0, priority, 100, 207);
	/* a lock of the process's own kind: the number is looked for in the process alone */
	assert_holder(FUTEX_WAIT, 2, custom, 100, 1);
}

/* ---- the list of locks */

static struct lock_waits waits;

static void parse(const char *list)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", list);
	assert_true(lock_waits_parse(text, &waits));
}

static void test_two_files(void **state)
{
	(void)state;
	parse("1: POSIX  ADVISORY  WRITE 11 08:01:501 0 EOF\n"
	      "1: -> POSIX  ADVISORY  WRITE 20 08:01:501 0 EOF\n"
	      "2: FLOCK  ADVISORY  WRITE 12 fd:100:502 0 EOF\n"
	      "2: -> FLOCK  ADVISORY  WRITE 20 fd:100:502 0 EOF\n"
	      "2:  -> FLOCK  ADVISORY  WRITE 21 fd:100:502 0 EOF\n"
	      "3: POSIX  ADVISORY  READ  13 08:01:503 0 EOF\n");
	assert_int_equal(waits.nr, 3);
	assert_int_equal(lock_waits_owner(&waits, 20, 501), 11);
	assert_int_equal(lock_waits_owner(&waits, 20, 502), 12);
	assert_int_equal(lock_waits_owner(&waits, 21, 502), 12);
	assert_int_equal(lock_waits_owner(&waits, 20, 503), 0);
	assert_int_equal(lock_waits_owner(&waits, 21, 501), 0);
}

/* Locks that belong to an open file have no process. */
static void test_open_file_locks(void **state)
{
	(void)state;
	parse("1: POSIX  ADVISORY  WRITE 11 08:01:501 0 EOF\n"
	      "1: -> OFDLCK ADVISORY  WRITE -1 08:01:501 0 EOF\n"
	      "2: OFDLCK ADVISORY  WRITE -1 08:01:502 0 EOF\n"
	      "2: -> POSIX  ADVISORY  WRITE 20 08:01:502 0 EOF\n");
	assert_int_equal(lock_waits_owner(&waits, NO_PROCESS, 501), 11);
	assert_int_equal(lock_waits_owner(&waits, 20, 502), 0);
}

static void test_parts_of_a_file(void **state)
{
	(void)state;
	parse("1: POSIX  ADVISORY  WRITE 11 08:01:501 0 9\n"
	      "1: -> POSIX  ADVISORY  WRITE 20 08:01:501 0 9\n"
	      "2: POSIX  ADVISORY  WRITE 12 08:01:501 10 19\n"
	      "2: -> POSIX  ADVISORY  WRITE 20 08:01:501 10 19\n");
	assert_int_equal(lock_waits_owner(&waits, 20, 501), 0);
}

/* Write a list with `n` waits to the file. */
static void list_write(int fd, uint32_t n)
{
	assert_return_code(ftruncate(fd, 0), 0);
	assert_return_code(lseek(fd, 0, SEEK_SET), 0);
	dprintf(fd, "1: FLOCK ADVISORY WRITE 11 08:01:501 0 EOF\n");
	for (uint32_t i = 0; i < n; i++)
		dprintf(fd, "1: -> FLOCK ADVISORY WRITE %u 08:01:501 0 EOF\n", i + 20);
}

static void test_reads(void **state)
{
	uint64_t now = 1000000 * MS;
	char path[64];
	int fd = memfd_create("locks", MFD_CLOEXEC);

	(void)state;
	waits = (struct lock_waits){0};
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	list_write(fd, 1);
	assert_true(lock_waits_read(&waits, path, now, now));
	list_write(fd, 2);
	/* a thread that slept then, and one that fell asleep later */
	assert_true(lock_waits_read(&waits, path, now + 249 * MS, now - 1));
	assert_false(lock_waits_read(&waits, path, now + 249 * MS, now + 1));
	assert_int_equal(waits.nr, 1);
	assert_true(lock_waits_read(&waits, path, now + 250 * MS, now + 1));
	assert_int_equal(waits.nr, 2);
	/* too many waits, then too much text: given up for ten seconds */
	list_write(fd, LOCK_WAITS + 1);
	assert_false(lock_waits_read(&waits, path, now + 500 * MS, now));
	list_write(fd, 1);
	assert_false(lock_waits_read(&waits, path, now + 10499 * MS, now));
	assert_true(lock_waits_read(&waits, path, now + 10500 * MS, now));
	assert_return_code(ftruncate(fd, LOCKS_TEXT), 0);
	assert_false(lock_waits_read(&waits, path, now + 11000 * MS, now));
	close(fd);
}

static void test_calls(void **state)
{
	(void)state;
	assert_true(waits_for_lock(true, LOCK_EX));
	assert_true(waits_for_lock(true, LOCK_SH));
	assert_false(waits_for_lock(true, LOCK_EX | LOCK_NB));
	assert_false(waits_for_lock(true, LOCK_UN));
	assert_true(waits_for_lock(false, F_SETLKW));
	assert_true(waits_for_lock(false, F_OFD_SETLKW));
	assert_false(waits_for_lock(false, F_SETLK));
	assert_false(waits_for_lock(false, F_GETFL));
}

/* The state of a process: 'S' sleeps. */
static char state_of(pid_t pid)
{
	char text[512] = "";

	small_file_read(text, sizeof(text), "/proc/%d/stat", pid);
	return strrchr(text, ')') ? strrchr(text, ')')[2] : '\0';
}

/* The kernel's own list: a child waits for a lock that this process has. */
static void test_kernels_list(void **state)
{
	uint64_t args[2] = {(uint64_t)memfd_create("lock", MFD_CLOEXEC), LOCK_EX};
	struct pt_task_now t = {.state = 1};
	int ready[2];
	char path[64], c;
	pid_t child;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)args[0]);
	assert_return_code(flock((int)args[0], LOCK_EX), 0);
	assert_return_code(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		dup2(open(path, O_RDWR | O_CLOEXEC), (int)args[0]); /* another open file */
		close(ready[1]);
		_exit(flock((int)args[0], LOCK_EX));
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 0);
	while (state_of(child) != 'S')
		;
	t.tgid = t.tid = (uint32_t)child;
	t.state = 0;
	assert_int_equal(file_lock_owner(&t, true, args), 0);
	t.state = 1;
	assert_int_equal(file_lock_owner(&t, true, args), getpid());
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close((int)args[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_futex),	    cmocka_unit_test(test_two_files),
	    cmocka_unit_test(test_open_file_locks), cmocka_unit_test(test_parts_of_a_file),
	    cmocka_unit_test(test_reads),	    cmocka_unit_test(test_calls),
	    cmocka_unit_test(test_kernels_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
