// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/descent_callers.h"

#include "tui/report/output_descend.h"

static void put_function(struct buf *out, const struct descent_driver *d, const struct rec_frame *f)
{
	/* of code without a known function its place is shown */
	report_function(out, d,
			(struct rec_code){f->module, f->function ? f->function : f->offset});
}

/* The index of the innermost frame outside of the module of frame 0; if all are in it (a static
 * program), that of the third one. */
static unsigned int first_outside(const struct descent_callers *c)
{
	unsigned int i = 0;

	while (i < c->nr_frames && c->frame[i].module == c->frame[0].module)
		i++;
	if (i < c->nr_frames)
		return i;
	return c->nr_frames < 3 ? c->nr_frames - 1 : 2;
}

static void path_text(const struct descent_driver *d, const struct descent_callers *c, char *text,
		      size_t n)
{
	unsigned int outside = first_outside(c);
	SCOPED_BUF(b, 4096);

	buf_puts(&b, "called by ");
	put_function(&b, d, &c->frame[outside]);
	if (outside > 1) {
		buf_puts(&b, " > ");
		put_function(&b, d, &c->frame[outside - 1]);
	}
	if (outside > 2)
		buf_puts(&b, " > ...");
	if (outside) {
		buf_puts(&b, " > ");
		put_function(&b, d, &c->frame[0]);
	}
	snprintf(text, n, "%s", b.data ? b.data : "");
}

void caller_rows_of(const struct descent_driver *d, const struct descent_result *r,
		    struct caller_rows *out)
{
	out->nr = 0;
	for (unsigned int i = 0; i < r->nr_callers; i++) {
		char text[CALLER_BYTES];
		unsigned int k = 0;

		if (r->callers[i].nr_frames < 2)
			continue;
		path_text(d, &r->callers[i], text, sizeof(text));
		while (k < out->nr && strcmp(out->row[k].text, text) != 0)
			k++;
		if (k == CALLER_ROWS)
			continue;
		if (k == out->nr) {
			out->row[out->nr++].share = 0;
			memcpy(out->row[k].text, text, sizeof(text));
		}
		out->row[k].share += r->callers[i].share;
	}
}
