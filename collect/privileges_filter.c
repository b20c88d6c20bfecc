// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters of system calls. What is listed is allowed. What no correct program of ours would ever
 * try ends the process; all the rest fails with EPERM, so that a library that tries something
 * optional does without.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "collect/privileges.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const int both_allow[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendto),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(statx),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(fcntl),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigpending),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(alarm),
    SCMP_SYS(setitimer),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(times),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getppid),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(rseq),
    SCMP_SYS(uname),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getpriority),
    SCMP_SYS(getcpu),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(prctl),
};

/* Nothing that we call leads here: whoever does has taken the process over. */
static const int both_kill[] = {
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(vfork),
    SCMP_SYS(socket),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(process_vm_writev),
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
    SCMP_SYS(name_to_handle_at),
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
    SCMP_SYS(creat),
    SCMP_SYS(truncate),
    SCMP_SYS(ftruncate),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(link),
    SCMP_SYS(linkat),
    SCMP_SYS(symlink),
    SCMP_SYS(symlinkat),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(fchown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchownat),
};

static const int collector_allow[] = {
    SCMP_SYS(perf_event_open),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(preadv),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(eventfd2),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(timerfd_gettime),
    SCMP_SYS(signalfd4),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(memfd_create),
    SCMP_SYS(sendfile),
    /* helper processes: one that a probe is measured on, one that checks rights, one that reads
       machine code */
    SCMP_SYS(fork),
    SCMP_SYS(wait4),
    SCMP_SYS(waitid),
    SCMP_SYS(kill),
    SCMP_SYS(tgkill),
    SCMP_SYS(setsid),
    SCMP_SYS(capget),
    SCMP_SYS(capset),
    SCMP_SYS(seccomp),
    SCMP_SYS(getrlimit),
    SCMP_SYS(setrlimit),
    SCMP_SYS(prlimit64),
    SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_add_rule),
    SCMP_SYS(landlock_restrict_self),
    SCMP_SYS(setpriority),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_getparam),
};

/* The programs and maps are loaded: from now on they are only used. */
static const unsigned int collector_bpf[] = {
    BPF_MAP_LOOKUP_ELEM,
    BPF_MAP_UPDATE_ELEM,
    BPF_MAP_DELETE_ELEM,
    BPF_MAP_GET_NEXT_KEY,
    BPF_MAP_LOOKUP_AND_DELETE_ELEM,
    BPF_MAP_LOOKUP_BATCH,
    BPF_MAP_LOOKUP_AND_DELETE_BATCH,
    BPF_MAP_UPDATE_BATCH,
    BPF_MAP_DELETE_BATCH,
    BPF_OBJ_GET_INFO_BY_FD,
    BPF_RAW_TRACEPOINT_OPEN,
    BPF_LINK_CREATE,
    BPF_LINK_DETACH,
    BPF_ITER_CREATE,
    BPF_PROG_TEST_RUN,
};

static const unsigned int collector_ioctls[] = {TCGETS,
						FIONREAD,
						FIONBIO,
						PERF_EVENT_IOC_ENABLE,
						PERF_EVENT_IOC_DISABLE,
						PERF_EVENT_IOC_SET_BPF};

/* Where the session ends, a command that still waits for its first instruction is let go. */
static const unsigned int collector_ptrace[] = {PTRACE_DETACH, PTRACE_CONT, PTRACE_KILL};

static const int opener_allow[] = {
    SCMP_SYS(openat2),
    SCMP_SYS(fork),
    /* what a process that looks at machine code gives up in turn */
    SCMP_SYS(capget),
    SCMP_SYS(capset),
    SCMP_SYS(seccomp),
    SCMP_SYS(getrlimit),
    SCMP_SYS(setrlimit),
    SCMP_SYS(prlimit64),
    SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_add_rule),
    SCMP_SYS(landlock_restrict_self),
};

static const int opener_kill[] = {
    SCMP_SYS(bpf),  SCMP_SYS(perf_event_open), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(kill), SCMP_SYS(tkill),
};

static int add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = seccomp_rule_add(ctx, action, calls[i], 0);
	return err;
}

/* Allow a system call where argument number `argument` is one of these. */
static int allow_values(scmp_filter_ctx ctx, int call, unsigned int argument,
			const unsigned int *values, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
				       SCMP_CMP32(argument, SCMP_CMP_EQ, values[i]));
	return err;
}

static int both_rules(scmp_filter_ctx ctx)
{
	const scmp_datum_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
					CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
	const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
	int err = add_all(ctx, SCMP_ACT_ALLOW, both_allow, COUNT(both_allow));

	if (!err)
		err = add_all(ctx, SCMP_ACT_KILL_PROCESS, both_kill, COUNT(both_kill));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	/* the C library then falls back to clone, whose flags can be seen */
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* code may be loaded (libgcc is, when a thread ends), never written and run */
	if (!err)
		err = seccomp_rule_add(
		    ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_EXEC));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err;
}

static int collector_rules(scmp_filter_ctx ctx)
{
	int err = add_all(ctx, SCMP_ACT_ALLOW, collector_allow, COUNT(collector_allow));

	if (!err)
		err = allow_values(ctx, SCMP_SYS(bpf), 0, collector_bpf, COUNT(collector_bpf));
	if (!err)
		err = allow_values(ctx, SCMP_SYS(ioctl), 1, collector_ioctls,
				   COUNT(collector_ioctls));
	if (!err)
		err = allow_values(ctx, SCMP_SYS(ptrace), 0, collector_ptrace,
				   COUNT(collector_ptrace));
	return err;
}

static int opener_rules(scmp_filter_ctx ctx)
{
	int err = add_all(ctx, SCMP_ACT_ALLOW, opener_allow, COUNT(opener_allow));

	if (!err)
		err = add_all(ctx, SCMP_ACT_KILL_PROCESS, opener_kill, COUNT(opener_kill));
	return err;
}

int privileges_filter_enter(enum privileges_filter kind)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!ctx)
		return -ENOMEM;
	err = both_rules(ctx);
	if (!err)
		err = kind == FILTER_COLLECTOR ? collector_rules(ctx) : opener_rules(ctx);
	if (!err)
		err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err) /* a long filter: search it as a tree */
		seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}
