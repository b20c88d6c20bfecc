// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names most like one that was mistyped.
 *
 * Two passes: every symbol is measured by the identifier in it that is nearest
 * to the last part of the query (bit-parallel edit distance: Myers, J. ACM
 * 46(3), 1999, in Hyyro's form for whole strings), and the best few hundred are
 * then demangled and measured as a person sees them, with transpositions as one
 * edit (optimal string alignment).
 */
#include <ctype.h>
#include <errno.h>
#include <strings.h>

#include "analysis/module/module_internal.h"
#include "analysis/module/module_names.h"

enum {
	PATTERN = 64,		  /* characters of the query that count */
	KEPT = 256,		  /* candidates for the second pass */
	COMPARED = 160,		  /* characters of a name that count in the second pass */
	NEAREST_TEXT = 512 << 20, /* bytes looked at */
	FAR = 1 << 20,
	SHORT = 3,
};

struct candidate {
	unsigned int cost;
	uint32_t symbol;
};

struct nearest {
	const struct module *m;
	uint64_t mask[256]; /* of the pattern, letters of both cases */
	char pattern[PATTERN + 1];
	unsigned int len;
	struct candidate heap[KEPT]; /* worst first */
	size_t nr;
	size_t budget;
};

/* ---- first pass ---- */

/* Edits between the pattern and `n` bytes of text. */
static unsigned int edits(const struct nearest *x, const char *text, size_t n)
{
	uint64_t pv = ~0ULL, mv = 0, last = 1ULL << (x->len - 1);
	unsigned int score = x->len;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t eq = x->mask[(uint8_t)text[i]];
		uint64_t xv = eq | mv, xh = (((eq & pv) + pv) ^ pv) | eq;
		uint64_t ph = mv | ~(xh | pv), mh = pv & xh;

		if (ph & last)
			score++;
		if (mh & last)
			score--;
		ph = ph << 1 | 1;
		mh <<= 1;
		pv = mh | ~(xv | ph);
		mv = ph & xv;
	}
	return score;
}

static bool same_letters(const char *text, const char *pattern, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (tolower((unsigned char)text[i]) != pattern[i])
			return false;
	return true;
}

/* A name that contains the query costs little, the less the shorter it is. */
static unsigned int containing(const struct nearest *x, const char *text, size_t n)
{
	size_t i;

	/* of two letters only the beginning says something */
	if (x->len < SHORT)
		return n >= x->len && same_letters(text, x->pattern, x->len)
			   ? 1 + (unsigned int)((n - x->len) / 16)
			   : FAR;
	for (i = 0; i + x->len <= n; i++)
		if (tolower((unsigned char)text[i]) == x->pattern[0] &&
		    same_letters(text + i, x->pattern, x->len))
			return 2 + (unsigned int)((n - x->len) / 16) + (i != 0);
	return FAR;
}

static unsigned int worst(const struct nearest *x)
{
	/* Edits beyond half of the query's length are no likeness. */
	return x->nr == KEPT ? x->heap[0].cost : x->len / 2 + 2;
}

static unsigned int identifier_cost(const struct nearest *x, const char *text, size_t n)
{
	size_t differ = n > x->len ? n - x->len : x->len - n;
	unsigned int cost = FAR;

	if (differ < worst(x))
		cost = edits(x, text, n > PATTERN ? PATTERN : n);
	if (n > PATTERN)
		cost += (unsigned int)(n - PATTERN);
	if (n > x->len && cost > (x->len < SHORT ? 1 : 2)) {
		unsigned int c = containing(x, text, n);

		if (c < cost)
			cost = c;
	}
	return cost;
}

/* The nearest of the identifiers in a mangled name: decimal length, then text. */
static unsigned int mangled_cost(const struct nearest *x, const char *name, size_t len)
{
	unsigned int best = FAR;
	size_t i = 2;

	while (i < len) {
		size_t n = 0;
		unsigned int cost;

		if (name[i] < '1' || name[i] > '9') {
			i++;
			continue;
		}
		while (i < len && isdigit((unsigned char)name[i]) && n < MODULE_MAX_NAME)
			n = n * 10 + (size_t)(name[i++] - '0');
		if (n > len - i)
			continue;
		cost = identifier_cost(x, name + i, n);
		if (cost < best)
			best = cost;
		i += n;
	}
	return best;
}

static void sift_down(struct nearest *x, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct candidate t;

		if (child >= x->nr)
			return;
		if (child + 1 < x->nr && x->heap[child + 1].cost > x->heap[child].cost)
			child++;
		if (x->heap[i].cost >= x->heap[child].cost)
			return;
		t = x->heap[i];
		x->heap[i] = x->heap[child];
		x->heap[child] = t;
		i = child;
	}
}

static void keep(struct nearest *x, unsigned int cost, size_t symbol)
{
	size_t i;

	if (x->nr < KEPT) {
		x->heap[x->nr++] = (struct candidate){cost, (uint32_t)symbol};
		if (x->nr == KEPT)
			for (i = KEPT / 2; i-- > 0;)
				sift_down(x, i);
		return;
	}
	x->heap[0] = (struct candidate){cost, (uint32_t)symbol};
	sift_down(x, 0);
}

static void scan(struct nearest *x)
{
	const struct module *m = x->m;
	size_t i;

	for (i = 0; i < m->nr_symbols && x->budget; i++) {
		const char *name = symbol_name(m, &m->symbols[i]);
		size_t len = strlen(name);
		unsigned int cost;

		x->budget -= len < x->budget ? len : x->budget;
		if (m->symbols[i].flags & (SYM_PART | SYM_NOTYPE))
			continue;
		if (name_is_mangled(name))
			cost = mangled_cost(x, name, len);
		else
			cost = identifier_cost(x, name, len);
		if (cost < worst(x))
			keep(x, cost, i);
	}
}

/* ---- second pass ---- */

/* Optimal string alignment distance, letters of both cases alike. */
static unsigned int alignment(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int rows[3][COMPARED + 1], *prev2 = rows[0], *prev = rows[1], *row = rows[2], *t;
	size_t i, j;

	na = na > COMPARED ? COMPARED : na;
	nb = nb > COMPARED ? COMPARED : nb;
	for (j = 0; j <= nb; j++)
		prev[j] = (unsigned int)j;
	for (i = 1; i <= na; i++) {
		int ca = tolower((unsigned char)a[i - 1]);

		row[0] = (unsigned int)i;
		for (j = 1; j <= nb; j++) {
			int cb = tolower((unsigned char)b[j - 1]);
			unsigned int d = prev[j - 1] + (ca != cb);

			if (prev[j] + 1 < d)
				d = prev[j] + 1;
			if (row[j - 1] + 1 < d)
				d = row[j - 1] + 1;
			if (i > 1 && j > 1 && tolower((unsigned char)b[j - 2]) == ca &&
			    tolower((unsigned char)a[i - 2]) == cb && prev2[j - 2] + 1 < d)
				d = prev2[j - 2] + 1;
			row[j] = d;
		}
		t = prev2;
		prev2 = prev;
		prev = row;
		row = t;
	}
	return prev[nb];
}

struct ranked {
	unsigned int cost; /* four per edit */
	const struct function *f;
	bool local;
	size_t len;
	char name[COMPARED + 1];
};

static void rank_one(const struct nearest *x, const char *query, struct ranked *r, size_t symbol)
{
	const struct module *m = x->m;
	const char *name = symbol_name(m, &m->symbols[symbol]), *last, *query_last;
	size_t last_len, query_len;
	char text[NAME_MAX_TEXT];
	unsigned int whole, part, inside;

	r->f = module_function_starting(m, m->symbols[symbol].vaddr);
	r->local = !(m->symbols[symbol].flags & (SYM_GLOBAL | SYM_WEAK));
	if (name_demangle(name, NAME_SHORT, text))
		name = text;
	r->len = strlen(name);
	snprintf(r->name, sizeof(r->name), "%.*s", COMPARED, name);
	query_last = name_last_part(query, &query_len);
	last = name_last_part(name, &last_len);
	whole = 4 * alignment(query, strcspn(query, "("), name, r->len);
	/* Other qualifiers, or none, are less of a difference than other letters. */
	part = 4 * alignment(query_last, query_len, last, last_len) + 2;
	inside = containing(x, name, r->len);
	inside = inside == FAR ? FAR : 4 * inside;
	r->cost = whole < part ? whole : part;
	if (inside < r->cost)
		r->cost = inside;
	/* as it is typed: qualifiers, and the beginning of the rest */
	if (query_last > query && strncasecmp(name, query, strlen(query)) == 0)
		r->cost = r->cost < 2 ? r->cost : 2;
}

static int by_cost(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	if (x->local != y->local)
		return x->local ? 1 : -1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int choose(struct nearest *x, const char *query, const struct function **out, size_t max)
{
	struct ranked *r = calloc(KEPT, sizeof(*r));
	size_t i, j, nr = 0, ranked = 0;

	if (!r)
		return -ENOMEM;
	for (i = 0; i < x->nr; i++) {
		rank_one(x, query, &r[ranked], x->heap[i].symbol);
		if (r[ranked].f && r[ranked].cost <= 4 * (x->len / 2) + 6)
			ranked++;
	}
	qsort(r, ranked, sizeof(*r), by_cost);
	for (i = 0; i < ranked && nr < max; i++) {
		for (j = 0; j < i; j++)
			if (r[j].f == r[i].f || strcmp(r[j].name, r[i].name) == 0)
				break;
		if (j == i)
			out[nr++] = r[i].f;
	}
	free(r);
	return (int)nr;
}

/* What stands before the "::" before the last part; the last part itself where there is none. */
static const char *qualifier(const char *name, const char *last, size_t *len)
{
	const char *end = last - 2, *p;

	if (last < name + 3 || strncmp(end, "::", 2) != 0)
		return last;
	for (p = end; p > name && (isalnum((unsigned char)p[-1]) || p[-1] == '_'); p--)
		;
	if (p < end) {
		*len = (size_t)(end - p);
		return p;
	}
	return last;
}

int module_nearest(struct module *m, const char *name, const struct function **out, size_t max)
{
	struct nearest *x;
	size_t len, i;
	const char *last;
	int err = module_load_functions(m);

	if (err)
		return err;
	if (strnlen(name, NAME_MAX_TEXT) == NAME_MAX_TEXT)
		return 0;
	last = name_last_part(name, &len);
	/* "Server::ha" is being typed: its qualifier says more */
	if (len < SHORT)
		last = qualifier(name, last, &len);
	if (!len)
		return 0;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->m = m;
	x->budget = NEAREST_TEXT;
	x->len = len > PATTERN ? PATTERN : (unsigned int)len;
	for (i = 0; i < x->len; i++) {
		x->pattern[i] = (char)tolower((unsigned char)last[i]);
		x->mask[(uint8_t)x->pattern[i]] |= 1ULL << i;
		x->mask[(uint8_t)toupper((unsigned char)last[i])] |= 1ULL << i;
	}
	scan(x);
	err = choose(x, name, out, max);
	free(x);
	return err;
}
