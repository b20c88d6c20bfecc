// SPDX-License-Identifier: GPL-2.0-or-later
/* `doctor TARGET`: what share of the functions of a process can be watched, and by which placement.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tui/cli/verbs.h"
#include "tui/engine/front_state.h"
#include "tui/report/output.h"
#include "tui/report/sanitise.h"

enum { PART = 512, PATIENCE_S = 300 };

void coverage_take(struct front *f, const struct parsed_coverage *a)
{
	f->coverage = *a;
	f->coverage.text = f->coverage.reason = "";
	f->coverage.shares = NULL;
	snprintf(f->coverage_text, sizeof(f->coverage_text), "%s", a->error ? a->reason : a->text);
	f->coverage_answered = true;
}

static bool turn_until(struct front *f, bool (*done)(const struct front *f))
{
	uint64_t until = front_now_ns() + PATIENCE_S * 1000000000ull;

	while (!done(f)) {
		if (front_turn(f, NULL, 0, 50) == -ENOTCONN || front_now_ns() > until)
			return done(f);
	}
	return true;
}

static bool answered(const struct front *f)
{
	return f->coverage_answered;
}

/* Plan every function of one module. 0 or a negative errno; the figures are in f->coverage. */
static int cover_module(struct front *f, uint32_t module)
{
	struct parse_request req = {.module = module, .text = "", .max = PART};

	do {
		f->coverage_answered = false;
		if (parser_ask(f->parser, PARSE_COVERAGE, &req) <= 0)
			return -EAGAIN;
		if (!turn_until(f, answered))
			return -ETIMEDOUT;
		if (f->coverage.error)
			return f->coverage.error;
		req.cursor = f->coverage.cursor;
	} while (req.cursor);
	return 0;
}

static uint64_t watchable(const struct parsed_coverage *c)
{
	return c->pairs + c->entry_emulated + c->entry_stepped;
}

static json_t *module_json(const struct front *f, uint32_t module)
{
	const struct parsed_coverage *c = &f->coverage;
	char name[512];

	sanitise(name, sizeof(name), f->modules[module - 1].path);
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I}", "module", name, "functions",
			 (json_int_t)c->functions, "watchable", (json_int_t)watchable(c), "share",
			 c->functions ? (double)watchable(c) / (double)c->functions : 1.0,
			 "entry_and_ends_emulated", (json_int_t)c->pairs, "entry_emulated",
			 (json_int_t)c->entry_emulated, "entry_stepped",
			 (json_int_t)c->entry_stepped);
}

static void module_text(const struct front *f, uint32_t module, FILE *out)
{
	const struct parsed_coverage *c = &f->coverage;
	char name[2048], part[512];

	sanitise(name, sizeof(name), f->modules[module - 1].path);
	fprintf(out, "%s: %.1f%% of %llu functions can be watched\n", name,
		c->functions ? 100.0 * (double)watchable(c) / (double)c->functions : 100.0,
		(unsigned long long)c->functions);
	for (const char *line = f->coverage_text; *line;) {
		size_t n = strcspn(line, "\n");

		snprintf(part, sizeof(part), "%.*s", (int)n, line);
		fprintf(out, "  %s\n", sanitise(name, sizeof(name), part));
		line += n + (line[n] == '\n');
	}
}

static int cover_all(struct front *f, const struct options *o)
{
	json_t *doc = NULL, *list = json_array();
	struct output_options oo = {0};
	int err = 0;

	for (uint32_t m = 1; m <= f->nr_modules; m++) {
		if (f->modules[m - 1].stage != MODULE_READY)
			continue;
		err = cover_module(f, m);
		if (err)
			fprintf(stderr, "peaktop: %s: %s\n", f->modules[m - 1].name,
				strerror(-err));
		else if (o->json)
			json_array_append_new(list, module_json(f, m));
		else
			module_text(f, m, stdout);
	}
	if (o->json) {
		const struct rec_meta *meta = model_meta(f->model);

		doc = output_json_head(f->model, "doctor", &oo);
		json_object_set_new(doc, "kernel", json_string(meta ? meta->kernel : ""));
		json_object_set_new(doc, "checks", json_array());
		json_object_set(doc, "coverage", list);
		json_dumpf(doc, stdout, JSON_COMPACT);
		fputc('\n', stdout);
		json_decref(doc);
	}
	json_decref(list);
	return output_status(fflush(stdout) ? -errno : 0);
}

int verb_coverage(struct options *o)
{
	struct front_options fo = {.options = o};
	struct front *f;
	const char *line;
	int status;

	status = verb_start(&f, o, &fo);
	if (status)
		return status;
	modules_want(f);
	turn_until(f, modules_settled);
	status = front_failure(f, &line);
	if (status)
		verb_complain(line);
	else
		status = cover_all(f, o);
	front_free(f);
	return status;
}
