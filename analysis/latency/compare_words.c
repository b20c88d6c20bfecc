// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/format.h"
#include "analysis/latency/compare.h"

/* Formats a number of calls: "3.2k calls/s" or "3.2k calls". */
static struct text calls(double n, bool rates)
{
	struct text t;

	if (rates)
		snprintf(t.s, sizeof(t.s), "%.16s calls/s", format_rate(n).s);
	else
		snprintf(t.s, sizeof(t.s), "%.16s calls", format_count((uint64_t)(n + 0.5)).s);
	return t;
}

int compare_reason_words(struct buf *out, const struct compare_reason *r, bool rates)
{
	struct text at = format_time(r->mode_ns), before = format_percent(r->before),
		    after = format_percent(r->after);

	switch (r->kind) {
	case COMPARE_APPEARED:
		return buf_printf(out, "only in the second: %s", calls(r->after, rates).s);
	case COMPARE_VANISHED:
		return buf_printf(out, "only in the first: %s", calls(r->before, rates).s);
	case COMPARE_CALLS:
		return buf_printf(out, "%s calls: %s, was %s",
				  r->after > r->before ? "more" : "fewer", calls(r->after, rates).s,
				  calls(r->before, rates).s);
	case COMPARE_PEAK_NEW:
		return buf_printf(out, "new peak at %s, with %s of the calls", at.s, after.s);
	case COMPARE_PEAK_GONE:
		return buf_printf(out, "the peak at %s disappeared; it held %s of the calls", at.s,
				  before.s);
	case COMPARE_PEAK_MOVED:
		return buf_printf(out, "the peak at %s moved to %s; it holds %s of the calls",
				  format_time(r->old_mode_ns).s, at.s, after.s);
	case COMPARE_PEAK_WEIGHT:
		return buf_printf(out, "the peak at %s holds %s of the calls, previously %s", at.s,
				  after.s, before.s);
	case COMPARE_SHAPE:
		return buf_printf(out, "the distribution changed: %s of the calls became %s",
				  after.s, r->before < 0 ? "faster" : "slower");
	}
	return buf_puts(out, "changed");
}
