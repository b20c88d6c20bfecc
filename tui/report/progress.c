// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/progress.h"

#include <math.h>

#include "analysis/base/format.h"
#include "tui/report/sanitise.h"

enum { BAR = 20, TEXT_MAX = 1024, LINE_MAX_BYTES = 1 << 16 };

void progress_of_time(struct progress *p, uint64_t gone_ns, uint64_t all_ns)
{
	if (!all_ns)
		return;
	p->left_ns = gone_ns < all_ns ? all_ns - gone_ns : 0;
	p->done = gone_ns < all_ns ? (double)gone_ns / (double)all_ns : 1;
}

/* Append "  [#####...............]". */
static void put_bar(struct buf *out, double done)
{
	unsigned int full = (unsigned int)lround(fmin(done, 1) * BAR);

	buf_puts(out, "  [");
	for (unsigned int i = 0; i < BAR; i++)
		buf_putc(out, i < full ? '#' : '.');
	buf_putc(out, ']');
}

/* Append ", 12 s left". Whole seconds: fractions would flicker. */
static void put_left(struct buf *out, const struct progress *p)
{
	const uint64_t second = 1000000000;
	uint64_t whole = (p->left_ns + second - 1) / second * second;

	buf_printf(out, "  %s%s left", p->left_at_most ? "at most " : "", format_time(whole).s);
}

/* Append `s` if it fits into the columns that remain. */
static void put_if_it_fits(struct buf *out, const char *s, unsigned int *room)
{
	unsigned int n = text_columns(s);

	if (n > *room)
		return;
	buf_puts(out, s);
	*room -= n;
}

void progress_line(struct buf *out, const struct progress *p, unsigned int columns)
{
	unsigned int room = columns ? columns - 1 : 0, n;
	SCOPED_BUF(text, LINE_MAX_BYTES);
	SCOPED_BUF(left, LINE_MAX_BYTES);
	SCOPED_BUF(bar, LINE_MAX_BYTES);

	sanitise_append(&text, p->text, strnlen(p->text, TEXT_MAX));
	if (p->left_ns)
		put_left(&left, p);
	if (p->done >= 0)
		put_bar(&bar, p->done);
	n = text.data ? text_columns(text.data) : 0;
	if (n > room) {
		buf_append(out, text.data, text_fit(text.data, room > 3 ? room - 3 : 0));
		buf_puts(out, room > 3 ? "..." : "");
	} else {
		/* the time is worth more than the bar, but stands behind it */
		unsigned int time = left.data ? text_columns(left.data) : 0;

		buf_puts(out, text.data ? text.data : "");
		room -= n;
		if (bar.data && room >= time + text_columns(bar.data))
			put_if_it_fits(out, bar.data, &room);
		put_if_it_fits(out, left.data ? left.data : "", &room);
	}
}
