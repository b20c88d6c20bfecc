// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/collector.h"

#include <poll.h>
#include <unistd.h>

#include "collect/asleep.h"
#include "collect/begin.h"
#include "collect/cleaner.h"
#include "collect/code_check.h"
#include "collect/descend.h"
#include "collect/file_lease.h"
#include "collect/finish.h"
#include "collect/functions.h"
#include "collect/guard.h"
#include "collect/keep.h"
#include "collect/keep_open.h"
#include "collect/kernel_functions.h"
#include "collect/kernel_names.h"
#include "collect/kernel_symbols.h"
#include "collect/launch.h"
#include "collect/learn.h"
#include "collect/mmap_events.h"
#include "collect/module_hold.h"
#include "collect/modules.h"
#include "collect/opener.h"
#include "collect/phases.h"
#include "collect/reader.h"
#include "collect/ring.h"
#include "collect/share.h"
#include "collect/site_check.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/steal.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/thread_snapshots.h"
#include "collect/units.h"
#include "collect/waits.h"

#define MS 1000000ull

enum {
	EARLY_MS = 5, /* timers that are due so soon run in the same turn: each turn costs time */
	CALM_EARLY_MS = 15,  /* ... so soon, if the governor is not in a hurry */
	HEARTBEAT_MS = 2000, /* without a heartbeat for so long, probes are removed */
	ALIVE_MS = 500,
	FIRST_SLICE_MS = 100, /* show the first results early */
	READER_KEEP_MS = 50,
	READER_KEEP_LOOKING_MS = 5000,
	GO_MS = 10000, /* start -- CMD after this if the front sends no request */
};

struct collector_loop {
	struct collector *c;
	uint64_t go_by; /* -- CMD starts then even without REQ_GO */
	uint64_t next_ring, next_govern, next_tokens, next_snapshots, next_keep, next_alive;
	bool going;	    /* the measurement has begun */
	uint64_t early;	    /* ns that timers may run earlier than planned */
	bool waiting;	    /* waits for REQ_TARGET */
	bool descend_waits; /* `descend` holds the set to be armed next */
	struct req_descend descend;
	struct req_fnode descend_nodes[PT_FNODES];
};

/* ---- requests of the front -------------------------------------------- */

static void set_layers(struct collector *c, uint32_t mask)
{
	uint32_t want = mask & ~(1u << LAYER_FUNCTION), before = c->layers, missing;

	c->slice.layers |= c->layers;
	c->layers = want;
	units_layers_begin(c, want & ~before);
	missing = want & ~c->layers;
	/* where all layers are wanted, few programs use this one */
	if (want != 1u << LAYER_URING)
		missing &= ~(1u << LAYER_URING);
	for (unsigned int l = 0; l < LAYER_MAX; l++) {
		static const char *const names[] = {
		    "system calls", "functions", "kernel functions",	 "block requests",
		    "locks",	    "run queue", "requests of io_uring", "connections"};

		if (missing & 1u << l)
			send_note(c, NOTE_WARNING,
				  "cannot measure %s on this kernel; see peaktop doctor", names[l]);
	}
	if (c->layers & 1u << LAYER_LOCK && !kernel_side_own_locks(c->kernel))
		send_note(
		    c, NOTE_INFO,
		    "lock measures only waits for user-space locks: kernel locks need Linux 5.19");
}

/* Reset the counters when measuring starts: calls were counted while probes were attached. */
static void slices_begin(struct collector_loop *l)
{
	struct collector *c = l->c;

	c->start_ns = c->slice.start = now_ns();
	c->slice.end =
	    c->slice.start + (c->slice.interval_ns < FIRST_SLICE_MS * MS ? c->slice.interval_ns
									 : FIRST_SLICE_MS * MS);
	slots_begin(c);
	steal_begin(c);
}

static void go(struct collector_loop *l)
{
	if (l->going)
		return;
	l->going = true;
	units_go(l->c);
	slices_begin(l);
	waits_turn(l->c, now_ns());
	launch_go(l->c);
}

static void layers_begin(struct collector_loop *l)
{
	struct collector *c = l->c;

	budget_turn(c, now_ns());
	units_begin(c);
	set_layers(c, c->options->layers);
	send_constants(c);
	slots_announce(c);
	tokens_refill(c);
	l->go_by = now_ns() + GO_MS * MS;
	c->loop.heartbeat_ns = now_ns();
}

static void pick_target(struct collector_loop *l, uint32_t pid)
{
	struct collector *c = l->c;
	int err;

	if (!l->waiting && !c->options->restarts)
		return;
	err = target_check((pid_t)pid);
	if (!err && !l->waiting)
		err = target_add(c, (pid_t)pid, true, 0);
	if (err) {
		target_refused(c, REFUSED_TARGET, (pid_t)pid, err);
		return;
	}
	if (!l->waiting)
		return;
	c->start_ns = now_ns();
	send_meta(c);
	c->loop.error = target_add(c, (pid_t)pid, true, 0);
	if (c->loop.error) {
		target_refused(c, 0, (pid_t)pid, c->loop.error);
		c->loop.stopping = true;
	}
	l->waiting = false;
	layers_begin(l);
}

static void descend_now(struct collector_loop *l)
{
	if (l->descend_waits)
		descend_request(l->c, &l->descend);
	l->descend_waits = false;
}

/*
 * If several sets arrive at once, arm only the last: attaching and detaching each set costs the
 * target more than its hits.
 */
static void descend_later(struct collector_loop *l, const struct req_descend *req)
{
	if (req->nr_nodes > PT_FNODES) {
		descend_request(l->c, req);
		return;
	}
	if (req->nr_nodes)
		memcpy(l->descend_nodes, req->nodes, req->nr_nodes * sizeof(*req->nodes));
	l->descend = *req;
	l->descend.nodes = l->descend_nodes;
	l->descend_waits = true;
}

static void on_request(struct collector_loop *l, const struct record *rec)
{
	struct collector *c = l->c;

	if (rec->type != REQ_DESCEND && rec->type != REQ_HEARTBEAT)
		descend_now(l);
	c->loop.heartbeat_ns = now_ns();
	if (c->loop.asleep)
		wake_up(c);
	switch ((int)rec->type) {
	case REQ_HEARTBEAT:
		break;
	case REQ_LAYERS:
		set_layers(c, rec->layers.mask);
		break;
	case REQ_ARM:
		if (rec->arm.op.layer == LAYER_KERNEL)
			kernel_function_arm(c, &rec->arm);
		else
			function_arm(c, &rec->arm);
		l->next_govern = now_ns() + 5 * MS;
		break;
	case REQ_DESCEND:
		descend_later(l, &rec->descend);
		break;
	case REQ_KEEP:
		keep_request(c, &rec->req_keep);
		break;
	case REQ_MEMBERS:
		function_members(c, &rec->req_members);
		break;
	case REQ_THREAD_SNAPSHOTS:
		snapshot_request(c, &rec->req_thread_snapshots);
		l->next_snapshots = 0;
		break;
	case REQ_STACK_PIECE:
		snapshot_piece(c, &rec->req_stack_piece);
		break;
	case REQ_LEARN:
		learn_request(c, &rec->learn);
		break;
	case REQ_WAITS:
		waits_request(c, &rec->req_waits);
		break;
	case REQ_DISARM:
		if (!kernel_function_disarm(c, rec->disarm.op))
			function_disarm(c, rec->disarm.op);
		phases_look(c);
		break;
	case REQ_PHASES:
		phases_request(c, &rec->phases_wanted);
		break;
	case REQ_CHOICE:
		chosen_request(c, &rec->choice);
		break;
	case REQ_FILE:
		file_serve(c, &rec->req_file, false);
		break;
	case REQ_DEBUG_FILE:
		file_serve(c, &rec->req_file, true);
		break;
	case REQ_GO:
		go(l);
		break;
	case REQ_TARGET:
		pick_target(l, rec->req_target.pid);
		break;
	case REQ_STOP:
		c->loop.stopping = true;
		break;
	default:
		send_refused(c, 0, 0, -EINVAL, "the collector does not know request type %d",
			     rec->type);
	}
}

static void front_read(struct collector_loop *l)
{
	const struct record *rec;
	struct collector *c = l->c;
	int fd, err = channel_fill(c->front);

	while (channel_next(c->front, &rec, &fd) == 1) {
		if (fd >= 0)
			close(fd);
		on_request(l, rec);
		guard_turn();
	}
	descend_now(l);
	/* carrying out requests may have taken longer than the heartbeat timeout */
	c->loop.heartbeat_ns = now_ns();
	guard_beat();
	if (err < 0 && err != -EAGAIN)
		c->loop.stopping = true;
}

/* ---- the loop --------------------------------------------------------- */

/* True once -- CMD is executed: before that the target is still a peaktop process. */
static bool can_take_snapshots(const struct collector_loop *l)
{
	return l->going || !l->c->options->command;
}

static int timeout_ms(const struct collector_loop *l, uint64_t now)
{
	uint64_t next = l->going ? l->c->slice.end : now + 100 * MS;

	if (modules_hold_is_urgent(l->c))
		return 1;
	if (l->c->loop.asleep)
		return guard_has_fired() ? 10 : 500;
	if (l->next_ring < next)
		next = l->next_ring;
	if (l->next_govern < next)
		next = l->next_govern;
	if (l->next_tokens < next)
		next = l->next_tokens;
	if (l->next_snapshots < next && can_take_snapshots(l))
		next = l->next_snapshots;
	if (l->next_keep < next)
		next = l->next_keep;
	return next <= now ? 0 : (int)((next - now + MS - 1) / MS);
}

static void guard_look(struct collector_loop *l)
{
	guard_turn();
	if (l->waiting || l->c->loop.asleep)
		guard_beat();
	if (!guard_has_fired())
		return;
	/* this loop hung and the guard removes the probes: update the state accordingly */
	if (!l->c->loop.held_up)
		fall_asleep(l->c);
	l->c->loop.held_up = true;
	if (!guard_is_done())
		return;
	modules_hold_lost(l->c);
	guard_reset();
}

static void govern(struct collector_loop *l, uint64_t now)
{
	uint64_t kernel = kernel_functions_govern(l->c, now);

	l->next_govern = functions_govern(l->c, now);
	if (kernel < l->next_govern)
		l->next_govern = kernel;
	kernel = descend_kernel_govern(l->c, now);
	if (kernel < l->next_govern)
		l->next_govern = kernel;
	l->early = (l->next_govern > now + 2 * CALM_EARLY_MS * MS ? CALM_EARLY_MS : EARLY_MS) * MS;
}

static void timers(struct collector_loop *l)
{
	const struct record alive = {.type = REC_ALIVE};
	struct collector *c = l->c;
	uint64_t now = now_ns();

	if (now >= l->next_alive) {
		send_record(c, &alive);
		l->next_alive = now + ALIVE_MS * MS;
	}
	if (c->loop.asleep) {
		/* the front may still wake up; if it ends, the socket closes */
		ring_drain(c);
		return;
	}

	if (now + l->early >= l->next_ring) {
		ring_read(c);
		l->next_ring = now + ring_interval_ns(c);
	}
	if (now + l->early >= l->next_tokens) {
		l->next_tokens = now + tokens_refill(c) * MS;
		code_check_turn(c);
		descend_refill(c);
		snapshots_refill(c);
	}
	if (now >= l->next_snapshots && can_take_snapshots(l))
		l->next_snapshots = snapshots_turn(c, now);
	if (now >= l->next_keep)
		l->next_keep = keep_open_turn(c, now);
	learn_turn(c, now);
	if (!l->going && !l->waiting && now >= l->go_by)
		go(l);
	if (now + (l->early > EARLY_MS * MS ? l->early : 0) >= l->next_govern) {
		govern(l, now);
		share_hold(c);
	}
	if (l->going && now >= c->slice.end) {
		for (unsigned int i = 0; i < c->targets.nr; i++)
			modules_look(c, c->targets.list[i]);
		targets_check(c);
		targets_main_check(c);
		slice_end(c, false);
		slice_next(c, c->slice.end);
		if (c->slice.end < now)
			slice_next(c, now);
	}
	if (now - c->loop.heartbeat_ns > HEARTBEAT_MS * MS && !l->waiting && !front_has_said(c))
		fall_asleep(c);
}

static void loop_run(struct collector_loop *l)
{
	struct collector *c = l->c;
	struct pollfd *fds = calloc(COLLECTOR_MAX_TARGETS + 3, sizeof(*fds));

	while (fds && !c->loop.stopping) {
		unsigned int n = c->targets.nr;
		bool ended = false;

		fds[0] =
		    (struct pollfd){.fd = channel_fd(c->front),
				    /* while the guard removes probes, requests wait */
				    .events = (short)((guard_has_fired() ? 0 : POLLIN) |
						      (channel_pending(c->front) ? POLLOUT : 0))};
		for (unsigned int i = 0; i < n; i++)
			fds[i + 1] =
			    (struct pollfd){.fd = c->targets.list[i]->pidfd, .events = POLLIN};
		fds[n + 1] =
		    (struct pollfd){.fd = kernel_side_wake_fd(c->kernel), .events = POLLIN};
		fds[n + 2] = (struct pollfd){.fd = lease_wake_fd(), .events = POLLIN};
		poll(fds, n + 3, timeout_ms(l, now_ns()));
		/* somebody waits until the probes of a file are gone */
		if (fds[n + 2].revents || modules_hold_is_urgent(c))
			modules_hold_turn(c);
		/* a fuse has blown: end the burst now */
		if (fds[n + 1].revents) {
			kernel_side_woken(c->kernel);
			l->next_ring = l->next_govern = 0;
		}
		guard_look(l);
		if (fds[0].revents & POLLOUT)
			channel_flush(c->front);
		if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
			front_read(l);
		timers(l);
		/* stacks must be read soon after the registers, so keep the reader process for
		 * a while */
		reader_idle(now_ns(), c->thread_snapshots || code_check_is_used(c)
					  ? READER_KEEP_LOOKING_MS
					  : READER_KEEP_MS);
		send_reader_notes(c);
		for (unsigned int i = n; i > 0; i--)
			ended |= fds[i].revents != 0;
		if (ended)
			targets_end(c);
		if (!c->targets.nr && !l->waiting && !c->options->restarts)
			c->loop.stopping = true;
	}
	free(fds);
}

int collector_run(int fd, const struct collector_options *options)
{
	struct collector *c = calloc(1, sizeof(*c));
	struct collector_loop l = {.c = c};
	int status;

	begin_process();
	if (!c)
		return 1;
	c->options = options;
	c->front = channel_new(fd, 16u << 20);
	if (!c->front)
		return 1;
	c->slice.interval_ns = options->interval_ns ? options->interval_ns : 1000 * MS;
	c->start_ns = c->loop.heartbeat_ns = now_ns();
	if (!options->pick)
		send_meta(c);
	begin_hurry(c);
	/* fork before there are links, maps or threads that the child would inherit */
	c->files.opener = opener_start(options);
	cleaner_start(channel_fd(c->front));
	c->loop.error = collector_begin(c);
	if (!c->loop.error) {
		l.waiting = options->pick;
		guard_start(channel_fd(c->front));
		mmap_events_start(kernel_side_control(c->kernel)->nr_cpus);
		if (!l.waiting)
			layers_begin(&l);
		loop_run(&l);
	}
	collector_finish(c);
	launch_end(c, l.going);
	site_check_release(c);
	mmap_events_stop();
	share_end(c);
	functions_release(c);
	code_check_release(c);
	kernel_functions_release(c);
	attach_settle();
	guard_stop();
	cleaner_dismiss();
	kernel_side_free(c->kernel);
	if (!c->loop.error)
		files_serve(c);
	reader_end();
	opener_stop(c->files.opener);
	kernel_names_release();
	kernel_symbols_free(c);
	modules_release(c);
	chosen_release(c);
	keep_release(c);
	status = c->loop.error ? 1 : 0;
	channel_free(c->front);
	return status;
}
