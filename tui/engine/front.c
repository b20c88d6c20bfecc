// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/front.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/base/format.h"
#include "collect/process/sandbox.h"
#include "tui/engine/front_state.h"
#include "tui/engine/wait_driver.h"
#include "tui/engine/walker.h"

/* The model of a recorder that runs for weeks: only its profiles are used. */
enum { RING_SLICE_BYTES = 1 << 20, RING_SAMPLES = 2048 };

void front_message(struct front *f, const char *fmt, ...)
{
	char text[640];

	format_arguments(text, sizeof(text), fmt);
	if (f->said.nr_messages >= FRONT_MAX_MESSAGES)
		return;
	f->said.messages[f->said.nr_messages] = strdup(text);
	if (f->said.messages[f->said.nr_messages])
		f->said.nr_messages++;
}

const char *front_next_message(struct front *f)
{
	char text[512];

	if (courier_complaint(f->courier, text, sizeof(text)))
		front_message(f, "%s", text);
	free(f->said.message_out);
	f->said.message_out = NULL;
	if (!f->said.nr_messages)
		return NULL;
	f->said.message_out = f->said.messages[0];
	f->said.nr_messages--;
	memmove(f->said.messages, f->said.messages + 1,
		f->said.nr_messages * sizeof(*f->said.messages));
	return f->said.message_out;
}

void front_fail(struct front *f, int status, const char *fmt, ...)
{
	if (f->said.failure)
		return;
	format_arguments(f->said.failure_line, sizeof(f->said.failure_line), fmt);
	f->said.failure = status;
}

int front_failure(const struct front *f, const char **line)
{
	*line = f->said.failure_line;
	return f->said.failure;
}

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

static const char *recording_why(int err, const struct options *o)
{
	switch (err) {
	case -EEXIST:
		return o->force || options_have_ring(o)
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

/* Create the file of -o. It stays only once something is measured. */
static int recording_create(struct front *f, const char *path)
{
	const struct options *o = f->options;
	const struct session_ring ring = {.bytes = o->ring_bytes, .keep_ns = o->ring_ns};

	int err;

	if (!options_have_ring(o))
		return session_writer_create_provisional(&f->stream.recording, path, o->force);
	model_limit(f->stream.model, RING_SLICE_BYTES, RING_SAMPLES);
	err = session_writer_create_ring(&f->stream.recording, path, &ring);
	if (!err)
		session_writer_ring_provisional(f->stream.recording);
	return err;
}

struct front *front_new(const struct front_options *fo)
{
	struct front *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->collector.pidfd = -1;
	f->stream.model = model_new();
	if (!f->stream.model || record_queue_init(&f->stream.made) || front_driver_init(f)) {
		front_free(f);
		return NULL;
	}
	f->options = fo->options;
	model_list_all_peaks(f->stream.model, fo->options->all_peaks);
	f->all_layers = fo->all_layers;
	f->go_at_once = fo->screen && !fo->options->command;
	if (fo->screen) /* without memory the list of slow calls stays empty */
		told_calls_init(&f->stream.told);
	return f;
}

/* Count only calls of this thread (0: of all), from the begin on. */
static void choose_thread(struct front *f, uint32_t tid)
{
	bool all;

	if (tid)
		front_choose(f, tid, tid, &all);
}

/* Start those that have other rights than the front. */
static int processes_start(struct front *f, const struct front_options *fo, uid_t uid, gid_t gid)
{
	int err = collector_start(f, fo, uid, gid);

	return err || !fo->options->when ? err
					 : courier_start(&f->courier, fo->options->exec, uid, gid);
}

int front_start(struct front **out, const struct front_options *fo, char *error, size_t n)
{
	struct front *f = front_new(fo);
	uid_t uid;
	gid_t gid;
	int err;

	error[0] = '\0';
	invoker(&uid, &gid);
	signal(SIGPIPE, SIG_IGN);
	if (!f) {
		snprintf(error, n, "out of memory");
		return EXIT_NO_ANSWER;
	}
	err = processes_start(f, fo, uid, gid);
	if (!err)
		err = privileges_drop(uid, gid);
	if (!err)
		err = sandbox_enter(SANDBOX_FRONT);
	if (!err && !fo->doctor)
		err = parser_start(&f->parser, 0);
	if (!err && fo->record) {
		f->stream.provisional = fo->provisional;
		err = recording_create(f, fo->record);
		if (err)
			snprintf(error, n, "-o %s: cannot write the session: %s", fo->record,
				 recording_why(err, fo->options));
	} else if (!err && fo->screen) {
		/* If this fails, front_snapshot() reports the error when the user asks for a
		 * snapshot. */
		f->stream.recording_error = session_writer_spool(&f->stream.recording, NULL);
	}
	if (err) {
		if (!error[0])
			snprintf(error, n, "cannot start the collector: %s", strerror(-err));
		front_free(f);
		if (err == -EEXIST)
			return EXIT_USAGE;
		return err == -EPERM || err == -EACCES ? EXIT_NOT_PERMITTED : EXIT_NO_ANSWER;
	}
	choose_thread(f, fo->options->thread);
	for (size_t i = 0; i < f->options->nr_ops; i++)
		watches_add(f, &f->options->ops[i], true);
	phases_add(f);
	/* needed to unwind to the callers of a system call */
	if (fo->options->verb == VERB_DESCEND)
		modules_want(f);
	*out = f;
	return 0;
}

pid_t front_free(struct front *f)
{
	pid_t left;

	if (!f)
		return 0;
	channel_free(f->collector.channel);
	parser_free(f->parser);
	watches_release(f);
	snapshots_release(f);
	waits_release(f);
	walker_free(f->stream.walker);
	wait_driver_free(f->stream.waits);
	open_calls_free(f->stream.open_calls);
	told_calls_release(&f->stream.told);
	driver_free(f->stream.driver);
	free(f->stacks);
	model_free(f->stream.model);
	courier_end(f->courier);
	front_aside_end(f);
	if (f->stream.recording)
		session_writer_close(f->stream.recording);
	ring_release(f);
	search_release(f);
	front_modules_release(f);
	record_queue_release(&f->stream.made);
	for (size_t i = 0; i < f->said.nr_messages; i++)
		free(f->said.messages[i]);
	free(f->said.message_out);
	left = collector_wait(f);
	free(f);
	return left;
}

int front_request(struct front *f, const struct record *rec)
{
	int err = f->collector.channel ? channel_send(f->collector.channel, rec, -1) : -EPIPE;

	f->collector.heartbeat_ns = now_ns();
	if (err && err != -EPIPE)
		front_message(f, "cannot send a request to the collector: %s", strerror(-err));
	return err;
}

bool front_ask(struct front *f, enum parse_type type, struct parse_request *req,
	       const struct parser_reply *reply)
{
	if (!req->text)
		req->text = "";
	return f->parser && parser_ask(f->parser, type, req, reply) > 0;
}

struct model *front_model(struct front *f)
{
	return f->stream.model;
}

void front_stop(struct front *f)
{
	struct record rec = {.type = REQ_STOP};

	f->collector.stop_asked = true;
	chances_begin(&f->collector.silent);
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
	f->said.pick_refused[0] = '\0';
	front_request(f, &rec);
}

const char *front_pick_refused(const struct front *f)
{
	return f->said.pick_refused[0] ? f->said.pick_refused : NULL;
}

void front_layers(struct front *f, uint32_t layers)
{
	struct record rec = {.type = REQ_LAYERS};

	f->layers = rec.layers.mask = layers;
	front_request(f, &rec);
}

int front_choose(struct front *f, uint32_t pid, uint32_t tid, bool *all)
{
	struct record rec = {.type = REQ_CHOICE};
	const struct rec_chosen one = {.id = tid ? tid : pid, .is_process = !tid};
	struct rec_chosen *list = f->chosen;
	uint32_t i = 0;

	while (pid && i < f->nr_chosen &&
	       (list[i].id != one.id || list[i].is_process != one.is_process))
		i++;
	if (!pid)
		f->nr_chosen = 0;
	else if (i < f->nr_chosen)
		list[i] = list[--f->nr_chosen];
	else if (i < FRONT_CHOSEN)
		list[f->nr_chosen++] = one;
	else
		return -E2BIG;
	*all = !f->nr_chosen;
	rec.choice.nr_chosen = f->nr_chosen;
	rec.choice.chosen = list;
	front_request(f, &rec);
	return 0;
}

uint32_t front_layers_now(const struct front *f)
{
	return f->layers;
}

void front_bookmark(struct front *f, uint64_t start_ns, uint64_t end_ns, const char *note)
{
	struct record rec = {.type = REC_BOOKMARK};

	rec.mark = (struct rec_mark){.at_ns = start_ns, .end_ns = end_ns, .label = note};
	front_feed(f, &rec);
}

int front_snapshot(struct front *f, const char *path)
{
	struct record mark = {.type = REC_MARK};

	if (!f->stream.recording)
		return f->stream.recording_error ? f->stream.recording_error : -ENODATA;
	mark.mark = (struct rec_mark){.at_ns = model_elapsed_ns(f->stream.model), .label = path};
	front_feed(f, &mark);
	return f->stream.recording_error ? f->stream.recording_error
					 : session_writer_save_as(f->stream.recording, path);
}

void front_recording_keep(struct front *f)
{
	if (f->stream.recording)
		session_writer_keep(f->stream.recording);
}

void recording_begin(struct front *f)
{
	int err = f->stream.recording && !f->stream.provisional
		      ? session_writer_keep_now(f->stream.recording)
		      : 0;

	if (!err)
		return;
	f->stream.recording_error = err;
	front_message(f, "recording stopped: the older session cannot be replaced: %s",
		      strerror(-err));
}

bool front_recording_stopped(const struct front *f)
{
	return f->stream.recording_error;
}

int front_recording_close(struct front *f)
{
	int err = f->stream.recording ? session_writer_close(f->stream.recording) : 0;

	f->stream.recording = NULL;
	return f->stream.recording_error ? f->stream.recording_error : err;
}
