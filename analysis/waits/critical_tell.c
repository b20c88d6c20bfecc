// SPDX-License-Identifier: GPL-2.0-or-later
/* The critical path in words, with what could be saved, and with doubts. */

#include "analysis/base/format.h"
#include "analysis/waits/critical_names.h"

enum { DEFICIT_PERCENT = 2 };

struct waits_state waits_state(const struct waits *w, uint32_t state)
{
	static const char *const text[] = {
	    [STATE_OTHERS] = "other states", [STATE_RUN] = "running",
	    [STATE_READY] = "runnable",	     [STATE_IO_QUEUE] = "I/O queue",
	    [STATE_DEVICE] = "block I/O",    [STATE_WORK_QUEUE] = "queued",
	};
	const struct critical_feed *f = w->feed;
	const struct state_name *n;
	const char *of_kind;
	bool waits;

	if (!f || state >= f->nr_names)
		return (struct waits_state){.machine = "", .what = "", .after = "", .syscall = -1};
	n = &f->names[state];
	of_kind = wait_kind_info((enum wait_kind)n->kind)->text;
	waits = n->type == STATE_WAIT || (n->type == STATE_READY && n->kind == WAIT_QUOTA);
	return (struct waits_state){
	    .machine = n->type == STATE_WORK_QUEUE ? "work items" : texts_get(w->texts, n->machine),
	    .tid = state_tid(f, n),
	    .what = waits ? of_kind : text[n->type],
	    .after = !waits && n->type == STATE_READY && n->kind ? of_kind : "",
	    .function = n->function,
	    .syscall = n->type == STATE_WAIT || n->type == STATE_READY ? n->detail : -1,
	    .ender = n->type == STATE_WAIT ? (enum wait_ender)n->ender : ENDER_NONE};
}

static void warn(struct waits_critical *out, const char *text)
{
	if (out->nr_warnings < WAITS_WARNINGS)
		snprintf(out->warning[out->nr_warnings++], WAITS_WARNING, "%s", text);
}

static void warnings(const struct waits *w, struct waits_critical *out)
{
	const struct critical_path *p = &out->path;
	char text[WAITS_WARNING];

	if (p->deficit_ns * 100 > p->elapsed_ns * DEFICIT_PERCENT) {
		snprintf(text, sizeof(text), "the path explains %s of the elapsed time",
			 format_percent((double)p->length_ns / (double)p->elapsed_ns).s);
		warn(out, text);
	}
	if (p->behind) {
		snprintf(text, sizeof(text),
			 "%llu wakings came from a path that was far behind, by up to %s: what the "
			 "waker waited for is not known",
			 (unsigned long long)p->behind, format_time(p->behind_ns).s);
		warn(out, text);
	}
	if (w->stats.unknown_irq) {
		snprintf(text, sizeof(text), "%llu sleeps were ended by an unknown interrupt",
			 (unsigned long long)w->stats.unknown_irq);
		warn(out, text);
	}
	if (p->silent_state < p->nr_states) {
		struct waits_state s = waits_state(w, p->silent_state);

		snprintf(text, sizeof(text),
			 "%.40s (%.40s) woke nobody for seconds: does somebody poll for it?",
			 s.machine, s.what);
		warn(out, text);
	}
	if (w->stats.clamped + w->stats.late) {
		snprintf(text, sizeof(text), "%llu events came before the one that they followed",
			 (unsigned long long)(w->stats.clamped + w->stats.late));
		warn(out, text);
	}
	if (p->approximate)
		warn(out, "the oldest part of the path was forgotten for want of memory");
	if (w->stats.lost_records)
		warn(out, "records were lost: see LOST");
}

static int by_speedup(const void *a, const void *b)
{
	const struct waits_next *x = a, *y = b;

	return (x->speedup_ns < y->speedup_ns) - (x->speedup_ns > y->speedup_ns);
}

/* Those states are tried that the path spends most time in. */
static void next_paths(struct waits *w, uint32_t machine, struct waits_critical *out)
{
	const struct critical *c = w->feed->critical;
	uint64_t whole = critical_without(c, machine, w->now_ns, UINT32_MAX), below = UINT64_MAX;

	while (out->nr_next < WAITS_NEXT) {
		struct waits_next *n = &out->next[out->nr_next];
		uint64_t most = 0;

		for (uint32_t i = 0; i < out->path.nr_states; i++) {
			uint64_t ns = out->path.states[i].critical_ns;

			if (ns > most && ns < below) {
				most = ns;
				n->state = i;
			}
		}
		if (!most)
			break;
		below = most;
		n->length_ns = critical_without(c, machine, w->now_ns, n->state);
		n->speedup_ns = whole > n->length_ns ? whole - n->length_ns : 0;
		out->nr_next++;
	}
	qsort(out->next, out->nr_next, sizeof(out->next[0]), by_speedup);
}

/* The sum over the calls that were followed; all that is known of a state is its time on the path.
 */
static int critical_of_calls(struct waits *w, struct waits_critical *out)
{
	int err = w->calls.path.states ? critical_sum_add(&out->path, &w->calls.path) : -ENOENT;

	for (uint32_t i = 0; !err && i < out->path.nr_states; i++) {
		out->path.states[i].ns = out->path.states[i].critical_ns;
		out->path.states[i].slack_ns = UINT64_MAX;
	}
	if (!err) {
		out->path.silent_state = UINT32_MAX;
		warnings(w, out);
	}
	return err;
}

static int critical_of_threads(struct waits *w, uint32_t tid, uint64_t start_ns,
			       struct waits_critical *out)
{
	uint32_t end = tid ? tasks_find(&w->tasks, tid, start_ns) : NO_TASK, machine = 0;
	struct critical_path now = {0};
	int ret = 0;

	if (!w->feed || (tid && end < FIRST_TASK))
		return -ENOENT;
	if (!end)
		end = w->in_window ? critical_end(w, w->now_ns) : w->feed->end;
	if (end)
		machine = task_at(w, end)->machine;
	if (w->feed->sum.states)
		ret = critical_sum_add(&out->path, &w->feed->sum);
	if (!ret && (w->in_window || tid)) {
		ret = critical_result(w->feed->critical, machine, w->now_ns, &now);
		/* of one task only the last window is known */
		if (!ret && tid)
			critical_path_release(&out->path);
		if (!ret && tid)
			out->path = (struct critical_path){0};
		ret = ret ? ret : critical_sum_add(&out->path, &now);
		critical_path_release(&now);
	}
	if (ret) {
		waits_critical_release(out);
		return ret;
	}
	out->end_tid = end ? task_at(w, end)->tid : 0;
	if (machine)
		next_paths(w, machine, out);
	warnings(w, out);
	return 0;
}

int waits_critical(struct waits *w, uint32_t tid, uint64_t start_ns, struct waits_critical *out)
{
	memset(out, 0, sizeof(*out));
	return w->config.calls_only ? critical_of_calls(w, out)
				    : critical_of_threads(w, tid, start_ns, out);
}

static int by_critical(const void *a, const void *b)
{
	const struct waits_machine *x = a, *y = b;

	return (x->critical_ns < y->critical_ns) - (x->critical_ns > y->critical_ns);
}

uint32_t waits_machines(const struct waits *w, const struct waits_critical *c,
			struct waits_machine *out, uint32_t max)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < c->path.nr_states; i++) {
		struct waits_state s = waits_state(w, i);
		uint64_t ns = c->path.states[i].critical_ns;
		uint32_t k = 0;

		if (!ns)
			continue;
		while (k < nr && (out[k].tid != s.tid || strcmp(out[k].machine, s.machine) != 0))
			k++;
		if (k == max)
			continue;
		if (k == nr)
			out[nr++] = (struct waits_machine){.machine = s.machine, .tid = s.tid};
		out[k].critical_ns += ns;
	}
	qsort(out, nr, sizeof(*out), by_critical);
	return nr;
}

void waits_critical_release(struct waits_critical *c)
{
	critical_path_release(&c->path);
}
