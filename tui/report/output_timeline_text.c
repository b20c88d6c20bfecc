// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs as bars, sleeps as lines, and links: the letter of the task that ended a sleep. */

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/waits/timeline.h"
#include "tui/report/output_timeline.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum {
	MAX_OUTPUT = 1 << 20,
	MAX_LANES = sizeof(((struct timeline_shown *)0)->lane) / sizeof(struct waits_lane),
	MAX_CELLS = 1000,
	LEAST_CELLS = 20,
	NAME = 22,    /* columns of letter, name and tid */
	FIGURES = 14, /* columns of the shares at the right */
	LETTERS = 26,
};
#define WHOLE_NS 60000000000ull

static const struct {
	const char *mark, *ascii, *text;
} marks[LANE_STATES] = {
    [LANE_RUN] = {"\xe2\x96\x88", "#", "running"},
    [LANE_READY] = {"\xe2\x96\x92", "%", "waiting for a CPU"},
    [LANE_SLEEP] = {"\xe2\x94\x80", "-", "asleep"},
    [LANE_IO] = {"\xe2\x95\x90", "=", "waiting for I/O"},
    [LANE_LOST] = {"?", "?", "records lost"},
};
/* The marks of a cell in which the thread both ran and slept, neither for three quarters of it. */
static const char both_mark[] = "\xe2\x96\x84", both_ascii[] = "+";

static const char *mark_of(const struct lane_cell *c, bool ascii)
{
	uint64_t all = 0, run = c->ns[LANE_RUN];
	enum lane_state most = LANE_RUN;

	for (unsigned int i = 0; i < LANE_STATES; i++) {
		all += c->ns[i];
		if (c->ns[i] > c->ns[most])
			most = (enum lane_state)i;
	}
	if (!all)
		return " ";
	/* a tenth is still visible */
	if (most != LANE_LOST && run * 10 >= all && run * 4 < all * 3)
		return ascii ? both_ascii : both_mark;
	return ascii ? marks[most].ascii : marks[most].mark;
}

/* The letter of the lane with this tid; 0: it has none. */
static char letter_of(const struct timeline_shown *t, uint32_t tid)
{
	for (uint32_t i = 0; i < t->nr && i < LETTERS; i++) {
		if (t->lane[i].tid == tid)
			return (char)('a' + i);
	}
	return 0;
}

static void put_name(struct buf *out, const struct timeline_shown *t, uint32_t i)
{
	char name[64], comm[48], tid[16];
	unsigned int columns;

	snprintf(tid, sizeof(tid), " %u", t->lane[i].tid);
	sanitise(comm, sizeof(comm), t->lane[i].comm);
	comm[text_fit(comm, (unsigned int)(NAME - 3 - strlen(tid)))] = '\0';
	snprintf(name, sizeof(name), "%c %s%s", i < LETTERS ? 'a' + (int)i : ' ', comm, tid);
	columns = text_columns(name);
	buf_printf(out, "%s%*s", name, columns < NAME ? (int)(NAME - columns) : 0, "");
}

static void put_lane(struct buf *out, const struct wait_report *r, const struct timeline_shown *t,
		     uint32_t i, uint32_t cells, bool ascii)
{
	static struct lane_cell cell[MAX_CELLS];
	const struct waits_lane *lane = &t->lane[i];
	double span = (double)(t->to_ns - t->from_ns);

	waits_lane_cells(r->waits, lane, t->from_ns, t->to_ns, cell, cells);
	put_name(out, t, i);
	buf_putc(out, '|');
	for (uint32_t k = 0; k < cells; k++) {
		/* a letter instead of the mark only where one task woke it once */
		char letter = cell[k].wakings == 1 ? letter_of(t, cell[k].waker_tid) : 0;

		if (letter)
			buf_putc(out, letter);
		else
			buf_puts(out, mark_of(&cell[k], ascii));
	}
	buf_printf(out, "|%s %s\n", format_percent_fixed((double)lane->ns[LANE_RUN] / span).s,
		   format_percent_fixed((double)lane->ns[LANE_READY] / span).s);
}

static void put_head(struct buf *out, const struct timeline_shown *t, uint32_t cells,
		     const struct output_options *o)
{
	double cell_ns = (double)(t->to_ns - t->from_ns) / cells;
	SCOPED_BUF(line, MAX_OUTPUT);
	char scale[64], end[64];

	buf_printf(&line,
		   "%s of the threads of the target and of the tasks that wake them, %s per "
		   "column; ",
		   format_time(t->to_ns - t->from_ns).s, format_time((uint64_t)cell_ns).s);
	for (unsigned int i = 0; i < LANE_STATES; i++)
		buf_printf(&line, "%s %s, ", o->ascii ? marks[i].ascii : marks[i].mark,
			   marks[i].text);
	buf_printf(&line, "%s ran and slept, a letter: woken by that task",
		   o->ascii ? both_ascii : both_mark);
	words_wrap(out, line.err ? "" : line.data, output_columns(o), "", 0);
	snprintf(scale, sizeof(scale), "-%s", format_time(t->to_ns - t->from_ns + t->back_ns).s);
	snprintf(end, sizeof(end), "-%s", format_time(t->back_ns).s);
	buf_printf(out, "\n%-*s|%s%*s|   run  ready\n", NAME, "  task", scale,
		   (int)(cells > strlen(scale) ? cells - strlen(scale) : 0),
		   t->back_ns ? end : "now");
}

/* Who ended most of the sleeps of each lane. */
static void put_links(struct buf *out, const struct wait_report *r, const struct timeline_shown *t,
		      unsigned int columns)
{
	struct lane_waker by[LETTERS];
	SCOPED_BUF(line, MAX_OUTPUT);
	unsigned int nr = 0;

	for (uint32_t i = 0; i < t->nr && i < LETTERS; i++) {
		uint32_t n =
		    waits_lane_wakers(r->waits, &t->lane[i], t->from_ns, t->to_ns, by, LETTERS);

		for (uint32_t k = 0; k < n; k++) {
			char letter = letter_of(t, by[k].tid);

			if (letter)
				buf_printf(&line, "%s%c > %c %s", nr++ ? ", " : "", letter,
					   'a' + (int)i, format_count(by[k].wakings).s);
		}
	}
	if (nr && !line.err)
		words_wrap(out, line.data, columns, "Wakings (who > whom): ", 2);
}

static int put_timeline(struct buf *out, const struct wait_report *r,
			const struct timeline_ask *ask, const struct output_options *o,
			struct timeline_shown *t)
{
	uint32_t room = output_columns(o), left_out,
		 most = ask->max_lanes && ask->max_lanes < MAX_LANES ? ask->max_lanes : MAX_LANES,
		 cells = room > NAME + FIGURES + 4 + LEAST_CELLS ? room - NAME - FIGURES - 4
								 : LEAST_CELLS;
	uint64_t oldest, newest;

	cells = cells < MAX_CELLS ? cells : MAX_CELLS;
	if (!r->waits || !waits_span(r->waits, ask->span_ns ? ask->span_ns : WHOLE_NS, ask->back_ns,
				     &t->from_ns, &t->to_ns)) {
		t->from_ns = t->to_ns = 0;
		wait_nothing_words(out, r, "no thread of the target was observed", room);
		return out->err;
	}
	if (waits_span(r->waits, WHOLE_NS, 0, &oldest, &newest))
		t->back_ns = newest - t->to_ns;
	t->nr = waits_lanes(r->waits, t->from_ns, t->to_ns, t->lane, most, &left_out);
	put_head(out, t, cells, o);
	for (const char *p = out->data; p && (p = strchr(p, '\n')); p++)
		t->first_line++;
	for (uint32_t i = 0; i < t->nr; i++)
		put_lane(out, r, t, i, cells, o->ascii);
	if (left_out)
		buf_printf(out, "  %u more tasks\n", left_out);
	put_links(out, r, t, room);
	return out->err;
}

int output_timeline_text(const struct wait_report *r, const struct timeline_ask *ask,
			 const struct output_options *o, struct timeline_shown *shown, FILE *f)
{
	struct timeline_shown *t = shown ? shown : calloc(1, sizeof(*t));
	struct buf out = {.max = MAX_OUTPUT};

	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof(*t));
	put_timeline(&out, r, ask, o, t);
	if (!shown)
		free(t);
	buf_putc(&out, '\n');
	wait_observed_lines(&out, r, o);
	return output_text_write(&out, f);
}
