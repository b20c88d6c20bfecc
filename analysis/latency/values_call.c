// SPDX-License-Identifier: GPL-2.0-or-later
/* The values by which one call differs from ordinary ones. */

#include "analysis/base/array.h"
#include "analysis/latency/values_impl.h"
#include "analysis/latency/values_text.h"

enum {
	LEAST_CALLS = 20, /* ordinary calls that must be known */
	LEAST_FAULTS = 16,
	LARGER = 4,  /* a number is unusual if it is so many times the largest ordinary one */
	USUAL = 2,   /* at most so many different values are usual */
	RARE = 50,   /* a value is rare if one in so many ordinary calls has it */
	NEARLY = 20, /* and nearly all have a usual one if only one in so many has another */
};

/* Above this as unsigned numbers, values are addresses rather than numbers. */
#define ADDRESSES (1ULL << 40)

/* The values of the ordinary calls of one feature, ascending. */
struct ordinary_keys {
	int64_t *key;
	unsigned int nr;
	bool is_signed;
};

static int by_value(const void *a, const void *b)
{
	return ascending(*(const int64_t *)a, *(const int64_t *)b);
}

static int by_unsigned_value(const void *a, const void *b)
{
	return ascending(*(const uint64_t *)a, *(const uint64_t *)b);
}

static void collect(const struct value_table *t, unsigned int f, struct ordinary_keys *k)
{
	const unsigned int bit = value_known_bit(f);

	k->nr = 0;
	k->is_signed = t->feature[f].traits.is_signed;
	for (unsigned int i = 0; i < t->n; i++) {
		if (!bit || t->call[i]->known & bit)
			k->key[k->nr++] = value_key(t, f, t->call[i]);
	}
	qsort(k->key, k->nr, sizeof(*k->key), k->is_signed ? by_value : by_unsigned_value);
}

/* True if the number is much larger than those of all ordinary calls. */
static bool is_larger(const struct ordinary_keys *k, int64_t key)
{
	const int64_t most = k->key[k->nr - 1];

	if (k->is_signed)
		return key > 0 && key / LARGER >= (most > 0 ? most : 0) && key > most;
	return (uint64_t)key / LARGER >= (uint64_t)most && (uint64_t)key > (uint64_t)most;
}

struct usual {
	int64_t key;
	unsigned int nr;
};

/* The most frequent values, the most frequent one first. Returns their number. */
static unsigned int find_usual(const struct ordinary_keys *k, struct usual usual[USUAL])
{
	unsigned int n = 0, end;

	for (unsigned int i = 0; i < k->nr; i = end) {
		struct usual fresh = {.key = k->key[i]};

		for (end = i; end < k->nr && k->key[end] == fresh.key; end++)
			fresh.nr++;
		for (unsigned int at = 0; at < USUAL; at++) {
			struct usual before = usual[at];

			if (at < n && before.nr >= fresh.nr)
				continue;
			usual[at] = fresh;
			if (at >= n) {
				n = at + 1;
				break;
			}
			fresh = before;
		}
	}
	return n;
}

static unsigned int count(const struct ordinary_keys *k, int64_t key)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < k->nr; i++)
		nr += k->key[i] == key;
	return nr;
}

/* Describe a value that nearly no ordinary call has, while nearly all have a usual one. */
static bool is_other(const struct ordinary_keys *k, int64_t key, const struct value_traits *traits,
		     char *text, size_t size)
{
	struct usual usual[USUAL];
	char one[VALUES_NAME], first[VALUES_NAME], second[VALUES_NAME] = "";
	unsigned int n, covered;

	if (count(k, key) * RARE > k->nr)
		return false;
	n = find_usual(k, usual);
	covered = usual[0].nr;
	if ((k->nr - covered) * NEARLY > k->nr && n > 1) {
		covered += usual[1].nr;
		value_text(second, sizeof(second), usual[1].key, traits);
	}
	if ((k->nr - covered) * NEARLY > k->nr)
		return false;
	value_text(one, sizeof(one), key, traits);
	value_text(first, sizeof(first), usual[0].key, traits);
	snprintf(text, size, "%s (ordinary calls: %s%s%s)", one, first, second[0] ? " or " : "",
		 second);
	return true;
}

static void describe_larger(const struct ordinary_keys *k, int64_t key,
			    const struct value_traits *traits, char *text, size_t size)
{
	char one[VALUES_NAME], most[VALUES_NAME];

	value_text(one, sizeof(one), key, traits);
	value_text(most, sizeof(most), k->key[k->nr - 1], traits);
	if (!k->key[k->nr - 1] && traits->format == FORMAT_COUNT)
		snprintf(text, size, "%s (ordinary calls: none)", one);
	else
		snprintf(text, size, "%s (ordinary calls: at most %s)", one, most);
}

/* False for what says nothing: a short time on the CPU, a few page faults. */
static bool is_worth_it(unsigned int f, int64_t key, const struct call_sample *call)
{
	if (f == F_ONCPU)
		return (uint64_t)key > call->latency_ns / LARGER;
	return f != F_MINOR_FAULTS || key >= LEAST_FAULTS;
}

/* Describe what the call has in place of the values of ordinary calls. False: nothing. */
static bool differs(const struct value_table *t, unsigned int f, const struct call_sample *call,
		    struct ordinary_keys *k, char *text, size_t size)
{
	const struct value_traits *traits = &t->feature[f].traits;
	const unsigned int bit = value_known_bit(f);
	bool numbers = traits->threshold;
	int64_t key;

	if ((bit && !(call->known & bit)) || (!traits->exact && !traits->threshold))
		return false;
	collect(t, f, k);
	if (k->nr < LEAST_CALLS)
		return false;
	key = value_key(t, f, call);
	if (!k->is_signed && traits->format == FORMAT_NUMBER)
		numbers =
		    numbers && (uint64_t)key < ADDRESSES && (uint64_t)k->key[k->nr - 1] < ADDRESSES;
	if (numbers && is_larger(k, key) && is_worth_it(f, key, call)) {
		describe_larger(k, key, traits, text, size);
		return true;
	}
	return traits->exact && is_other(k, key, traits, text, size);
}

void values_of_call(const struct value_table *t, const struct call_sample *call, struct values *out)
{
	/* the result and the times are known once the story is */
	static const unsigned int order[] = {F_ARG0,	     F_ARG0 + 1, F_ARG0 + 2, F_ARG0 + 3,
					     F_ARG0 + 4,     F_ARG0 + 5, F_THREAD,   F_MAJOR_FAULTS,
					     F_MINOR_FAULTS, F_SLEEPS,	 F_ONCPU};
	struct ordinary_keys k = {.key = calloc(t->n + 1, sizeof(*k.key))};

	out->nr = 0;
	for (size_t i = 0; k.key && i < ARRAY_SIZE(order) && out->nr < VALUES_MAX; i++) {
		const struct feature *f = &t->feature[order[i]];

		if (!differs(t, order[i], call, &k, out->text[out->nr], VALUES_TEXT))
			continue;
		snprintf(out->name[out->nr], VALUES_NAME, "%s", f->name);
		out->value[out->nr] = (struct peak_value){.name = out->name[out->nr],
							  .text = out->text[out->nr],
							  .in_program = f->in_program};
		out->nr++;
	}
	free(k.key);
}
