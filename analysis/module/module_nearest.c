// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suggestions for a name that no function has.
 *
 * The first pass compares every symbol without demangling it: the identifiers in it with the last
 * part of the query. The second pass demangles the best few hundred and compares them whole.
 */
#include <ctype.h>
#include <strings.h>

#include "analysis/base/array.h"
#include "analysis/base/edit_distance.h"
#include "analysis/module/module_internal.h"
#include "analysis/module/module_names.h"

enum {
	KEPT = 256,		  /* candidates of the second pass */
	NEAREST_TEXT = 256 << 20, /* bytes of names that are compared */
	EDIT = 4,		  /* cost of one edit */
	BEGINS = 2,		  /* cost of a name that begins with the query */
	CONTAINS = 3 * EDIT,	  /* cost of a name that contains the query elsewhere */
	UNQUALIFIED = 2,	  /* cost of other qualifiers, or of none */
	SHORT = 3,		  /* a shorter query is only compared with the begin of names */
	FAR = 1 << 20,		  /* cost of a name that is not near */
};

/* A part of a name; not NUL-terminated. */
struct name_part {
	const char *at;
	size_t len;
};

struct candidate {
	unsigned int cost;
	uint32_t symbol;
	const struct module_function *f;
	bool local;
	size_t len;
	char name[EDIT_MAX_TEXT];
};

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* FAR if it is not below `worst`. */
static unsigned int cost_of(struct name_part query, struct name_part name, unsigned int worst)
{
	unsigned int limit = smaller(edit_limit(query.len), (worst - 1) / EDIT), cost, edits;

	if (!query.len || !worst)
		return FAR;
	edits = edit_distance(query.at, query.len, name.at, name.len, limit);
	cost = edits > limit ? FAR : EDIT * edits;
	for (size_t i = 0; i + query.len <= name.len && (!i || query.len >= SHORT); i++)
		if (!strncasecmp(name.at + i, query.at, query.len))
			return smaller(cost, (i ? CONTAINS : BEGINS) +
						 (unsigned int)(name.len - query.len) / 16);
	return cost;
}

/* The nearest of the identifiers in a mangled name: each is a decimal length, then its text. */
static unsigned int mangled_cost(struct name_part query, const char *name, size_t len,
				 unsigned int worst)
{
	unsigned int best = FAR;

	for (size_t i = 2, n = 0; i < len; i++) {
		n = isdigit((unsigned char)name[i]) ? n * 10 + (size_t)(name[i] - '0') : 0;
		if (!n || isdigit((unsigned char)name[i + 1]) || n > len - i - 1)
			continue;
		best = smaller(best, cost_of(query, (struct name_part){name + i + 1, n}, worst));
		i += n;
		n = 0;
	}
	return best;
}

/* Insert behind those that cost no more. Returns how many there are then. */
static size_t keep(struct candidate *list, size_t nr, unsigned int cost, size_t symbol)
{
	size_t i = nr < KEPT ? nr : KEPT - 1;

	for (; i && list[i - 1].cost > cost; i--)
		list[i] = list[i - 1];
	list[i].cost = cost;
	list[i].symbol = (uint32_t)symbol;
	return nr < KEPT ? nr + 1 : nr;
}

static size_t scan(const struct module *m, struct name_part query, struct candidate *list)
{
	size_t budget = NEAREST_TEXT, nr = 0;

	for (size_t i = 0; i < m->nr_symbols && budget; i++) {
		unsigned int worst = nr == KEPT ? list[KEPT - 1].cost : FAR, cost;
		const char *name = symbol_name(m, &m->symbols[i]);
		size_t len = strlen(name);

		budget -= smaller(len, budget);
		if (m->symbols[i].flags & (SYM_PART | SYM_NOTYPE))
			continue;
		cost = name_is_mangled(name) ? mangled_cost(query, name, len, worst)
					     : cost_of(query, (struct name_part){name, len}, worst);
		if (cost < worst)
			nr = keep(list, nr, cost, i);
	}
	return nr;
}

static void compare_whole(const struct module *m, const char *query, struct candidate *c)
{
	const struct symbol *s = &m->symbols[c->symbol];
	struct name_part whole = {query, strcspn(query, "(")}, last, name_last;
	const char *name = symbol_name(m, s);
	char text[NAME_MAX_TEXT];

	if (name_demangle(name, NAME_SHORT, text))
		name = text;
	c->len = strlen(name);
	last.at = name_last_part(query, &last.len);
	name_last.at = name_last_part(name, &name_last.len);
	c->cost = smaller(cost_of(whole, (struct name_part){name, c->len}, FAR),
			  cost_of(last, name_last, FAR) + UNQUALIFIED);
	c->f = module_function_starting(m, s->vaddr);
	c->local = !(s->flags & (SYM_GLOBAL | SYM_WEAK));
	snprintf(c->name, sizeof(c->name), "%.*s", EDIT_MAX_TEXT - 1, name);
}

static int by_cost(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return ascending(x->cost, y->cost) ?: ascending(x->local, y->local)
	       ?: ascending(x->len, y->len) ?: strcmp(x->name, y->name);
}

/* What the first pass looks for: the last part, or its qualifier if that is still being typed. */
static struct name_part key_of(const char *query)
{
	struct name_part key;
	const char *begin;

	key.at = name_last_part(query, &key.len);
	if (key.len >= SHORT || key.at < query + 3)
		return key;
	for (begin = key.at - 2;
	     begin > query && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_');)
		begin--;
	if (begin < key.at - 2)
		key = (struct name_part){begin, (size_t)(key.at - 2 - begin)};
	return key;
}

int module_nearest(struct module *m, const char *name, const struct module_function **out,
		   unsigned int *costs, size_t max)
{
	int err = module_load_functions(m);
	struct candidate *list;
	size_t found, nr = 0;

	if (err || strnlen(name, NAME_MAX_TEXT) == NAME_MAX_TEXT)
		return err;
	list = calloc(KEPT, sizeof(*list));
	if (!list)
		return -ENOMEM;
	found = scan(m, key_of(name), list);
	for (size_t i = 0; i < found; i++)
		compare_whole(m, name, &list[i]);
	qsort(list, found, sizeof(*list), by_cost);
	for (size_t i = 0, j; i < found && nr < max && list[i].cost < FAR; i++) {
		/* Aliases and overloads are suggested once. */
		for (j = 0; j < i; j++)
			if (list[j].f == list[i].f || !strcmp(list[j].name, list[i].name))
				break;
		if (j < i || !list[i].f)
			continue;
		if (costs)
			costs[nr] = list[i].cost;
		out[nr++] = list[i].f;
	}
	free(list);
	return (int)nr;
}
