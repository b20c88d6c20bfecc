// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/snapshot_wait.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/base/syscall_names.h"
#include "collect/sleeps.h"
#include "collect/target.h"
#include "collect/thread_snapshots_state.h"

enum { TCP_LISTEN = 10, MAX_LINES = 4096, PID_RESERVED = 300 };

/* ---- sockets */

struct socket {
	unsigned long inode;
	bool found, local, serves, listens;
	char peer[128];
};

static bool loopback(const char *hex, bool six)
{
	return six ? !strcmp(hex, "00000000000000000000000001000000") ||
			 !strncmp(hex, "0000000000000000FFFF0000", 24)
		   : strlen(hex) == 8 && !strcmp(hex + 6, "7F");
}

static void peer_text(struct socket *s, const char *hex, unsigned int port, bool six)
{
	unsigned char bytes[16];
	char text[INET6_ADDRSTRLEN];

	for (unsigned int w = 0; w < (six ? 4u : 1u); w++) {
		uint32_t word;

		if (sscanf(hex + 8 * w, "%8" SCNx32, &word) != 1)
			return;
		memcpy(bytes + 4 * w, &word, 4);
	}
	if (inet_ntop(six ? AF_INET6 : AF_INET, bytes, text, sizeof(text)))
		snprintf(s->peer, sizeof(s->peer), six ? "[%s]:%u" : "%s:%u", text, port);
}

/* Find the socket in one table (/proc/PID/net/...) of the process's network namespace, and
 * whether its port is listened on. */
static void inet_find(struct socket *s, uint32_t pid, const char *table)
{
	bool six = strchr(table, '6') != NULL, listening[2] = {false};
	unsigned int own = 0, port, far, state, lines = 0;
	char path[64], line[512], here[40], there[40];
	unsigned long inode;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, table);
	/* two passes: listening sockets can be compared when the socket's port is known */
	for (int pass = 0; pass < 2; pass++) {
		f = fopen(path, "re");
		if (!f)
			return;
		while (lines++ < 2 * MAX_LINES && fgets(line, sizeof(line), f)) {
			if (sscanf(
				line,
				" %*[^:]: %39[0-9A-F]:%x %39[0-9A-F]:%x %x %*s %*s %*s %*s %*s %lu",
				here, &port, there, &far, &state, &inode) != 6)
				continue;
			if (!pass && inode == s->inode) {
				s->found = true;
				own = port;
				s->listens = state == TCP_LISTEN;
				s->local = loopback(there, six);
				if (!s->listens && far)
					peer_text(s, there, far, six);
				else if (s->listens)
					snprintf(s->peer, sizeof(s->peer), "port %u", port);
			}
			listening[1] |= pass && state == TCP_LISTEN && port == own;
		}
		fclose(f);
		if (!s->found)
			return;
	}
	s->serves = s->listens || listening[1];
}

/*
 * Describe a connection over a network by its peer, and tell whether it is the server's side. The
 * server listens on the connection's own port.
 */
static void network_socket(const struct pt_task_now *t, uint32_t fd,
			   struct rec_thread_snapshot *out, struct wait_text *text)
{
	static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
	struct socket socket = {0};
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", t->tgid, fd);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	if (sscanf(link, "socket:[%lu]", &socket.inode) != 1)
		return;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !socket.found; i++)
		inet_find(&socket, t->tgid, tables[i]);
	out->sleep.object = socket.local ? SLEEP_ON_LOCAL : SLEEP_ON_SOCKET;
	out->serves = socket.serves;
	if (socket.peer[0])
		snprintf(text->name, sizeof(text->name), "%s", socket.peer);
}

/* Describe the socket that a thread waits for: a Unix socket as the kernel reported it. */
static void awaited_socket(const struct pt_task_now *t, struct rec_thread_snapshot *out,
			   struct wait_text *text)
{
	if (t->object.family != AF_UNIX) {
		network_socket(t, t->fd == PT_NO_FD ? (uint32_t)out->args[0] : t->fd, out, text);
		return;
	}
	out->serves = t->object.end == PT_END_SERVER;
	/*
	 * Either end of a pair may be the one that sends requests. A thread that polls it may have
	 * nothing to do, or be blocked.
	 */
	if (t->object.end == PT_END_PAIR && snapshot_polls(t)) {
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
	char path[64];
	char mine[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "/proc/%u/ns/pid_for_children", pid);
	return readlink("/proc/self/ns/pid", mine, sizeof(mine) - 1) > 0 &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 && !strcmp(mine, theirs);
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
	if (now.running)
		snprintf(text->doing, sizeof(text->doing), "is running or waiting for a CPU");
	else if (call)
		snprintf(text->doing, sizeof(text->doing), "is in %s", call);
	s->doing = text->doing;
}

/*
 * Find the holder of the lock, or the thread that is joined, from the futex word and the
 * words beside it.
 */
static void futex(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		  struct wait_text *text)
{
	uint32_t op = out->args[1] & FUTEX_CMD_MASK, value = (uint32_t)out->args[2], owner = 0,
		 word[5] = {0};
	bool priority = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2,
	     waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
	struct rec_sleep *s = &out->sleep;

	if (!in_our_namespace(t->tgid) ||
	    target_read((pid_t)t->tgid, s->lock, word, priority ? 4 : sizeof(word)))
		return;
	if (priority)
		owner = word[0] & FUTEX_TID_MASK;
	else if (waits && value == 2 && word[0] <= 2 && word[3] < 1 << 16 && word[4] < 1 << 9)
		owner = word[2]; /* pthread_mutex_t: lock, count, owner, users, kind */
	if (s->exclusive && owner && owner != t->tid &&
	    thread_of(t->tgid, owner, text->holder, sizeof(text->holder)))
		s->holder = text->holder;
	if (s->holder[0])
		holder_doing(t->tgid, owner, s, text);
	/* pthread_join() waits until the kernel clears the thread id */
	if (!s->exclusive && waits && value > PID_RESERVED && value == word[0] && value != t->tid &&
	    thread_of(t->tgid, value, text->waker, sizeof(text->waker)))
		s->waker = text->waker;
}

/* Name the child for which alone the thread waits. */
static void child(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		  struct wait_text *text)
{
	const char *call = out->sleep.call;
	int32_t pid = !strcmp(call, "wait4")				 ? (int32_t)out->args[0]
		      : !strcmp(call, "waitid") && out->args[0] == P_PID ? (int32_t)out->args[1]
									 : 0;

	if (pid > 0 && in_our_namespace(t->tgid) &&
	    thread_of((uint32_t)pid, (uint32_t)pid, text->waker, sizeof(text->waker)))
		out->sleep.waker = text->waker;
}

uint64_t snapshot_argument(const struct pt_task_now *t, int i)
{
	static const unsigned char registers[PT_ARGS] = {PT_REG_DI,  PT_REG_SI, PT_REG_DX,
							 PT_REG_R10, PT_REG_R8, PT_REG_R9};

	return t->regs[registers[i]];
}

void snapshot_wait(const struct pt_task_now *t, struct rec_thread_snapshot *out,
		   struct wait_text *text)
{
	struct pt_record_sleep as_sleep = {.head = {.tgid = t->tgid, .tid = t->tid}};
	int64_t nr = (int64_t)t->regs[PT_REG_ORIG_AX];
	struct rec_sleep *s = &out->sleep;
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
	sleep_object(&as_sleep, s, text->name, sizeof(text->name));
	if (s->object == SLEEP_ON_SOCKET || s->object == SLEEP_ON_LOCAL)
		awaited_socket(t, out, text);
	else if (s->object == SLEEP_ON_FUTEX)
		futex(t, out, text);
	else if (s->object == SLEEP_ON_CHILD)
		child(t, out, text);
	else if (!strcmp(s->call, "pause"))
		s->object = SLEEP_ON_NOTHING;
}

void snapshot_pipe(struct kernel_side *k, const struct pt_task_now *t,
		   struct rec_thread_snapshot *out, struct wait_text *text)
{
	const struct pipe_end_known *end;
	unsigned long inode;
	bool writes = strstr(out->sleep.call, "write") != NULL;

	if (out->sleep.object != SLEEP_ON_PIPE || snapshot_polls(t) ||
	    sscanf(text->name, "pipe:[%lu]", &inode) != 1)
		return;
	end = kernel_pipe_end(k, inode, writes, t->tgid, now_ns());
	if (!end)
		return;
	snprintf(text->waker, sizeof(text->waker), "%s %u", end->comm, end->pid);
	out->sleep.waker = text->waker;
	if (!writes && end->is_child)
		out->awaits = AWAITS_CHILD;
}

void snapshot_work(const struct pt_task_now *t, bool sleeps, struct rec_thread_snapshot *out,
		   struct wait_text *text)
{
	if (!sleeps)
		out->sleep.object = SLEEP_ON_NOTHING;
	kernel_work_of_snapshot(t->kernel, t->nr_kernel, sleeps, &text->work);
	kernel_work_send(&text->work, &out->sleep);
}
