// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/change.h"

#include "analysis/base/format.h"
#include "analysis/latency/compare.h"

enum {
	MIN_WINDOW = 200,
	STRIKES = 2,
	SLICES_FORGOTTEN = 2,
	/* from this multiple of its probes' cost on, a latency is known well enough */
	BLUR = 4,
	/* of the bucket for faster, or slower, calls from the peak, as a factor */
	DISTANCE = 4,
};

static const char since_saved[] = "since the session was saved: ";

void change_init(struct change *c, uint64_t low_ns, uint64_t high_ns)
{
	memset(c, 0, sizeof(*c));
	c->low_ns = low_ns;
	c->high_ns = high_ns;
	profile_init(&c->start);
	profile_init(&c->window);
	profile_init(&c->all);
}

void change_forget_window(struct change *c)
{
	profile_init(&c->window);
	c->probes_ns = 0;
	c->strikes = 0;
	c->skip = SLICES_FORGOTTEN;
}

/* Stricter than the default options: the armed call sites move latencies a little even after
 * correction. The call rate is ignored, because it belongs to the load and not to the
 * distribution. */
static void options(struct compare_options *o)
{
	compare_options_init(o);
	o->rate_factor = 1e12;
	o->tolerance = 0.5;
	o->min_moved = 0.25;
	o->min_emd = 1;
	o->peak_factor = 3;
	o->min_peak_calls = 0.02;
	o->min_peak_time = 0.2;
	o->sigmas = 5;
}

/* Merges all buckets of latencies that are not much longer than the probes inside them. The cost of
 * a probe is known to some ten percent, and less accurately if other programs share the CPU, so
 * these latencies cannot be told apart. */
static void blur(struct profile *p, uint64_t probes_ns)
{
	unsigned int limit = probes_ns ? pt_bucket(BLUR * probes_ns) : 0, i;

	for (i = 0; i < limit && limit < PT_BUCKETS; i++) {
		p->count[limit] += p->count[i];
		p->count[i] = 0;
	}
}

static void move(struct profile *p, unsigned int first, unsigned int end, unsigned int to)
{
	for (unsigned int i = first; i < end && i < PT_BUCKETS; i++) {
		uint64_t count = p->count[i];

		p->count[i] = 0;
		p->count[to] += count;
	}
}

/* Puts all calls that are faster than the peak into one bucket, and all slower ones into another,
 * at a distance from the peak. */
static void keep_peak(struct profile *p, uint64_t low_ns, uint64_t high_ns)
{
	if (low_ns / DISTANCE)
		move(p, 0, pt_bucket(low_ns), pt_bucket(low_ns / DISTANCE));
	if (high_ns && high_ns < UINT64_MAX / DISTANCE)
		move(p, pt_bucket(high_ns), PT_BUCKETS, pt_bucket(high_ns * DISTANCE));
}

static bool is_in_peak(const struct change *c, uint64_t ns)
{
	return ns >= c->low_ns && (!c->high_ns || ns < c->high_ns);
}

/* The share of the calls that are in the peak, by buckets. */
static double share_in_peak(const struct change *c, const struct profile *p)
{
	unsigned int end = c->high_ns ? pt_bucket(c->high_ns) : PT_BUCKETS;
	uint64_t calls = 0;

	for (unsigned int i = pt_bucket(c->low_ns); i < end && i < PT_BUCKETS; i++)
		calls += p->count[i];
	return p->calls ? (double)calls / (double)p->calls : 0;
}

/* The first reason about a peak within the range, or from or to there; NULL: none. */
static const struct compare_reason *reason_of_peak(const struct change *c,
						   const struct compare_pair *pair, bool outside)
{
	for (unsigned int i = 0; i < pair->nr_reasons; i++) {
		const struct compare_reason *r = &pair->reason[i];
		bool moved = r->kind == COMPARE_PEAK_MOVED;
		bool now = is_in_peak(c, r->mode_ns);
		bool before = moved ? is_in_peak(c, r->old_mode_ns) : now;

		if ((now && before) || (outside && (now || before)))
			return r;
	}
	return NULL;
}

/* Says how the peak changed. Its calls may have gone to latencies outside of the range, or come
 * from there, which only the whole profiles show; `kept` is the comparison of the range alone. */
static void describe(struct change *c, const struct profile *start, const struct profile *now,
		     const struct compare_pair *kept, const char *lead)
{
	struct compare_item before = {"f0", start, 0, 0}, after = {"f0", now, 0, 0};
	const struct compare_reason *reason;
	struct compare_options o;
	struct compare_pair whole;
	SCOPED_BUF(words, sizeof(c->words));

	options(&o);
	compare_profiles(&before, &after, 0, 0, &o, &whole);
	reason = reason_of_peak(c, &whole, true) ?: reason_of_peak(c, kept, false);
	if (reason && !compare_reason_words(&words, reason, false))
		snprintf(c->words, sizeof(c->words), "%s%s", lead, words.data);
	else
		snprintf(c->words, sizeof(c->words),
			 "%s%s of the calls have the latencies of this peak, previously %s", lead,
			 format_percent(share_in_peak(c, now)).s,
			 format_percent(share_in_peak(c, start)).s);
}

/* Returns true if `now` differs from `start`; `words` then says how, beginning with `lead`. Both
 * are modified. */
static bool differs(struct change *c, struct profile *start, struct profile *now, const char *lead)
{
	struct profile kept_start, kept_now;
	struct compare_item before = {"f0", &kept_start, 0, 0}, after = {"f0", &kept_now, 0, 0};
	struct compare_options o;
	struct compare_pair pair;

	options(&o);
	blur(start, c->probes_ns);
	blur(now, c->probes_ns);
	kept_start = *start;
	kept_now = *now;
	keep_peak(&kept_start, c->low_ns, c->high_ns);
	keep_peak(&kept_now, c->low_ns, c->high_ns);
	compare_profiles(&before, &after, 0, 0, &o, &pair);
	if (pair.verdict != COMPARE_CHANGED)
		return false;
	describe(c, start, now, &pair, lead);
	return true;
}

static void compare(struct change *c)
{
	struct profile start = c->start;

	if (differs(c, &start, &c->window, ""))
		c->strikes++;
	else
		c->strikes = 0;
	profile_init(&c->window);
	c->probes_ns = 0;
}

bool change_since_saved(struct change *c, const struct profile *saved)
{
	struct profile before = *saved, now = c->start;

	return differs(c, &before, &now, since_saved);
}

/* Empties the buckets outside of the peak. */
static void keep_range(const struct change *c, struct profile *p)
{
	unsigned int end = c->high_ns ? pt_bucket(c->high_ns) : PT_BUCKETS;

	p->calls = 0;
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		if (i < pt_bucket(c->low_ns) || i >= end)
			p->count[i] = 0;
		p->calls += p->count[i];
	}
}

/* Looks for a peak of the range that moved; its shares are to be scaled by those given. */
static bool find_move(struct change *c, const struct profile *before, const struct profile *now,
		      double share_before, double share_now)
{
	struct compare_item was = {"f0", before, 0, 0}, is = {"f0", now, 0, 0};
	struct compare_options o;
	struct compare_pair pair;
	SCOPED_BUF(words, sizeof(c->words));

	options(&o);
	compare_profiles(&was, &is, 0, 0, &o, &pair);
	/* where no peak differs, a comparison of shapes guesses which of them moved */
	for (unsigned int i = 0; pair.phase == COMPARE_PEAKS && i < pair.nr_reasons; i++) {
		struct compare_reason r = pair.reason[i];

		if (r.kind != COMPARE_PEAK_MOVED || !is_in_peak(c, r.old_mode_ns))
			continue;
		r.before *= share_before;
		r.after *= share_now;
		if (!compare_reason_words(&words, &r, false))
			snprintf(c->words, sizeof(c->words), "%s%s", since_saved, words.data);
		return true;
	}
	return false;
}

bool change_moved_since_saved(struct change *c, const struct profile *saved)
{
	struct profile before = *saved, now = c->all;
	double share_before, share_now;

	c->compared = now.calls;
	blur(&before, c->most_probes_ns);
	blur(&now, c->most_probes_ns);
	if (find_move(c, &before, &now, 1, 1))
		return true;
	share_before = share_in_peak(c, &before);
	share_now = share_in_peak(c, &now);
	keep_range(c, &before);
	keep_range(c, &now);
	return find_move(c, &before, &now, share_before, share_now);
}

void change_settle(struct change *c)
{
	c->strikes = STRIKES;
}

void change_probes(struct change *c, uint64_t probes_ns)
{
	if (probes_ns > c->probes_ns)
		c->probes_ns = probes_ns;
	if (probes_ns > c->most_probes_ns)
		c->most_probes_ns = probes_ns;
}

void change_add(struct change *c, const struct profile *delta, uint64_t enough, uint64_t probes_ns)
{
	if (change_seen(c))
		return;
	if (!c->fixed || c->start.calls < enough) {
		profile_merge(&c->start, delta);
		profile_merge(&c->all, delta);
		return;
	}
	if (c->skip) {
		c->skip--;
		return;
	}
	change_probes(c, probes_ns);
	profile_merge(&c->window, delta);
	profile_merge(&c->all, delta);
	if (c->window.calls >= MIN_WINDOW && c->window.calls >= 2 * enough)
		compare(c);
}

bool change_seen(const struct change *c)
{
	return c->strikes >= STRIKES;
}
