// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/snapshot_wait.h"

#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "analysis/base/syscall_names.h"
#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"
#include "collect/reader.h"
#include "collect/sleeps.h"
#include "collect/snapshot_locks.h"
#include "collect/snapshot_ports.h"
#include "collect/target.h"
#include "collect/thread_snapshots_state.h"

enum { PID_RESERVED = 300 };

/* ---- sockets */

/* True for the server's side of a connection: the server listens on the connection's own port. */
static bool is_servers_side(const struct pt_task_now *t)
{
	const struct pt_object *o = &t->object;

	if (o->protocol != IPPROTO_TCP)
		return false;
	return !o->port || port_is_listened(t->tgid, o->own_port);
}

/* Tell which side of a connection the thread is, and whether its peer alone ends the wait. */
static void awaited_socket(const struct pt_task_now *t, struct rec_thread_snapshot *out)
{
	out->serves =
	    t->object.family == AF_UNIX ? t->object.end == PT_END_SERVER : is_servers_side(t);
	if (!strncmp(out->sleep.call, "epoll", 5) && !out->serves)
		out->awaits = AWAITS_PEER;
	/*
	 * Either end of a pair may be the one that sends requests. A thread that polls it may have
	 * nothing to do, or be blocked.
	 */
	if (t->object.family == AF_UNIX && t->object.end == PT_END_PAIR && snapshot_polls(t)) {
		out->awaits = AWAITS_PAIR;
		out->serves = true;
	}
}

/* ---- locks */

static bool thread_of(uint32_t pid, uint32_t tid, char *out, size_t n)
{
	char comm[TARGET_COMM];

	target_thread_comm((pid_t)pid, (pid_t)tid, comm, sizeof(comm));
	if (comm[0])
		snprintf(out, n, "%s %u", comm, tid);
	return comm[0];
}

/* True if the process is in our pid namespace. In another one its thread ids mean other
 * threads. */
static bool in_our_namespace(uint32_t pid)
{
	char mine[64], theirs[64];

	return small_file_link(mine, sizeof(mine), "/proc/self/ns/pid") > 0 &&
	       small_file_link(theirs, sizeof(theirs), "/proc/%d/ns/pid_for_children",
			       proc_number((pid_t)pid)) > 0 &&
	       !strcmp(mine, theirs);
}

/* Describe what the holder of a lock does now. */
static void holder_doing(uint32_t pid, uint32_t tid, struct rec_sleep *s, struct wait_text *text)
{
	struct thread_now now = {.pid = (pid_t)pid, .tid = (pid_t)tid};
	const char *call;

	target_threads_now(&now, 1);
	if (!now.known)
		return;
	call = now.nr >= 0 && now.nr < PT_SYSCALLS ? syscall_name((unsigned int)now.nr) : NULL;
	if (thread_state((pid_t)pid, (pid_t)tid) == 'T')
		snprintf(text->doing, sizeof(text->doing), "is stopped");
	else if (now.running)
		snprintf(text->doing, sizeof(text->doing), "is running or waiting for a CPU");
	else if (call)
		snprintf(text->doing, sizeof(text->doing), "is in %s", call);
	s->doing = text->doing;
}

/* Name the thread that holds a lock. /proc has each thread under its own number, too. */
static void name_holder(uint32_t pid, uint32_t tid, struct rec_sleep *s, struct wait_text *text)
{
	if (!thread_of(pid, tid, text->holder, sizeof(text->holder)))
		return;
	s->holder = text->holder;
	holder_doing(pid, tid, s, text);
}

/* Name the process that has the lock on the file. Which of its threads took it is not known. */
static void file_lock(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		      struct wait_text *text)
{
	struct rec_sleep *s = &out->sleep;
	uint32_t owner = 0;

	if (in_our_namespace(t->tgid))
		owner = file_lock_owner(t, !strcmp(s->call, "flock"), out->args);
	if (!owner || !thread_of(owner, owner, text->holder, sizeof(text->holder)))
		return;
	s->holder = text->holder;
	if (!has_threads(owner))
		holder_doing(owner, owner, s, text);
}

/*
 * Find the holder of the lock, or the thread that is joined, from the futex word and the
 * words beside it.
 */
static void futex(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		  struct wait_text *text)
{
	uint32_t op = out->args[1] & FUTEX_CMD_MASK, value = (uint32_t)out->args[2],
		 word[FUTEX_WORDS] = {0};
	bool priority = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2,
	     waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
	struct rec_sleep *s = &out->sleep;
	struct lock_holder holder;

	if (!in_our_namespace(t->tgid) ||
	    target_read((pid_t)t->tgid, out->args[0], word, priority ? 4 : sizeof(word)))
		return;
	holder = futex_holder(t->tgid, (uint32_t)out->args[1], value, word);
	if (holder.tid && holder.tid != t->tid)
		name_holder(holder.pid, holder.tid, s, text);
	/* pthread_join() waits until the kernel clears the thread id */
	if (waits && value > PID_RESERVED && value == word[0] && value != t->tid &&
	    thread_of(t->tgid, value, text->waker, sizeof(text->waker))) {
		s->waker = text->waker;
		s->flags |= SLEEP_FOR_THREAD;
	}
}

enum { CHILDREN_NAMED = 3, BY_DESCRIPTOR = 3 /* P_PIDFD */ };

/* "sleep 12, sort 13": the first children; "..." stands for further ones. */
static void name_children(const struct children *children, struct wait_text *text)
{
	uint32_t named = 0, i;
	size_t length = 0;
	char one[96];

	for (i = 0; i < children->nr && named < CHILDREN_NAMED; i++) {
		if (!thread_of(children->pids[i], children->pids[i], one, sizeof(one)))
			continue;
		length += (size_t)snprintf(text->waker + length, sizeof(text->waker) - length,
					   "%s%.27s", named ? ", " : "", one);
		named++;
	}
	if (named && (i < children->nr || children->more))
		snprintf(text->waker + length, sizeof(text->waker) - length, ", ...");
}

static void await_children(const struct children *children, enum awaits awaits,
			   struct rec_thread_snapshot *out, struct wait_text *text)
{
	out->awaits = awaits;
	memcpy(text->children, children->pids, sizeof(text->children));
	text->nr_children = children->nr;
}

/* Returns the child for which alone the thread waits, or 0. */
static int32_t given_child(const struct rec_thread_snapshot *out)
{
	if (!strcmp(out->sleep.call, "wait4"))
		return (int32_t)out->args[0];
	return !strcmp(out->sleep.call, "waitid") && out->args[0] == P_PID ? (int32_t)out->args[1]
									   : 0;
}

/* Name the children for which the thread waits, or perhaps waits. */
static void children(const struct pt_task_now *t, bool for_signal, struct rec_thread_snapshot *out,
		     struct wait_text *text)
{
	int32_t given = for_signal ? 0 : given_child(out);
	struct children all = {.pids = {(uint32_t)given}, .nr = 1};
	enum awaits awaits = AWAITS_UNKNOWN;

	if (!in_our_namespace(t->tgid))
		return;
	if (given <= 0) {
		children_find(t->tgid, t->tid, &all);
		awaits = children_awaits(t->tgid, &all, for_signal);
		/* which of several a descriptor means is not known */
		if (awaits == AWAITS_UNKNOWN || (all.nr > 1 && !strcmp(out->sleep.call, "waitid") &&
						 out->args[0] == BY_DESCRIPTOR))
			return;
	}
	name_children(&all, text);
	out->sleep.waker = text->waker;
	if (given > 0 || !text->waker[0])
		return;
	await_children(&all, awaits, out, text);
}

/* Name the child for whose output the thread waits in poll(), select() or epoll_wait(). */
static void polled_child(const struct pt_task_now *t, const struct pt_polled *polled,
			 struct rec_thread_snapshot *out, struct wait_text *text)
{
	struct children all;
	enum awaits awaits = AWAITS_UNKNOWN;

	if (!in_our_namespace(t->tgid))
		return;
	children_find(t->tgid, t->tid, &all);
	for (uint32_t i = 0; all.nr && i < polled->nr && awaits == AWAITS_UNKNOWN; i++)
		awaits = children_write(t->tgid, polled->fd[i], &all);
	if (awaits == AWAITS_UNKNOWN)
		return;
	name_children(&all, text);
	out->sleep.object = OBJECT_PIPE;
	out->sleep.waker = text->waker;
	await_children(&all, awaits, out, text);
}

/* Name what the thread waits for if eventfds alone can end the wait. */
static void polled_events(const struct pt_task_now *t, const struct pt_polled *polled,
			  struct rec_thread_snapshot *out, struct wait_text *text)
{
	char link[64];

	for (uint32_t i = 0; i < polled->nr; i++) {
		small_file_link(link, sizeof(link), "/proc/%u/fd/%u", t->tid, polled->fd[i]);
		if (strcmp(link, "anon_inode:[eventfd]") != 0)
			return;
	}
	if (!polled->nr)
		return;
	snprintf(text->name, sizeof(text->name), "an eventfd");
	out->sleep.object = OBJECT_EVENT;
	out->sleep.name = text->name;
}

/* A wait for several descriptors, which no client can end. */
static void polled_own(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		       struct wait_text *text)
{
	struct pt_polled polled;

	if (!snapshots_polled_read(t, &polled))
		return;
	polled_child(t, &polled, out, text);
	if (out->awaits == AWAITS_OWN)
		polled_events(t, &polled, out, text);
}

/* Returns which argument of the system call is a path; -1: none. */
static int path_argument(const char *call)
{
	static const char *const first[] = {"open",   "creat",	"stat",	  "lstat",
					    "access", "statfs", "unlink", "rename",
					    "mkdir",  "rmdir",	"chdir",  "readlink",
					    "chmod",  "chown",	"execve", "symlink"},
				 *const second[] = {"openat",	  "newfstatat", "statx",
						    "unlinkat",	  "faccessat",	"faccessat2",
						    "readlinkat", "openat2",	"renameat",
						    "renameat2",  "mkdirat"};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (!strcmp(call, first[i]))
			return 0;
	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
		if (!strcmp(call, second[i]))
			return 1;
	return -1;
}

/* Name the file by the path that the thread has passed. It has no descriptor yet. */
static void name_by_path(const struct pt_task_now *t, struct rec_thread_snapshot *out,
			 struct wait_text *text)
{
	int argument = path_argument(out->sleep.call);
	struct reader_piece piece = {
	    .pid = (pid_t)t->tgid, .bytes = sizeof(text->name) - 1, .to = text->name};

	if (argument < 0 || !t->state)
		return;
	piece.address = out->args[argument];
	if (reader_memory(&piece, 1))
		piece.got = 0;
	text->name[piece.got] = '\0';
	out->sleep.name = text->name;
}

static bool waits_for_signal(const char *call)
{
	return !strcmp(call, "rt_sigsuspend") || !strcmp(call, "rt_sigtimedwait") ||
	       !strcmp(call, "pause");
}

uint64_t snapshot_argument(const struct pt_task_now *t, int i)
{
	static const unsigned char registers[PT_ARGS] = {PT_REG_DI,  PT_REG_SI, PT_REG_DX,
							 PT_REG_R10, PT_REG_R8, PT_REG_R9};

	return t->regs[registers[i]];
}

void snapshot_wait(struct kernel_side *k, const struct pt_task_now *t,
		   struct rec_thread_snapshot *out, struct wait_text *text)
{
	struct pt_record_sleep as_sleep = {.head = {.tgid = t->tgid, .tid = t->tid}};
	int64_t nr = (int64_t)t->regs[PT_REG_ORIG_AX];
	struct rec_sleep *s = &out->sleep;
	uint32_t taker;
	const char *call = nr >= 0 && nr < PT_SYSCALLS ? syscall_name((unsigned int)nr) : NULL;

	*text = (struct wait_text){0};
	*s = (struct rec_sleep){.syscall = call ? (int32_t)nr : -1,
				.call = call ? call : "",
				.name = "",
				.waker = "",
				.holder = "",
				.doing = "",
				.about = ""};
	out->awaits = t->awaits;
	for (int i = 0; call && i < SAMPLE_ARGS; i++)
		out->args[i] = snapshot_argument(t, i);
	as_sleep.syscall = call ? nr : -1;
	as_sleep.fd = (uint32_t)out->args[0];
	if (t->fd != PT_NO_FD) {
		as_sleep.fd = t->fd;
		as_sleep.object = t->object;
	}
	memcpy(as_sleep.args, out->args, sizeof(as_sleep.args));
	sleep_object(k, &as_sleep, s, text->name, sizeof(text->name));
	taker = sleep_queue(k, &as_sleep, s, text->holder, sizeof(text->holder));
	if (taker)
		holder_doing(taker, taker, s, text);
	if (s->object == OBJECT_SOCKET || s->object == OBJECT_LOCAL)
		awaited_socket(t, out);
	else if (!strcmp(s->call, "futex"))
		futex(t, out, text);
	else if (!strcmp(s->call, "flock") || !strcmp(s->call, "fcntl"))
		file_lock(t, out, text);
	else if (!strncmp(s->call, "wait", 4) || waits_for_signal(s->call))
		children(t, waits_for_signal(s->call), out, text);
	else if (out->awaits == AWAITS_OWN)
		polled_own(t, out, text);
	else
		name_by_path(t, out, text);
}

void snapshot_pipe(struct kernel_side *k, const struct pt_task_now *t,
		   struct rec_thread_snapshot *out, struct wait_text *text)
{
	const struct pipe_end_known *end;
	unsigned long inode;
	bool writes = strstr(out->sleep.call, "write") != NULL;

	if (out->sleep.object != OBJECT_PIPE || snapshot_polls(t) ||
	    sscanf(text->name, "pipe:[%lu]", &inode) != 1)
		return;
	end = kernel_pipe_end(k, inode, writes, t->tgid);
	if (!end)
		return;
	out->sleep.waker = pipe_end_text(end, text->waker, sizeof(text->waker));
	if (!writes && end->is_child)
		out->awaits = AWAITS_CHILD;
}

/* Name the task that traces the thread. */
static void tracer(const struct pt_task_now *t, char *out, size_t n)
{
	FILE *f = small_file_open("/proc/%u/task/%u/status", t->tgid, t->tid);
	uint32_t tid = 0;
	char line[128];

	if (!f)
		return;
	while (!tid && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %" SCNu32, &tid) == 1)
			break;
	fclose(f);
	if (tid)
		thread_of(tid, tid, out, n);
}

void snapshot_work(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		   struct wait_text *text)
{
	kernel_work_of_snapshot(t, &text->work);
	kernel_work_send(&text->work, &out->sleep);
	/* whoever would end the call does not end this */
	if (text->work.object >= SLEEP_STOPPED && text->work.object <= SLEEP_FROZEN)
		out->sleep.waker = out->sleep.doing = "";
	if (text->work.object != SLEEP_TRACED)
		return;
	text->holder[0] = '\0';
	tracer(t, text->holder, sizeof(text->holder));
	out->sleep.holder = text->holder;
}
