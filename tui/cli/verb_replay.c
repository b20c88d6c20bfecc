// SPDX-License-Identifier: GPL-2.0-or-later
/* Verbs over saved sessions: watch -r and export, and --script. */

#include "tui/cli/option_table.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/script.h"
#include "tui/cli/script_session.h"
#include "tui/cli/verb_descend.h"
#include "tui/cli/verb_open.h"
#include "tui/cli/verb_walk.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output.h"
#include "tui/report/output_csv.h"
#include "tui/report/output_waits.h"

enum { SCRIPT_OUTPUT_MAX = 64 << 20, PARTS = 200 /* a session is read in so many steps */ };

void replay_options(struct options *o, struct replay *r)
{
	const struct rec_meta *meta = model_meta(replay_model(r));

	if (meta && !option_given(o, "resolution") && meta->resolution &&
	    PT_RESOLUTION % meta->resolution == 0)
		o->resolution = meta->resolution;
	o->all_peaks |= meta && meta->shown & SHOWN_ALL_PEAKS;
	model_list_all_peaks(replay_model(r), o->all_peaks);
}

/* --json-lines: print a line for each slice. 0 or a negative errno of the output. */
static int print_slices(struct replay *r, struct options *o)
{
	struct output_options oo = {.top = o->top, .json_lines = true};
	uint64_t before;
	int64_t at;
	int err;

	do {
		before = replay_at_ns(r);
		at = replay_advance(r, before + replay_interval_ns(r));
		if (at < 0 || (uint64_t)at == before)
			return 0;
		replay_options(o, r);
		oo.resolution = o->resolution;
		err = output_watch_json(replay_model(r), &oo, stdout);
		oo.since_ns = model_elapsed_ns(replay_model(r));
	} while (!err);
	return err;
}

/* Read to the end, in parts so that a large session shows its progress. Returns as
 * replay_advance(). */
static int64_t read_rest(struct replay *r, const char *path)
{
	struct progress p = {0};
	uint64_t all = replay_total_ns(r), step = all / PARTS + replay_interval_ns(r), before;
	char text[512];
	int64_t at;

	snprintf(text, sizeof(text), "reading %s", path);
	p.text = text;
	do {
		before = replay_at_ns(r);
		at = replay_advance(r, before + step);
		p.done = all ? (double)before / (double)all : -1;
		if (progress_due(now_ns()))
			progress_show(&p, now_ns());
	} while (at >= 0 && (uint64_t)at > before);
	progress_erase();
	return at < 0 ? at : replay_advance(r, UINT64_MAX);
}

/* Give up all rights. Returns 0, or an exit status after printing the error. */
static int give_up_rights(void)
{
	char why[512];
	int status = front_unprivileged(why, sizeof(why));

	if (status)
		verb_complain(why);
	return status;
}

/* Read a whole session; with `lines` print its slices meanwhile. `config` NULL: the default.
 * Returns 0, or an exit status after printing the error. */
static int read_session(struct replay **r, const char *path, const struct waits_config *config,
			struct options *lines, int *output_error)
{
	char why[512];
	int status = replay_open(r, path, why, sizeof(why));
	int64_t at;

	if (status) {
		verb_complain(why);
		return status;
	}
	if (config)
		replay_configure_waits(*r, config);
	if (lines)
		*output_error = print_slices(*r, lines);
	at = read_rest(*r, path);
	if (at < 0) {
		fprintf(stderr, "peaktop: cannot read %s: %s\n", path, strerror((int)-at));
		replay_free(*r);
		return EXIT_DAMAGED;
	}
	if (replay_damage(*r)[0]) /* of diff's two files, which one */
		fprintf(stderr, "peaktop: %s: %s\n", path, replay_damage(*r));
	if (model_meta(replay_model(*r)))
		return 0;
	if (!replay_damage(*r)[0])
		fprintf(stderr,
			"peaktop: %s: no records: its recorder ended before it measured anything\n",
			path);
	replay_free(*r);
	return EXIT_DAMAGED;
}

static int replay_read(struct replay **r, const char *path, const struct waits_config *config,
		       struct options *lines, int *output_error)
{
	int status = give_up_rights();

	return status ? status : read_session(r, path, config, lines, output_error);
}

int replay_two(struct replay *r[2], const char *const path[2])
{
	int status = give_up_rights();

	if (!status)
		status = read_session(&r[0], path[0], NULL, NULL, NULL);
	if (status)
		return status;
	status = read_session(&r[1], path[1], NULL, NULL, NULL);
	if (status)
		replay_free(r[0]);
	return status;
}

int replay_leave(struct replay *r, int status, int err)
{
	bool damaged = replay_damage(r)[0];

	replay_free(r);
	return damaged ? EXIT_DAMAGED : err ? output_status(err) : status;
}

int replay_whole(struct replay **r, const char *path)
{
	return replay_read(r, path, NULL, NULL, NULL);
}

int replay_whole_waits(struct replay **r, const char *path, const struct waits_config *config)
{
	return replay_read(r, path, config, NULL, NULL);
}

struct wait_report wait_report_of(struct replay *r)
{
	return (struct wait_report){.model = replay_model(r),
				    .names = replay_driver(r),
				    .waits = wait_driver_waits(replay_waits(r))};
}

/* Print the answer that the recording verb would have given. */
static int export_json(struct replay *r, const struct output_options *oo)
{
	struct descend_report report = descend_report_of(r);
	struct walk_report walk = walk_report_of(r);
	struct wait_report waits = wait_report_of(r);

	if (report.op)
		return output_descend_json(&report, oo, stdout);
	if (walker_asked(walk.walker))
		return output_walk_json(&walk, oo, stdout);
	if (open_calls_asked(replay_open_calls(r))) {
		struct open_report open = open_report_of(r);

		return output_open_json(&open, oo, stdout);
	}
	if (waits.waits) {
		waits_flush(waits.waits);
		return output_chains_json(&waits, oo, stdout);
	}
	return output_watch_json(replay_model(r), oo, stdout);
}

int verb_watch_file(struct options *o)
{
	struct output_options oo = {.ascii = o->ascii, .top = o->top};
	bool lines = o->json_lines && o->verb == VERB_WATCH;
	struct replay *r = NULL;
	int err = 0, status;

	progress_begin(o);
	status = replay_read(&r, o->files[0], NULL, lines ? o : NULL, &err);
	if (status)
		return status;
	replay_options(o, r);
	oo.resolution = o->resolution;
	if (err)
		;
	else if (o->verb == VERB_EXPORT)
		err = export_json(r, &oo);
	else if (o->json)
		err = output_watch_json(replay_model(r), &oo, stdout);
	else if (o->csv)
		err = output_watch_csv(replay_model(r), &oo, stdout);
	else if (!lines)
		err = output_watch_text(replay_model(r), &oo, stdout);
	if (o->verb != VERB_EXPORT)
		status = verb_killed(replay_model(r), status);
	/* The records before the damage were printed above. */
	return replay_leave(r, status, err);
}

static int export_folded(const struct options *o)
{
	struct wait_report report;
	struct replay *r = NULL;
	int status = replay_whole(&r, o->files[0]);

	if (status)
		return status;
	report = wait_report_of(r);
	if (report.waits) {
		waits_flush(report.waits);
		status = output_status(output_chains_folded(&report, stdout));
	} else {
		verb_complain("export: --format folded needs a session with waits; record one with "
			      "peaktop chains TARGET -o FILE");
		status = EXIT_NO_ANSWER;
	}
	return replay_leave(r, status, 0);
}

int verb_export(struct options *o)
{
	if (!strcmp(o->format, "json")) {
		o->json = true;
		return verb_watch_file(o);
	}
	if (!strcmp(o->format, "folded"))
		return export_folded(o);
	fprintf(stderr,
		"peaktop: export: --format '%s' is not supported; give --format json or folded\n",
		o->format);
	return EXIT_USAGE;
}

static char *read_whole(const char *path, size_t *n)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(SCRIPT_MAX_BYTES + 1) : NULL;

	if (text)
		*n = fread(text, 1, SCRIPT_MAX_BYTES + 1, f);
	if (f)
		fclose(f);
	if (text && *n > SCRIPT_MAX_BYTES) {
		free(text);
		text = NULL;
		errno = EFBIG;
	}
	return text;
}

int verb_script(struct options *o)
{
	struct replay *r = NULL;
	char why[512], *text;
	size_t n = 0;
	SCOPED_BUF(out, SCRIPT_OUTPUT_MAX);
	int status, err;

	text = read_whole(o->script, &n);
	if (!text) {
		fprintf(stderr, "peaktop: %s: %s\n", o->script, strerror(errno));
		return EXIT_USAGE;
	}
	status = front_unprivileged(why, sizeof(why));
	if (!status)
		status = replay_open(&r, o->files[0], why, sizeof(why));
	if (status) {
		verb_complain(why);
		free(text);
		return status;
	}
	err = script_session(r, o, text, n, &out);
	if (out.len)
		fwrite(out.data, 1, out.len, err == -EINVAL ? stderr : stdout);
	replay_free(r);
	free(text);
	return err == -EINVAL ? EXIT_USAGE
	       : err	      ? EXIT_NO_ANSWER
			      : output_status(fflush(stdout) ? -errno : 0);
}
