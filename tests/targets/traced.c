// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * traced [CALLS]: calls work() CALLS times, one each 500 us, while a child traces it as a debugger
 * does: it stops it every 5 ms and lets it go on. The tracer must see no signal that the program
 * does not send to itself.
 */
#include "target.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

struct seen {
	_Atomic uint64_t stops, signals, begun;
};

WATCHED uint64_t work(uint64_t i)
{
	return i * 3 + 1;
}

/* Ends with the process that it traces. */
static void trace(pid_t pid, struct seen *seen)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		die("PTRACE_SEIZE");
	seen->begun = 1;
	for (;;) {
		sleep_ns(5000000);
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) < 0)
			_exit(0);
		if (!WIFSTOPPED(status))
			_exit(0);
		seen->stops++;
		if (status >> 16 == PTRACE_EVENT_STOP) {
			ptrace(PTRACE_CONT, pid, NULL, NULL);
			continue;
		}
		seen->signals++;
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
}

int main(int argc, char **argv)
{
	uint64_t calls, i, wrong = 0;
	pid_t self = getpid();
	struct seen *seen;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 2000);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		die("mmap");
	if (fork() == 0)
		trace(self, seen);
	while (!seen->begun)
		sleep_ns(1000000);
	target_go();
	for (i = 0; i < calls; i++) {
		wrong += work(i) != i * 3 + 1;
		sleep_ns(500000);
	}
	target_truth("{\"work\":{\"calls\":%llu,\"wrong\":%llu},\"stops\":%llu,\"signals\":%llu,"
		     "\"ok\":%s}",
		     (unsigned long long)calls, (unsigned long long)wrong,
		     (unsigned long long)seen->stops, (unsigned long long)seen->signals,
		     wrong || seen->signals ? "false" : "true");
	return 0;
}
