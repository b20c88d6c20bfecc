// SPDX-License-Identifier: GPL-2.0-or-later
/* The critical path as text. */

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/waits/pressure.h"
#include "tui/report/output_waits.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { MAX_OUTPUT = 16 << 20, MAX_STATES = 15, MAX_SLACK = 5, MAX_EDGES = 10, MAX_QUEUES = 8 };
#define LEAST 0.01 /* queues for which a smaller share of the time was waited are left out */

static double part(uint64_t ns, uint64_t all)
{
	return all ? (double)ns / (double)all : 0;
}

static int by_criticality(const void *a, const void *b, void *states)
{
	const struct critical_state *s = states, *x = &s[*(const uint32_t *)a],
				    *y = &s[*(const uint32_t *)b];

	return (x->critical_ns < y->critical_ns) - (x->critical_ns > y->critical_ns);
}

static int by_slack(const void *a, const void *b, void *states)
{
	const struct critical_state *s = states, *x = &s[*(const uint32_t *)a],
				    *y = &s[*(const uint32_t *)b];

	return (x->slack_ns > y->slack_ns) - (x->slack_ns < y->slack_ns);
}

static void put_row(struct buf *out, const struct wait_report *r, uint32_t state,
		    const char *figures, unsigned int columns)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	wait_state_label(&line, r, state);
	words_wrap(out, line.err ? "" : line.data, columns, figures,
		   (unsigned int)strlen(figures) + 2);
}

static void put_states(struct buf *out, const struct wait_report *r, const struct waits_critical *c,
		       unsigned int columns)
{
	const struct critical_path *p = &c->path;
	uint32_t *index = malloc((p->nr_states + 1) * sizeof(*index)), nr = 0, slack = 0;
	uint64_t rest = 0;
	char figures[192];

	for (uint32_t i = 0; index && i < p->nr_states; i++) {
		if (p->states[i].critical_ns)
			index[nr++] = i;
	}
	if (nr)
		qsort_r(index, nr, sizeof(*index), by_criticality, p->states);
	buf_puts(out, "\n  path    time  in all times  state\n");
	for (uint32_t i = 0; i < nr; i++) {
		const struct critical_state *s = &p->states[index[i]];

		if (i >= MAX_STATES) {
			rest += s->critical_ns;
			continue;
		}
		snprintf(figures, sizeof(figures), "%s %s %s %s  ",
			 format_percent_fixed(part(s->critical_ns, p->length_ns)).s,
			 format_time_fixed(s->critical_ns).s, format_time_fixed(s->ns).s,
			 format_count_fixed(s->count).s);
		put_row(out, r, index[i], figures, columns);
	}
	if (rest)
		buf_printf(out, "%s %s %7s %5s  %u other states\n",
			   format_percent_fixed(part(rest, p->length_ns)).s,
			   format_time_fixed(rest).s, "", "", nr - MAX_STATES);
	nr = 0;
	for (uint32_t i = 0; index && i < p->nr_states; i++) {
		if (p->states[i].slack_ns != UINT64_MAX && !p->states[i].critical_ns)
			index[nr++] = i;
	}
	if (nr)
		qsort_r(index, nr, sizeof(*index), by_slack, p->states);
	for (; slack < nr && slack < MAX_SLACK; slack++) {
		if (!slack)
			buf_puts(out, "\nNot on the path, but close to it: it would be after this "
				      "much more time\n");
		snprintf(figures, sizeof(figures), "  %s  ",
			 format_time_fixed(p->states[index[slack]].slack_ns).s);
		put_row(out, r, index[slack], figures, columns);
	}
	free(index);
}

static void put_next(struct buf *out, const struct wait_report *r, const struct waits_critical *c,
		     unsigned int columns)
{
	char figures[192];

	for (uint32_t i = 0; i < c->nr_next; i++) {
		const struct waits_next *n = &c->next[i];

		if (!i)
			buf_puts(out, "\nWhat would be saved at most if this state took no time\n");
		snprintf(figures, sizeof(figures), "%s %s  ",
			 format_percent_fixed(part(n->speedup_ns, n->length_ns + n->speedup_ns)).s,
			 format_time_fixed(n->speedup_ns).s);
		put_row(out, r, n->state, figures, columns);
	}
}

static int by_critical_edge(const void *a, const void *b)
{
	const struct critical_edge_sum *x = a, *y = b;

	return (x->critical_ns < y->critical_ns) - (x->critical_ns > y->critical_ns);
}

static bool is_within(const struct wait_report *r, const struct critical_edge_sum *e)
{
	struct waits_state from = waits_state(r->waits, e->from), to = waits_state(r->waits, e->to);

	return from.tid == to.tid && !strcmp(from.machine, to.machine);
}

/* The edges between different tasks on the path that are followed by most of its time. */
static void put_edges(struct buf *out, const struct wait_report *r, struct waits_critical *c,
		      unsigned int columns)
{
	struct critical_path *p = &c->path;
	unsigned int shown = 0;
	SCOPED_BUF(line, MAX_OUTPUT);
	char figures[192];

	if (p->nr_edges)
		qsort(p->edges, p->nr_edges, sizeof(*p->edges), by_critical_edge);
	for (uint32_t i = 0; i < p->nr_edges && shown < MAX_EDGES && p->edges[i].critical_ns; i++) {
		if (is_within(r, &p->edges[i]))
			continue;
		if (!shown++)
			buf_puts(out, "\nWho gave the path to whom\n");
		buf_reset(&line);
		wait_state_label(&line, r, p->edges[i].from);
		buf_puts(&line, " > ");
		wait_state_label(&line, r, p->edges[i].to);
		snprintf(figures, sizeof(figures), "%s %s %s  ",
			 format_percent_fixed(part(p->edges[i].critical_ns, p->length_ns)).s,
			 format_time_fixed(p->edges[i].critical_ns).s,
			 format_count_fixed(p->edges[i].count).s);
		words_wrap(out, line.err ? "" : line.data, columns, figures,
			   (unsigned int)strlen(figures) + 2);
	}
}

/* "C 502 " */
static void put_task(struct buf *out, const char *comm, uint32_t tid)
{
	sanitise_puts(out, comm);
	buf_printf(out, " %u ", tid);
}

/* Queues that make a producer or a consumer wait. */
static void put_queues(struct buf *out, const struct wait_report *r, unsigned int columns)
{
	struct waits_pressure queue[MAX_QUEUES];
	uint64_t span;
	uint32_t nr = waits_pressure(r->waits, queue, MAX_QUEUES, &span);
	SCOPED_BUF(line, MAX_OUTPUT);
	char figures[192];

	for (uint32_t i = 0; i < nr && part(queue[i].ns, span) >= LEAST; i++) {
		const struct waits_pressure *q = &queue[i];

		if (!i)
			buf_puts(out, "\nWho waits for room or data in a queue (newest window)\n");
		buf_reset(&line);
		sanitise_puts(&line, q->queue);
		buf_puts(&line, q->queue[0] ? " is " : "a queue is ");
		buf_puts(&line, q->full ? "full: " : "empty: ");
		put_task(&line, q->waiter, q->waiter_tid);
		buf_puts(&line, "waits until ");
		put_task(&line, q->other, q->other_tid);
		buf_puts(&line, q->full ? "reads" : "writes");
		snprintf(figures, sizeof(figures), "%s %s %s  ",
			 format_percent_fixed(part(q->ns, span)).s, format_time_fixed(q->ns).s,
			 format_count_fixed(q->count).s);
		words_wrap(out, line.err ? "" : line.data, columns, figures,
			   (unsigned int)strlen(figures) + 2);
	}
}

static void put_doubts(struct buf *out, const struct wait_report *r, const struct waits_critical *c,
		       const struct output_options *o)
{
	struct waits_stats s;
	SCOPED_BUF(line, MAX_OUTPUT);

	waits_stats(r->waits, &s);
	for (uint32_t i = 0; i < c->nr_warnings; i++) {
		buf_reset(&line);
		sanitise_puts(&line, c->warning[i]);
		words_wrap(out, line.err ? "" : line.data, output_columns(o), "Warning:  ", 10);
	}
	buf_reset(&line);
	wait_observed_words(&line, r, o, &s);
	words_wrap(out, line.err ? "" : line.data, output_columns(o), "Observed: ", 10);
	buf_reset(&line);
	wait_calls_words(&line, r);
	if (line.len && !line.err)
		words_wrap(out, line.data, output_columns(o), "Calls:    ", 10);
}

int output_critical_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	struct waits_critical c = {0};
	unsigned int columns = output_columns(o);
	struct buf out = {.max = MAX_OUTPUT};
	SCOPED_BUF(line, MAX_OUTPUT);
	int err = r->waits ? waits_critical(r->waits, 0, 0, &c) : -ENOENT;

	if (err && err != -ENOENT)
		return err;
	if (err || !c.path.length_ns) {
		wait_nothing_words(&out, r,
				   "no critical path: no thread of the target was seen to run; "
				   "peaktop chains says what they wait for",
				   output_columns(o));
		buf_putc(&out, '\n');
	} else {
		buf_printf(&line, "critical path: %s of %s explained (%s missing)",
			   format_time(c.path.length_ns).s, format_time(c.path.elapsed_ns).s,
			   format_percent(part(c.path.deficit_ns, c.path.elapsed_ns)).s);
		if (c.end_tid)
			buf_printf(&line, "; it ends in thread %u", c.end_tid);
		words_wrap(&out, line.err ? "" : line.data, columns, "", 0);
		put_states(&out, r, &c, columns);
		put_next(&out, r, &c, columns);
		put_edges(&out, r, &c, columns);
		put_queues(&out, r, columns);
		buf_putc(&out, '\n');
	}
	if (r->waits)
		put_doubts(&out, r, &c, o);
	waits_critical_release(&c);
	output_text_state(&out, r->model, o);
	return output_text_write(&out, f);
}
