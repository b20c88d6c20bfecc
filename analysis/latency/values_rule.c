// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/values_rule.h"

#include <math.h>

#include "analysis/latency/values_text.h"

/* A rule with less separation is not reported. */
static const double min_separation = 0.25;
/* Reject a rule if the probability that chance alone separates as well exceeds this. */
static const double max_chance = 1e-4;
/* A more complicated rule must be better by this much than a simpler one. */
static const double price_of_value = 0.03, price_of_not = 0.03, price_of_threshold = 0.01;

static bool less(int64_t a, int64_t b, bool is_signed)
{
	return is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

static bool rule_matches(const struct rule *r, int64_t key, bool is_signed)
{
	bool in = false;

	switch (r->kind) {
	case RULE_IN:
	case RULE_NOT_IN:
		for (unsigned int i = 0; i < r->nr; i++)
			in |= r->key[i] == key;
		return in == (r->kind == RULE_IN);
	case RULE_POSITIVE:
		return less(0, key, is_signed);
	case RULE_AT_LEAST:
		return !less(key, r->key[0], is_signed);
	case RULE_BELOW:
		return less(key, r->key[0], is_signed);
	}
	return false;
}

/* Returns how much more common the value is in the peak than outside: share minus share. */
static double contrast(const struct value_group *g, const struct value_sums *sums)
{
	return g->weight[LEARN][IN] / sums->weight[LEARN][IN] -
	       g->weight[LEARN][OUT] / sums->weight[LEARN][OUT];
}

struct choice {
	struct rule rule;
	double worth; /* separation on the half LEARN, minus the price of the rule */
};

static void consider(struct choice *best, const struct rule *rule, double separation, double price)
{
	if (separation - price > best->worth + 1e-9) {
		best->rule = *rule;
		best->worth = separation - price;
	}
}

/* Collects the values that are common in the peak and rare outside, the best first, each only if it
 * improves the rule. With `sign` -1, the values that are rare in the peak. */
static void choose_set(const struct value_group *group, unsigned int n,
		       const struct value_sums *sums, double sign, struct choice *best)
{
	unsigned int side = sign > 0 ? IN : OUT;
	struct rule rule = {.kind = sign > 0 ? RULE_IN : RULE_NOT_IN};
	double separation = 0;

	while (rule.nr < RULE_KEYS) {
		unsigned int top = n;
		double most = price_of_value;

		for (unsigned int i = 0; i < n; i++) {
			double c = sign * contrast(&group[i], sums);
			bool taken = false;

			for (unsigned int k = 0; k < rule.nr; k++)
				taken |= rule.key[k] == group[i].key;
			if (!taken && c > most && group[i].nr[LEARN][side] >= RULE_MIN_CALLS) {
				most = c;
				top = i;
			}
		}
		if (top == n)
			return;
		rule.key[rule.nr++] = group[top].key;
		separation += most;
		consider(best, &rule, separation,
			 (rule.nr - 1) * price_of_value + (sign < 0 ? price_of_not : 0));
	}
}

/* Returns true if a threshold between these two results of a system call is meaningful. */
static bool cuts_results(int64_t low, int64_t high, bool above, bool errors)
{
	/* Error numbers have no order, and "under 4096" does not say whether it includes errors. */
	if (high < 0)
		return false;
	return above || low < 0 || !errors;
}

static void choose_threshold(const struct value_traits *f, const struct value_group *group,
			     unsigned int n, const struct value_sums *sums, struct choice *best)
{
	bool result = f->format == FORMAT_RESULT, errors = result && n && group[0].key < 0;
	double below_in = 0, below_out = 0;
	const struct value_group *last = NULL;

	for (unsigned int i = 0; i < n; i++) {
		const struct value_group *g = &group[i];
		double separation = below_in - below_out;
		bool above = separation < 0;
		struct rule rule = {.kind = above ? RULE_AT_LEAST : RULE_BELOW, .nr = 1};

		if (!g->nr[LEARN][IN] && !g->nr[LEARN][OUT])
			continue;
		if (last && fabs(separation) - price_of_threshold > best->worth &&
		    (!result || cuts_results(last->key, g->key, above, errors))) {
			rule.key[0] = round_between(last->key, g->key, f->is_signed, f->format);
			consider(best, &rule, fabs(separation), price_of_threshold);
		}
		below_in += g->weight[LEARN][IN] / sums->weight[LEARN][IN];
		below_out += g->weight[LEARN][OUT] / sums->weight[LEARN][OUT];
		last = g;
	}
}

static void choose_positive(const struct value_group *group, unsigned int n,
			    const struct value_sums *sums, struct choice *best)
{
	struct rule rule = {.kind = RULE_POSITIVE};
	double separation = 0;

	for (unsigned int i = 0; i < n; i++)
		if (group[i].key > 0)
			separation += contrast(&group[i], sums);
	consider(best, &rule, separation, 0);
}

bool rule_choose(const struct value_traits *traits, const struct value_group *group, unsigned int n,
		 const struct value_sums *sums, struct rule *rule)
{
	struct choice best = {.worth = min_separation / 2};

	if (traits->exact) {
		choose_set(group, n, sums, 1, &best);
		choose_set(group, n, sums, -1, &best);
	}
	if (traits->format == FORMAT_RESULT)
		choose_positive(group, n, sums, &best);
	if (traits->threshold)
		choose_threshold(traits, group, n, sums, &best);
	*rule = best.rule;
	return best.worth > min_separation / 2;
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Fisher's exact test, one-sided. Of n1 and n2 calls, hits1 + hits2 match; returns the probability
 * that at least hits1 of the n1 calls match by chance. The sum stops beyond max_chance. hits1 must
 * exceed what chance gives on average. */
static double fisher(double hits1, double n1, double hits2, double n2)
{
	double hits = hits1 + hits2, all = log_choose(n1 + n2, hits), sum = 0;

	for (double k = hits1; k <= n1 && k <= hits && sum <= max_chance; k++) {
		double term = exp(log_choose(n1, k) + log_choose(n2, hits - k) - all);

		sum += term;
		/* Above the mean, every further term is smaller. */
		if (term < sum * 1e-6)
			break;
	}
	return sum;
}

/* Returns the number of equally weighted calls with the same information (Kish, effective sample
 * size). */
static double effective(const struct value_sums *sums, unsigned int in)
{
	double n = sums->weight[JUDGE][in] * sums->weight[JUDGE][in] / sums->squares[JUDGE][in];

	return n < sums->nr[JUDGE][in] ? n : sums->nr[JUDGE][in];
}

/* Judges the rule on the held-out calls: see values_rule.h. */
bool rule_judge(const struct value_traits *traits, const struct value_group *group, unsigned int n,
		const struct value_sums *sums, const struct rule *rule, double share[2])
{
	double hit[2] = {0, 0}, n_in = effective(sums, IN), n_out = effective(sums, OUT);

	for (unsigned int i = 0; i < n; i++) {
		if (!rule_matches(rule, group[i].key, traits->is_signed))
			continue;
		hit[OUT] += group[i].weight[JUDGE][OUT];
		hit[IN] += group[i].weight[JUDGE][IN];
	}
	for (unsigned int in = 0; in < 2; in++) {
		share[in] = hit[in] / sums->weight[JUDGE][in];
		/* Rounding may make the share differ slightly from 1. */
		if (share[in] > 1 - 1e-9)
			share[in] = 1;
	}
	if (share[IN] - share[OUT] < min_separation)
		return false;
	return fisher(floor(share[IN] * n_in), floor(n_in), ceil(share[OUT] * n_out),
		      ceil(n_out)) <= max_chance;
}
