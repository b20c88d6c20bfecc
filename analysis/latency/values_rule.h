/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of value correlation: chosen on one half of the calls, judged on the other half. Internal
 * to values*.c; docs/notes/values.md has the method. */
#pragma once

enum {
	RULE_KEYS = 3,
	RULE_MIN_CALLS = 3, /* calls of the peak and of the rest needed in each half */
};

/* How a value is compared and written. */
enum value_format {
	FORMAT_NUMBER,
	FORMAT_SIZE,   /* thresholds at powers of two where possible */
	FORMAT_COUNT,  /* number of events: 0 is written as "none" */
	FORMAT_TIME,   /* ns */
	FORMAT_HEX,    /* flags, addresses */
	FORMAT_RESULT, /* result of a system call: -4095..-1 are errors */
	FORMAT_STATUS, /* result of a function: small negative numbers are perhaps errors */
	FORMAT_ARG,    /* words of arg_words() */
	FORMAT_BOOL,
	FORMAT_WORD, /* an enumeration of the program */
	FORMAT_STRING,
	FORMAT_NAME, /* a string that is no text of the program */
};

/* The strings for which keys of FORMAT_STRING and FORMAT_NAME stand. */
struct value_strings {
	const struct call_sample *const *call;
	unsigned int n;
};

/* The kinds of rules that are meaningful for a value. */
struct value_traits {
	enum value_format format;
	bool exact;			     /* values may be compared for equality */
	bool threshold;			     /* values may be compared with a threshold */
	bool is_signed;			     /* keys are signed; false: compare them as uint64_t */
	const char *words;		     /* FORMAT_WORD: struct parameter.words */
	const struct value_strings *strings; /* FORMAT_STRING, FORMAT_NAME */
	unsigned int arg;		     /* FORMAT_ARG: enum arg_kind */
};

/* An initializer: TRAITS(NUMBER, exact, threshold, signed). */
#define TRAITS(format_, exact_, threshold_, signed_)                                               \
	{                                                                                          \
		.format = FORMAT_##format_, .exact = exact_, .threshold = threshold_,              \
		.is_signed = signed_                                                               \
	}

enum rule_kind {
	RULE_IN,       /* one of key[0..nr) */
	RULE_NOT_IN,   /* none of them */
	RULE_POSITIVE, /* above 0 */
	RULE_AT_LEAST, /* key[0] or more */
	RULE_BELOW,    /* less than key[0] */
};

struct rule {
	enum rule_kind kind;
	unsigned int nr;
	int64_t key[RULE_KEYS];
};

enum { LEARN = 0, JUDGE = 1, OUT = 0, IN = 1 };

/* All calls with one value. First index: LEARN or JUDGE; second index: OUT of the peak or IN it. */
struct value_group {
	int64_t key;
	double weight[2][2];
	unsigned int nr[2][2];
};

/* Sums over all values. */
struct value_sums {
	double weight[2][2], squares[2][2];
	unsigned int nr[2][2];
};

/* Chooses the rule that best separates the calls of the half LEARN. The groups are in ascending
 * order of their keys. Returns false if no rule is good enough. Each of sums->nr must be at least
 * RULE_MIN_CALLS. */
bool rule_choose(const struct value_traits *traits, const struct value_group *group, unsigned int n,
		 const struct value_sums *sums, struct rule *rule);

/* Computes the shares of the held-out calls that match the rule, in the peak and outside. Returns
 * false if the shares differ too little, or may differ by chance. */
bool rule_judge(const struct value_traits *traits, const struct value_group *group, unsigned int n,
		const struct value_sums *sums, const struct rule *rule, double share[2]);
