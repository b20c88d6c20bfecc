// SPDX-License-Identifier: GPL-2.0-or-later
/* Information: target, host, cost, losses, notes, times of this host, findings. */
#include "analysis/base/format.h"
#include "tui/report/output.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"
#include "tui/screen/pager.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

enum { LABEL = 14 }; /* columns of the names at the left */

static void heading(struct pager *p, const char *text)
{
	if (p->nr_lines)
		pager_add(p, ROLE_TEXT, "");
	pager_add(p, ROLE_HEADING, text);
}

static void field(struct pager *p, unsigned int role, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void field(struct pager *p, unsigned int role, const char *name, const char *fmt, ...)
{
	char raw[1024], safe[2048], line[2200];

	format_arguments(raw, sizeof(raw), fmt);
	sanitise(safe, sizeof(safe), raw);
	snprintf(line, sizeof(line), "  %-*s %s", LABEL, name, safe);
	pager_add(p, role, line);
}

static void add_targets(struct pager *p, struct model *m)
{
	size_t i, n = model_nr_targets(m);

	if (!n)
		return;
	heading(p, n == 1 ? "Target" : "Targets");
	for (i = 0; i < n; i++) {
		const struct rec_target *t = model_target(m, i);
		char pid[32];

		snprintf(pid, sizeof(pid), "%u", t->pid);
		field(p, ROLE_TEXT, pid, "%s  uid %u  %u %s%s%s", t->comm, t->uid, t->threads,
		      t->threads == 1 ? "thread" : "threads", t->requested ? "" : "  followed",
		      model_target_ended(m, i) ? "  ended" : "");
		field(p, ROLE_DIM, "", "%s", t->exe);
		if (t->ns_pid && t->ns_pid != t->pid)
			field(p, ROLE_DIM, "", "in its container it is pid %u", t->ns_pid);
	}
}

/* The whole names of the functions that are watched, and how they are timed: other views show
 * neither. */
static void add_functions(struct pager *p, struct model *m, int columns)
{
	char raw[8192], safe[16384];
	bool any = false;

	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (!op->label[0] || (op->layer != LAYER_FUNCTION && op->layer != LAYER_KERNEL))
			continue;
		if (!any)
			heading(p, "Functions");
		any = true;
		snprintf(raw, sizeof(raw), "%s  (%s)", op->label, op->name);
		sanitise(safe, sizeof(safe), raw);
		pager_wrap(p, ROLE_TEXT, safe, columns, 2);
		sanitise(safe, sizeof(safe), op->placement);
		if (safe[0])
			pager_wrap(p, ROLE_DIM, safe, columns, 4);
	}
}

static void add_host(struct pager *p, struct model *m)
{
	const struct rec_meta *meta = model_meta(m);

	if (!meta)
		return;
	heading(p, "Host and session");
	field(p, ROLE_TEXT, "host", "%s", meta->host);
	field(p, ROLE_TEXT, "kernel", "%s  (%u CPUs)", meta->kernel, meta->cpus);
	if (meta->command[0])
		field(p, ROLE_TEXT, "command", "%s", meta->command);
	field(p, ROLE_TEXT, "peaktop", "%s", meta->version);
	field(p, ROLE_TEXT, "elapsed", "%s in %s slices of %s", format_time(model_elapsed_ns(m)).s,
	      format_count_exact(model_nr_slices(m)).s, format_time(meta->interval_ns).s);
	if (meta->budget_ppm >= 1000000)
		field(p, ROLE_TEXT, "budget", "none");
	else
		field(p, ROLE_TEXT, "budget",
		      "%s of the target's CPU time or of one CPU, whichever is larger",
		      format_percent(meta->budget_ppm / 1e6).s);
}

static void add_cost(struct pager *p, struct model *m)
{
	const struct rec_cost *c = model_cost(m);
	const struct rec_loss *l = model_loss(m);
	SCOPED_BUF(lost, 1024);
	SCOPED_BUF(words, 4096);
	uint64_t own;

	if (c) {
		own = c->ns - (c->other_ns < c->ns ? c->other_ns : c->ns);
		heading(p, "Cost since the start (estimate: probe hits times calibrated cost)");
		field(p, ROLE_TEXT, "hits", "%s", format_count_exact(c->hits).s);
		output_cost_words(&words, c);
		field(p, ROLE_TEXT, "to the target", "%s%s%s", format_time(own).s,
		      words.len ? ": " : "", words.len ? words.data : "");
		field(p, ROLE_TEXT, "to others", "%s", format_time(c->ns - own).s);
		field(p, ROLE_TEXT, "peaktop itself",
		      "%s of CPU time; with the probes %s of all CPUs",
		      format_time(c->own_cpu_ns).s,
		      c->host_cpu_ns ? format_percent(((double)c->ns + (double)c->own_cpu_ns) /
						      (double)c->host_cpu_ns)
					   .s
				     : "-");
	}
	if (l) {
		words_loss(&lost, l);
		heading(p, "Lost");
		field(p, ROLE_TEXT, "so far", "%s", lost.data ? lost.data : "");
	}
}

static void add_notes(struct pager *p, struct model *m, int columns)
{
	size_t i, n = model_nr_notes(m);
	char safe[2048];

	if (!n && !model_phases(m))
		return;
	heading(p, "Notes");
	if (model_phases(m)) {
		SCOPED_BUF(b, 1 << 16);

		words_phases(&b, model_phases(m));
		pager_wrap(p, ROLE_TEXT, b.data ? b.data : "", columns, 2);
	}
	for (i = 0; i < n; i++) {
		const struct rec_note *note = model_note(m, i);

		sanitise(safe, sizeof(safe), note->text);
		pager_wrap(p,
			   note->level == NOTE_ERROR	 ? ROLE_ALERT
			   : note->level == NOTE_WARNING ? ROLE_WARNING
							 : ROLE_TEXT,
			   safe, columns, 2);
	}
}

static void add_constants(struct pager *p, struct model *m)
{
	size_t i, n = model_nr_constants(m);
	char name[128], line[256];

	if (n)
		heading(p, "Characteristic times of this host");
	for (i = 0; i < n; i++) {
		const struct rec_constant *c = model_constant(m, i);

		sanitise(name, sizeof(name), c->name);
		snprintf(line, sizeof(line), "  %-28s %s  (%s)", name,
			 format_range(c->low_ns, c->high_ns).s, c->measured ? "measured" : "known");
		pager_add(p, ROLE_TEXT, line);
	}
}

static void add_checks(struct pager *p, struct model *m, int columns)
{
	size_t i, n = model_nr_checks(m);
	char raw[1024], safe[2048];

	if (n)
		heading(p, "What this kernel and these privileges allow");
	for (i = 0; i < n; i++) {
		const struct rec_check *c = model_check(m, i);

		if (c->ok)
			snprintf(raw, sizeof(raw), "yes  %s", c->name);
		else
			snprintf(raw, sizeof(raw), "no   %s, needed for %s%s%s", c->name,
				 c->needed_for, c->remedy[0] ? ": " : "", c->remedy);
		sanitise(safe, sizeof(safe), raw);
		pager_wrap(p, c->ok ? ROLE_TEXT : ROLE_WARNING, safe, columns, 2);
	}
}

static void information_tick(struct view *v)
{
	struct pager *p = (struct pager *)v;
	struct model *m = v->screen->model;
	int columns = v->screen->cols - 2;

	pager_clear(p);
	add_targets(p, m);
	add_functions(p, m, columns);
	add_cost(p, m);
	add_notes(p, m, columns);
	add_host(p, m);
	add_constants(p, m);
	add_checks(p, m, columns);
	if (!p->nr_lines)
		pager_add(p, ROLE_DIM, "waiting for the first slice");
}

static const struct view_methods methods = {
    .name = "information",
    .draw = pager_draw,
    .tick = information_tick,
    PAGER_METHODS,
};

struct view *view_information_new(struct screen *s)
{
	struct pager *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pager_init(p, s, &methods);
	return &p->view;
}
