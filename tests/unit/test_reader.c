// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader: its answers, its deadline, what it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/fd_message.c"
#include "collect/reader.c" /* not among the pure libraries */
#include "collect/reader_pages.c"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>

enum { PROCESS = 1000001, OTHER = 1000002 }; /* pids that do not exist: only names for what hangs */

static int64_t add_one(void *argument, int *fd)
{
	(void)fd;
	++*(int *)argument;
	return *(int *)argument;
}

static int64_t sleep_for_ever(void *argument, int *fd)
{
	(void)argument;
	(void)fd;
	for (;;)
		pause();
	return 0;
}

/* Asleep longer than a read of memory may be, and shorter than the opening of a file may be. */
static int64_t wait_for_lock(void *argument, int *fd)
{
	const struct timespec nap = {.tv_nsec =
					 (READER_WAIT_MS + READER_FILES_WAIT_MS) / 2 * 1000000l};

	(void)argument;
	(void)fd;
	nanosleep(&nap, NULL);
	return 5;
}

/* Longer than READER_WAIT_MS in all, but with progress. */
static int64_t make_progress(void *argument, int *fd)
{
	const struct timespec step = {.tv_nsec = READER_WAIT_MS * 1000000 / 4};

	(void)fd;
	for (int i = 0; i < 16; i++) {
		nanosleep(&step, NULL);
		reader_reads(*(pid_t *)argument);
	}
	return 0;
}

static int64_t count_descriptors(void *argument, int *fd)
{
	DIR *d = opendir("/proc/self/fd");
	int64_t n = 0;

	(void)argument;
	(void)fd;
	while (d && readdir(d))
		n++;
	return n - 3; /* ".", "..", and the folder itself */
}

static int64_t open_null(void *argument, int *fd)
{
	(void)argument;
	*fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 7;
}

static int64_t die(void *argument, int *fd)
{
	(void)argument;
	(void)fd;
	_exit(1);
}

static int tear_down(void **state)
{
	(void)state;
	reader_end();
	memset(reader.hung, 0, sizeof(reader.hung));
	return 0;
}

static void test_answers(void **state)
{
	int n = 41, fd;

	(void)state;
	assert_int_equal(reader_call(PROCESS, READER_PROC, add_one, &n, sizeof(n), NULL), 42);
	assert_int_equal(n, 42);
	assert_int_equal(reader_call(PROCESS, READER_PROC, open_null, &n, sizeof(n), &fd), 7);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(
	    reader_call(PROCESS, READER_PROC, add_one, &n, READER_MAX_ARGUMENT + 1, NULL), -E2BIG);
}

static void test_hang(void **state)
{
	enum reader_kind kind = READER_KINDS;
	int n = 0;

	(void)state;
	assert_int_equal(reader_call(PROCESS, READER_FILES, sleep_for_ever, &n, sizeof(n), NULL),
			 -ETIMEDOUT);
	assert_int_equal(reader.pid, 0);
	/* again: without a reader, so without waiting */
	assert_int_equal(reader_call(PROCESS, READER_FILES, sleep_for_ever, &n, sizeof(n), NULL),
			 -ETIMEDOUT);
	assert_int_equal(reader.pid, 0);
	/* told once */
	assert_int_equal(reader_next_hung(&kind), PROCESS);
	assert_int_equal(kind, READER_FILES);
	assert_int_equal(reader_next_hung(&kind), 0);
	/* another process, and another kind, are read */
	assert_int_equal(reader_call(OTHER, READER_FILES, add_one, &n, sizeof(n), NULL), 1);
	assert_int_equal(reader_call(PROCESS, READER_PROC, add_one, &n, sizeof(n), NULL), 2);
}

static void test_more_hang_than_are_kept(void **state)
{
	(void)state;
	for (int i = 0; i < 3 * MAX_HUNG; i++)
		hung_note(PROCESS + i, READER_MEMORY);
	assert_true(reader_hangs(PROCESS + 3 * MAX_HUNG - 1, READER_MEMORY));
	for (int i = 0; i < 100; i++)
		hung_note(PROCESS + 3 * MAX_HUNG - 1, READER_MEMORY);
	assert_true(hung_find(PROCESS + 3 * MAX_HUNG - 1, READER_MEMORY)->wait <=
		    BACKOFF_MAX_MS * MS);
}

static void test_files_may_wait_for_a_lock(void **state)
{
	int nothing = 0;

	(void)state;
	assert_int_equal(
	    reader_call(PROCESS, READER_FILES, wait_for_lock, &nothing, sizeof(nothing), NULL), 5);
}

static int64_t sleep_twice_too_long(void *argument, int *fd)
{
	const struct timespec nap = {.tv_nsec = 2 * READER_WAIT_MS * 1000000l};

	(void)argument;
	(void)fd;
	nanosleep(&nap, NULL);
	return 6;
}

static void *spin(void *unused)
{
	for (;;)
		__asm__ volatile("");
	return unused;
}

/* A process of two threads that run on one CPU: one of them always waits for it. */
static pid_t start_crowded(void)
{
	pid_t pid = fork();
	cpu_set_t one;
	pthread_t t;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_getaffinity(0, sizeof(one), &one);
	for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &one) && found++)
			CPU_CLR(cpu, &one);
	}
	if (sched_setaffinity(0, sizeof(one), &one) || pthread_create(&t, NULL, spin, NULL))
		_exit(1);
	spin(NULL);
	_exit(1);
}

static void test_a_target_without_cpu_is_no_hang(void **state)
{
	enum reader_kind kind;
	pid_t pid = start_crowded();
	int nothing = 0;

	(void)state;
	assert_true(pid > 0);
	while (threads_ready(pid, 8) < 2)
		sched_yield();
	assert_int_equal(
	    reader_call(pid, READER_MEMORY, sleep_twice_too_long, &nothing, sizeof(nothing), NULL),
	    6);
	/* for ever is too long all the same, and the next request does not wait again */
	assert_int_equal(
	    reader_call(pid, READER_MEMORY, sleep_for_ever, &nothing, sizeof(nothing), NULL),
	    -ETIMEDOUT);
	assert_int_equal(reader_next_hung(&kind), pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_progress_is_no_hang(void **state)
{
	pid_t pid = PROCESS;

	(void)state;
	assert_int_equal(reader_call(pid, READER_PROC, make_progress, &pid, sizeof(pid), NULL), 0);
}

static void test_death(void **state)
{
	enum reader_kind kind;
	int n = 0;

	(void)state;
	assert_int_equal(reader_call(PROCESS, READER_PROC, die, &n, sizeof(n), NULL), -ETIMEDOUT);
	/* nobody is to blame */
	assert_int_equal(reader_next_hung(&kind), 0);
	assert_int_equal(reader_call(PROCESS, READER_PROC, add_one, &n, sizeof(n), NULL), 1);
}

static void test_holds_nothing(void **state)
{
	int extra = open("/dev/zero", O_RDONLY), n = 0;

	(void)state;
	assert_true(extra > 2);
	/* standard input, output and error, and its socket */
	assert_int_equal(reader_call(PROCESS, READER_PROC, count_descriptors, &n, sizeof(n), NULL),
			 4);
	close(extra);
}

static void test_text(void **state)
{
	char *text, path[64];

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/status", getpid());
	assert_true(reader_text(getpid(), path, &text) > 0);
	assert_non_null(strstr(text, "\nPid:"));
	free(text);
	assert_int_equal(reader_text(PROCESS, "/proc/1000001/status", &text), -ESRCH);
	assert_null(text);
}

static void test_memory(void **state)
{
	const size_t page = 4096;
	char *m = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char to[3][4 * 4096];
	unsigned char there[4];

	(void)state;
	assert_ptr_not_equal(m, MAP_FAILED);
	madvise(m, 4 * page, MADV_NOHUGEPAGE);
	memset(m, 'a', page);
	memset(m + page, 'b', page);
	memset(m + 3 * page, 'd', page);
	struct reader_piece pieces[] = {
	    {.pid = getpid(), .address = (uintptr_t)m + 100, .bytes = 3 * 4096, .to = to[0]},
	    {.pid = getpid(), .address = (uintptr_t)m + 2 * page, .bytes = 8, .to = to[1]},
	    {.pid = PROCESS, .address = (uintptr_t)m, .bytes = 8, .to = to[1]},
	    {.pid = getpid(), .address = (uintptr_t)m + 3 * page, .bytes = 8, .to = to[2]},
	    {.pid = getpid(), .address = 0, .bytes = 8, .to = to[1]},
	};
	assert_int_equal(reader_memory(pieces, 5), 0);
	/* up to the page that was never touched */
	assert_int_equal(pieces[0].got, 2 * page - 100);
	assert_memory_equal(to[0], m + 100, 2 * page - 100);
	assert_int_equal(pieces[1].got, 0);
	assert_int_equal(pieces[2].got, 0);
	assert_int_equal(pieces[3].got, 8);
	assert_memory_equal(to[2], "dddddddd", 8);
	assert_int_equal(pieces[4].got, 0);
	/* with holes it goes on behind that page, and ends with the last one that is there */
	pieces[0].bytes = 4 * 4096 - 100;
	pieces[0].holes = true;
	assert_int_equal(reader_memory(pieces, 1), 0);
	assert_int_equal(pieces[0].got, 4 * page - 100);
	assert_memory_equal(to[0], m + 100, 2 * page - 100);
	for (size_t i = 0; i < page; i++)
		assert_int_equal((unsigned char)to[0][2 * page - 100 + i], READER_HOLE);
	assert_memory_equal(to[0] + 3 * page - 100, m + 3 * page, page);
	pieces[0].bytes = 3 * 4096 - 100;
	assert_int_equal(reader_memory(pieces, 1), 0);
	assert_int_equal(pieces[0].got, 2 * page - 100);
	/* reading it has not made it appear */
	assert_int_equal(mincore(m, 4 * page, there), 0);
	assert_int_equal(there[2] & 1, 0);
	munmap(m, 4 * page);
}

static void test_many_pieces(void **state)
{
	enum { N = 3 * READER_MAX_PIECES };
	static uint64_t from[N], to[N];
	static struct reader_piece pieces[N];

	(void)state;
	for (int i = 0; i < N; i++) {
		from[i] = (uint64_t)i * 3;
		pieces[i] = (struct reader_piece){
		    .pid = getpid(), .address = (uintptr_t)&from[i], .bytes = 8, .to = &to[i]};
	}
	assert_int_equal(reader_memory(pieces, N), 0);
	assert_memory_equal(from, to, sizeof(from));
}

/* Until this process has run for 20 ms. */
static int64_t run(void *argument, int *fd)
{
	struct timespec ts;

	(void)argument;
	(void)fd;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while (!ts.tv_sec && ts.tv_nsec < 20 * (long)MS);
	return 0;
}

static void test_cpu_time(void **state)
{
	uint64_t before = reader_cpu_ns(), after;
	int n = 0;

	(void)state;
	assert_int_equal(reader_call(PROCESS, READER_PROC, run, &n, sizeof(n), NULL), 0);
	after = reader_cpu_ns();
	assert_true(after >= before + 20 * MS);
	/* what ended is not forgotten */
	reader_end();
	assert_true(reader_cpu_ns() >= after);
}

static void test_idle(void **state)
{
	int n = 0;

	(void)state;
	assert_int_equal(reader_call(PROCESS, READER_PROC, add_one, &n, sizeof(n), NULL), 1);
	reader_idle(reader.used_ns + 10 * MS, 50);
	assert_true(reader.pid > 0);
	reader_idle(reader.used_ns + 60 * MS, 50);
	assert_int_equal(reader.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_answers, tear_down),
	    cmocka_unit_test_teardown(test_hang, tear_down),
	    cmocka_unit_test_teardown(test_more_hang_than_are_kept, tear_down),
	    cmocka_unit_test_teardown(test_files_may_wait_for_a_lock, tear_down),
	    cmocka_unit_test_teardown(test_a_target_without_cpu_is_no_hang, tear_down),
	    cmocka_unit_test_teardown(test_progress_is_no_hang, tear_down),
	    cmocka_unit_test_teardown(test_death, tear_down),
	    cmocka_unit_test_teardown(test_holds_nothing, tear_down),
	    cmocka_unit_test_teardown(test_text, tear_down),
	    cmocka_unit_test_teardown(test_memory, tear_down),
	    cmocka_unit_test_teardown(test_many_pieces, tear_down),
	    cmocka_unit_test_teardown(test_cpu_time, tear_down),
	    cmocka_unit_test_teardown(test_idle, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
