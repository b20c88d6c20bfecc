// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fork_storm [CHILDREN [CALLS]]: the parent forks CHILDREN times, eight at once at most, calls
 * work() once for each; every child calls work() CALLS times and then ends. Children must all end
 * well: a probe that stays in a child's memory without anybody to handle it would kill it.
 */
#include "target.h"
#include <sys/wait.h>

static uint64_t done;

WATCHED uint64_t work(uint64_t i)
{
	done++;
	return i * 3 + 1;
}

int main(int argc, char **argv)
{
	uint64_t children, calls, i, k, running = 0, bad = 0;
	int status;

	target_begin(&argc, &argv);
	children = target_arg(argc, argv, 1, 300);
	calls = target_arg(argc, argv, 2, 20);
	target_go();
	for (i = 0; i < children; i++) {
		pid_t pid;

		KEEP(work(i));
		pid = fork();
		if (pid < 0)
			die("fork");
		if (pid == 0) {
			done = 0;
			for (k = 0; k < calls; k++)
				KEEP(work(k));
			_exit(done == calls ? 0 : 1);
		}
		if (++running == 8) {
			wait(&status);
			bad += status != 0;
			running--;
		}
	}
	while (running--) {
		wait(&status);
		bad += status != 0;
	}
	target_truth("{\"work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"followed\":{"
		     "\"calls\":%llu},"
		     "\"bad_children\":%llu,\"ok\":%s}",
		     (unsigned long long)children, (unsigned long long)done,
		     (unsigned long long)(children * (calls + 1)), (unsigned long long)bad,
		     bad ? "false" : "true");
	return bad ? 1 : 0;
}
