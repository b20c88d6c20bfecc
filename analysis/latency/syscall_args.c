// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/syscall_args.h"

#include "analysis/base/array.h"

// clang-format off
#define FD(name) {name, ARG_FD}
#define PTR(name) {name, ARG_POINTER}
#define ADDR(name) {name, ARG_ADDRESS}
#define SIZE(name) {name, ARG_SIZE}
#define FLAGS(name) {name, ARG_FLAGS}
#define INT(name) {name, ARG_INT}
// clang-format on

struct call {
	const char *name;
	struct syscall_arg arg[6];
};

/* Sorted by name, for bsearch(); from section 2 of the manual pages. */
static const struct call calls[] = {
    {"accept", {FD("fd"), PTR("addr"), PTR("addrlen")}},
    {"accept4", {FD("fd"), PTR("addr"), PTR("addrlen"), FLAGS("flags")}},
    {"access", {PTR("path"), FLAGS("mode")}},
    {"bind", {FD("fd"), PTR("addr"), SIZE("addrlen")}},
    {"brk", {ADDR("address")}},
    {"clock_nanosleep", {INT("clock"), FLAGS("flags"), PTR("request"), PTR("remain")}},
    {"clone", {FLAGS("flags"), PTR("stack"), PTR("parent_tid"), PTR("child_tid"), PTR("tls")}},
    {"clone3", {PTR("args"), SIZE("size")}},
    {"close", {FD("fd")}},
    {"connect", {FD("fd"), PTR("addr"), SIZE("addrlen")}},
    {"copy_file_range",
     {FD("fd_in"), PTR("off_in"), FD("fd_out"), PTR("off_out"), SIZE("len"), FLAGS("flags")}},
    {"dup", {FD("fd")}},
    {"dup2", {FD("oldfd"), FD("newfd")}},
    {"dup3", {FD("oldfd"), FD("newfd"), FLAGS("flags")}},
    {"epoll_create1", {FLAGS("flags")}},
    {"epoll_ctl", {FD("epfd"), INT("op"), FD("fd"), PTR("event")}},
    {"epoll_pwait",
     {FD("epfd"), PTR("events"), INT("maxevents"), INT("timeout"), PTR("sigmask"),
      SIZE("sigsetsize")}},
    {"epoll_pwait2",
     {FD("epfd"), PTR("events"), INT("maxevents"), PTR("timeout"), PTR("sigmask"),
      SIZE("sigsetsize")}},
    {"epoll_wait", {FD("epfd"), PTR("events"), INT("maxevents"), INT("timeout")}},
    {"eventfd2", {INT("initval"), FLAGS("flags")}},
    {"execve", {PTR("path"), PTR("argv"), PTR("envp")}},
    {"execveat", {FD("dirfd"), PTR("path"), PTR("argv"), PTR("envp"), FLAGS("flags")}},
    {"exit", {INT("status")}},
    {"exit_group", {INT("status")}},
    {"faccessat", {FD("dirfd"), PTR("path"), FLAGS("mode")}},
    {"faccessat2", {FD("dirfd"), PTR("path"), FLAGS("mode"), FLAGS("flags")}},
    {"fadvise64", {FD("fd"), SIZE("offset"), SIZE("len"), INT("advice")}},
    {"fallocate", {FD("fd"), FLAGS("mode"), SIZE("offset"), SIZE("len")}},
    {"fchmod", {FD("fd"), FLAGS("mode")}},
    {"fcntl", {FD("fd"), INT("cmd"), {"arg", ARG_UNKNOWN}}},
    {"fdatasync", {FD("fd")}},
    {"flock", {FD("fd"), INT("operation")}},
    {"fork", {{0}}},
    {"fstat", {FD("fd"), PTR("statbuf")}},
    {"fstatfs", {FD("fd"), PTR("buf")}},
    {"fsync", {FD("fd")}},
    {"ftruncate", {FD("fd"), SIZE("length")}},
    {"futex", {ADDR("uaddr"), {"op", ARG_FUTEX_OPERATION}, INT("val"), PTR("timeout")}},
    {"futex_wait",
     {ADDR("uaddr"), INT("val"), FLAGS("mask"), FLAGS("flags"), PTR("timeout"), INT("clockid")}},
    {"futex_waitv",
     {PTR("waiters"), INT("nr_futexes"), FLAGS("flags"), PTR("timeout"), INT("clockid")}},
    {"futex_wake", {ADDR("uaddr"), FLAGS("mask"), INT("nr"), FLAGS("flags")}},
    {"getcwd", {PTR("buf"), SIZE("size")}},
    {"getdents64", {FD("fd"), PTR("dirent"), SIZE("count")}},
    {"getegid", {{0}}},
    {"geteuid", {{0}}},
    {"getgid", {{0}}},
    {"getpid", {{0}}},
    {"getppid", {{0}}},
    {"getrandom", {PTR("buf"), SIZE("count"), FLAGS("flags")}},
    {"getrusage", {INT("who"), PTR("usage")}},
    {"getsockname", {FD("fd"), PTR("addr"), PTR("addrlen")}},
    {"getsockopt", {FD("fd"), INT("level"), INT("optname"), PTR("optval"), PTR("optlen")}},
    {"gettid", {{0}}},
    {"getuid", {{0}}},
    {"inotify_add_watch", {FD("fd"), PTR("path"), FLAGS("mask")}},
    {"io_getevents", {ADDR("ctx"), INT("min_nr"), INT("nr"), PTR("events"), PTR("timeout")}},
    {"io_pgetevents",
     {ADDR("ctx"), INT("min_nr"), INT("nr"), PTR("events"), PTR("timeout"), PTR("sig")}},
    {"io_submit", {ADDR("ctx"), INT("nr"), PTR("iocbpp")}},
    {"io_uring_enter",
     {FD("fd"), INT("to_submit"), INT("min_complete"), FLAGS("flags"), PTR("arg"), SIZE("argsz")}},
    {"ioctl", {FD("fd"), FLAGS("request"), {"arg", ARG_UNKNOWN}}},
    {"kill", {INT("pid"), INT("sig")}},
    {"linkat", {FD("olddirfd"), PTR("oldpath"), FD("newdirfd"), PTR("newpath"), FLAGS("flags")}},
    {"listen", {FD("fd"), INT("backlog")}},
    {"lseek", {FD("fd"), SIZE("offset"), INT("whence")}},
    {"lstat", {PTR("path"), PTR("statbuf")}},
    {"madvise", {ADDR("addr"), SIZE("length"), INT("advice")}},
    {"membarrier", {INT("cmd"), FLAGS("flags"), INT("cpu_id")}},
    {"memfd_create", {PTR("name"), FLAGS("flags")}},
    {"mkdir", {PTR("path"), FLAGS("mode")}},
    {"mkdirat", {FD("dirfd"), PTR("path"), FLAGS("mode")}},
    {"mmap",
     {ADDR("addr"), SIZE("length"), FLAGS("prot"), FLAGS("flags"), FD("fd"), SIZE("offset")}},
    {"mprotect", {ADDR("addr"), SIZE("len"), FLAGS("prot")}},
    {"mremap",
     {ADDR("old_address"), SIZE("old_size"), SIZE("new_size"), FLAGS("flags"),
      ADDR("new_address")}},
    {"msync", {ADDR("addr"), SIZE("length"), FLAGS("flags")}},
    {"munmap", {ADDR("addr"), SIZE("length")}},
    {"nanosleep", {PTR("request"), PTR("remain")}},
    {"newfstatat", {FD("dirfd"), PTR("path"), PTR("statbuf"), FLAGS("flags")}},
    {"open", {PTR("path"), FLAGS("flags"), FLAGS("mode")}},
    {"openat", {FD("dirfd"), PTR("path"), FLAGS("flags"), FLAGS("mode")}},
    {"openat2", {FD("dirfd"), PTR("path"), PTR("how"), SIZE("size")}},
    {"pause", {{0}}},
    {"pipe2", {PTR("fds"), FLAGS("flags")}},
    {"poll", {PTR("fds"), INT("nfds"), INT("timeout")}},
    {"ppoll", {PTR("fds"), INT("nfds"), PTR("timeout"), PTR("sigmask"), SIZE("sigsetsize")}},
    {"prctl",
     {INT("op"),
      {"arg2", ARG_UNKNOWN},
      {"arg3", ARG_UNKNOWN},
      {"arg4", ARG_UNKNOWN},
      {"arg5", ARG_UNKNOWN}}},
    {"pread64", {FD("fd"), PTR("buf"), SIZE("count"), SIZE("offset")}},
    {"preadv", {FD("fd"), PTR("iov"), INT("iovcnt"), SIZE("offset")}},
    {"preadv2",
     {FD("fd"), PTR("iov"), INT("iovcnt"), SIZE("offset"), SIZE("offset_high"), FLAGS("flags")}},
    {"pselect6",
     {INT("nfds"), PTR("readfds"), PTR("writefds"), PTR("exceptfds"), PTR("timeout"),
      PTR("sigmask")}},
    {"pwrite64", {FD("fd"), PTR("buf"), SIZE("count"), SIZE("offset")}},
    {"pwritev", {FD("fd"), PTR("iov"), INT("iovcnt"), SIZE("offset")}},
    {"pwritev2",
     {FD("fd"), PTR("iov"), INT("iovcnt"), SIZE("offset"), SIZE("offset_high"), FLAGS("flags")}},
    {"read", {FD("fd"), PTR("buf"), SIZE("count")}},
    {"readahead", {FD("fd"), SIZE("offset"), SIZE("count")}},
    {"readlink", {PTR("path"), PTR("buf"), SIZE("size")}},
    {"readlinkat", {FD("dirfd"), PTR("path"), PTR("buf"), SIZE("size")}},
    {"readv", {FD("fd"), PTR("iov"), INT("iovcnt")}},
    {"recvfrom", {FD("fd"), PTR("buf"), SIZE("len"), FLAGS("flags"), PTR("addr"), PTR("addrlen")}},
    {"recvmmsg", {FD("fd"), PTR("msgvec"), INT("vlen"), FLAGS("flags"), PTR("timeout")}},
    {"recvmsg", {FD("fd"), PTR("msg"), FLAGS("flags")}},
    {"rename", {PTR("oldpath"), PTR("newpath")}},
    {"renameat2", {FD("olddirfd"), PTR("oldpath"), FD("newdirfd"), PTR("newpath"), FLAGS("flags")}},
    {"rmdir", {PTR("path")}},
    {"rt_sigaction", {INT("signum"), PTR("act"), PTR("oldact"), SIZE("sigsetsize")}},
    {"rt_sigprocmask", {INT("how"), PTR("set"), PTR("oldset"), SIZE("sigsetsize")}},
    {"rt_sigsuspend", {PTR("mask"), SIZE("sigsetsize")}},
    {"rt_sigtimedwait", {PTR("set"), PTR("info"), PTR("timeout"), SIZE("sigsetsize")}},
    {"sched_setaffinity", {INT("pid"), SIZE("cpusetsize"), PTR("mask")}},
    {"sched_yield", {{0}}},
    {"select", {INT("nfds"), PTR("readfds"), PTR("writefds"), PTR("exceptfds"), PTR("timeout")}},
    {"semop", {INT("semid"), PTR("sops"), INT("nsops")}},
    {"semtimedop", {INT("semid"), PTR("sops"), INT("nsops"), PTR("timeout")}},
    {"sendfile", {FD("out_fd"), FD("in_fd"), PTR("offset"), SIZE("count")}},
    {"sendmmsg", {FD("fd"), PTR("msgvec"), INT("vlen"), FLAGS("flags")}},
    {"sendmsg", {FD("fd"), PTR("msg"), FLAGS("flags")}},
    {"sendto", {FD("fd"), PTR("buf"), SIZE("len"), FLAGS("flags"), PTR("addr"), SIZE("addrlen")}},
    {"setsockopt", {FD("fd"), INT("level"), INT("optname"), PTR("optval"), SIZE("optlen")}},
    {"shutdown", {FD("fd"), INT("how")}},
    {"socket", {INT("domain"), INT("type"), INT("protocol")}},
    {"splice",
     {FD("fd_in"), PTR("off_in"), FD("fd_out"), PTR("off_out"), SIZE("len"), FLAGS("flags")}},
    {"stat", {PTR("path"), PTR("statbuf")}},
    {"statfs", {PTR("path"), PTR("buf")}},
    {"statx", {FD("dirfd"), PTR("path"), FLAGS("flags"), FLAGS("mask"), PTR("statxbuf")}},
    {"sync_file_range", {FD("fd"), SIZE("offset"), SIZE("nbytes"), FLAGS("flags")}},
    {"tgkill", {INT("tgid"), INT("tid"), INT("sig")}},
    {"timerfd_settime", {FD("fd"), FLAGS("flags"), PTR("new"), PTR("old")}},
    {"truncate", {PTR("path"), SIZE("length")}},
    {"unlink", {PTR("path")}},
    {"unlinkat", {FD("dirfd"), PTR("path"), FLAGS("flags")}},
    {"vfork", {{0}}},
    {"wait4", {INT("pid"), PTR("status"), FLAGS("options"), PTR("rusage")}},
    {"waitid", {INT("idtype"), INT("id"), PTR("info"), FLAGS("options"), PTR("rusage")}},
    {"write", {FD("fd"), PTR("buf"), SIZE("count")}},
    {"writev", {FD("fd"), PTR("iov"), INT("iovcnt")}},
};

static int by_name(const void *name, const void *call)
{
	return strcmp(name, ((const struct call *)call)->name);
}

struct syscall_arg syscall_arg(const char *syscall, unsigned int argument)
{
	static const struct syscall_arg unknown = {"", ARG_UNKNOWN}, none = {"", ARG_NONE};
	const struct call *c =
	    bsearch(syscall, calls, sizeof(calls) / sizeof(calls[0]), sizeof(calls[0]), by_name);

	if (!c)
		return unknown;
	if (argument >= 6 || !c->arg[argument].name)
		return none;
	return c->arg[argument];
}

struct syscall_arg layer_arg(enum layer layer, unsigned int argument)
{
	static const struct syscall_arg unknown = {"", ARG_UNKNOWN}, none = {"", ARG_NONE};
	static const struct syscall_arg block[6] = {
	    {"operation", ARG_BLOCK_OPERATION},
	    SIZE("bytes"),
	    SIZE("sector"),
	    FLAGS("device"),
	    SIZE("sectors between it and the request before"),
	    {"request flags", ARG_BLOCK_FLAGS}};
	static const struct syscall_arg lock[6] = {ADDR("lock"), {"kind of lock", ARG_LOCK_KIND}};
	static const struct syscall_arg queue[6] = {{"queued", ARG_QUEUED}, {"CPU", ARG_FD}};
	static const struct syscall_arg net[6] = {{"port", ARG_FD}, SIZE("SYNs sent again")};
	static const struct syscall_arg uring[6] = {{"file descriptor", ARG_FD}};
	const struct syscall_arg *table = layer == LAYER_BLOCK	    ? block
					  : layer == LAYER_URING    ? uring
					  : layer == LAYER_NET	    ? net
					  : layer == LAYER_LOCK	    ? lock
					  : layer == LAYER_RUNQUEUE ? queue
								    : NULL;

	if (!table)
		return unknown;
	return argument < 6 && table[argument].name ? table[argument] : none;
}

struct syscall_arg layer_member(enum layer layer, unsigned int member)
{
	static const struct syscall_arg none = {"", ARG_NONE};
	static const struct syscall_arg file[SAMPLE_MEMBERS + 1] = {
	    SIZE("size of the file"),
	    {"flags of the file", ARG_FILE_FLAGS},
	    {"state of the socket", ARG_SOCKET_STATE},
	    [SAMPLE_MEMBERS] = {"file", ARG_NAME}};

	if (layer == LAYER_NET && member == SAMPLE_MEMBERS)
		return (struct syscall_arg){"address of the peer", ARG_NAME};
	return layer == LAYER_SYSCALL && member < ARRAY_SIZE(file) && file[member].name
		   ? file[member]
		   : none;
}

int syscall_file(const char *syscall)
{
	/* these make the descriptor, or have closed it when they return */
	if (!strncmp(syscall, "open", 4))
		return SYSCALL_RESULT;
	if (!strcmp(syscall, "close"))
		return -1;
	for (int i = 0; i < SYSCALL_RESULT; i++) {
		struct syscall_arg arg = syscall_arg(syscall, (unsigned int)i);

		/* a path may name another file than the directory from which it leads */
		if (arg.kind == ARG_FD && !strstr(arg.name, "dirfd"))
			return i;
	}
	return -1;
}

struct word {
	enum arg_kind kind;
	int64_t value;
	const char *word;
};

static const struct word words[] = {
    {ARG_FUTEX_OPERATION, 0, "FUTEX_WAIT"},
    {ARG_FUTEX_OPERATION, 1, "FUTEX_WAKE"},
    {ARG_FUTEX_OPERATION, 3, "FUTEX_REQUEUE"},
    {ARG_FUTEX_OPERATION, 4, "FUTEX_CMP_REQUEUE"},
    {ARG_FUTEX_OPERATION, 5, "FUTEX_WAKE_OP"},
    {ARG_FUTEX_OPERATION, 6, "FUTEX_LOCK_PI"},
    {ARG_FUTEX_OPERATION, 7, "FUTEX_UNLOCK_PI"},
    {ARG_FUTEX_OPERATION, 8, "FUTEX_TRYLOCK_PI"},
    {ARG_FUTEX_OPERATION, 9, "FUTEX_WAIT_BITSET"},
    {ARG_FUTEX_OPERATION, 10, "FUTEX_WAKE_BITSET"},
    {ARG_FUTEX_OPERATION, 11, "FUTEX_WAIT_REQUEUE_PI"},
    {ARG_FUTEX_OPERATION, 12, "FUTEX_CMP_REQUEUE_PI"},
    {ARG_FUTEX_OPERATION, 13, "FUTEX_LOCK_PI2"},
    {ARG_BLOCK_OPERATION, 0, "read"},
    {ARG_BLOCK_OPERATION, 1, "write"},
    {ARG_BLOCK_OPERATION, 2, "flush"},
    {ARG_BLOCK_OPERATION, 3, "discard"},
    {ARG_BLOCK_OPERATION, 5, "secure erase"},
    {ARG_BLOCK_OPERATION, 9, "write of zeroes"},
    {ARG_LOCK_KIND, 0, "mutex or shared futex"},
    {ARG_LOCK_KIND, 1, "spin lock"},
    {ARG_LOCK_KIND, 2, "rwsem (read)"},
    {ARG_LOCK_KIND, 3, "rwlock (read)"},
    {ARG_LOCK_KIND, 4, "rwsem (write)"},
    {ARG_LOCK_KIND, 5, "rwlock (write)"},
    {ARG_LOCK_KIND, 8, "rtmutex"},
    {ARG_LOCK_KIND, 18, "percpu rwsem (read)"},
    {ARG_LOCK_KIND, 20, "percpu rwsem (write)"},
    {ARG_LOCK_KIND, 32, "mutex"},
    {ARG_LOCK_KIND, 33, "mutex (spinning)"},
    {ARG_LOCK_KIND, 128, "futex"},
    {ARG_LOCK_KIND, 134, "priority-inheriting futex"},
    {ARG_LOCK_KIND, 141, "priority-inheriting futex"},
    {ARG_QUEUED, 0, "after a wake-up"},
    {ARG_QUEUED, 1, "after a preemption"},
    {ARG_SOCKET_STATE, 1, "established"},
    {ARG_SOCKET_STATE, 2, "connecting (SYN sent)"},
    {ARG_SOCKET_STATE, 3, "connecting (SYN received)"},
    {ARG_SOCKET_STATE, 4, "closed here (FIN wait 1)"},
    {ARG_SOCKET_STATE, 5, "closed here (FIN wait 2)"},
    {ARG_SOCKET_STATE, 6, "closed (time wait)"},
    {ARG_SOCKET_STATE, 7, "not connected"},
    {ARG_SOCKET_STATE, 8, "closed by the peer (close wait)"},
    {ARG_SOCKET_STATE, 9, "closed by the peer (last ACK)"},
    {ARG_SOCKET_STATE, 10, "listening"},
    {ARG_SOCKET_STATE, 11, "closed by both (closing)"},
    /* of x86-64; a flag stands before those that are a part of it */
    {ARG_FILE_FLAGS, 02000, "O_APPEND"},
    {ARG_FILE_FLAGS, 04000, "O_NONBLOCK"},
    {ARG_FILE_FLAGS, 04010000, "O_SYNC"},
    {ARG_FILE_FLAGS, 010000, "O_DSYNC"},
    {ARG_FILE_FLAGS, 040000, "O_DIRECT"},
    {ARG_BLOCK_FLAGS, 1, "REQ_SYNC"},
    {ARG_BLOCK_FLAGS, 2, "REQ_META"},
    {ARG_BLOCK_FLAGS, 4, "REQ_FUA"},
    {ARG_BLOCK_FLAGS, 8, "REQ_PREFLUSH"},
    {ARG_BLOCK_FLAGS, 16, "REQ_RAHEAD"},
    {ARG_BLOCK_FLAGS, 32, "REQ_BACKGROUND"},
};

/* Writes the names of all flags that are set, and the others as a number. */
static void flag_words(enum arg_kind kind, uint64_t value, char *to, size_t size)
{
	size_t used = 0;

	to[0] = '\0';
	for (unsigned int i = 0; i < ARRAY_SIZE(words) && used < size; i++) {
		uint64_t bits = (uint64_t)words[i].value;

		if (words[i].kind != kind || (value & bits) != bits)
			continue;
		used += (size_t)snprintf(to + used, size - used, "%s%s", used ? "|" : "",
					 words[i].word);
		value &= ~bits;
	}
	if (value && used < size)
		snprintf(to + used, size - used, "%s0x%" PRIx64, used ? "|" : "", value);
	else if (!used)
		snprintf(to, size, "none");
}

bool arg_words(enum arg_kind kind, int64_t value, char *to, size_t size)
{
	if (kind == ARG_FILE_FLAGS || kind == ARG_BLOCK_FLAGS) {
		flag_words(kind, (uint64_t)value, to, size);
		return true;
	}
	if (kind == ARG_FUTEX_OPERATION)
		value &= 0x7f; /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].kind != kind || words[i].value != value)
			continue;
		snprintf(to, size, "%s", words[i].word);
		return true;
	}
	return false;
}
