// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters of system calls. What is listed is allowed; what no correct program
 * of ours would ever try ends the process; all the rest fails with EPERM, so
 * that a library that tries something optional does without.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/process/sandbox_internal.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const int both_allow[] = {
    SCMP_SYS(read),	      SCMP_SYS(write),	      SCMP_SYS(readv),
    SCMP_SYS(writev),	      SCMP_SYS(pread64),      SCMP_SYS(preadv),
    SCMP_SYS(recvmsg),	      SCMP_SYS(sendmsg),      SCMP_SYS(recvfrom),
    SCMP_SYS(sendto),	      SCMP_SYS(poll),	      SCMP_SYS(ppoll),
    SCMP_SYS(lseek),	      SCMP_SYS(fstat),	      SCMP_SYS(newfstatat),
    SCMP_SYS(close),	      SCMP_SYS(dup),	      SCMP_SYS(munmap),
    SCMP_SYS(mremap),	      SCMP_SYS(brk),	      SCMP_SYS(madvise),
    SCMP_SYS(futex),	      SCMP_SYS(sched_yield),  SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),	      SCMP_SYS(exit_group),   SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack),
    SCMP_SYS(clock_gettime),  SCMP_SYS(gettimeofday), SCMP_SYS(time),
    SCMP_SYS(getrandom),      SCMP_SYS(getpid),	      SCMP_SYS(gettid),
    SCMP_SYS(sysinfo),	      SCMP_SYS(getrusage),    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),	      SCMP_SYS(uname),	      SCMP_SYS(getuid),
    SCMP_SYS(geteuid),	      SCMP_SYS(getgid),	      SCMP_SYS(getegid),
    SCMP_SYS(getppid),
};

/* Nothing that we call leads here: whoever does has taken the process over. */
static const int both_kill[] = {
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(add_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(request_key),
    SCMP_SYS(personality),
    SCMP_SYS(modify_ldt),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(fsopen),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
};

static const int parser_kill[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat),  SCMP_SYS(fork),    SCMP_SYS(vfork), SCMP_SYS(clone),
    SCMP_SYS(clone3), SCMP_SYS(socket),	   SCMP_SYS(connect), SCMP_SYS(bind),  SCMP_SYS(listen),
    SCMP_SYS(setuid), SCMP_SYS(setresuid), SCMP_SYS(kill),    SCMP_SYS(tkill), SCMP_SYS(pidfd_open),
};

static const int front_allow[] = {
    /* session files, terminfo, /proc of the picker: as the user */
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(openat2),
    SCMP_SYS(creat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),
    SCMP_SYS(chdir),
    SCMP_SYS(fchdir),
    SCMP_SYS(pwrite64),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(flock),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(link),
    SCMP_SYS(linkat),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(fchmod),
    SCMP_SYS(umask),
    SCMP_SYS(fadvise64),
    SCMP_SYS(memfd_create),
    SCMP_SYS(close_range),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(fcntl),
    /* waiting */
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(timerfd_gettime),
    SCMP_SYS(signalfd4),
    SCMP_SYS(eventfd2),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_getres),
    SCMP_SYS(times),
    SCMP_SYS(setitimer),
    SCMP_SYS(alarm),
    SCMP_SYS(pause),
    SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigpending),
    /* the parser worker, which gives up more than this */
    SCMP_SYS(wait4),
    SCMP_SYS(waitid),
    SCMP_SYS(kill),
    SCMP_SYS(tgkill),
    SCMP_SYS(setsid),
    SCMP_SYS(getsid),
    SCMP_SYS(getpgid),
    SCMP_SYS(getpgrp),
    SCMP_SYS(setpgid),
    SCMP_SYS(prctl),
    SCMP_SYS(seccomp),
    SCMP_SYS(capget),
    SCMP_SYS(capset),
    SCMP_SYS(getrlimit),
    SCMP_SYS(setrlimit),
    SCMP_SYS(prlimit64),
    SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_add_rule),
    SCMP_SYS(landlock_restrict_self),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(getresuid),
    SCMP_SYS(getresgid),
    SCMP_SYS(getgroups),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getcpu),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(arch_prctl),
};

static int add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t n)
{
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		err = seccomp_rule_add(ctx, action, calls[i], 0);
		if (err)
			return err;
	}
	return 0;
}

/* mmap and mprotect where `prot` (argument 2) has none of `bits`. */
static int allow_memory(scmp_filter_ctx ctx, scmp_datum_t bits)
{
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, bits, 0));

	return err ? err
		   : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, bits, 0));
}

static int parser_rules(scmp_filter_ctx ctx)
{
	static const int commands[] = {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL};
	size_t i;
	int err;

	err = add_all(ctx, SCMP_ACT_KILL_PROCESS, parser_kill, COUNT(parser_kill));
	if (!err)
		err = allow_memory(ctx, PROT_EXEC);
	for (i = 0; !err && i < COUNT(commands); i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[i]));
	if (!err) /* abort() */
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return err;
}

static int front_rules(scmp_filter_ctx ctx)
{
	const scmp_datum_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
					CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
	int err;

	err = add_all(ctx, SCMP_ACT_ALLOW, front_allow, COUNT(front_allow));
	/* Code may be loaded (name services are), never written and run. */
	if (!err)
		err = allow_memory(ctx, PROT_EXEC);
	if (!err)
		err = seccomp_rule_add(
		    ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_EXEC));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
	/* The C library then falls back to clone, whose flags can be seen. */
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return err;
}

/*
 * Terminal control is allowed, but not typing into the terminal on behalf of
 * the user (TIOCSTI and TIOCLINUX would give commands to the shell).
 */
static int allow_ioctls(scmp_filter_ctx ctx)
{
	static const unsigned int requests[] = {
	    TCGETS,    TCSETS,	 TCSETSW, TCSETSF, TIOCGWINSZ, TIOCSWINSZ, TIOCGPGRP,
	    TIOCSPGRP, FIONREAD, FIONBIO, TCFLSH,  TCXONC,     TCSBRK,	   TIOCGSID};
	size_t i;
	int err;

	for (i = 0; i < COUNT(requests); i++) {
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_EQ, requests[i]));
		if (err)
			return err;
	}
	return 0;
}

int filter_enter(enum sandbox_kind kind)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!ctx)
		return -ENOMEM;
	err = add_all(ctx, SCMP_ACT_ALLOW, both_allow, COUNT(both_allow));
	if (!err)
		err = add_all(ctx, SCMP_ACT_KILL_PROCESS, both_kill, COUNT(both_kill));
	if (!err && kind == SANDBOX_PARSER)
		err = parser_rules(ctx);
	if (!err && kind == SANDBOX_FRONT)
		err = front_rules(ctx);
	if (!err && kind == SANDBOX_FRONT)
		err = allow_ioctls(ctx);
	if (!err) /* the installed filter may be long: search it as a tree */
		seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}
