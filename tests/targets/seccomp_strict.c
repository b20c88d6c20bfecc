// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * seccomp_strict strict|filter|kill [CALLS]: calls work() after giving up all system calls but
 * four.
 *
 * strict: SECCOMP_MODE_STRICT. filter: a filter that answers EPERM to the rest. kill: one that
 * kills for the rest (on kernels 6.11 to 6.13 a uretprobe's hidden system call is one of them).
 */
#include "target.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static uint64_t done;

WATCHED uint64_t work(uint64_t i)
{
	done++;
	return i * 3 + 1;
}

static int install(unsigned other)
{
#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    ALLOW(SYS_read),
	    ALLOW(SYS_write),
	    ALLOW(SYS_exit),
	    ALLOW(SYS_rt_sigreturn),
	    BPF_STMT(BPF_RET | BPF_K, other),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void put(const char *s, size_t n)
{
	if (write(STDOUT_FILENO, s, n) < 0)
		syscall(SYS_exit, 4);
}

int main(int argc, char **argv)
{
	const char *mode;
	uint64_t calls, i;
	char line[200];
	int n;

	target_begin(&argc, &argv);
	mode = argc > 1 ? argv[1] : "strict";
	calls = target_arg(argc, argv, 2, 10000);
	if (!strcmp(mode, "strict")
		? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0
		: install(!strcmp(mode, "kill") ? SECCOMP_RET_KILL_PROCESS
						: SECCOMP_RET_ERRNO | EPERM) != 0)
		die("seccomp");
	/* From here on only read, write and exit: no stdio. */
	n = snprintf(line, sizeof(line), "ready\n");
	if (target_waits) {
		put(line, (size_t)n);
		target_wait_line();
	}
	for (i = 0; i < calls; i++)
		KEEP(work(i));
	n = snprintf(line, sizeof(line),
		     "{\"work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}\n",
		     (unsigned long long)calls, (unsigned long long)done,
		     done == calls ? "true" : "false");
	put(line, (size_t)n);
	if (target_waits)
		target_wait_line();
	syscall(SYS_exit, 0);
	return 0;
}
