// SPDX-License-Identifier: GPL-2.0-or-later
/* `doctor TARGET`: what share of the functions of a process can be watched, and by which placement.
 */
#include <fnmatch.h>
#include <jansson.h>

#include "analysis/base/path.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/engine/front.h"
#include "tui/report/json_put.h"
#include "tui/report/output.h"
#include "tui/report/sanitise.h"

enum { PATIENCE_S = 300, TURN_MS = 50 };

/* The coverage of one module. */
struct coverage {
	struct parsed_coverage sums; /* its texts are empty */
	char text[2048];
	uint32_t module;
	bool answered;
};

static void take(void *ctx, uint64_t module, const struct parsed *answer)
{
	const struct parsed_coverage *a = &answer->coverage;
	struct coverage *c = ctx;

	/* Ignore a late answer about an earlier module. */
	if (module != c->module)
		return;
	c->sums = *a;
	c->sums.text = c->sums.reason = "";
	c->sums.shares = NULL;
	snprintf(c->text, sizeof(c->text), "%s", a->error ? a->reason : a->text);
	c->answered = true;
}

/* Show which of `all` steps is being done. */
static void show_step(const char *what, const char *path, uint32_t step, uint32_t all)
{
	struct progress p = {.done = all ? (double)step / all : -1};
	char text[512];

	if (!progress_due(now_ns()))
		return;
	snprintf(text, sizeof(text), "doctor: %s%s", what, path_file(path));
	p.text = text;
	progress_show(&p, now_ns());
}

/* Plan every function of one module. 0 or a negative errno. */
static int cover_module(struct front *f, uint32_t module, struct coverage *c)
{
	const struct parser_reply reply = {take, c, module};
	uint64_t until = now_ns() + PATIENCE_S * 1000000000ull, cursor = 0;

	c->module = module;
	do {
		c->answered = false;
		if (!front_ask_coverage(f, module, cursor, &reply))
			return -EAGAIN;
		while (!c->answered) {
			show_step("planning the functions of ", front_module_path(f, module),
				  module - 1, front_nr_modules(f));
			if (front_turn(f, NULL, 0, TURN_MS) == -ENOTCONN || now_ns() > until)
				return -ETIMEDOUT;
		}
		if (c->sums.error)
			return c->sums.error;
		cursor = c->sums.cursor;
	} while (cursor);
	return 0;
}

static uint64_t watchable(const struct parsed_coverage *c)
{
	return c->pairs + c->entry_emulated + c->entry_stepped;
}

static json_t *module_json(const char *path, const struct parsed_coverage *c)
{
	char name[512];

	sanitise(name, sizeof(name), path);
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I}", "module", name, "functions",
			 (json_int_t)c->functions, "watchable", (json_int_t)watchable(c), "share",
			 c->functions ? (double)watchable(c) / (double)c->functions : 1.0,
			 "entry_and_ends_emulated", (json_int_t)c->pairs, "entry_emulated",
			 (json_int_t)c->entry_emulated, "entry_stepped",
			 (json_int_t)c->entry_stepped);
}

static void module_text(const char *path, const struct coverage *all, FILE *out)
{
	const struct parsed_coverage *c = &all->sums;
	char name[2048], part[512];

	sanitise(name, sizeof(name), path);
	fprintf(out, "%s: %.1f%% of %llu functions can be watched\n", name,
		c->functions ? 100.0 * (double)watchable(c) / (double)c->functions : 100.0,
		(unsigned long long)c->functions);
	for (const char *line = all->text; *line;) {
		size_t n = strcspn(line, "\n");

		snprintf(part, sizeof(part), "%.*s", (int)n, line);
		fprintf(out, "  %s\n", sanitise(name, sizeof(name), part));
		line += n + (line[n] == '\n');
	}
}

/* What limits the probes in this target, and what is known of its files. */
static void limits_text(const struct model *m, FILE *out)
{
	char what[1024], remedy[1024];

	for (size_t i = 0; i < model_nr_checks(m); i++) {
		const struct rec_check *c = model_check(m, i);

		if (!c->ok)
			fprintf(out, "Limited: %s\n  %s\n",
				sanitise(what, sizeof(what), c->needed_for),
				sanitise(remedy, sizeof(remedy), c->remedy));
	}
	for (size_t i = 0; i < model_nr_notes(m); i++) {
		if (model_note(m, i)->level >= NOTE_WARNING)
			fprintf(out, "%s\n", sanitise(what, sizeof(what), model_note(m, i)->text));
	}
}

static int cover_all(struct front *f, const struct options *o)
{
	static struct coverage coverage; /* static: a late reply may write to it */
	struct output_options oo = {0};
	const struct rec_meta *meta;
	json_t *doc, *list = json_array();
	int err;

	for (uint32_t m = 1; m <= front_nr_modules(f); m++) {
		const char *path = front_module_path(f, m);

		/* code that was made at run time cannot be probed: a check of the target says so */
		if (!path || !fnmatch("perf-*.map", path_file(path), 0))
			continue;
		err = cover_module(f, m, &coverage);
		progress_erase();
		if (err)
			fprintf(stderr, "peaktop: %s: %s\n", path, strerror(-err));
		else if (o->json)
			json_append(list, module_json(path, &coverage.sums));
		else
			module_text(path, &coverage, stdout);
	}
	if (!o->json) {
		limits_text(front_model(f), stdout);
		json_decref(list);
		return output_status(fflush(stdout) ? -errno : 0);
	}
	meta = model_meta(front_model(f));
	doc = output_json_head(front_model(f), "doctor", &oo);
	json_add(doc, {"kernel", json_string(meta ? meta->kernel : "")},
		 {"checks", output_checks_json(front_model(f))}, {"coverage", list});
	return output_status(json_write(doc, JSON_LINE, stdout));
}

int verb_coverage(struct options *o)
{
	struct front_options fo = {.options = o};
	uint64_t until;
	struct front *f;
	int status = verb_start(&f, o, &fo);

	if (status)
		return status;
	front_read_modules(f);
	until = now_ns() + PATIENCE_S * 1000000000ull;
	while (!front_modules_read(f) && now_ns() < until) {
		show_step("reading the files of the target", "", 0, 0);
		if (front_turn(f, NULL, 0, TURN_MS) == -ENOTCONN)
			break;
	}
	progress_erase();
	status = verb_failure(f);
	if (!status)
		status = cover_all(f, o);
	verb_free(f);
	return status;
}
