// SPDX-License-Identifier: GPL-2.0-or-later
/* The collector process: start it, check that it is alive, end it. The collector ends by itself
 * when its socket is closed. After REC_BYE it only serves files, until then. */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/process/code_reader.h"
#include "tui/engine/front_state.h"

#define MS 1000000ull

enum {
	/* until its event loop begins: the BPF verifier is slow on a busy host, more so in an
	 * emulated guest, which takes the time that its host does not give it for its own */
	START_MS = 240000,
	SILENCE_MS = 6000, /* it must send a record this often, once its event loop runs */
	STOP_MS = 6000,	   /* the same, after a request to end */
	TURN_MS = 500,	  /* a longer turn counts as this: the front itself may have been stopped */
	END_MS = 10000,	  /* until it has removed its probes and ended */
	ENDS_MS = 500,	  /* if it has nothing to remove, or was killed */
	CLEANS_MS = 3000, /* until its helper has removed what was left, if it was killed */
};

static uint32_t layers_of(const struct front_options *fo)
{
	const struct options *o = fo->options;
	uint32_t mask = 0;
	bool chains;

	/* The walk and --open need neither probes nor tracepoints: they read thread states with
	 * a BPF task iterator. */
	if (o->verb == VERB_DESCEND && (!o->nr_ops || o->open))
		return 0;
	/* traced by REQ_WAITS; of --of only the calls are wanted */
	chains = o->verb == VERB_CHAINS || o->verb == VERB_CRITICAL;
	if (chains && !o->nr_ops)
		return 0;
	if (fo->all_layers || !o->nr_ops)
		return LAYERS_TRACED;
	/* the waits of a call are seen at the scheduler */
	if (o->verb == VERB_DESCEND)
		mask |= 1u << LAYER_RUNQUEUE;
	for (size_t i = 0; i < o->nr_ops; i++) {
		switch (o->ops[i].kind) {
		case OP_ALL_SYSCALLS:
		case OP_SYSCALL:
			mask |= 1u << LAYER_SYSCALL;
			break;
		case OP_BLOCK:
			mask |= 1u << LAYER_BLOCK;
			break;
		case OP_URING:
			mask |= 1u << LAYER_URING;
			break;
		case OP_NET:
			mask |= 1u << LAYER_NET;
			break;
		case OP_LOCK:
			mask |= 1u << LAYER_LOCK;
			break;
		default:
			/* on-CPU time and run-queue delay of calls are measured at the scheduler;
			 * those of all processes cost too much to be measured beside */
			mask |= chains || o->host ? 0 : 1u << LAYER_RUNQUEUE;
		}
	}
	return mask;
}

/* The waits are for the screen, for who asks for chains, and for the answer of a descent. */
static bool may_ask_for_waits(const struct front_options *fo)
{
	return fo->screen || fo->descends || fo->options->when ||
	       fo->options->verb == VERB_CHAINS || fo->options->verb == VERB_CRITICAL;
}

static struct collector_entry collector;

void front_use_collector(const struct collector_entry *entry)
{
	collector = *entry;
}

static uint32_t shown(const struct options *o)
{
	return (o->rsp_compat ? SHOWN_RSP_COMPAT : 0) | (o->per_process ? SHOWN_PER_PROCESS : 0) |
	       (o->all_peaks ? SHOWN_ALL_PEAKS : 0);
}

static void collector_child(int fd, const struct front_options *fo, uid_t uid, gid_t gid)
{
	const struct options *o = fo->options;
	struct collector_options *c = calloc(1, sizeof(*c));
	int status;

	if (!c)
		_exit(1);
	for (size_t i = 0; i < o->nr_pids && i < COLLECTOR_MAX_TARGETS; i++)
		c->pids[c->nr_pids++] = o->pids[i];
	c->host = o->host;
	c->matched = o->matched;
	c->command = o->command;
	c->command_quiet = fo->screen;
	c->uid = uid;
	c->gid = gid;
	c->follow = o->follow;
	c->no_boost = o->no_boost;
	c->no_values = o->no_values;
	c->phases = o->has_begin;
	c->pick = fo->pick;
	c->restarts = fo->restarts;
	c->interval_ns = (uint64_t)(o->interval_s * 1e9);
	c->fine_begin = fo->screen;
	c->budget_ppm = (uint32_t)(o->max_overhead * 1e4);
	c->descends = fo->descends;
	c->survey = o->verb == VERB_DOCTOR;
	c->waits = may_ask_for_waits(fo);
	c->layers = layers_of(fo);
	c->resolution = o->resolution;
	c->shown = shown(o);
	c->code_serve = code_reader_serve;
	c->command_line = "";
	c->targets_note = o->targets_note;
	status = fo->doctor ? collector.doctor(fd) : collector.run(fd, c);
	_exit(status);
}

int collector_start(struct front *f, const struct front_options *fo, uid_t uid, gid_t gid)
{
	int pair[2];

	f->layers = layers_of(fo);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fflush(NULL);
	f->collector.pid = fork();
	if (f->collector.pid == 0) {
		close(pair[0]);
		collector_child(pair[1], fo, uid, gid);
	}
	close(pair[1]);
	if (f->collector.pid < 0) {
		close(pair[0]);
		return -errno;
	}
	f->collector.pidfd = (int)syscall(SYS_pidfd_open, f->collector.pid, 0);
	f->collector.channel = channel_new(pair[0], 4u << 20);
	return f->collector.channel ? 0 : -ENOMEM;
}

/* ---- is the collector alive? ---------------------------------------------------- */

void collector_heard(struct front *f, const struct record *rec)
{
	chances_begin(&f->collector.silent);
	f->collector.alive |= (int)rec->type == REC_ALIVE;
}

/* Wait up to `timeout_ms` for the collector to end; true if it has ended. */
static bool ended(const struct front *f, int timeout_ms)
{
	struct pollfd p = {.fd = f->collector.pidfd, .events = POLLIN};

	return f->collector.pidfd >= 0 && poll(&p, 1, timeout_ms) > 0;
}

void collector_closed(struct front *f)
{
	struct pollfd socket = {.fd = channel_fd(f->collector.channel), .events = POLLRDHUP};
	int status = 0;

	f->collector.closed = true;
	if (f->over)
		return;
	f->over = true;
	if (ended(f, ENDS_MS) && waitpid(f->collector.pid, &status, WNOHANG) == f->collector.pid)
		f->collector.pid = 0;
	/* a helper holds the socket until it has removed what the collector could not */
	poll(&socket, 1, CLEANS_MS);
	if (WIFSIGNALED(status))
		front_fail(f, EXIT_NO_ANSWER,
			   "the collector was killed by signal %d (%s); all probes are removed",
			   WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		front_fail(f, EXIT_NO_ANSWER,
			   "the collector exited unexpectedly; all probes are removed");
}

/* Kills the collector if it is stopped, because it cannot end by itself then. Otherwise it ends
 * when its socket is closed, and its guard ends it if its event loop hangs. It is not killed: it
 * may be removing a probe, and in a thread that is killed the kernel gives up the removal and
 * leaves the breakpoint in the target. */
static void kill_if_stopped(const struct front *f)
{
	siginfo_t stopped = {0};

	if (!waitid(P_PID, (id_t)f->collector.pid, &stopped, WSTOPPED | WNOHANG | WNOWAIT) &&
	    stopped.si_pid == f->collector.pid)
		kill(f->collector.pid, SIGKILL);
}

void collector_close(struct front *f)
{
	f->collector.closed = true;
	shutdown(channel_fd(f->collector.channel), SHUT_RDWR);
}

static void end_now(struct front *f)
{
	f->over = true;
	kill_if_stopped(f);
	collector_close(f);
}

/* True if the socket has records to read, or is closed. */
static bool has_words(const struct front *f)
{
	struct pollfd p = {.fd = channel_fd(f->collector.channel), .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

void collector_check_alive(struct front *f, uint64_t now_ns)
{
	uint64_t turn = f->collector.turn_ns ? now_ns - f->collector.turn_ns : 0, limit;

	f->collector.turn_ns = now_ns;
	if (f->collector.closed)
		return;
	chances_turn(&f->collector.silent, f->collector.pid,
		     turn < TURN_MS * MS ? turn : TURN_MS * MS);
	/* Read its last records first. Do not wait for the socket to close: a process that the
	 * collector started may hold it open. */
	if (ended(f, 0) && !has_words(f)) {
		collector_closed(f);
		return;
	}
	if (f->over)
		return;
	if (!f->collector.alive && f->collector.stop_asked) {
		front_fail(f, EXIT_NO_ANSWER, "interrupted before the measurement began");
		end_now(f);
		return;
	}
	limit = !f->collector.alive ? START_MS : f->collector.stop_asked ? STOP_MS : SILENCE_MS;
	if (f->collector.silent.counted_ns <= limit * MS)
		return;
	front_fail(f, EXIT_NO_ANSWER,
		   "the collector (process %d) did not answer for %u s; it removes its probes and "
		   "ends by itself",
		   (int)f->collector.pid, (unsigned int)(limit / 1000));
	end_now(f);
}

pid_t collector_wait(struct front *f)
{
	bool left = false;

	if (f->collector.pid > 0) {
		if (!ended(f, f->over && !f->said.failure ? END_MS
			      : f->collector.alive	  ? END_MS / 2
							  : ENDS_MS)) {
			kill_if_stopped(f);
			/* before its event loop runs it has no probes in a target */
			left = !ended(f, ENDS_MS) && f->collector.alive;
		}
		waitpid(f->collector.pid, NULL, f->collector.pidfd >= 0 ? WNOHANG : 0);
	}
	if (f->collector.pidfd >= 0)
		close(f->collector.pidfd);
	return left ? f->collector.pid : 0;
}
