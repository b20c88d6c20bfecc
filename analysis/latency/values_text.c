// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/values_text.h"

#include <math.h>

#include "analysis/base/format.h"
#include "analysis/base/hash.h"
#include "analysis/base/parameters.h"
#include "analysis/latency/samples.h"
#include "analysis/latency/syscall_args.h"

struct value_traits value_traits_of(enum arg_kind kind)
{
	static const struct value_traits table[] = {
	    [ARG_UNKNOWN] = TRAITS(NUMBER, true, true, false),
	    [ARG_NONE] = TRAITS(HEX, false, false, false),
	    [ARG_POINTER] = TRAITS(HEX, false, false, false),
	    [ARG_ADDRESS] = TRAITS(HEX, true, false, false),
	    [ARG_FD] = TRAITS(NUMBER, true, false, true),
	    [ARG_SIZE] = TRAITS(SIZE, true, true, false),
	    [ARG_FLAGS] = TRAITS(HEX, true, false, false),
	    [ARG_INT] = TRAITS(NUMBER, true, true, true),
	    [ARG_FUTEX_OPERATION] = TRAITS(ARG, true, false, true),
	    [ARG_BLOCK_OPERATION] = TRAITS(ARG, true, false, false),
	    [ARG_LOCK_KIND] = TRAITS(ARG, true, false, false),
	    [ARG_QUEUED] = TRAITS(ARG, true, false, false),
	    [ARG_SOCKET_STATE] = TRAITS(ARG, true, false, false),
	    [ARG_FILE_FLAGS] = TRAITS(ARG, true, false, false),
	    [ARG_BLOCK_FLAGS] = TRAITS(ARG, true, false, false),
	    [ARG_NAME] = TRAITS(NAME, true, false, false),
	};
	struct value_traits traits = table[kind];

	traits.arg = kind;
	return traits;
}

/* Returns the number nearest to x with `digits` significant digits. */
static uint64_t round_to(double x, unsigned int digits)
{
	double unit = 1, rounded;

	while (x / unit >= pow(10, digits))
		unit *= 10;
	rounded = nearbyint(x / unit) * unit;
	return rounded < 0x1p63 ? (uint64_t)rounded : UINT64_MAX;
}

int64_t round_between(int64_t low, int64_t high, bool is_signed, enum value_format format)
{
	uint64_t l = (uint64_t)low, h = (uint64_t)high, t;
	double middle;

	if (is_signed && low < 0)
		return high >= 0 ? 0 : high;
	middle = sqrt((l ? (double)l : 1.0) * (double)h);
	if (format == FORMAT_SIZE || format == FORMAT_RESULT) {
		double power = nearbyint(log2(middle));

		for (int i = 0; i < 3; i++) {
			static const int step[] = {0, 1, -1};
			double p = power + step[i];

			t = p >= 0 && p < 63 ? 1ULL << (unsigned int)p : 0;
			if (t > l && t <= h)
				return (int64_t)t;
		}
	}
	for (unsigned int digits = 1; digits < 16; digits++) {
		t = round_to(middle, digits);
		if (t > l && t <= h)
			return (int64_t)t;
	}
	return high;
}

static void put(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%s", text);
}

/* The name of an error, if a function that returns the number means one. Most functions that return
 * -1 mean any error, not EPERM. */
static const char *perhaps_error(int64_t result)
{
	return result < -1 && result > -4096 ? strerrorname_np((int)-result) : NULL;
}

int64_t string_key(const char *text)
{
	return (int64_t)hash_bytes(text, strlen(text));
}

static void string_text(char *to, size_t size, int64_t key, const struct value_traits *traits)
{
	const struct value_strings *strings = traits->strings;

	for (unsigned int i = 0; strings && i < strings->n; i++) {
		const struct call_sample *c = strings->call[i];

		if (!(c->known & SAMPLE_TEXT) || string_key(c->text) != key)
			continue;
		if (traits->format == FORMAT_NAME)
			snprintf(to, size, "%s", c->text);
		/* of a string that fills the room there may be more */
		else if (strlen(c->text) == SAMPLE_TEXT_BYTES - 1)
			snprintf(to, size, "\"%.*s...\"", SAMPLE_TEXT_BYTES - 2, c->text);
		else
			snprintf(to, size, "\"%s\"", c->text);
		return;
	}
	snprintf(to, size, "?");
}

void value_text(char *to, size_t size, int64_t key, const struct value_traits *traits)
{
	const char *error, *word = NULL;

	switch (traits->format) {
	case FORMAT_TIME:
		snprintf(to, size, "%s", format_time((uint64_t)key).s);
		return;
	case FORMAT_HEX:
		snprintf(to, size, "0x%" PRIx64, (uint64_t)key);
		return;
	case FORMAT_RESULT:
		error = key < 0 && key > -4096 ? strerrorname_np((int)-key) : NULL;
		/* The kernel restarts the call after a signal; programs never see this result. */
		if (key <= -512 && key >= -516)
			error = "restarted after a signal";
		if (error) {
			snprintf(to, size, "%" PRId64 " (%s)", key, error);
			return;
		}
		break;
	case FORMAT_STATUS:
		error = perhaps_error(key);
		if (error) {
			snprintf(to, size, "%" PRId64 " (perhaps %s)", key, error);
			return;
		}
		break;
	case FORMAT_ARG:
		if (arg_words((enum arg_kind)traits->arg, key, to, size))
			return;
		break;
	case FORMAT_BOOL:
		word = key ? "true" : "false";
		break;
	case FORMAT_WORD:
		if (parameter_word(traits->words, key, to, size))
			return;
		break;
	case FORMAT_STRING:
	case FORMAT_NAME:
		string_text(to, size, key, traits);
		return;
	case FORMAT_COUNT:
	case FORMAT_NUMBER:
	case FORMAT_SIZE:
		break;
	}
	if (word) {
		snprintf(to, size, "%s", word);
		return;
	}
	/* A value beyond 32 bits is an address or a mask rather than a number. */
	if (key > UINT32_MAX || key < -(int64_t)UINT32_MAX)
		snprintf(to, size, "0x%" PRIx64, (uint64_t)key);
	else
		snprintf(to, size, "%" PRId64, key);
}

/* Writes 100% and 0% only for all and none. */
static void share_text(char *to, size_t size, double share)
{
	if (share > 0.995 && share < 1)
		snprintf(to, size, "over 99%%");
	else if (share > 0 && share < 0.005)
		snprintf(to, size, "under 1%%");
	else
		snprintf(to, size, "%.0f%%", 100 * share);
}

static void threshold_text(char *to, size_t size, const struct rule *r,
			   const struct value_traits *traits)
{
	enum value_format format = traits->format;
	char value[PARAMETER_NAME];
	bool above = r->kind == RULE_AT_LEAST;

	value_text(value, sizeof(value), r->key[0], traits);
	if (format == FORMAT_RESULT && !r->key[0])
		snprintf(to, size, "%s", above ? "no error" : "an error");
	else if (format == FORMAT_COUNT && r->key[0] == 1 && !above)
		snprintf(to, size, "none");
	else if (format == FORMAT_TIME)
		snprintf(to, size, "%s %s", above ? "over" : "under", value);
	else
		snprintf(to, size, "%s %s", above ? "at least" : "under", value);
}

void rule_text(char *to, size_t size, const struct rule *r, const struct value_traits *traits,
	       double share_in, double share_out)
{
	char what[3 * PARAMETER_NAME] = "", in[16], out[16], value[PARAMETER_NAME];

	switch (r->kind) {
	case RULE_IN:
	case RULE_NOT_IN:
		put(what, sizeof(what), r->kind == RULE_IN ? "" : r->nr > 1 ? "neither " : "not ");
		for (unsigned int i = 0; i < r->nr; i++) {
			if (i)
				put(what, sizeof(what), r->kind == RULE_IN ? " or " : " nor ");
			value_text(value, sizeof(value), r->key[i], traits);
			put(what, sizeof(what), value);
		}
		break;
	case RULE_POSITIVE:
		put(what, sizeof(what), "above 0");
		break;
	case RULE_AT_LEAST:
	case RULE_BELOW:
		threshold_text(what, sizeof(what), r, traits);
		break;
	}
	share_text(in, sizeof(in), share_in);
	share_text(out, sizeof(out), share_out);
	snprintf(to, size, "%s in %s of these, %s of the others", what, in, out);
}
