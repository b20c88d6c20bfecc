// SPDX-License-Identifier: GPL-2.0-or-later
/* diff OLD NEW: what changed between two saved sessions. */

#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/report/output_diff.h"
#include "tui/report/sanitise.h"

enum { MAX_LINE = 2048, MAX_NAMES = 4 };

/* Append what a session measured: the names of its first processes or operations. */
static void put_measured(struct buf *line, struct model *m, bool programs)
{
	size_t nr = programs ? model_nr_targets(m) : model_nr_ops(m);

	for (size_t i = 0; i < nr && i < MAX_NAMES; i++) {
		const char *name = programs ? model_target(m, i)->comm : model_op(m, i)->name;

		buf_puts(line, i ? ", " : "");
		sanitise_append(line, name, strnlen(name, 256));
	}
	buf_puts(line, nr > MAX_NAMES ? " and more" : nr ? "" : "none");
}

static int refuse(const struct options *o, struct replay *const r[2], bool programs)
{
	SCOPED_BUF(line, MAX_LINE);

	buf_puts(&line, programs ? "diff: the sessions are of different programs: "
				 : "diff: no operation was measured in both sessions: ");
	for (unsigned int i = 0; i < 2; i++) {
		buf_puts(&line, i ? "; " : "");
		sanitise_append(&line, o->files[i], strnlen(o->files[i], 512));
		buf_puts(&line, programs ? " is of " : " has ");
		put_measured(&line, replay_model(r[i]), programs);
	}
	verb_complain(line.data ? line.data : "diff: out of memory");
	return EXIT_NO_ANSWER;
}

static int compare(const struct options *o, struct replay *const r[2])
{
	struct output_options oo = {.resolution = o->resolution, .ascii = o->ascii};
	struct diff_report report = {.model = {replay_model(r[0]), replay_model(r[1])},
				     .file = {o->files[0], o->files[1]}};
	struct diff d;
	int err, status;

	if (!diff_same_program(report.model[0], report.model[1]))
		return refuse(o, r, true);
	err = diff_models(report.model[0], report.model[1], &d);
	if (err)
		return output_status(err);
	report.diff = &d;
	if (!d.nr_shared)
		status = refuse(o, r, false);
	else
		status = output_status(o->json ? output_diff_json(&report, &oo, stdout)
					       : output_diff_text(&report, &oo, stdout));
	diff_release(&d);
	return status;
}

int verb_diff(struct options *o)
{
	struct replay *r[2] = {NULL, NULL};
	int status;

	progress_begin(o);
	status = replay_two(r, o->files);
	if (status)
		return status;
	status = compare(o, r);
	if (!status && (replay_damage(r[0])[0] || replay_damage(r[1])[0]))
		status = EXIT_DAMAGED;
	replay_free(r[0]);
	replay_free(r[1]);
	return status;
}
