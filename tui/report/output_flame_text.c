// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains as a flame view in text: a row per layer, the target's on top; the width of a box is its
 * time, and boxes are in the order in which they were seen first. */

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/waits/traces.h"
#include "tui/report/output_chains_tree.h"
#include "tui/report/words.h"

enum { MAX_OUTPUT = 4 << 20, MAX_ROWS = 40, LABEL = 1024 };

#define LEAST 0.01 /* outermost layers of which a smaller part is no rest are left out */

struct flame {
	const struct wait_report *r;
	const struct waits_chains *chains;
	unsigned int columns;
	char *cell; /* MAX_ROWS rows of `columns` bytes */
	unsigned int rows;
	uint64_t *start; /* by node: where its box begins, in ns from the left edge */
	uint64_t *used;	 /* by node: time that its children take so far */
	unsigned int *depth;
	uint64_t *busy;	   /* by node: its time that is not rest, with the layers below */
	uint64_t total_ns; /* of the outermost layers that are not all rest */
};

/* What fills a box: a run, a wait for a device, another wait. */
static char fill_of(const struct waits_layer *l)
{
	switch (l->state) {
	case CHAIN_RUN:
		return '#';
	case CHAIN_RUNNABLE:
		return '%';
	case CHAIN_IO:
	case CHAIN_NET:
		return '=';
	default:
		return '-';
	}
}

/* "redis-server 12 serve"; a wait is named by its innermost function, if that is known. */
static void put_label(struct buf *out, const struct flame *f, uint32_t i)
{
	const struct waits_node *n = &f->chains->nodes[i],
				*parent = n->parent == i ? NULL : &f->chains->nodes[n->parent];
	const struct trace *user = n->layer.user;

	if (parent && chains_is_other_task(n, parent))
		chains_put_task(out, &n->layer);
	if (user && user->nr_frames && n->layer.state != CHAIN_RUNNABLE) {
		wait_frame_name(out, f->r, &user->frames[user->nr_frames - 1]);
		buf_puts(out, n->layer.state == CHAIN_RUN ? "" : ": ");
	}
	if (!user || !user->nr_frames || n->layer.state != CHAIN_RUN)
		wait_layer_words(out, n);
	/* most boxes without a parent are of the same thread: put what it did before its name */
	if (!parent) {
		buf_puts(out, ", ");
		chains_put_task(out, &n->layer);
	}
}

static void put_box(struct flame *f, uint32_t i)
{
	const struct waits_node *n = &f->chains->nodes[i];
	double scale = (double)f->columns / (double)f->total_ns;
	unsigned int from = (unsigned int)((double)f->start[i] * scale + 0.5),
		     to = (unsigned int)((double)(f->start[i] + n->total_ns) * scale + 0.5), x;
	char *row = f->cell + (size_t)f->depth[i] * f->columns;
	SCOPED_BUF(label, LABEL);

	to = to < f->columns ? to : f->columns;
	if (to <= from)
		return;
	put_label(&label, f, i);
	/* in a narrow box the edge would hide the fill character, which shows the layer */
	row[from] = to - from > 2 ? '|' : fill_of(&n->layer);
	for (x = from + 1; x < to; x++) {
		size_t k = x - from - 1;
		/* the last cell keeps the fill character, which shows the layer */
		bool text = !label.err && k < label.len && x + 1 < to;

		row[x] = !text			       ? fill_of(&n->layer)
			 : (label.data[k] & 0x80) != 0 ? '?'
						       : label.data[k];
	}
	if (f->depth[i] + 1 > f->rows)
		f->rows = f->depth[i] + 1;
}

static void put_boxes(struct flame *f)
{
	uint64_t left = 0;

	/* parents come before children, siblings in order */
	for (uint32_t i = 0; i < f->chains->nr; i++) {
		const struct waits_node *n = &f->chains->nodes[i];

		if (!f->busy[i] || (n->parent != i && !f->busy[n->parent])) {
			f->busy[i] = 0;
			continue;
		}
		if (n->parent == i) {
			f->start[i] = left;
			left += n->total_ns;
		} else {
			f->depth[i] = f->depth[n->parent] + 1;
			f->start[i] = f->start[n->parent] + f->used[n->parent];
			f->used[n->parent] += n->total_ns;
		}
		if (f->depth[i] < MAX_ROWS)
			put_box(f, i);
	}
}

static int flame_init(struct flame *f)
{
	f->cell = malloc((size_t)MAX_ROWS * f->columns);
	f->start = calloc(f->chains->nr + 1, sizeof(*f->start));
	f->used = calloc(f->chains->nr + 1, sizeof(*f->used));
	f->depth = calloc(f->chains->nr + 1, sizeof(*f->depth));
	f->busy = chains_times(f->chains, WAIT_NO_REST | WAIT_PERHAPS_REST);
	if (!f->cell || !f->start || !f->used || !f->depth || !f->busy)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->chains->nr; i++) {
		const struct waits_node *n = &f->chains->nodes[i];

		if (n->parent != i)
			continue;
		if ((double)f->busy[i] < LEAST * (double)n->total_ns)
			f->busy[i] = 0;
		f->total_ns += f->busy[i] ? n->total_ns : 0;
	}
	memset(f->cell, ' ', (size_t)MAX_ROWS * f->columns);
	return 0;
}

static void flame_release(struct flame *f)
{
	free(f->cell);
	free(f->start);
	free(f->used);
	free(f->depth);
	free(f->busy);
}

static void put_head(struct buf *out, const struct flame *f)
{
	uint64_t rest = f->chains->total_ns - f->total_ns;
	SCOPED_BUF(line, LABEL);

	buf_printf(&line,
		   "%s of the threads of the target as the width, who waited for whom from top to "
		   "bottom; # running, - waiting, = device or network, %% waiting for a CPU",
		   format_time(f->total_ns).s);
	if (rest)
		buf_printf(&line, "; %s idle or in a timed sleep is left out", format_time(rest).s);
	words_wrap(out, line.err ? "" : line.data, f->columns, "", 0);
	buf_putc(out, '\n');
}

static int put_flame(struct buf *out, const struct wait_report *r,
		     const struct waits_chains *chains, unsigned int columns)
{
	struct flame f = {.r = r, .chains = chains, .columns = columns};
	int err = flame_init(&f);

	if (!err)
		put_head(out, &f);
	if (!err && f.total_ns)
		put_boxes(&f);
	for (unsigned int y = 0; !err && y < f.rows; y++) {
		const char *row = f.cell + (size_t)y * columns;
		int n = (int)columns;

		while (n && row[n - 1] == ' ')
			n--;
		buf_printf(out, "%.*s\n", n, row);
	}
	flame_release(&f);
	return err;
}

int output_flame_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	struct waits_chains chains = {0};
	SCOPED_BUF(out, MAX_OUTPUT);
	int err = r->waits ? waits_chains(r->waits, &chains) : 0;

	err = err ? err : waits_chains_join(&chains, WAITS_BY_THREAD);
	if (!err && chains.total_ns)
		err = put_flame(&out, r, &chains, output_columns(o));
	else if (!err)
		wait_nothing_words(&out, r, "no thread of the target was observed",
				   output_columns(o));
	waits_chains_release(&chains);
	if (err)
		return err;
	buf_putc(&out, '\n');
	wait_observed_lines(&out, r, o);
	return output_text_write(&out, f);
}
