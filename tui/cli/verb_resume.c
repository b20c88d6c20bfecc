// SPDX-License-Identifier: GPL-2.0-or-later
/* The verb resume: go on with a saved descent. A child without privileges reads the session, before
 * the collector begins, and hands over what is needed of it (tui/engine/saved_descent.h). */
#include "tui/cli/verb_resume.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tui/cli/command_line.h"
#include "tui/cli/live.h"
#include "tui/cli/option_table.h"
#include "tui/cli/verb_descend.h"
#include "tui/cli/verbs.h"
#include "tui/engine/walker.h"

/* One line about a session that cannot be resumed; NULL: it can. What is intact of a damaged one is
 * enough if the descent is in it. */
static const char *unsuitable(struct replay *r, int *status)
{
	uint32_t op = driver_op(replay_driver(r));

	*status = replay_damage(r)[0] ? EXIT_DAMAGED : EXIT_USAGE;
	if (op && model_op_by_number(replay_model(r), op))
		return NULL;
	if (replay_damage(r)[0]) /* replay_whole() has said it */
		return "";
	if (walker_asked(replay_walker(r)))
		return "holds a descent without -f, which has nothing to go on with; begin again "
		       "with peaktop descend TARGET";
	return "contains no descent; save one with peaktop descend TARGET -f OP -o FILE";
}

static void put_text(struct buf *out, const char *text)
{
	buf_append(out, text, strlen(text) + 1);
}

/* Append the operation, the limits of phases, and the descent. Returns 0 or a negative errno. */
static int write_needed(struct replay *r, struct buf *out)
{
	const struct descent_driver *d = replay_driver(r);
	struct model *m = replay_model(r);
	const struct op *op = model_op_by_number(m, driver_op(d));
	const struct rec_phases *phases = model_phases(m);

	put_text(out, op->requested[0] ? op->requested : op->name);
	put_text(out, phases ? phases->begin : "");
	put_text(out, phases ? phases->end : "");
	return saved_descent_write(d, m, replay_damage(r), out);
}

static int write_all(int fd, const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(fd, b->data + at, b->len - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int resume_write(struct replay *r, int fd, char why[RESUME_WHY])
{
	SCOPED_BUF(out, SAVED_DESCENT_MAX_BYTES);
	const char *reason;
	int status, err;

	reason = unsuitable(r, &status);
	snprintf(why, RESUME_WHY, "%s", reason ? reason : "");
	if (reason)
		return status;
	err = write_needed(r, &out);
	if (!err)
		err = write_all(fd, &out);
	if (err)
		snprintf(why, RESUME_WHY, "has a descent that cannot be read: %s", strerror(-err));
	return err ? EXIT_DAMAGED : EXIT_ANSWERED;
}

static int child(const char *path, int fd)
{
	struct replay *r = NULL;
	char why[RESUME_WHY];
	int status = replay_whole(&r, path);

	if (status)
		return status;
	status = resume_write(r, fd, why);
	if (why[0])
		fprintf(stderr, "peaktop: %s %s\n", path, why);
	return status;
}

static int read_all(int fd, struct buf *out)
{
	char part[65536];
	ssize_t n;
	int err = 0;

	while (!err && (n = read(fd, part, sizeof(part))) != 0) {
		if (n > 0)
			err = buf_append(out, part, (size_t)n);
		else if (errno != EINTR)
			err = -errno;
	}
	return err;
}

/* Let a child read the session. Returns 0, or an exit status after an error was printed. */
static int read_session(const char *path, struct buf *out)
{
	int pair[2], status = 0, err;
	pid_t pid;

	if (pipe(pair)) {
		verb_complain("resume: cannot make a pipe");
		return EXIT_NO_ANSWER;
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		_exit(child(path, pair[1]));
	}
	close(pair[1]);
	err = pid < 0 ? -errno : read_all(pair[0], out);
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (!err && WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "peaktop: resume: reading %s failed\n", path);
	return EXIT_NO_ANSWER;
}

/* Remove the next text from the bytes; NULL: there is none. */
static const char *text_take(struct buf *from)
{
	const char *text = from->data, *end = from->len ? memchr(text, '\0', from->len) : NULL;

	if (!end)
		return NULL;
	from->data += end + 1 - text;
	from->len -= (size_t)(end + 1 - text);
	return text;
}

/* Put the operation and the limits of phases into the options, as the command line would; phases
 * that it names take the place of the saved ones. */
static int options_fill(struct options *o, struct buf *rest, char *error, size_t n)
{
	const char *op = text_take(rest), *begin = text_take(rest), *end = text_take(rest);
	int err;

	if (!op || !begin || !end) {
		snprintf(error, n, "the saved descent is incomplete");
		return -EBADMSG;
	}
	o->verb = VERB_DESCEND;
	o->nr_ops = 1;
	err = op_spec_parse(&o->ops[0], op, error, n);
	if (err || !begin[0] || o->has_begin)
		return err;
	o->has_begin = o->has_end = true;
	err = op_spec_parse(&o->begin_op, begin, error, n);
	return err ? err : op_spec_parse(&o->end_op, end, error, n);
}

/* Run `go` with the options of the question and the bytes of its descent, of what resume_write()
 * has written. Returns the exit status. */
static int resume_with(struct options *o, const struct buf *bytes,
		       int (*go)(struct options *o, const struct buf *saved))
{
	struct buf rest = *bytes;
	char error[512];

	if (!options_fill(o, &rest, error, sizeof(error)))
		return go(o, &rest);
	verb_complain(error);
	return EXIT_DAMAGED;
}

int verb_resume(struct options *o)
{
	SCOPED_BUF(bytes, SAVED_DESCENT_MAX_BYTES);
	int status = read_session(o->files[0], &bytes);

	if (!status)
		status = resume_with(o, &bytes, verb_descend_live);
	return status;
}

static int go_on_screen(struct options *o, const struct buf *saved)
{
	o->verb = VERB_SCREEN;
	return live_screen(o, &(struct live_options){.saved = saved});
}

int resume_on_screen(struct options *o, uint32_t pid, int fd)
{
	SCOPED_BUF(bytes, SAVED_DESCENT_MAX_BYTES);
	int err = lseek(fd, 0, SEEK_SET) ? -errno : read_all(fd, &bytes), status = EXIT_NO_ANSWER;

	o->pids[0] = (pid_t)pid;
	o->nr_pids = 1;
	if (err)
		fprintf(stderr, "peaktop: resume: cannot read the descent: %s\n", strerror(-err));
	else
		status = resume_with(o, &bytes, go_on_screen);
	return status;
}

void resume_question(const struct saved_descent *s, struct options *o)
{
	struct descent_question given = o->question, *q = &o->question;

	if (saved_descent_asked(s) || !saved_descent_question(s))
		return;
	question_of_record(saved_descent_question(s), q);
	q->start_ops = option_given(o, "start-ops") ? given.start_ops : q->start_ops;
	q->start_ops_given |= given.start_ops_given;
	q->decision_ops = option_given(o, "decision-ops") ? given.decision_ops : q->decision_ops;
	q->max_depth = option_given(o, "max-depth") ? given.max_depth : q->max_depth;
	q->max_sites = option_given(o, "max-sites") ? given.max_sites : q->max_sites;
	q->level_by_level |= given.level_by_level;
	if (option_given(o, "maxcount-percentage"))
		q->maxcount_percentage = given.maxcount_percentage;
}

unsigned int resume_start_ops(const struct saved_descent *s, const struct options *o)
{
	return option_given(o, "start-ops") ? o->question.start_ops
					    : saved_descent_asked(s)->start_ops;
}

/* What the saved descent was asked, but for what the command line says otherwise. */
static void question_keep(const struct options *o, const struct saved_descent *s,
			  struct rec_descent *ask)
{
	const struct rec_descent *saved = saved_descent_asked(s);
	const struct {
		const char *option;
		uint32_t *to;
		uint32_t from;
	} kept[] = {
	    {"decision-ops", &ask->decision_ops, saved->decision_ops},
	    {"maxcount-percentage", &ask->maxcount_ppm, saved->maxcount_ppm},
	    {"max-depth", &ask->max_depth, saved->max_depth},
	    {"max-sites", &ask->max_sites, saved->max_sites},
	    {"level-by-level", &ask->level_by_level, saved->level_by_level},
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (!option_given(o, kept[i].option))
			*kept[i].to = kept[i].from;
	}
	ask->resumes = DESCENT_RESUMES;
	ask->low_ns = saved->low_ns;
	ask->high_ns = saved->high_ns;
	ask->start_ops = resume_start_ops(s, o);
}

/* --even-if-changed: if the calls have left the saved range of latencies altogether, take the peak
 * that is largest now, because no call could vote otherwise. Returns 0, or -EAGAIN if that peak is
 * not known yet. */
static int range_follow(struct model *m, const struct op *op, const struct options *o,
			double waited_s, struct rec_descent *ask)
{
	const struct choose_question saved = {.low_ns = ask->low_ns,
					      .high_ns = ask->high_ns,
					      .start_ops = ask->start_ops,
					      .last_chance = true};
	struct choose_answer range;
	struct rec_descent now;

	ask->resumes = DESCENT_RESUMES_ANYWAY;
	if (choose_calls(op, &saved, &range) != -ENOENT)
		return 0;
	if (choose_descent(m, ask->op, &o->question, waited_s, &now))
		return -EAGAIN;
	ask->low_ns = now.low_ns;
	ask->high_ns = now.high_ns;
	return 0;
}

/* The saved descent had not begun: begin as a new one does. Returns as resume_begin(). */
static int begin_anew(const struct saved_descent *s, struct front *f, const struct options *o,
		      uint32_t number, double waited_s, char why[RESUME_WHY])
{
	struct rec_descent ask;
	int err = choose_descent(front_model(f), number, &o->question, waited_s, &ask);

	if (!err && !driver_begin(front_driver(f), &ask)) {
		saved_descent_notes(s, f);
		return 0;
	}
	if (err == -EAGAIN)
		return err;
	snprintf(why, RESUME_WHY,
		 "resume: the calls that the saved descent was to explain do not occur here");
	return -ENOEXEC;
}

int resume_begin(struct saved_descent *s, struct front *f, const struct options *o, uint32_t number,
		 double waited_s, char why[RESUME_WHY])
{
	struct model *m = front_model(f);
	const struct op *op = model_op_by_number(m, number);
	bool last_chance = waited_s > o->question.timeout_s / 3;
	struct rec_descent ask;
	int err;

	if (!op || !front_modules_read(f))
		return -EAGAIN;
	if (!saved_descent_asked(s))
		return begin_anew(s, f, o, number, waited_s, why);
	choose_options(m, op, &o->question, &ask);
	question_keep(o, s, &ask);
	if (op->seen_calls < ask.start_ops && !(last_chance && op->seen_calls))
		return -EAGAIN;
	if (op->seen_calls < ask.start_ops)
		ask.start_ops = (uint32_t)op->seen_calls;
	if (o->even_if_changed && range_follow(m, op, o, waited_s, &ask))
		return -EAGAIN;
	err = saved_descent_match(s, f, why, RESUME_WHY);
	if (err)
		return err;
	if (saved_descent_begin(s, f, &ask) < 0) {
		snprintf(why, RESUME_WHY, "resume: the saved descent cannot be continued");
		return -ENOEXEC;
	}
	return 0;
}
