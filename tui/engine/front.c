// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/front.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/process/sandbox.h"
#include "tui/engine/front_state.h"
#include "tui/engine/walker.h"

#define MS 1000000ull

enum { HEARTBEAT_MS = 400, MAX_FDS = 16, OWN_FDS = 3 };

uint64_t front_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void front_message(struct front *f, const char *fmt, ...)
{
	char text[640], **grown;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f->nr_messages >= FRONT_MAX_MESSAGES)
		return;
	grown = realloc(f->messages, (f->nr_messages + 1) * sizeof(*grown));
	if (!grown)
		return;
	f->messages = grown;
	f->messages[f->nr_messages] = strdup(text);
	if (f->messages[f->nr_messages])
		f->nr_messages++;
}

const char *front_next_message(struct front *f)
{
	free(f->message_out);
	f->message_out = NULL;
	if (!f->nr_messages)
		return NULL;
	f->message_out = f->messages[0];
	f->nr_messages--;
	memmove(f->messages, f->messages + 1, f->nr_messages * sizeof(*f->messages));
	return f->message_out;
}

void front_fail(struct front *f, int status, const char *fmt, ...)
{
	va_list ap;

	if (f->failure)
		return;
	va_start(ap, fmt);
	vsnprintf(f->failure_line, sizeof(f->failure_line), fmt, ap);
	va_end(ap);
	f->failure = status;
}

int front_failure(const struct front *f, const char **line)
{
	*line = f->failure_line;
	return f->failure;
}

/* ---- starting --------------------------------------------------------- */

static void invoker(uid_t *uid, gid_t *gid)
{
	*uid = getuid();
	*gid = getgid();
	if (*uid == 0)
		privileges_invoker(getenv("SUDO_UID"), getenv("SUDO_GID"), uid, gid);
}

int front_unprivileged(char *error, size_t n)
{
	uid_t uid;
	gid_t gid;
	int err;

	invoker(&uid, &gid);
	err = privileges_drop(uid, gid);
	if (!err)
		err = sandbox_enter(SANDBOX_FRONT);
	if (!err)
		return 0;
	snprintf(error, n, "cannot drop privileges: %s", strerror(-err));
	return EXIT_NOT_PERMITTED;
}

static const char *recording_why(int err, bool force)
{
	switch (err) {
	case -EEXIST:
		return force
			   ? "the file exists and is not a peaktop session; choose another name"
			   : "the file exists; choose another name, or give --force to replace it";
	case -EBUSY:
		return "another peaktop is writing this file";
	case -EINVAL:
		return "this is not a regular file";
	default:
		return strerror(-err);
	}
}

int front_start(struct front **out, const struct front_options *fo, char *error, size_t n)
{
	struct front *f = calloc(1, sizeof(*f));
	uid_t uid;
	gid_t gid;
	int err;

	error[0] = '\0';
	invoker(&uid, &gid);
	signal(SIGPIPE, SIG_IGN);
	if (!f || !(f->model = model_new()) || front_descend_init(f)) {
		if (f)
			model_free(f->model);
		free(f);
		snprintf(error, n, "out of memory");
		return EXIT_NO_ANSWER;
	}
	f->collector_pidfd = -1;
	f->options = fo->options;
	model_list_all_peaks(f->model, fo->options->all_peaks);
	f->all_layers = fo->all_layers;
	f->go_at_once = fo->screen && !fo->options->command;
	err = collector_start(f, fo, uid, gid);
	if (!err)
		err = privileges_drop(uid, gid);
	if (!err)
		err = sandbox_enter(SANDBOX_FRONT);
	if (!err && !fo->doctor)
		err = parser_start(&f->parser, 0);
	if (!err && fo->record) {
		err = fo->options->force ? session_writer_create(&f->recording, fo->record)
					 : session_writer_create_new(&f->recording, fo->record);
		if (err)
			snprintf(error, n, "-o %s: cannot write the session: %s", fo->record,
				 recording_why(err, fo->options->force));
	} else if (!err && fo->screen) {
		/* without room for it there are no snapshots; that is said when one is asked for */
		f->recording_error = session_writer_spool(
		    &f->recording, getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	}
	if (err) {
		if (!error[0])
			snprintf(error, n, "cannot start the collector: %s", strerror(-err));
		front_free(f);
		if (err == -EEXIST)
			return EXIT_USAGE;
		return err == -EPERM || err == -EACCES ? EXIT_NOT_PERMITTED : EXIT_NO_ANSWER;
	}
	for (size_t i = 0; i < f->options->nr_ops; i++)
		watches_add(f, &f->options->ops[i], true);
	phases_add(f);
	/* the callers of a system call */
	if (fo->options->verb == VERB_DESCEND)
		modules_want(f);
	*out = f;
	return 0;
}

void front_free(struct front *f)
{
	if (!f)
		return;
	channel_free(f->channel);
	parser_free(f->parser);
	watches_release(f);
	looks_release(f);
	walker_free(f->walker);
	open_calls_free(f->open_calls);
	descend_free(f->descend);
	free(f->stacks);
	model_free(f->model);
	if (f->recording)
		session_writer_close(f->recording);
	for (size_t i = 0; i < f->nr_messages; i++)
		free(f->messages[i]);
	free(f->messages);
	free(f->message_out);
	collector_wait(f);
	free(f);
}

/* ---- the stream ------------------------------------------------------- */

int front_request(struct front *f, const struct record *rec)
{
	int err = f->channel ? channel_send(f->channel, rec, -1) : -EPIPE;

	f->heartbeat_ns = front_now_ns();
	if (err && err != -EPIPE)
		front_message(f, "cannot send a request to the collector: %s", strerror(-err));
	return err;
}

/* Which OP of the user asked for this operation? NULL: none, and only those asked for are wanted.
 */
static const char *requested_by(const struct front *f, const struct rec_op *op)
{
	const struct options *o = f->options;

	if (phases_only(f, op->op))
		return NULL;
	for (size_t i = 0; i < o->nr_ops; i++) {
		const struct op_spec *s = &o->ops[i];

		if ((s->kind == OP_ALL_SYSCALLS && op->layer == LAYER_SYSCALL) ||
		    (s->kind == OP_SYSCALL && op->layer == LAYER_SYSCALL &&
		     !strcmp(s->name, op->label)) ||
		    (s->kind == OP_BLOCK && op->layer == LAYER_BLOCK) ||
		    (s->kind == OP_LOCK && op->layer == LAYER_LOCK) ||
		    (s->kind == OP_RUNQUEUE && op->layer == LAYER_RUNQUEUE))
			return s->text;
	}
	return op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL || f->all_layers ||
		       !o->nr_ops
		   ? op->requested
		   : NULL;
}

static bool op_wanted(const struct front *f, uint32_t op)
{
	return op >= FRONT_MAX_OP || !(f->unwanted[op / 32] & 1u << op % 32);
}

/* Operations that were measured but not asked for go no further: not to the screen, not into a
 * recording. */
static bool record_wanted(struct front *f, struct record *rec)
{
	const char *by;

	switch (rec->type) {
	case REC_OP:
		by = requested_by(f, &rec->op);
		if (!by && rec->op.op < FRONT_MAX_OP)
			f->unwanted[rec->op.op / 32] |= 1u << rec->op.op % 32;
		if (by)
			rec->op.requested = by;
		return by != NULL;
	case REC_PROFILE:
		return op_wanted(f, rec->profile.op);
	case REC_SAMPLE:
		return op_wanted(f, rec->sample.op);
	case REC_OPEN:
		return op_wanted(f, rec->open.op);
	default:
		return true;
	}
}

void front_feed(struct front *f, const struct record *from)
{
	struct record rec = *from;
	int err;

	if (!record_wanted(f, &rec))
		return;
	err = model_feed(f->model, &rec);
	if (err == -ENOMEM)
		front_message(f, "out of memory: later records are ignored");
	if (f->recording && !f->recording_error) {
		err = session_writer_append(f->recording, &rec);
		if (err) {
			f->recording_error = err;
			front_message(
			    f, "recording stopped: %s; the session can be opened up to this point",
			    strerror(-err));
		}
	}
	descend_take(f->descend, &rec);
	walker_take(f->walker, &rec);
	open_calls_feed(f->open_calls, &rec);
}

static int refused_status(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENODEV || error == -EOPNOTSUPP
		   ? EXIT_NOT_PERMITTED
		   : EXIT_NO_ANSWER;
}

static int take_record(struct front *f, const struct record *rec, int fd)
{
	if (rec->type == REC_WITNESS)
		descend_witness(f->descend, &rec->witness);
	else if ((int)rec->type < REC_SAVED_MAX)
		front_feed(f, rec);
	switch ((int)rec->type) {
	case REC_TICK:
		f->ticks++;
		watches_tick(f);
		return 1;
	case REC_PROFILE:
		watches_profile(f, &rec->profile);
		break;
	case REC_REFUSED:
		if (!rec->refused.op && !rec->refused.epoch)
			front_fail(f, refused_status(rec->refused.error), "%s",
				   rec->refused.reason);
		else
			watches_refused(f, &rec->refused);
		break;
	case REC_STACK:
		stacks_take(f, &rec->stack);
		break;
	case REC_LOOKED:
		looks_take(f, &rec->looked);
		break;
	case REC_ACK:
		if (rec->ack.epoch > LOOK_ROUNDS)
			looks_acknowledged(f, rec->ack.epoch);
		watches_acknowledged(f, &rec->ack);
		break;
	case REC_LEARNED:
		watches_learned(f, &rec->learned);
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
		watches_target(f, &rec->target);
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
	int err = channel_fill(f->channel), fd, ticks = 0, got;
	const struct record *rec;

	while ((got = channel_next(f->channel, &rec, &fd)) == 1) {
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

int front_turn(struct front *f, struct pollfd *fds, size_t nr_fds, int timeout_ms)
{
	struct pollfd all[MAX_FDS] = {0};
	uint64_t now = front_now_ns();
	struct record beat = {.type = REQ_HEARTBEAT};
	int ticks = 0;

	if (f->over)
		return -ENOTCONN;
	if (now - f->heartbeat_ns >= HEARTBEAT_MS * MS)
		front_request(f, &beat);
	if (timeout_ms > HEARTBEAT_MS / 2 || timeout_ms < 0)
		timeout_ms = HEARTBEAT_MS / 2;
	all[0].fd = channel_fd(f->channel);
	all[0].events = (short)(POLLIN | (channel_pending(f->channel) ? POLLOUT : 0));
	all[1].fd = f->parser ? parser_fd(f->parser) : -1;
	all[1].events =
	    (short)(POLLIN | (f->parser && parser_wants_write(f->parser) ? POLLOUT : 0));
	all[2] = (struct pollfd){.fd = f->collector_pidfd, .events = POLLIN};
	if (nr_fds > MAX_FDS - OWN_FDS)
		nr_fds = MAX_FDS - OWN_FDS;
	memcpy(all + OWN_FDS, fds, nr_fds * sizeof(*fds));
	if (poll(all, OWN_FDS + nr_fds, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	for (size_t i = 0; i < nr_fds; i++)
		fds[i].revents = all[i + OWN_FDS].revents;
	if (all[0].revents & POLLOUT)
		channel_flush(f->channel);
	if (all[0].revents & (POLLIN | POLLHUP | POLLERR))
		ticks = stream_read(f);
	collector_look(f, front_now_ns());
	if (f->parser)
		watches_parser(f, front_now_ns());
	return ticks;
}

struct model *front_model(struct front *f)
{
	return f->model;
}

void front_stop(struct front *f)
{
	struct record rec = {.type = REQ_STOP};

	f->stop_asked = true;
	f->silent_ns = 0;
	front_request(f, &rec);
}

bool front_over(const struct front *f)
{
	return f->over;
}

void front_pick(struct front *f, uint32_t pid)
{
	struct record rec = {.type = REQ_TARGET};

	rec.req_target.pid = pid;
	front_request(f, &rec);
}

void front_layers(struct front *f, uint32_t layers)
{
	struct record rec = {.type = REQ_LAYERS};

	f->layers = rec.layers.mask = layers;
	front_request(f, &rec);
}

uint32_t front_layers_now(const struct front *f)
{
	return f->layers;
}

int front_snapshot(struct front *f, const char *path)
{
	struct record mark = {.type = REC_SNAPSHOT};

	if (!f->recording)
		return f->recording_error ? f->recording_error : -ENODATA;
	mark.snapshot = (struct rec_snapshot){.at_ns = model_elapsed_ns(f->model), .label = path};
	front_feed(f, &mark);
	return f->recording_error ? f->recording_error : session_writer_save_as(f->recording, path);
}

int front_recording_close(struct front *f)
{
	int err = f->recording ? session_writer_close(f->recording) : 0;

	f->recording = NULL;
	return f->recording_error ? f->recording_error : err;
}
