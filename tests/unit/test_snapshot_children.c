// SPDX-License-Identifier: GPL-2.0-or-later
/* For which children a thread waits: commands, or workers of its own executable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/snapshot_children.c" /* not among the pure libraries */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* Starts a child; a command has executed its program when this returns. */
static pid_t start(bool command)
{
	int done[2];
	pid_t pid;
	char c;

	assert_return_code(pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	if (!pid && command) {
		execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	while (!pid)
		pause();
	close(done[1]);
	if (command)
		assert_int_equal(read(done[0], &c, 1), 0);
	close(done[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void assert_awaits(enum awaits by_wait, enum awaits by_signal, uint32_t nr)
{
	uint32_t self = (uint32_t)getpid();
	struct children children;

	children_find(self, self, &children);
	assert_int_equal(children_awaits(self, &children, false), by_wait);
	assert_int_equal(children.nr, nr);
	children_find(self, self, &children);
	assert_int_equal(children_awaits(self, &children, true), by_signal);
	assert_int_equal(children.nr, nr);
}

static void test_children(void **state)
{
	pid_t pids[4];

	(void)state;
	assert_awaits(AWAITS_UNKNOWN, AWAITS_UNKNOWN, 0);
	pids[0] = start(true);
	assert_awaits(AWAITS_CHILD, AWAITS_CHILD, 1);
	pids[1] = start(true);
	assert_awaits(AWAITS_CHILD, AWAITS_CHILD, 2);
	pids[2] = start(false);
	assert_awaits(AWAITS_CHILDREN, AWAITS_CHILDREN, 3);
	stop(pids[0]);
	stop(pids[1]);
	/* one worker: who waits for a signal is idle */
	assert_awaits(AWAITS_CHILD, AWAITS_UNKNOWN, 1);
	pids[3] = start(false);
	assert_awaits(AWAITS_CHILDREN, AWAITS_UNKNOWN, 2);
	stop(pids[2]);
	stop(pids[3]);
}

/* What has ended is not awaited, although it was not reaped. */
static void test_ended(void **state)
{
	pid_t command = start(true), ended = start(true);
	siginfo_t info;

	(void)state;
	kill(ended, SIGKILL);
	assert_return_code(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
	assert_awaits(AWAITS_CHILD, AWAITS_CHILD, 1);
	stop(command);
	stop(ended);
}

static void *sleeps(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* Another thread may be the one that handles the signal of the child. */
static void test_threads(void **state)
{
	pid_t command = start(true);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sleeps, NULL), 0);
	assert_awaits(AWAITS_CHILD, AWAITS_CHILDREN, 1);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	stop(command);
}

/* The first children stand for the others. */
static void test_many(void **state)
{
	uint32_t self = (uint32_t)getpid();
	pid_t pids[CHILDREN_MAX + 1];
	struct children children;

	(void)state;
	for (int i = 0; i <= CHILDREN_MAX; i++) {
		pids[i] = start(false);
		children_find(self, self, &children);
		assert_int_equal(children.more, i == CHILDREN_MAX);
	}
	assert_int_equal(children.nr, CHILDREN_MAX);
	for (int i = 0; i <= CHILDREN_MAX; i++)
		stop(pids[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_children),
	    cmocka_unit_test(test_ended),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
