// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_walk.h"

#include <math.h>

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/base/path.h"
#include "tui/report/output_descend.h"
#include "tui/report/sanitise.h"

enum { MAX_OUTPUT = 16 << 20, NAME_BYTES = 1024 };

static void put_name(struct buf *out, const struct walk_report *r, const struct walk_node *n)
{
	char name[NAME_BYTES];

	walk_name(r, n, name, sizeof(name));
	/* the name of unknown code has parentheses, which report_short_name() would remove */
	if (n->kind == WALK_UNKNOWN)
		buf_puts(out, name);
	else
		report_short_name(out, name);
}

/* Returns true if a module is the executable of a target. */
static bool is_executable(const struct walk_report *r, uint32_t module)
{
	const char *name = driver_module(r->names, module);

	return name[0] && any_of(i, model_nr_targets(r->model),
				 !strcmp(path_file(model_target(r->model, i)->exe), name));
}

/* The number of frames to name in a sentence: up to the last function that the program's own code
 * calls. That is the code of the executable and of the outermost frame, which for a thread may be
 * in a library. Code generated at run time is the program's own, too: name all frames below it. If
 * the cause is a function's own code, that function must be named, wherever it is. */
static unsigned int frames_named(const struct walk_report *r, const struct walk_result *result,
				 const struct walk_path *p)
{
	uint32_t own = result->nodes[p->frames[0]].function.module;
	unsigned int named = 1;
	bool made = false;

	if (p->cause.kind == CAUSE_OWN_CODE && !p->flat && !p->cut &&
	    result->nodes[p->frames[p->nr_frames - 1]].kind == WALK_FUNCTION)
		return p->nr_frames;
	for (unsigned int i = 1; i < p->nr_frames; i++) {
		const struct walk_node *n = &result->nodes[p->frames[i]];

		made |= n->kind == WALK_UNKNOWN;
		if (n->kind == WALK_UNKNOWN ||
		    (n->kind == WALK_FUNCTION &&
		     (n->site.module == own || made || is_executable(r, n->site.module))))
			named = i + 1;
	}
	return named;
}

static void put_where(struct buf *out, const struct walk_report *r,
		      const struct walk_result *result, const struct walk_path *p)
{
	unsigned int named = frames_named(r, result, p);

	for (unsigned int i = 0; i < named; i++) {
		i = report_frame_between(out, i, named);
		put_name(out, r, &result->nodes[p->frames[i]]);
	}
	if (named > 1)
		report_place(out, " at ", r->names, result->nodes[p->frames[named - 1]].site);
}

static void put_cause(struct buf *out, const struct walk_report *r,
		      const struct walk_result *result, const struct walk_path *p)
{
	const struct walk_node *last = &result->nodes[p->frames[p->nr_frames - 1]];

	if (p->flat) {
		buf_puts(out, "flat profile: no callee stands out");
		return;
	}
	if (walk_in_unnamed(result, p)) {
		buf_puts(out, walk_is_code_of_file(r, last) ? "in code without symbols"
							    : "in generated code without names");
		return;
	}
	if (p->cut) {
		buf_puts(out, "in its callees, which are deeper than --max-depth");
		return;
	}
	if (p->class == WALK_IDLE) {
		if (!p->unsure && p->cause.kind == CAUSE_WAIT && p->cause.name[0]) {
			buf_puts(out, "idle: waiting for ");
			sanitise_puts(out, p->cause.name);
		} else {
			buf_puts(out,
				 p->scheduler
				     ? "no goroutine was ready to run; the walk does not see what "
				       "the parked ones wait for"
				 : p->unsure
				     ? "idle, or waiting for a timer or another task inside "
				       "a request"
				 : p->inside ? "idle: waiting for another thread of this program"
					     : "idle: waiting for requests or other events");
		}
		if (p->cause.detail[0]) {
			buf_puts(out, " (");
			sanitise_puts(out, p->cause.detail);
			buf_puts(out, ")");
		}
		return;
	}
	if (p->cause.kind == CAUSE_OWN_CODE && last->kind != WALK_FUNCTION) {
		buf_puts(out, "running in the kernel");
		return;
	}
	if (p->perhaps_faults && p->cause.kind == CAUSE_OWN_CODE) {
		buf_puts(out, "in its own code or in page faults (");
		sanitise_puts(out, p->cause.detail);
		buf_puts(out, ")");
	} else {
		buf_puts(out, p->perhaps_faults ? "perhaps " : "");
		report_cause(out, &p->cause);
	}
	if (p->nr_pcs)
		report_place(out, ", mostly at ", r->names, p->pcs[0].place);
}

/* Where, and why. Without a known caller a wait is told alone: it says more than "unknown". */
static void put_answer(struct buf *out, const struct walk_report *r,
		       const struct walk_result *result, const struct walk_path *p)
{
	if (p->nr_frames > 1 || result->nodes[p->frames[0]].kind != WALK_UNKNOWN ||
	    p->cause.kind == CAUSE_OWN_CODE) {
		put_where(out, r, result, p);
		buf_puts(out, ", ");
	}
	put_cause(out, r, result, p);
}

/* Append "; most time of their own: a 12%, b 10%" (shares of the work). */
static void put_tops(struct buf *out, const struct walk_report *r, const struct walk_result *result)
{
	for (unsigned int i = 0; i < result->nr_tops; i++) {
		buf_puts(out, i ? ", " : "; most time in their own code: ");
		put_name(out, r, &result->nodes[result->tops[i].node]);
		buf_printf(out, " %s", format_percent(result->tops[i].of_work).s);
	}
}

/* The mean number of threads that are on a path. */
static double threads_on(const struct walk_result *result, const struct walk_path *p)
{
	return p->share * (double)result->total_ns / result->span_ns;
}

static void put_share(struct buf *out, const struct walk_result *result, const struct walk_path *p)
{
	double threads = threads_on(result, p);

	buf_printf(out, " (%s of all time", format_percent(p->share).s);
	if (result->nr_groups && threads < 1.05)
		buf_printf(out, ", %s of a thread", format_percent(threads < 1 ? threads : 1).s);
	else if (result->nr_groups)
		buf_printf(out, ", that of %.1f threads", threads);
	buf_putc(out, ')');
}

/* What the threads of each role did. */
static void put_groups(struct buf *out, const struct walk_report *r,
		       const struct walk_result *result, const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	for (unsigned int i = 0; i < result->nr_groups; i++) {
		const struct walk_group *g = &result->groups[i];
		double cpu = report_share(g->cpu_ns, g->wall_ns),
		       queued = report_share(g->runqueue_ns, g->wall_ns),
		       sleep = report_share(g->sleep_ns, g->wall_ns);

		buf_reset(&line);
		if (g->root)
			put_name(&line, r, &result->nodes[g->root]);
		else
			buf_puts(&line, "others");
		buf_printf(&line, ", %u %s: %s on a CPU", g->threads,
			   g->threads == 1 ? "thread" : "threads", format_percent(cpu).s);
		if (queued > 0.001)
			buf_printf(&line, ", %s waiting for a CPU", format_percent(queued).s);
		if (sleep > 0.001)
			buf_printf(&line, ", %s timed sleep", format_percent(sleep).s);
		buf_printf(&line, ", %s in other waits",
			   format_percent(fmax(0, 1 - cpu - queued - sleep)).s);
		output_wrap(out, &line, o, "  ", 4);
	}
}

static void put_sentence(struct buf *out, const struct walk_report *r,
			 const struct walk_result *result)
{
	const struct walk_path *p = result->nr_paths ? &result->paths[0] : NULL,
			       *beside = walk_beside(result), *sleep = walk_main_sleep(result),
			       *unsure = walk_main_unsure(result);

	if (!p) {
		buf_printf(out, "no thread was sampled (%s)", walk_status(result));
		return;
	}
	if (p->class == WALK_IDLE)
		buf_puts(out, p->unsure ? "perhaps idle: " : "idle: ");
	put_answer(out, r, result, p);
	put_share(out, result, p);
	if (p->flat)
		put_tops(out, r, result);
	if (beside) {
		buf_puts(out, "; and ");
		put_answer(out, r, result, beside);
		put_share(out, result, beside);
	}
	if (sleep) {
		buf_printf(out, "; but %s of all time is timed sleep: ",
			   format_percent(result->share[WALK_SLEEP]).s);
		put_where(out, r, result, sleep);
	}
	if (unsure) {
		buf_printf(out, "; but %s of all time may be part of requests: ",
			   format_percent(unsure->share).s);
		put_where(out, r, result, unsure);
	}
	if (walk_queue_reported(result) && p->cause.kind != CAUSE_RUN_QUEUE)
		buf_printf(out, "; in addition, %s of all time was spent waiting for a CPU",
			   format_percent(result->runqueue).s);
}

static void put_times(struct buf *out, const struct walk_result *result)
{
	buf_printf(out, "%u %s: %s of their time working or blocked", result->threads,
		   result->threads == 1 ? "thread" : "threads",
		   format_percent(result->share[WALK_WORK]).s);
	if (result->runqueue > 0.001)
		buf_printf(out, " (%s waiting for a CPU)", format_percent(result->runqueue).s);
	buf_printf(out, ", %s timed sleep, %s idle", format_percent(result->share[WALK_SLEEP]).s,
		   format_percent(result->share[WALK_IDLE]).s);
}

static void put_frame(struct buf *out, const struct walk_report *r,
		      const struct walk_result *result, const struct walk_path *p, unsigned int i)
{
	const struct walk_node *n = &result->nodes[p->frames[i]];
	double all = result->share[p->class];

	buf_printf(out, "  %s  %s  %*s",
		   format_percent_fixed(all > 0 ? n->share[p->class] / all : 0).s,
		   format_percent_fixed(n->share[p->class]).s, (int)(2 * i), "");
	put_name(out, r, n);
	if (i && n->kind != WALK_KERNEL)
		report_place(out, " at ", r->names, n->site);
	if (n->recursive)
		buf_puts(out, ", recursive");
	buf_putc(out, '\n');
}

static const char *time_words(enum walk_class class)
{
	static const char *const words[WALK_CLASSES] = {"the work", "the timed sleep",
							"the idle time"};

	return words[class];
}

/* How many threads of a crowd are there, on average. */
static void put_threads(struct buf *out, const struct walk_result *result,
			const struct walk_path *p)
{
	double threads = threads_on(result, p);

	buf_printf(out, ", %s of the %u threads on average",
		   threads < 0.5 ? "less than one" : format_count((uint64_t)(threads + 0.5)).s,
		   result->threads);
}

static void put_paths(struct buf *out, const struct walk_report *r,
		      const struct walk_result *result, const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	for (unsigned int i = 0; i < result->nr_paths; i++) {
		const struct walk_path *p = &result->paths[i];

		buf_reset(&line);
		buf_printf(&line, "Path %u: %s of all time, %s of %s, ", i + 1,
			   format_percent(p->share).s, format_percent(p->of_class).s,
			   time_words(p->class));
		put_cause(&line, r, result, p);
		buf_printf(&line, "; %s", report_evidence_words(p->evidence));
		if (result->joined > 0)
			put_threads(&line, result, p);
		if (p->snapshots)
			buf_printf(&line, ", %s %s", format_count(p->snapshots).s,
				   p->snapshots == 1 ? "sample" : "samples");
		buf_putc(out, '\n');
		output_wrap(out, &line, o, "", 8);
		/* No frames: the snapshots do not show which code waited for the CPU. */
		if (p->cause.kind == CAUSE_RUN_QUEUE || p->cause.kind == CAUSE_QUOTA)
			continue;
		buf_printf(out, " of %-6s of all\n", walk_class_text(p->class));
		for (unsigned int k = 0; k < p->nr_frames; k++)
			put_frame(out, r, result, p, k);
	}
}

int output_walk_text(const struct walk_report *r, const struct output_options *o, FILE *f)
{
	struct walk_result result;
	struct walk_remarks remarks;
	struct buf out = {.max = MAX_OUTPUT};
	SCOPED_BUF(line, MAX_OUTPUT);
	int err = walker_result(r->walker, &result);

	if (err)
		return err;
	put_sentence(&line, r, &result);
	output_wrap(&out, &line, o, "", 0);
	buf_reset(&line);
	put_times(&line, &result);
	output_wrap(&out, &line, o, "", 0);
	put_groups(&out, r, &result, o);
	put_paths(&out, r, &result, o);
	buf_putc(&out, '\n');
	buf_reset(&line);
	buf_printf(&line, "%s; %s of the time explained", walk_status(&result),
		   format_percent(result.explained).s);
	output_wrap(&out, &line, o, "Status: ", 8);
	walk_remarks_fill(&remarks, r, &result);
	for (unsigned int i = 0; i < remarks.nr; i++) {
		buf_reset(&line);
		sanitise_puts(&line, remarks.line[i]);
		if (i >= remarks.whole)
			buf_printf(&out, "  %s\n", line.data ? line.data : "");
		else
			output_wrap(&out, &line, o, "  ", 2);
	}
	output_text_state(&out, r->model, o);
	walk_result_release(&result);
	return output_text_write(&out, f);
}
