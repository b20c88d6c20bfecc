// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/process/filter.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sets of processes. */
enum {
	PARSER = 1 << FILTER_PARSER,
	FRONT = 1 << FILTER_FRONT,
	COLLECTOR = 1 << FILTER_COLLECTOR,
	OPENER = 1 << FILTER_OPENER,
	PRIVILEGED = COLLECTOR | OPENER,
	ALL = PARSER | FRONT | PRIVILEGED,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LIST(type, ...)                                                                            \
	COUNT(((type[]){__VA_ARGS__})), (const type[])                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define GROUP(who, ...)                                                                            \
	{                                                                                          \
		who, LIST(int, __VA_ARGS__)                                                        \
	}

/* A group of system calls, for the processes in `who`: `allowed` with any arguments, or
 * `deadly`. */
struct call_group {
	uint8_t who;
	size_t nr;
	const int *calls;
};

static const struct call_group allowed[] = {
    GROUP(ALL, SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev),
	  SCMP_SYS(pread64), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom),
	  SCMP_SYS(sendto), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(lseek), SCMP_SYS(fstat),
	  SCMP_SYS(newfstatat), SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(munmap), SCMP_SYS(mremap),
	  SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(sched_yield),
	  SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn),
	  SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack),
	  SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom),
	  SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(sysinfo), SCMP_SYS(getrusage),
	  SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(uname), SCMP_SYS(getuid),
	  SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getppid)),
    GROUP(ALL & ~OPENER, SCMP_SYS(preadv)),
    GROUP(ALL & ~PARSER, SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(close_range),
	  SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(fcntl), SCMP_SYS(rt_sigtimedwait),
	  SCMP_SYS(rt_sigpending), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
	  SCMP_SYS(nanosleep), SCMP_SYS(alarm), SCMP_SYS(setitimer), SCMP_SYS(times),
	  SCMP_SYS(set_tid_address), SCMP_SYS(getcpu), SCMP_SYS(access), SCMP_SYS(faccessat),
	  SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
	  SCMP_SYS(prctl)),
    /* Forked helpers drop more privileges than their parent. */
    GROUP(ALL & ~PARSER, SCMP_SYS(seccomp), SCMP_SYS(capget), SCMP_SYS(capset), SCMP_SYS(getrlimit),
	  SCMP_SYS(setrlimit), SCMP_SYS(prlimit64), SCMP_SYS(landlock_create_ruleset),
	  SCMP_SYS(landlock_add_rule), SCMP_SYS(landlock_restrict_self)),
    GROUP(PRIVILEGED, SCMP_SYS(getpriority), SCMP_SYS(fork)),
    GROUP(FRONT | OPENER, SCMP_SYS(openat2)),
    /* For waiting and for managing helpers. */
    GROUP(FRONT | COLLECTOR, SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(memfd_create),
	  SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	  SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime),
	  SCMP_SYS(signalfd4), SCMP_SYS(eventfd2), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(wait4),
	  SCMP_SYS(waitid), SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(setsid),
	  SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(shutdown),
	  SCMP_SYS(sched_getaffinity), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_send_signal)),
    /* For session files, terminfo and /proc, with the rights of the user. */
    GROUP(FRONT, SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(creat), SCMP_SYS(getcwd),
	  SCMP_SYS(chdir), SCMP_SYS(fchdir), SCMP_SYS(pwrite64), SCMP_SYS(ftruncate),
	  SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(flock),
	  SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(link),
	  SCMP_SYS(linkat), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(mkdir),
	  SCMP_SYS(mkdirat), SCMP_SYS(fchmod), SCMP_SYS(umask), SCMP_SYS(fadvise64),
	  SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(pause), SCMP_SYS(rt_sigsuspend),
	  SCMP_SYS(getsid), SCMP_SYS(getpgid), SCMP_SYS(getpgrp), SCMP_SYS(setpgid),
	  SCMP_SYS(getresuid), SCMP_SYS(getresgid), SCMP_SYS(getgroups), SCMP_SYS(arch_prctl)),
    GROUP(COLLECTOR, SCMP_SYS(perf_event_open), SCMP_SYS(process_vm_readv), SCMP_SYS(epoll_pwait2),
	  SCMP_SYS(sendfile), SCMP_SYS(setpriority), SCMP_SYS(sched_setaffinity),
	  SCMP_SYS(sched_getscheduler), SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_getparam),
	  SCMP_SYS(sched_getattr)),
};

/* These processes never make these calls: if one does, it was taken over, so kill it. */
static const struct call_group deadly[] = {
    GROUP(ALL, SCMP_SYS(process_vm_writev), SCMP_SYS(init_module), SCMP_SYS(finit_module),
	  SCMP_SYS(delete_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(mount),
	  SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(unshare),
	  SCMP_SYS(setns), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff),
	  SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(open_by_handle_at),
	  SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(add_key), SCMP_SYS(keyctl),
	  SCMP_SYS(request_key), SCMP_SYS(personality), SCMP_SYS(modify_ldt), SCMP_SYS(pidfd_getfd),
	  SCMP_SYS(fsopen), SCMP_SYS(move_mount), SCMP_SYS(open_tree)),
    GROUP(ALL & ~COLLECTOR, SCMP_SYS(perf_event_open), SCMP_SYS(process_vm_readv), SCMP_SYS(ptrace),
	  SCMP_SYS(bpf)),
    GROUP(ALL & ~FRONT, SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(vfork), SCMP_SYS(socket),
	  SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen)),
    /* The privileged processes open files for reading only. */
    GROUP(PRIVILEGED, SCMP_SYS(creat), SCMP_SYS(ftruncate), SCMP_SYS(rename), SCMP_SYS(renameat),
	  SCMP_SYS(renameat2), SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(unlink),
	  SCMP_SYS(unlinkat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(fchmod),
	  SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(name_to_handle_at), SCMP_SYS(truncate),
	  SCMP_SYS(symlink), SCMP_SYS(symlinkat), SCMP_SYS(mknod), SCMP_SYS(mknodat),
	  SCMP_SYS(chmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(lchown),
	  SCMP_SYS(fchownat)),
    GROUP(PARSER | OPENER, SCMP_SYS(kill), SCMP_SYS(tkill)),
    GROUP(PARSER, SCMP_SYS(pidfd_open), SCMP_SYS(fork), SCMP_SYS(clone), SCMP_SYS(clone3),
	  SCMP_SYS(setuid), SCMP_SYS(setresuid)),
};

/* Calls that are allowed only with these values of one argument. */
struct by_value {
	uint8_t who;
	int call;
	unsigned int argument;
	size_t nr;
	const unsigned int *values;
};

static const struct by_value by_values[] = {
    {PARSER, SCMP_SYS(fcntl), 1, LIST(unsigned int, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL)},
    {ALL & ~PARSER, SCMP_SYS(socketpair), 0, LIST(unsigned int, AF_UNIX)},
    /*
     * Terminal control, but no typing into the terminal on behalf of the user: TIOCSTI and
     * TIOCLINUX would give commands to the shell.
     */
    {FRONT, SCMP_SYS(ioctl), 1,
     LIST(unsigned int, TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGWINSZ, TIOCSWINSZ, TIOCGPGRP,
	  TIOCSPGRP, FIONREAD, FIONBIO, TCFLSH, TCXONC, TCSBRK, TIOCGSID)},
    {COLLECTOR, SCMP_SYS(ioctl), 1,
     LIST(unsigned int, TCGETS, FIONREAD, FIONBIO, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
	  PERF_EVENT_IOC_SET_BPF)},
    /* BPF programs and maps are loaded before: now they are only used. */
    {COLLECTOR, SCMP_SYS(bpf), 0,
     LIST(unsigned int, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
	  BPF_MAP_GET_NEXT_KEY, BPF_MAP_LOOKUP_AND_DELETE_ELEM, BPF_MAP_LOOKUP_BATCH,
	  BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_MAP_UPDATE_BATCH, BPF_MAP_DELETE_BATCH,
	  BPF_OBJ_GET_INFO_BY_FD, BPF_RAW_TRACEPOINT_OPEN, BPF_LINK_CREATE, BPF_LINK_DETACH,
	  BPF_ITER_CREATE, BPF_PROG_TEST_RUN)},
    /* For the release of a command that waits before its first instruction. */
    {COLLECTOR, SCMP_SYS(ptrace), 0, LIST(unsigned int, PTRACE_DETACH, PTRACE_CONT, PTRACE_KILL)},
};

/* Calls that are allowed only if the bits `mask` of one argument have this value. */
struct by_bits {
	uint8_t who;
	int call;
	unsigned int argument;
	scmp_datum_t mask, value;
};

enum {
	NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
		     CLONE_NEWPID | CLONE_NEWNET,
	WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND,
};

static const struct by_bits by_bits[] = {
    {ALL, SCMP_SYS(mmap), 2, PROT_EXEC, 0},
    {ALL, SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
    /* Libraries may be mapped for execution (name services, libgcc), but memory is never
     * writable and executable. */
    {ALL & ~PARSER, SCMP_SYS(mmap), 2, PROT_EXEC | PROT_WRITE, PROT_EXEC},
    {ALL & ~PARSER, SCMP_SYS(clone), 0, NAMESPACES, 0},
    {PRIVILEGED, SCMP_SYS(openat), 2, WRITING, O_RDONLY},
    {PRIVILEGED, SCMP_SYS(open), 1, WRITING, O_RDONLY},
};

static int add_groups(scmp_filter_ctx ctx, uint8_t who, uint32_t action,
		      const struct call_group *groups, size_t nr)
{
	int err = 0;

	for (size_t g = 0; g < nr; g++)
		for (size_t i = 0; !err && groups[g].who & who && i < groups[g].nr; i++)
			err = seccomp_rule_add(ctx, action, groups[g].calls[i], 0);
	return err;
}

static int add_rules_of_arguments(scmp_filter_ctx ctx, uint8_t who)
{
	int err = 0;

	for (size_t k = 0; k < COUNT(by_values); k++) {
		const struct by_value *v = &by_values[k];

		for (size_t i = 0; !err && v->who & who && i < v->nr; i++)
			err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, v->call, 1,
					       SCMP_CMP32(v->argument, SCMP_CMP_EQ, v->values[i]));
	}
	for (size_t k = 0; !err && k < COUNT(by_bits); k++) {
		const struct by_bits *b = &by_bits[k];

		if (b->who & who)
			err = seccomp_rule_add(
			    ctx, SCMP_ACT_ALLOW, b->call, 1,
			    SCMP_CMP(b->argument, SCMP_CMP_MASKED_EQ, b->mask, b->value));
	}
	if (err)
		return err;
	if (who == PARSER) /* for abort() */
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
					SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	/* The C library then falls back to clone, whose flags a filter can check. */
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int filter_enter(enum filter_kind kind)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	uint8_t who = (uint8_t)(1 << kind);
	int err;

	if (!ctx)
		return -ENOMEM;
	err = add_groups(ctx, who, SCMP_ACT_ALLOW, allowed, COUNT(allowed));
	if (!err)
		err = add_groups(ctx, who, SCMP_ACT_KILL_PROCESS, deadly, COUNT(deadly));
	if (!err)
		err = add_rules_of_arguments(ctx, who);
	if (!err && who & PRIVILEGED)
		err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err) /* The filter is long: search it as a tree. */
		seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}
