/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads corpora of recorded profiles (real.txt describes the format) and
 * compares peaks that were found with the labels of a hand.
 */
#ifndef PEAKTOP_TEST_RECORDED_H
#define PEAKTOP_TEST_RECORDED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/peaks.h"
#include "analysis/latency/profile.h"

enum { RECORDED_MAX_PEAKS = 16 };

struct label {
	double low, high; /* log2 ns of the mode */
	bool optional;	  /* the eye cannot decide */
};

struct recorded {
	char name[80];
	struct profile profile;
	unsigned int nr_labels;
	struct label label[RECORDED_MAX_PEAKS];
};

static inline bool recorded_buckets(struct recorded *r, const char *s)
{
	char *end;

	profile_init(&r->profile);
	for (;;) {
		unsigned long bucket = strtoul(s, &end, 10);
		unsigned long long n;

		if (end == s)
			return r->profile.calls > 0;
		if (*end != ':' || bucket >= PT_BUCKETS)
			return false;
		n = strtoull(end + 1, &end, 10);
		r->profile.count[bucket] = n;
		r->profile.calls += n;
		s = end;
	}
}

static inline bool recorded_labels(struct recorded *r, const char *s)
{
	char *end;

	for (r->nr_labels = 0;; r->nr_labels++) {
		struct label *l = &r->label[r->nr_labels];

		if (r->nr_labels == RECORDED_MAX_PEAKS)
			return false;
		l->low = strtod(s, &end);
		if (end == s)
			return r->nr_labels > 0;
		if (*end != '-')
			return false;
		l->high = strtod(end + 1, &end);
		l->optional = *end == '?';
		s = end + l->optional;
	}
}

/* Number of profiles read into `out`, or -1 when the file is missing or malformed. */
static inline int recorded_read(const char *path, struct recorded *out, int max)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	int n = 0;
	bool good = f != NULL;

	while (good && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		if (!strncmp(line, "profile ", 8) && n < max) {
			memset(&out[n], 0, sizeof(out[n]));
			snprintf(out[n++].name, sizeof(out[0].name), "%s", line + 8);
		} else if (!strncmp(line, "buckets ", 8) && n) {
			good = recorded_buckets(&out[n - 1], line + 8);
		} else if (!strncmp(line, "peaks ", 6) && n) {
			good = recorded_labels(&out[n - 1], line + 6);
		} else {
			good = false;
		}
	}
	free(line);
	if (f)
		fclose(f);
	return good ? n : -1;
}

/*
 * Is there a pairing of all peaks from `i` on with labels from `k` on, both in
 * ascending order, that leaves out optional labels only?
 */
static inline bool recorded_pair(const struct recorded *r, unsigned int k,
				 const struct peak_span *peak, unsigned int i, unsigned int n)
{
	double low, high;

	if (k == r->nr_labels)
		return i == n;
	if (i < n) {
		low = peak[i].mode / 8.0;
		high = (peak[i].mode + 1) / 8.0;
		if (high > r->label[k].low && low < r->label[k].high &&
		    recorded_pair(r, k + 1, peak, i + 1, n))
			return true;
	}
	return r->label[k].optional && recorded_pair(r, k + 1, peak, i, n);
}

#endif
