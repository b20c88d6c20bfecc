// SPDX-License-Identifier: GPL-2.0-or-later
/* The accounting: all time of the target's threads by what its chains end in, with a sum. */
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/output_waits.h"

enum { MAX_OUTPUT = 1 << 20, BAR_MAX = 40, BESIDE_BAR = 50 /* columns of the table */ };

static void put_bar(struct buf *out, double share, unsigned int columns, bool ascii)
{
	unsigned int n = (unsigned int)(share * columns + 0.5);

	buf_puts(out, n ? "  " : "");
	while (n--)
		buf_puts(out, ascii ? "#" : "\xe2\x96\x88");
}

void wait_account_table(struct buf *out, const struct waits_account *a, unsigned int bar,
			bool ascii)
{
	uint64_t sum = 0;

	buf_puts(out, "Accounting              share  in sum     time\n");
	for (unsigned int i = 0; i < ACCOUNTS; i++) {
		double share = (double)a->ns[i] / (double)a->total_ns;

		if (!a->ns[i])
			continue;
		sum += a->ns[i];
		buf_printf(out, "  %-20s %s  %s  %s", wait_account_text((enum wait_account)i),
			   format_percent_fixed(share).s,
			   format_percent_fixed((double)sum / (double)a->total_ns).s,
			   format_time_fixed(a->ns[i]).s);
		put_bar(out, share, bar, ascii);
		buf_putc(out, '\n');
	}
	buf_printf(out, "  accounted for: %s of all time", format_percent(a->wall).s);
	buf_printf(out, ", %s as the RSP paper counts\n", format_percent(a->rsp).s);
	buf_printf(out, "  not accounted for: unknown %s, LOST %s\n", format_percent(a->unknown).s,
		   format_percent(a->lost).s);
}

/* How much of the time no path explains: the check of the critical path against itself. */
static void put_deficit(struct buf *out, const struct wait_report *r)
{
	struct waits_critical c;

	if (waits_critical(r->waits, 0, 0, &c))
		return;
	if (c.path.elapsed_ns)
		buf_printf(out, "  deficit of the critical path: %s of %s (%s)\n",
			   format_time(c.path.deficit_ns).s, format_time(c.path.elapsed_ns).s,
			   format_percent((double)c.path.deficit_ns / (double)c.path.elapsed_ns).s);
	waits_critical_release(&c);
}

int output_account_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	unsigned int columns = output_columns(o),
		     bar = columns > BESIDE_BAR ? columns - BESIDE_BAR : 0;
	struct waits_account account = {.wall = 0};
	struct buf out = {.max = MAX_OUTPUT};

	if (r->waits)
		waits_account(r->waits, &account);
	if (!account.total_ns) {
		wait_nothing_words(&out, r, "no thread of the target was observed", columns);
	} else {
		buf_printf(&out,
			   "all time of the target's threads: %s, by what its chains end in\n\n",
			   format_time(account.total_ns).s);
		wait_account_table(&out, &account, bar < BAR_MAX ? bar : BAR_MAX, o->ascii);
		put_deficit(&out, r);
	}
	buf_putc(&out, '\n');
	wait_observed_lines(&out, r, o);
	return output_text_write(&out, f);
}
