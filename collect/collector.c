// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/begin.h"
#include "collect/calibrate.h"
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/guard.h"
#include "collect/kernel_functions.h"
#include "collect/kernel_names.h"
#include "collect/kernel_symbols.h"
#include "collect/launch.h"
#include "collect/learn.h"
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
	DESCENT_RING_MS =
	    5,	      /* read often: a blown fuse costs the target until the collector reacts */
	RING_MS = 25, /* read on a timer: wake-ups by BPF programs would be traced, too; only a
			 blown fuse does */
	TOKENS_MS = 50,
	EARLY_MS = 5, /* timers that are due so soon run in the same turn: each turn costs time */
	GOVERN_EARLY_MS = 15, /* ... and the governor, if it is not in a hurry */
	HEARTBEAT_MS = 2000,  /* without a heartbeat for so long, probes are removed */
	ALIVE_MS = 200,
	FIRST_SLICE_MS = 250, /* show the first results early */
	READER_KEEP_MS = 50,
	READER_KEEP_LOOKING_MS = 5000,
	GO_MS = 10000, /* start -- CMD after this if the front sends no request */
};

struct loop {
	struct collector *c;
	uint64_t go_by; /* -- CMD starts then even without REQ_GO */
	uint64_t next_ring, next_govern, next_tokens, next_snapshots, next_alive;
	bool going;	       /* the measurement has begun */
	uint64_t govern_early; /* the governor may run this much earlier than planned */
	bool waiting;	       /* waits for REQ_TARGET */
	bool descend_waits;    /* `descend` holds the set to be armed next */
	struct req_descend descend;
	struct req_fnode descend_nodes[PT_FNODES];
};

/* ---- requests of the front -------------------------------------------- */

static void give_file(struct collector *c, const struct req_file *req, bool debug)
{
	struct record rec = {.type = REC_FILE};
	int fd;

	if (debug) {
		fd = module_debug_file(c, req->module, req->build_id, req->name);
	} else {
		fd = module_content(c, req->module);
	}
	rec.file =
	    (struct rec_file){.module = req->module, .debug = debug, .error = fd < 0 ? fd : 0};
	/* if sending failed, the descriptor is still ours */
	if (channel_send(c->front, &rec, fd >= 0 ? fd : -1) && fd >= 0)
		close(fd);
}

static void set_layers(struct collector *c, uint32_t mask)
{
	uint32_t want = mask & ~(1u << LAYER_FUNCTION);

	c->slice.layers |= c->layers;
	c->layers = want;
	units_layers(c);
	for (unsigned int l = 0; l < LAYER_MAX; l++) {
		static const char *const names[] = {
		    "system calls",   "functions", "kernel functions",
		    "block requests", "locks",	   "run queue"};

		if ((want & ~c->layers) & 1u << l)
			send_note(c, NOTE_WARNING,
				  "cannot measure %s on this kernel; see peaktop doctor", names[l]);
	}
	if (c->layers & 1u << LAYER_LOCK && !kernel_side_own_locks(c->kernel))
		send_note(
		    c, NOTE_INFO,
		    "lock measures only waits for user-space locks: kernel locks need Linux 5.19");
}

/* Reset the counters when measuring starts: calls were counted while probes were attached. */
static void slices_begin(struct loop *l)
{
	struct collector *c = l->c;

	c->start_ns = c->slice.start = now_ns();
	c->slice.end =
	    c->slice.start + (c->slice.interval_ns < FIRST_SLICE_MS * MS ? c->slice.interval_ns
									 : FIRST_SLICE_MS * MS);
	slots_begin(c);
	steal_begin(c);
}

static void go(struct loop *l)
{
	if (l->going)
		return;
	l->going = true;
	units_go(l->c);
	slices_begin(l);
	waits_turn(l->c, now_ns());
	launch_go(l->c);
}

static void layers_begin(struct loop *l)
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

static void pick_target(struct loop *l, uint32_t pid)
{
	struct collector *c = l->c;
	int err;

	if (!l->waiting)
		return;
	err = target_check((pid_t)pid);
	if (err) {
		target_refused(c, REFUSED_TARGET, (pid_t)pid, err);
		return;
	}
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

/* The front is stopped or hangs: remove all probes, because nobody could stop the measurement. */
static void fall_asleep(struct collector *c)
{
	c->loop.asleep = true;
	functions_sleep(c);
	units_sleep(c);
	kernel_functions_sleep(c);
	descend_sleep(c);
	snapshots_end(c);
	share_end(c);
	waits_pause(c);
}

static void wake_up(struct collector *c)
{
	c->loop.asleep = false;
	guard_beat();
	guard_reset();
	for (unsigned int i = 0; i < c->targets.nr; i++)
		modules_scan(c, c->targets.list[i]);
	units_wake(c);
	functions_wake(c);
	kernel_functions_wake(c);
	descend_wake(c);
	/* slice.start is 0 before the first slice */
	send_note(c, NOTE_WARNING, "%s: nothing was measured from %.1f to %.1f s",
		  c->loop.held_up
		      ? "the collector hung for more than 3 s, so all probes were removed"
		      : "peaktop was stopped",
		  c->slice.start > c->start_ns ? (double)(c->slice.start - c->start_ns) / 1e9 : 0.,
		  (double)session_ns(c) / 1e9);
	c->loop.held_up = false;
	c->slice.start = now_ns();
	c->slice.end = c->slice.start + c->slice.interval_ns;
}

static void descend_now(struct loop *l)
{
	if (l->descend_waits)
		descend_request(l->c, &l->descend);
	l->descend_waits = false;
}

/*
 * If several sets arrive at once, arm only the last: attaching and detaching each set costs the
 * target more than its hits.
 */
static void descend_later(struct loop *l, const struct req_descend *req)
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

static void on_request(struct loop *l, const struct record *rec)
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
	case REQ_THREAD_SNAPSHOTS:
		snapshot_request(c, &rec->req_thread_snapshots);
		l->next_snapshots = 0;
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
		give_file(c, &rec->req_file, false);
		break;
	case REQ_DEBUG_FILE:
		give_file(c, &rec->req_file, true);
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

static void front_read(struct loop *l)
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
static bool can_take_snapshots(const struct loop *l)
{
	return l->going || !l->c->options->command;
}

static int timeout_ms(const struct loop *l, uint64_t now)
{
	uint64_t next = l->going ? l->c->slice.end : now + 100 * MS;

	if (l->c->loop.asleep)
		return 500;
	if (l->next_ring < next)
		next = l->next_ring;
	if (l->next_govern < next)
		next = l->next_govern;
	if (l->next_tokens < next)
		next = l->next_tokens;
	if (l->next_snapshots < next && can_take_snapshots(l))
		next = l->next_snapshots;
	return next <= now ? 0 : (int)((next - now + MS - 1) / MS);
}

static void guard_look(struct loop *l)
{
	guard_turn();
	if (l->waiting || l->c->loop.asleep)
		guard_beat();
	if (!guard_has_fired())
		return;
	/* this loop hung and the guard removed the probes: update the state accordingly */
	l->c->loop.held_up = true;
	fall_asleep(l->c);
	guard_reset();
}

static void govern(struct loop *l, uint64_t now)
{
	uint64_t kernel = kernel_functions_govern(l->c, now);

	l->next_govern = functions_govern(l->c, now);
	if (kernel < l->next_govern)
		l->next_govern = kernel;
	l->govern_early =
	    l->next_govern > now + 2 * GOVERN_EARLY_MS * MS ? GOVERN_EARLY_MS * MS : 0;
}

static void timers(struct loop *l)
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

	if (now + EARLY_MS * MS >= l->next_ring) {
		ring_read(c);
		l->next_ring = now + (functions_waiting(c)  ? 2
				      : descend_is_armed(c) ? DESCENT_RING_MS
							    : RING_MS) *
					 MS;
	}
	if (now + EARLY_MS * MS >= l->next_tokens) {
		tokens_refill(c);
		descend_refill(c);
		snapshots_refill(c);
		l->next_tokens = now + TOKENS_MS * MS;
	}
	if (now >= l->next_snapshots && can_take_snapshots(l))
		l->next_snapshots = snapshots_turn(c, now);
	learn_turn(c, now);
	if (!l->going && !l->waiting && now >= l->go_by)
		go(l);
	if (now + l->govern_early >= l->next_govern) {
		govern(l, now);
		share_hold(c);
	}
	if (l->going && now >= c->slice.end) {
		for (unsigned int i = 0; i < c->targets.nr; i++)
			modules_scan(c, c->targets.list[i]);
		targets_check(c);
		slice_end(c, false);
		c->slice.end += c->slice.interval_ns;
		if (c->slice.end < now)
			c->slice.end = now + c->slice.interval_ns;
	}
	if (now - c->loop.heartbeat_ns > HEARTBEAT_MS * MS && !l->waiting && !front_has_said(c))
		fall_asleep(c);
}

/*
 * Poll the targets again: the list of targets may have changed since the loop's own poll.
 */
static void targets_end(struct collector *c, struct pollfd *fds)
{
	unsigned int n = c->targets.nr;

	for (unsigned int i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = c->targets.list[i]->pidfd, .events = POLLIN};
	if (poll(fds, n, 0) <= 0)
		return;
	for (unsigned int i = n; i > 0; i--) {
		if (fds[i - 1].revents)
			target_ended(c, i - 1);
	}
}

static void loop_run(struct loop *l)
{
	struct collector *c = l->c;
	struct pollfd *fds = calloc(COLLECTOR_MAX_TARGETS + 2, sizeof(*fds));

	while (fds && !c->loop.stopping) {
		unsigned int n = c->targets.nr;
		bool ended = false;

		fds[0] = (struct pollfd){
		    .fd = channel_fd(c->front),
		    .events = (short)(POLLIN | (channel_pending(c->front) ? POLLOUT : 0))};
		for (unsigned int i = 0; i < n; i++)
			fds[i + 1] =
			    (struct pollfd){.fd = c->targets.list[i]->pidfd, .events = POLLIN};
		fds[n + 1] =
		    (struct pollfd){.fd = kernel_side_wake_fd(c->kernel), .events = POLLIN};
		poll(fds, n + 2, timeout_ms(l, now_ns()));
		/* a fuse has blown: end the burst now */
		if (fds[n + 1].revents)
			l->next_ring = l->next_govern = 0;
		guard_look(l);
		if (fds[0].revents & POLLOUT)
			channel_flush(c->front);
		if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
			front_read(l);
		timers(l);
		/* stacks must be read soon after the registers, so keep the reader process for
		 * a while */
		reader_idle(now_ns(),
			    c->thread_snapshots ? READER_KEEP_LOOKING_MS : READER_KEEP_MS);
		send_reader_notes(c);
		for (unsigned int i = n; i > 0; i--)
			ended |= fds[i].revents != 0;
		if (ended)
			targets_end(c, fds);
		if (!c->targets.nr && !l->waiting)
			c->loop.stopping = true;
	}
	free(fds);
}

/* Remove all probes, send the last slice and REC_BYE with the error. */
static void finish(struct collector *c)
{
	struct record bye = {.type = REC_BYE};
	uint64_t until = now_ns() + 1000 * MS;

	if (c->kernel && c->slice.start && c->loop.heartbeat_ns) {
		functions_govern(c, now_ns());
		ring_drain(c);
		snapshots_end(c);
		waits_end(c);
		share_hold(c);
		gates_close(c);
		for (unsigned int i = 0; i < c->functions.nr; i++)
			function_gate_close(c, c->functions.list[i]);
		for (unsigned int i = 0; i < c->functions.nr; i++)
			function_links_stop(c->functions.list[i], true);
		kernel_functions_sleep(c);
		kernel_side_layers(c->kernel, 0);
		ring_drain(c);
		slice_end(c, true);
		cost_note(c);
		steal_note(c);
	}
	bye.bye.error = c->loop.error;
	send_record(c, &bye);
	while (channel_flush(c->front) == 1 && now_ns() < until) {
		struct pollfd p = {.fd = channel_fd(c->front), .events = POLLOUT};

		poll(&p, 1, 100);
	}
}

static int begin(struct collector *c)
{
	const struct collector_options *o = c->options;
	struct pt_control *control;
	int err = kernel_side_new(&c->kernel);

	if (!err && begin_front_is_gone(c))
		return -EPIPE;
	if (err) {
		send_refused(c, 0, 0, err, "%s",
			     err == -ENODEV ? "this kernel has no BTF (/sys/kernel/btf/vmlinux); "
					      "peaktop needs Linux 5.15 with CONFIG_DEBUG_INFO_BTF"
					    : strerror(-err));
		return err;
	}
	err = kernel_side_load(c->kernel);
	if (err) {
		begin_load_refused(c, err);
		return err;
	}
	if (begin_front_is_gone(c))
		return -EPIPE;
	control = kernel_side_control(c->kernel);
	err = kernel_side_attach_life(c->kernel);
	if (err) {
		send_refused(c, 0, 0, err, "cannot attach tracepoints: %s; see peaktop doctor",
			     strerror(-err));
		return err;
	}
	err = begin_launch_and_limit(c);
	if (err)
		return err;
	calibrate(c);
	budget_calibrated(c);
	if (begin_front_is_gone(c))
		return -EPIPE;
	control->slot_block = control->next_slot++;
	control->slot_lock = control->next_slot++;
	control->slot_runqueue = control->next_slot++;
	for (uint32_t s = 0; s < PT_SLOTS; s++)
		control->correction[s] = 0;
	control->follow = o->follow;
	control->check_exec = target_rights_matter();
	control->phase_mode = o->phases;
	if (o->command) {
		err = target_add(c, c->command.pid, true, 0);
	}
	for (unsigned int i = 0; i < o->nr_pids && !err; i++) {
		err = target_add(c, o->pids[i], true, 0);
		if (err)
			target_refused(c, 0, o->pids[i], err);
	}
	return err;
}

int collector_run(int fd, const struct collector_options *options)
{
	struct collector *c = calloc(1, sizeof(*c));
	struct loop l = {.c = c};
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
	/* fork before there are links, maps or threads that the child would inherit */
	c->files.opener = opener_start(options);
	begin_hurry(c);
	c->loop.error = begin(c);
	if (!c->loop.error) {
		l.waiting = options->pick;
		guard_start(channel_fd(c->front));
		if (!l.waiting)
			layers_begin(&l);
		loop_run(&l);
	}
	finish(c);
	reader_end();
	launch_end(c, l.going);
	site_check_release(c);
	opener_stop(c->files.opener);
	share_end(c);
	functions_release(c);
	kernel_functions_release(c);
	attach_settle();
	guard_stop();
	kernel_side_free(c->kernel);
	kernel_names_release();
	kernel_symbols_free(c);
	modules_release(c);
	chosen_release(c);
	status = c->loop.error ? 1 : 0;
	channel_free(c->front);
	return status;
}
