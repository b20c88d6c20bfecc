// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop of the front, one turn per call: process what the collector and the parser have
 * sent, then continue the watches and the thread snapshots. */
#include <unistd.h>

#include "tui/engine/front_state.h"

#define MS 1000000ull

enum { HEARTBEAT_MS = 400, MAX_FDS = 16, OWN_FDS = 3, SETTLE_TURN_MS = 10 };
#define SETTLE_NS 3000000000ull
/* A recorder with a ring needs the parser only for the stacks of slow calls. */
#define PARSER_IDLE_NS 30000000000ull

int refused_status(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENODEV || error == -EOPNOTSUPP
		   ? EXIT_NOT_PERMITTED
		   : EXIT_NO_ANSWER;
}

/* Say once that only the thread of --thread counts. */
static void say_thread(struct front *f)
{
	char text[64];

	if (!f->options->thread || f->said.thread)
		return;
	f->said.thread = true;
	snprintf(text, sizeof(text), "only thread %u is measured (--thread)", f->options->thread);
	front_note(f, NOTE_INFO, text);
}

static int take_record(struct front *f, const struct record *rec, int fd)
{
	if (rec->type == REC_REFUSED && rec->refused.epoch == REFUSED_TARGET) {
		snprintf(f->said.pick_refused, sizeof(f->said.pick_refused), "%s",
			 rec->refused.reason);
		return 0;
	}
	if (rec->type == REC_INDIRECT_CALLEES && watch_bound_take(f, &rec->discovered))
		return 0;
	if (rec->type == REC_WITNESS)
		driver_witness(f->stream.driver, &rec->witness);
	else if ((int)rec->type < REC_SAVED_MAX)
		front_feed(f, rec);
	switch ((int)rec->type) {
	case REC_TICK:
		watches_tick(f);
		return 1;
	case REC_PROFILE:
		watches_profile(f, &rec->profile);
		break;
	case REC_REFUSED:
		if (waits_refused(f, &rec->refused))
			break;
		if (!rec->refused.op && !rec->refused.epoch)
			front_fail(f, refused_status(rec->refused.error), "%s",
				   rec->refused.reason);
		else
			watches_refused(f, &rec->refused);
		break;
	case REC_STACK:
		stacks_take(f, &rec->stack);
		break;
	case REC_RAW_SNAPSHOT:
		snapshots_take(f, rec);
		break;
	case REC_STACK_PIECE:
		snapshots_piece(f, &rec->stack_piece);
		break;
	case REC_RAW_TRACE:
		traces_take(f, rec);
		break;
	case REC_ACK:
		if (rec->ack.epoch > SNAPSHOT_ROUNDS)
			snapshots_acknowledged(f, rec->ack.epoch);
		waits_acknowledged(f, rec->ack.epoch);
		watches_acknowledged(f, &rec->ack);
		break;
	case REC_NEW_RETURN:
		watches_new_return(f, &rec->new_return);
		break;
	case REC_FILE:
		watches_file(f, &rec->file, fd);
		fd = -1;
		break;
	case REC_MODULE:
		watches_module(f, &rec->module);
		break;
	case REC_MAPPING:
		watches_mapping(f, &rec->mapping);
		break;
	case REC_TARGET:
		say_thread(f);
		watches_wake(f);
		break;
	case REC_BYE:
		f->over = true;
		break;
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

static int stream_read(struct front *f)
{
	int err = channel_fill(f->collector.channel), fd, ticks = 0, got;
	const struct record *rec;

	while ((got = channel_next(f->collector.channel, &rec, &fd)) == 1) {
		collector_heard(f, rec);
		ticks += take_record(f, rec, fd);
	}
	if (got < 0)
		front_fail(f, EXIT_NO_ANSWER, "the stream from the collector is damaged (%s)",
			   strerror(-got));
	if ((err < 0 && err != -EAGAIN) || got < 0)
		collector_closed(f);
	return ticks;
}

static void say_parser_lost(struct front *f)
{
	const char *module = parser_lost_on(f->parser);
	unsigned int n = parser_restarts(f->parser);
	char text[512], times[32] = "once";

	if (n == f->said.parser_deaths)
		return;
	f->said.parser_deaths = n;
	if (n > 1)
		snprintf(times, sizeof(times), "%u times, most recently", n);
	snprintf(text, sizeof(text), "the parser died %s%s%s; names or call paths may be missing",
		 times, module[0] ? ", on " : "", module);
	front_note(f, NOTE_WARNING, text);
	front_message(f, "%s", text);
}

/* Deliver the parser's answers; continue the watches and snapshots that waited for them. */
static void advance(struct front *f)
{
	if (!f->parser)
		return;
	parser_run(f->parser, now_ns());
	say_parser_lost(f);
	if (options_have_ring(f->options) && parser_rest(f->parser, now_ns(), PARSER_IDLE_NS))
		stacks_mappings_forget(f);
	watches_move(f);
	if ((f->snapshots || f->waits) && !front_snapshots_pending(f) && !front_traces_pending(f))
		mappings_purge(f);
	snapshots_move(f);
	traces_move(f);
}

/* Wait for the collector, the parser and `fds`; take what came. Returns the number of ticks. */
static int take_turn(struct front *f, struct pollfd *fds, size_t nr_fds, int timeout_ms)
{
	struct pollfd all[MAX_FDS] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
	int ticks = 0;

	if (!f->collector.closed) {
		all[0].fd = channel_fd(f->collector.channel);
		all[0].events =
		    (short)(POLLIN | (channel_pending(f->collector.channel) ? POLLOUT : 0));
		all[2] = (struct pollfd){.fd = f->collector.pidfd, .events = POLLIN};
	}
	all[1].fd = f->parser ? parser_fd(f->parser) : -1;
	all[1].events =
	    (short)(POLLIN | (f->parser && parser_wants_write(f->parser) ? POLLOUT : 0));
	if (nr_fds > MAX_FDS - OWN_FDS)
		nr_fds = MAX_FDS - OWN_FDS;
	if (nr_fds)
		memcpy(all + OWN_FDS, fds, nr_fds * sizeof(*fds));
	if (poll(all, OWN_FDS + nr_fds, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	for (size_t i = 0; i < nr_fds; i++)
		fds[i].revents = all[i + OWN_FDS].revents;
	if (all[0].revents & POLLOUT)
		channel_flush(f->collector.channel);
	if (all[0].revents & (POLLIN | POLLHUP | POLLERR))
		ticks = stream_read(f);
	collector_check_alive(f, now_ns());
	advance(f);
	return ticks;
}

int front_turn(struct front *f, struct pollfd *fds, size_t nr_fds, int timeout_ms)
{
	uint64_t now = now_ns();
	struct record beat = {.type = REQ_HEARTBEAT};

	if (f->over)
		return -ENOTCONN;
	if (now - f->collector.heartbeat_ns >= HEARTBEAT_MS * MS)
		front_request(f, &beat);
	if (timeout_ms > HEARTBEAT_MS / 2 || timeout_ms < 0)
		timeout_ms = HEARTBEAT_MS / 2;
	return take_turn(f, fds, nr_fds, timeout_ms);
}

void front_parser_turn(struct front *f, int timeout_ms)
{
	if (f->parser)
		take_turn(f, NULL, 0, timeout_ms);
	if (f->over && !f->collector.closed && (!f->parser || !modules_awaited(f)))
		collector_close(f);
}

static bool is_sought(const struct watch *w)
{
	return w->stage == WATCH_WAITING || w->stage == WATCH_FINDING ||
	       w->stage == WATCH_INLINED || w->stage == WATCH_BOUND || w->stage == WATCH_NEAREST;
}

void front_settle(struct front *f)
{
	uint64_t until = now_ns() + SETTLE_NS;
	bool pending;

	saved_descent_settle(f);
	pending = f->over && !f->said.failure;
	/* If a command ended at once, its libraries were not searched yet: search the dormant
	 * functions now. */
	for (size_t i = 0; pending && i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];

		if (w->stage == WATCH_DORMANT && w->spec.module[0])
			watch_refuse_name(f, w, EXIT_USAGE,
					  "%s: the target has not mapped a file called %s", w->text,
					  w->spec.module);
		else if (w->stage == WATCH_DORMANT)
			w->stage = WATCH_WAITING;
	}
	while (pending && now_ns() < until) {
		front_parser_turn(f, SETTLE_TURN_MS);
		pending = modules_awaited(f);
		for (size_t i = 0; i < f->watches.nr; i++)
			pending |= is_sought(f->watches.list[i]);
	}
}
