// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/statusline.h"

#include "analysis/base/format.h"
#include "analysis/latency/threads.h"
#include "tui/report/sanitise.h"
#include "tui/screen/theme.h"

enum { TARGET_SHORT = 8 }; /* columns of a name that is cut */

static void update_target(struct status *st, struct model *m)
{
	size_t i, n = model_nr_targets(m), live = 0;
	const struct rec_target *first = NULL;
	char comm[64];

	for (i = 0; i < n; i++) {
		const struct rec_target *t = model_target(m, i);

		if (!first && (t->requested || i + 1 == n))
			first = t;
		live += !model_target_ended(m, i);
	}
	if (!first && n)
		first = model_target(m, 0);
	st->ended = n && !live;
	st->target[0] = st->target_short[0] = '\0';
	if (!first)
		return;
	sanitise(comm, sizeof(comm), first->comm);
	snprintf(st->target_short, sizeof(st->target_short), "%.*s %u",
		 (int)text_fit(comm, TARGET_SHORT), comm, first->pid);
	if (first->ns_pid && first->ns_pid != first->pid)
		snprintf(st->target, sizeof(st->target), "%s %u (%u inside)", comm, first->pid,
			 first->ns_pid);
	else
		snprintf(st->target, sizeof(st->target), "%s %u", comm, first->pid);
	if (live > 1) {
		size_t at = strlen(st->target);

		snprintf(st->target + at, sizeof(st->target) - at, " +%zu", live - 1);
	}
}

/* Compute the present cost over the last ticks: a single tick would make the figure flicker. */
static void update_cost(struct status *st, const struct rec_cost *now)
{
	const struct rec_cost *last = st->nr_cost ? &st->cost_at[st->nr_cost - 1] : NULL;
	const struct rec_cost *first;
	uint64_t cpu, ns, wall;

	if (!now)
		return;
	if (last && now->at_ns < last->at_ns) /* a replay was rewound */
		st->nr_cost = 0;
	else if (last && now->at_ns == last->at_ns && now->ns == last->ns)
		return;
	if (st->nr_cost == STATUS_COST_SPAN) {
		memmove(st->cost_at, st->cost_at + 1, sizeof(st->cost_at) - sizeof(st->cost_at[0]));
		st->nr_cost--;
	}
	st->cost_at[st->nr_cost++] = *now;
	first = &st->cost_at[0];
	cpu = now->target_cpu_ns;
	wall = now->at_ns;
	ns = now->ns - (now->other_ns < now->ns ? now->other_ns : now->ns);
	if (st->nr_cost > 1) {
		uint64_t before =
		    first->ns - (first->other_ns < first->ns ? first->other_ns : first->ns);

		cpu = cpu > first->target_cpu_ns ? cpu - first->target_cpu_ns : 0;
		wall -= first->at_ns;
		ns = ns > before ? ns - before : 0;
	}
	/* the rule of --max-overhead */
	wall = cpu > wall ? cpu : wall;
	st->cost = wall ? (double)ns / (double)wall : ns ? -1 : 0;
}

static void update_calls(struct status *st, struct model *m)
{
	double calls = 0, seen = 0;
	size_t i, n = model_nr_ops(m);

	for (i = 0; i < n; i++) {
		const struct op *op = model_op(m, i);

		calls += (double)op->total.calls + (double)op->unseen;
		seen += (double)op->seen_calls;
	}
	st->seen = calls > 0 ? seen / calls : -1;
	if (st->seen > 1)
		st->seen = 1;
}

static void update_threads(struct status *st, const struct thread_choice *c)
{
	st->threads[0] = '\0';
	if (c->nr)
		snprintf(st->threads, sizeof(st->threads), " %u of %u threads ", c->chosen_threads,
			 c->threads);
}

void status_update(struct status *st, struct model *m)
{
	const struct rec_meta *meta = model_meta(m);
	const struct rec_loss *loss = model_loss(m);

	if (meta && meta->host[0])
		sanitise(st->host, sizeof(st->host), meta->host);
	update_target(st, m);
	update_cost(st, model_cost(m));
	update_calls(st, m);
	update_threads(st, model_choice(m));
	st->lost = loss ? loss->records + loss->samples + loss->stacks + loss->activations : 0;
	st->tainted_ns = loss ? loss->tainted_ns : 0;
	if (!st->replay)
		st->at_ns = model_elapsed_ns(m);
}

/* "1:05", "3:05:07"; with tenths of a second if there is a fraction. */
static void clock_text(char *out, size_t size, uint64_t ns)
{
	unsigned long long s = ns / 1000000000, tenths = (ns % 1000000000 + 50000000) / 100000000;

	s += tenths / 10;
	tenths %= 10;
	if (s >= 3600)
		snprintf(out, size, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(out, size, "%llu:%02llu", s / 60, s % 60);
	if (tenths)
		snprintf(out + strlen(out), size - strlen(out), ".%llu", tenths);
}

void status_span(char *out, size_t size, uint64_t start_ns, uint64_t end_ns)
{
	char from[32], to[32];

	clock_text(from, sizeof(from), start_ns);
	clock_text(to, sizeof(to), end_ns);
	snprintf(out, size, "%s-%s", from, to);
}

/* UTC: a session may come from another place, and its reader need not know the zone. */
void status_day_time(char *out, size_t size, uint64_t realtime_ns)
{
	unsigned long long s = (realtime_ns + 500000000) / 1000000000;

	out[0] = '\0';
	if (realtime_ns)
		snprintf(out, size, "%02llu:%02llu:%02llu UTC", s / 3600 % 24, s / 60 % 60, s % 60);
}

struct status_part {
	char text[160];
	unsigned int role;
	int rank; /* if the line is too short, the highest rank is left out first */
	bool right;
	bool off;
};

enum { STATE, COST, SEEN, LOST, TARGET, THREADS, HOST, CLOCK, PAST, VIEW, NR_PARTS };

static void state_part(const struct status *st, struct status_part *p)
{
	const char *word = st->replay ? "REPLAY" : st->ended ? "ENDED" : "LIVE";

	p->role = st->replay ? ROLE_REPLAY : st->ended ? ROLE_PAUSED : ROLE_LIVE;
	if (st->paused) {
		p->role = ROLE_PAUSED;
		word = st->replay ? "REPLAY PAUSED" : "PAUSED";
	} else if (!st->replay && !st->target[0]) {
		word = st->choosing ? "CHOOSE A PROCESS" : "STARTING";
		p->role = ROLE_STATUS;
	}
	snprintf(p->text, sizeof(p->text), " %s ", word);
}

/* What is shown is past; the state behind it goes on. The figures on the right are of now, so that
 * most of them may go first. */
static void past_parts(const struct status *st, struct status_part *p)
{
	char span[80], day[32];

	status_span(span, sizeof(span), st->past_start_ns, st->past_end_ns);
	status_day_time(day, sizeof(day), st->began_ns ? st->began_ns + st->past_start_ns : 0);
	snprintf(p[PAST].text, sizeof(p->text), " PAST %s%s%s ", span, day[0] ? ", " : "", day);
	p[PAST].role = ROLE_PAUSED;
	p[CLOCK].rank = 1;
	p[COST].rank = p[SEEN].rank = 4;
}

static void make_parts(const struct status *st, const char *view, struct status_part *p)
{
	char at[32], total[32];

	state_part(st, &p[STATE]);
	snprintf(p[VIEW].text, sizeof(p->text), "%s", view);
	p[VIEW].rank = 6;
	clock_text(at, sizeof(at), st->at_ns / 1000000000 * 1000000000);
	if (st->replay && st->total_ns) {
		clock_text(total, sizeof(total), st->total_ns / 1000000000 * 1000000000);
		snprintf(p[CLOCK].text, sizeof(p->text), "%s of %s", at, total);
	} else if (st->target[0]) {
		snprintf(p[CLOCK].text, sizeof(p->text), "%s", at);
	}
	p[CLOCK].rank = 4;
	snprintf(p[HOST].text, sizeof(p->text), "%s", st->host);
	p[HOST].rank = 5;
	snprintf(p[TARGET].text, sizeof(p->text), "%s", st->target);
	p[TARGET].rank = 3;
	snprintf(p[THREADS].text, sizeof(p->text), "%s", st->threads);
	p[THREADS].role = ROLE_PAUSED;
	if (st->target[0]) {
		snprintf(p[COST].text, sizeof(p->text), "cost %s",
			 st->cost < 0 ? "?" : format_percent(st->cost).s);
		snprintf(p[SEEN].text, sizeof(p->text), "seen %s",
			 st->seen < 0 ? "-" : format_percent(st->seen).s);
		snprintf(p[LOST].text, sizeof(p->text), "lost %s", format_count(st->lost).s);
	}
	p[COST].rank = 1;
	p[SEEN].rank = 2;
	p[LOST].rank = st->lost || st->tainted_ns ? 0 : 2;
	p[LOST].role = st->lost || st->tainted_ns ? ROLE_ALERT : ROLE_STATUS;
	p[COST].right = p[SEEN].right = p[LOST].right = true;
	if (st->past)
		past_parts(st, p);
}

static int width_of(const struct grid *g, const struct status_part *p)
{
	int w = 1;

	for (int i = 0; i < NR_PARTS; i++)
		if (!p[i].off && p[i].text[0])
			w += grid_columns(g, p[i].text) + 2;
	return w;
}

/* Leave out the least important parts until the rest fits. */
static void drop_parts(const struct grid *g, struct status_part *p, const char *target_short)
{
	int worst;

	while (width_of(g, p) > g->cols) {
		worst = -1;
		for (int i = 0; i < NR_PARTS; i++)
			if (!p[i].off && p[i].text[0] && i != STATE && i != PAST &&
			    (worst < 0 || p[i].rank > p[worst].rank))
				worst = i;
		if (worst < 0)
			return;
		if (worst == TARGET && strcmp(p[TARGET].text, target_short)) {
			snprintf(p[TARGET].text, sizeof(p[TARGET].text), "%s", target_short);
			continue; /* shorten a long name before leaving it out */
		}
		p[worst].off = true;
	}
}

void status_draw(const struct status *st, const char *view, struct grid *g, int y)
{
	static const int left[] = {HOST, TARGET, THREADS, PAST, STATE, CLOCK, VIEW},
			 right[] = {LOST, SEEN, COST};
	struct status_part p[NR_PARTS] = {0};
	int x = 1;

	for (unsigned int i = 0; i < NR_PARTS; i++)
		p[i].role = ROLE_STATUS;
	make_parts(st, view, p);
	drop_parts(g, p, st->target_short);
	grid_fill(g, (struct rect){0, y, g->cols, 1}, ROLE_STATUS, " ");
	for (unsigned int i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (!p[left[i]].off && p[left[i]].text[0])
			x += 2 + grid_put(g, x, y, g->cols - x, p[left[i]].role, p[left[i]].text);
	x = g->cols - 1;
	for (unsigned int i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		int w = grid_columns(g, p[right[i]].text);

		if (p[right[i]].off || !w)
			continue;
		grid_put(g, x - w, y, w, p[right[i]].role, p[right[i]].text);
		x -= w + 2;
	}
}
