// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/kinds.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "analysis/base/array.h"
#include "analysis/base/futex.h"

#define KIND(text_, cause_, account_, time_)                                                       \
	{                                                                                          \
		.text = text_, .cause = CAUSE_##cause_, .account = ACCOUNT_##account_,             \
		.time = WAIT_TIME_##time_, .holds = "held by"                                      \
	}
#define EXACT(text_, cause_, account_)                                                             \
	{                                                                                          \
		.text = text_, .cause = CAUSE_##cause_, .account = ACCOUNT_##account_,             \
		.time = WAIT_TIME_WORK, .exact = true, .holds = "held by"                          \
	}
#define QUEUE(text_, cause_, account_, holds_, items_)                                             \
	{                                                                                          \
		.text = text_, .cause = CAUSE_##cause_, .account = ACCOUNT_##account_,             \
		.time = WAIT_TIME_WORK, .exact = true, .holds = holds_, .items = items_            \
	}

const struct wait_kind_info *wait_kind_info(enum wait_kind kind)
{
	static const struct wait_kind_info info[WAIT_KINDS] = {
	    [WAIT_UNKNOWN] = KIND("asleep, not known in what", UNKNOWN, UNKNOWN, WORK),
	    [WAIT_CLOCK] = KIND("sleeping", SLEEP, DELIBERATE, SLEEP),
	    [WAIT_EVENTS] = KIND("waiting for events", UNKNOWN, IDLE, IDLE),
	    [WAIT_CONNECTION] = KIND("waiting for a connection", UNKNOWN, IDLE, IDLE),
	    [WAIT_SIGNAL] = KIND("waiting for a signal", UNKNOWN, IDLE, IDLE),
	    [WAIT_CHILD] = KIND("waiting for a child", WAIT, OTHER_PATH, IDLE),
	    [WAIT_VFORK] = KIND("waiting for a vfork child", WAIT, OTHER_PATH, WORK),
	    [WAIT_JOIN] = KIND("joining a thread", WAIT, LOCK, IDLE),
	    [WAIT_LOCK] = KIND("waiting for a lock", LOCK, LOCK, WORK),
	    [WAIT_CONDITION] = KIND("waiting for a condition", WAIT, IDLE, IDLE),
	    [WAIT_KERNEL_LOCK] = EXACT("waiting for a kernel lock", LOCK, LOCK),
	    [WAIT_ADDRESS_SPACE] =
		EXACT("waiting for the address-space lock mmap_lock", LOCK, LOCK),
	    [WAIT_FILE_LOCK] = EXACT("waiting for a file lock", LOCK, LOCK),
	    [WAIT_FILE_LOCK_POLLED] =
		EXACT("sleeping until the next try to get a file lock", LOCK, LOCK),
	    [WAIT_RETRY] =
		EXACT("sleeping until the next try of a call that failed", SLEEP, DELIBERATE),
	    [WAIT_PIPE_EMPTY] = KIND("waiting for data in a pipe", WAIT, IDLE, IDLE),
	    [WAIT_PIPE_FULL] = KIND("waiting for room in a pipe", WAIT, OTHER_PATH, WORK),
	    [WAIT_FIFO_WRITER] = KIND("waiting for a writer of a FIFO", WAIT, IDLE, IDLE),
	    [WAIT_FIFO_READER] = KIND("waiting for a reader of a FIFO", WAIT, OTHER_PATH, WORK),
	    [WAIT_LOCAL] = KIND("waiting for data from a local socket", WAIT, OTHER_PATH, WORK),
	    [WAIT_LOCAL_FULL] = KIND("waiting for room in a local socket", WAIT, OTHER_PATH, WORK),
	    [WAIT_DATAGRAM_FULL] = QUEUE("waiting for room in a datagram socket", WAIT, OTHER_PATH,
					 "read by", "messages"),
	    [WAIT_NETWORK] = KIND("waiting for data from the network", NETWORK, NETWORK, WORK),
	    [WAIT_NETWORK_FULL] =
		KIND("waiting for room in a network socket", NETWORK, NETWORK, WORK),
	    [WAIT_HELD_BACK] =
		EXACT("waiting for an answer, own data held back until acknowledged (Nagle)",
		      NETWORK, NETWORK),
	    [WAIT_CONNECT] = QUEUE("waiting until a connection is accepted", NETWORK, NETWORK,
				   "accepted by", "connections"),
	    [WAIT_MESSAGE] = KIND("waiting for a message", UNKNOWN, IDLE, IDLE),
	    [WAIT_MESSAGE_FULL] = KIND("waiting for room for a message", UNKNOWN, OTHER_PATH, WORK),
	    [WAIT_SEMAPHORE] = KIND("waiting for a semaphore", WAIT, IDLE, IDLE),
	    [WAIT_TERMINAL] = KIND("waiting for a terminal", IO, IDLE, IDLE),
	    [WAIT_FILE] = KIND("waiting for I/O", IO, IO_QUEUE, WORK),
	    [WAIT_DEVICE] = KIND("waiting for a device", IO, HARDWARE, WORK),
	    [WAIT_PAGE] = KIND("waiting for a page of a file", PAGE_FAULT, PAGE_FAULT, WORK),
	    [WAIT_PROVIDED_PAGE] =
		KIND("waiting for a page that another thread has to provide (userfaultfd)",
		     PAGE_FAULT, OTHER_PATH, WORK),
	    [WAIT_HUGE_PAGE] =
		KIND("waiting while the kernel makes huge pages", HUGE_PAGE, PAGE_FAULT, WORK),
	    [WAIT_SWAP] = KIND("reading pages back from swap", SWAP, PAGE_FAULT, WORK),
	    [WAIT_WRITEBACK] = KIND("waiting for writeback", IO, WRITEBACK, WORK),
	    [WAIT_THROTTLED] =
		KIND("throttled while writing: too many dirty pages", THROTTLED, WRITEBACK, WORK),
	    [WAIT_JOURNAL] = KIND("waiting for the journal", IO, WRITEBACK, WORK),
	    [WAIT_RECLAIM] = KIND("freeing memory", RECLAIM, WRITEBACK, WORK),
	    [WAIT_COMPACTION] =
		KIND("waiting while the kernel compacts memory", COMPACTION, WRITEBACK, WORK),
	    [WAIT_URING] = KIND("waiting for an io_uring", UNKNOWN, OTHER_PATH, IDLE),
	    [WAIT_STOPPED] = KIND("stopped", STOPPED, STOPPED, WORK),
	    [WAIT_TRACED] = KIND("held by a debugger", STOPPED, STOPPED, WORK),
	    [WAIT_FROZEN] = KIND("stopped by the cgroup freezer", STOPPED, STOPPED, WORK),
	    [WAIT_FROZEN_FILES] = EXACT("waiting for a frozen file system", STOPPED, STOPPED),
	    [WAIT_GRACE] = EXACT("waiting for a grace period of RCU", WAIT, OTHER_PATH),
	    [WAIT_FLUSH] = EXACT("waiting for work items of the kernel", WAIT, OTHER_PATH),
	    [WAIT_QUOTA] = EXACT("throttled by the CPU quota", QUOTA, RUN_QUEUE),
	    [WAIT_KERNEL_IDLE] = KIND("idle", UNKNOWN, IDLE, IDLE),
	    [WAIT_OTHER] = KIND("waiting", UNKNOWN, UNKNOWN, WORK),
	};

	return &info[(unsigned int)kind < WAIT_KINDS ? kind : WAIT_UNKNOWN];
}

const struct cause_kind_info *cause_kind_info(enum cause_kind kind)
{
	static const struct cause_kind_info info[CAUSE_KINDS] = {
	    [CAUSE_OWN_CODE] = {"own code", "in its own code", ": "},
	    [CAUSE_LOOP] = {"loop", "its own loop around short calls", ": "},
	    [CAUSE_PREEMPTION] = {"preemption", "preempted", " by "},
	    [CAUSE_RUN_QUEUE] = {"run queue", "runnable, waiting for a CPU", ", behind "},
	    [CAUSE_INTERRUPT] = {"interrupt", "interrupted", " by "},
	    [CAUSE_PAGE_FAULT] = {"page fault", "in page faults", ": "},
	    [CAUSE_IO] = {"io", "waiting for I/O", " on "},
	    [CAUSE_LOCK] = {"lock", "waiting for a lock", " held by "},
	    [CAUSE_SLEEP] = {"sleep", "sleeping", ": "},
	    [CAUSE_TIMEOUT] = {"timeout", "waiting until a timeout", ": "},
	    [CAUSE_NETWORK] = {"network", "waiting for the network", ": "},
	    [CAUSE_WAIT] = {"wait", "waiting for another task", ": "},
	    [CAUSE_UNMEASURED] = {"unmeasured callees", "in callees that were not measured", ": "},
	    [CAUSE_UNKNOWN] = {"unknown", "unknown cause", ": "},
	    [CAUSE_QUOTA] = {"cpu quota", "throttled by the CPU quota", " of "},
	    [CAUSE_STOPPED] = {"stopped", "stopped", " by "},
	    [CAUSE_THROTTLED] = {"throttled", "throttled while writing: too many dirty pages",
				 " on "},
	    [CAUSE_RECLAIM] = {"reclaim", "freeing memory", " for "},
	    [CAUSE_COMPACTION] = {"compaction", "waiting while the kernel compacts memory", ": "},
	    [CAUSE_SWAP] = {"swap", "reading pages back from swap", ": "},
	    [CAUSE_HUGE_PAGE] = {"huge page", "waiting while the kernel makes huge pages", ": "},
	    [CAUSE_KERNEL] = {"kernel", "in the kernel", ": "},
	    [CAUSE_SIGNAL] = {"signal handler", "in a signal handler", ": "},
	};

	return &info[(unsigned int)kind < CAUSE_KINDS ? kind : CAUSE_UNKNOWN];
}

const char *wait_account_text(enum wait_account account)
{
	static const char *const text[ACCOUNTS] = {
	    [ACCOUNT_RUN_SAMPLED] = "sampled run",
	    [ACCOUNT_DEVICE] = "block I/O",
	    [ACCOUNT_RUN_UNSAMPLED] = "unsampled run",
	    [ACCOUNT_IO_QUEUE] = "I/O queue",
	    [ACCOUNT_RUN_QUEUE] = "run queue",
	    [ACCOUNT_HANDOFF] = "hand-off",
	    [ACCOUNT_BUSY_OTHER] = "busy with other work",
	    [ACCOUNT_LOCK] = "lock",
	    [ACCOUNT_PAGE_FAULT] = "page fault",
	    [ACCOUNT_WRITEBACK] = "writeback",
	    [ACCOUNT_NETWORK] = "network",
	    [ACCOUNT_HARDWARE] = "hardware",
	    [ACCOUNT_DELIBERATE] = "deliberate sleep",
	    [ACCOUNT_TIMED_OUT] = "timed out",
	    [ACCOUNT_IDLE] = "idle",
	    [ACCOUNT_STOPPED] = "stopped",
	    [ACCOUNT_OTHER_PATH] = "other path",
	    [ACCOUNT_LOST] = "LOST",
	    [ACCOUNT_UNKNOWN] = "unknown",
	};

	return (unsigned int)account < ACCOUNTS ? text[account] : "unknown";
}

static enum wait_kind kind_of_futex(const struct wait_facts *f)
{
	unsigned int op = (unsigned int)f->args[1] & FUTEX_CMD_MASK;

	if (f->for_thread && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET))
		return WAIT_JOIN;
	return f->exclusive || futex_is_lock(f->args[1], (uint32_t)f->args[2]) ? WAIT_LOCK
									       : WAIT_CONDITION;
}

/* A file's kind by the function of the kernel in which the task sleeps. */
static enum wait_kind kind_by_hint(const struct wait_facts *f)
{
	if (f->hints & HINT_PIPE_READ)
		return WAIT_PIPE_EMPTY;
	if (f->hints & HINT_PIPE_WRITE)
		return WAIT_PIPE_FULL;
	if (f->hints & HINT_TERMINAL)
		return WAIT_TERMINAL;
	return f->hints & HINT_EVENT ? WAIT_MESSAGE : WAIT_UNKNOWN;
}

/* By what stands behind the descriptor. */
static enum wait_kind kind_of_object(const struct wait_facts *f, bool writes)
{
	static const struct {
		enum wait_kind reads, writes;
	} kinds[] = {
	    [OBJECT_FILE] = {WAIT_FILE, WAIT_FILE},
	    [OBJECT_DISK] = {WAIT_FILE, WAIT_FILE},
	    [OBJECT_DEVICE] = {WAIT_DEVICE, WAIT_DEVICE},
	    [OBJECT_TERMINAL] = {WAIT_TERMINAL, WAIT_DEVICE},
	    [OBJECT_PIPE] = {WAIT_PIPE_EMPTY, WAIT_PIPE_FULL},
	    [OBJECT_LOCAL] = {WAIT_LOCAL, WAIT_LOCAL_FULL},
	    [OBJECT_SOCKET] = {WAIT_NETWORK, WAIT_NETWORK_FULL},
	    [OBJECT_EVENT] = {WAIT_MESSAGE, WAIT_MESSAGE_FULL},
	    [OBJECT_TIMER] = {WAIT_CLOCK, WAIT_CLOCK},
	};
	enum wait_kind kind = WAIT_UNKNOWN;

	/* a FIFO has the name of a file: the function of the kernel knows better */
	if (!f->has_object || f->object == OBJECT_FILE || f->object == OBJECT_OTHER)
		kind = kind_by_hint(f);
	if (kind == WAIT_UNKNOWN && f->has_object && f->object < sizeof(kinds) / sizeof(kinds[0]))
		kind = writes ? kinds[f->object].writes : kinds[f->object].reads;
	if (kind == WAIT_LOCAL_FULL && f->queue_full)
		return WAIT_DATAGRAM_FULL;
	if (f->serves && (kind == WAIT_LOCAL || kind == WAIT_NETWORK))
		return WAIT_EVENTS;
	/* a call that reads no file itself, as mmap() with MAP_POPULATE */
	if (kind == WAIT_UNKNOWN && f->hints & HINT_PAGE)
		return WAIT_PAGE;
	if (kind != WAIT_UNKNOWN)
		return kind;
	return f->hints & (HINT_IO | HINT_SERVED) || f->state & SWITCH_IN_IOWAIT ? WAIT_FILE
										 : WAIT_OTHER;
}

bool wait_reads(int32_t syscall)
{
	switch (syscall) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return true;
	default:
		return false;
	}
}

/* A wait for several descriptors, or for the only connection of a client. */
static enum wait_kind kind_of_poll(const struct wait_facts *f, bool has_descriptors)
{
	if (!has_descriptors)
		return WAIT_CLOCK;
	return f->object == OBJECT_SOCKET || f->object == OBJECT_LOCAL ? kind_of_object(f, false)
								       : WAIT_EVENTS;
}

static enum wait_kind kind_of_open(const struct wait_facts *f, uint64_t flags)
{
	if (!(f->hints & HINT_FIFO))
		return kind_of_object(f, false);
	return (flags & O_ACCMODE) == O_WRONLY ? WAIT_FIFO_READER : WAIT_FIFO_WRITER;
}

static enum wait_kind kind_of_call(const struct wait_facts *f)
{
	switch (f->syscall) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return WAIT_CLOCK;
	case SYS_poll:
	case SYS_ppoll:
		return kind_of_poll(f, f->args[1]);
	case SYS_select:
	case SYS_pselect6:
		return kind_of_poll(f, f->args[0]);
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_restart_syscall: /* most often poll() after a signal */
		return WAIT_EVENTS;
	case SYS_open:
		return kind_of_open(f, f->args[1]);
	case SYS_openat:
		return kind_of_open(f, f->args[2]);
	case SYS_accept:
	case SYS_accept4:
		return WAIT_CONNECTION;
	case SYS_pause:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
		return WAIT_SIGNAL;
	case SYS_wait4:
	case SYS_waitid:
		return WAIT_CHILD;
	case SYS_vfork:
		return WAIT_VFORK;
	case SYS_futex:
		return kind_of_futex(f);
	case SYS_semop:
	case SYS_semtimedop:
		return WAIT_SEMAPHORE;
	case SYS_msgrcv:
	case SYS_mq_timedreceive:
		return WAIT_MESSAGE;
	case SYS_msgsnd:
	case SYS_mq_timedsend:
		return WAIT_MESSAGE_FULL;
	case SYS_flock:
		return WAIT_FILE_LOCK;
	case SYS_fcntl:
		return f->args[1] == F_SETLKW || f->args[1] == F_OFD_SETLKW
			   ? WAIT_FILE_LOCK
			   : kind_of_object(f, false);
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_sync:
	case SYS_syncfs:
	case SYS_sync_file_range:
	case SYS_msync:
		return WAIT_FILE;
	case SYS_io_uring_enter:
		return WAIT_URING;
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_ioctl: /* tcdrain() */
		return kind_of_object(f, true);
	case SYS_connect:
		return WAIT_CONNECT;
	default:
		return kind_of_object(f, false);
	}
}

static enum wait_kind kind_of_lock(const struct wait_facts *f)
{
	if (f->hints & HINT_FROZEN_FILES)
		return WAIT_FROZEN_FILES;
	return f->hints & HINT_ADDRESS_SPACE ? WAIT_ADDRESS_SPACE : WAIT_KERNEL_LOCK;
}

/* What the kernel does for the thread says more than what was called. WAIT_UNKNOWN: nothing. */
static enum wait_kind kind_of_kernel_work(const struct wait_facts *f)
{
	static const struct {
		uint32_t hint;
		enum wait_kind kind;
	} works[] = {
	    {HINT_THROTTLED, WAIT_THROTTLED},
	    {HINT_RECLAIM, WAIT_RECLAIM},
	    {HINT_COMPACTION, WAIT_COMPACTION},
	    {HINT_SWAP, WAIT_SWAP},
	    {HINT_PROVIDED, WAIT_PROVIDED_PAGE},
	    {HINT_GRACE, WAIT_GRACE},
	    {HINT_FLUSH, WAIT_FLUSH},
	};

	for (size_t i = 0; i < ARRAY_SIZE(works); i++)
		if (f->hints & works[i].hint)
			return works[i].kind;
	if (f->syscall != SYS_futex && (f->contends || f->hints & HINT_LOCK))
		return kind_of_lock(f);
	if (f->hints & HINT_JOURNAL && !f->kernel_thread)
		return WAIT_JOURNAL;
	if (f->hints & HINT_WRITEBACK && !(f->hints & HINT_PAGE))
		return WAIT_WRITEBACK;
	if (f->in_fault || (f->syscall < 0 && f->hints & HINT_PAGE))
		return WAIT_PAGE;
	if (f->hints & HINT_QUEUE_FULL && f->syscall != SYS_connect)
		return WAIT_DATAGRAM_FULL;
	return f->hints & HINT_VFORK ? WAIT_VFORK : WAIT_UNKNOWN;
}

enum wait_kind wait_kind_of(const struct wait_facts *f)
{
	const bool io = f->hints & HINT_IO || f->state & SWITCH_IN_IOWAIT;
	enum wait_kind kind;

	if (f->state & SWITCH_FROZEN || f->hints & HINT_FREEZER)
		return WAIT_FROZEN;
	if (f->state & SWITCH_TRACED)
		return WAIT_TRACED;
	if (f->state & SWITCH_STOPPED)
		return WAIT_STOPPED;
	kind = kind_of_kernel_work(f);
	if (kind != WAIT_UNKNOWN)
		return kind;
	if (f->syscall >= 0)
		kind = f->held_back ? WAIT_HELD_BACK : kind_of_call(f);
	/* interpreters sleep in a poll() that another thread can end */
	if (f->retries && f->retries_lock)
		return WAIT_FILE_LOCK_POLLED;
	if (kind == WAIT_CLOCK && f->retries)
		return WAIT_RETRY;
	if (kind != WAIT_UNKNOWN)
		return kind;
	if (io)
		return WAIT_FILE;
	if (f->kernel_thread)
		return WAIT_KERNEL_IDLE;
	return f->hints ? WAIT_OTHER : WAIT_UNKNOWN;
}
