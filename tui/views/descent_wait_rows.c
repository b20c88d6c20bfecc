// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/descent_wait_rows.h"

#include "analysis/base/buf.h"
#include "tui/report/output_descend_waits.h"

enum { MAX_ROWS = 256 }; /* of one path */

/* The context of add_row(): the rows, and the largest chain of waits as one line. */
struct adding {
	struct wait_rows *rows;
	struct buf chain;
	unsigned int next_depth; /* of the largest chain; beyond its end: MAX_ROWS */
};

static void add_row(void *ctx, const struct wait_line *l)
{
	struct adding *a = ctx;
	struct wait_row *row;

	if (l->depth == a->next_depth) {
		buf_printf(&a->chain, "%s%s", l->depth ? " > " : "", l->words);
		a->next_depth++;
	} else {
		a->next_depth = MAX_ROWS;
	}
	if (!a->rows->row || a->rows->nr == MAX_ROWS || l->depth >= WAIT_ROW_DEPTH)
		return;
	row = &a->rows->row[a->rows->nr++];
	row->depth = l->depth;
	row->share = (double)l->ns;
	snprintf(row->words, sizeof(row->words), "%s", l->words);
	/* the call path of the outermost layer is above it in the tree */
	snprintf(row->stack, sizeof(row->stack), "%s", l->depth ? l->stack : "");
}

int wait_rows_find(const struct descend_report *report, const struct descent_result *r,
		   const struct descent_path *p, struct wait_rows *out)
{
	struct adding a = {.rows = out};
	uint64_t total_ns;
	int err;

	*out = (struct wait_rows){.row = calloc(MAX_ROWS, sizeof(*out->row))};
	buf_init(&a.chain, 1 << 20);
	err = report_wait_lines(report, r, p, &total_ns, add_row, &a);
	for (uint32_t i = 0; i < out->nr; i++)
		out->row[i].share /= (double)total_ns;
	if (a.chain.len && !a.chain.err)
		snprintf(out->chain, sizeof(out->chain), "%s", a.chain.data);
	buf_release(&a.chain);
	return err;
}

void wait_rows_release(struct wait_rows *w)
{
	free(w->row);
	*w = (struct wait_rows){0};
}

uint32_t wait_row_number(bool *used, uint32_t parent, const char *words)
{
	uint32_t hash = 2166136261u ^ parent;

	while (*words)
		hash = (hash ^ (unsigned char)*words++) * 16777619u;
	hash = (hash ^ hash >> 16) % SCREEN_DESCENT_WAITS;
	while (used[hash])
		hash = (hash + 1) % SCREEN_DESCENT_WAITS;
	used[hash] = true;
	return SCREEN_DESCENT_MAX_NODES - SCREEN_DESCENT_WAITS + hash;
}
