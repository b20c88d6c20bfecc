// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/target_end.h"

#include <signal.h>

enum { NAME_SHOWN = 60, SIGNAL_BITS = 0x7f, CORE_BIT = 0x80 };

/* What the user can do, as nobody but the program's author can tell a bug of its own from harm. */
#define REPORT_IT "; if that repeats only while it is watched, report it"

unsigned int target_end_signal(const struct rec_target_end *end)
{
	return end->has_status ? end->status & SIGNAL_BITS : 0;
}

bool target_end_has_core(const struct rec_target_end *end)
{
	return target_end_signal(end) && end->status & CORE_BIT;
}

bool target_end_is_death(const struct rec_target_end *end)
{
	unsigned int signal = target_end_signal(end);
	/* older sessions have a status only of a process that peaktop had started */
	bool started = end->started || !end->has_probes;

	return signal && !(started && (signal == SIGINT || signal == SIGTERM || signal == SIGHUP));
}

struct text target_end_signal_name(unsigned int signal)
{
	const char *name = signal <= SIGNAL_BITS ? sigabbrev_np((int)signal) : NULL;
	struct text t;

	if (name)
		snprintf(t.s, sizeof(t.s), "SIG%s", name);
	else
		snprintf(t.s, sizeof(t.s), "signal %u", signal);
	return t;
}

void target_end_words(struct buf *out, const struct rec_target *t, const struct rec_target_end *end)
{
	buf_printf(out, "%.*s (process %u) was killed by %s%s", NAME_SHOWN, t->comm, t->pid,
		   target_end_signal_name(target_end_signal(end)).s,
		   target_end_has_core(end) ? " (core dumped)" : "");
	if (!end->has_probes)
		buf_puts(out, " while it was measured");
	else if (end->probes)
		buf_printf(out, " while %u %s in it" REPORT_IT, end->probes,
			   end->probes == 1 ? "probe was" : "probes were");
	else if (end->unprobed_ns)
		buf_printf(
		    out, "; no probe was in it: the last one had been removed %s before" REPORT_IT,
		    format_time(end->unprobed_ns).s);
	else
		buf_puts(out, "; no probe was in it");
}
