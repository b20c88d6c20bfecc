// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/inlined.h"

struct sample {
	const struct rec_inlines *chain;
	struct rec_code place;
	uint64_t ns;
};

/* Returns the inlined call at a level of a chain, where 0 is the outermost; NULL: the chain is not
 * that deep. */
static const struct rec_inline *call_at(const struct rec_inlines *c, unsigned int level)
{
	return level < c->nr_calls ? &c->calls[c->nr_calls - 1 - level] : NULL;
}

static bool same_line(const struct rec_inline *a, const struct rec_inline *b)
{
	return a->line == b->line && !strcmp(a->file, b->file);
}

/* Sets the line and the address of a level with most samples, and the time of all samples. */
static void heaviest_line(const struct sample *s, unsigned int nr, unsigned int level,
			  struct inlined_level *out)
{
	uint64_t most = 0, place = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct rec_inline *at = call_at(s[i].chain, level);
		uint64_t ns = 0;

		for (unsigned int k = 0; k < nr; k++)
			ns += same_line(call_at(s[k].chain, level), at) ? s[k].ns : 0;
		if (at->line && ns > most) {
			most = ns;
			out->file = at->file;
			out->line = at->line;
		}
		if (s[i].ns > place) {
			place = s[i].ns;
			out->place = s[i].place;
		}
		out->ns += s[i].ns;
	}
}

static bool in_loop(const struct rec_inlines *c, unsigned int level, uint32_t first, uint32_t last)
{
	return c->loop_first == first && c->loop_last == last &&
	       c->nr_calls - 1 - c->loop_call == level;
}

/* Sets a loop of this level that holds at least half of its samples. */
static void heaviest_loop(const struct sample *s, unsigned int nr, unsigned int level,
			  struct inlined_level *out)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct rec_inlines *c = s[i].chain;
		uint64_t ns = 0;

		if (!c->loop_first || c->loop_call >= c->nr_calls)
			continue;
		for (unsigned int k = 0; k < nr; k++)
			ns += in_loop(s[k].chain, level, c->loop_first, c->loop_last) ? s[k].ns : 0;
		if (2 * ns >= out->ns) {
			out->loop_first = c->loop_first;
			out->loop_last = c->loop_last;
			return;
		}
	}
}

/* Keeps only the samples in the inlined function that holds most of the time. Returns their number;
 * 0 if no function holds half of `all`, the time in the last function of the path. */
static unsigned int follow(struct sample *s, unsigned int nr, unsigned int level, uint64_t all)
{
	const char *best = NULL;
	unsigned int kept = 0;
	uint64_t most = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct rec_inline *at = call_at(s[i].chain, level);
		uint64_t ns = 0;

		for (unsigned int k = 0; at && k < nr; k++) {
			const struct rec_inline *other = call_at(s[k].chain, level);

			ns += other && !strcmp(other->function, at->function) ? s[k].ns : 0;
		}
		if (ns > most) {
			most = ns;
			best = at->function;
		}
	}
	if (!best || 2 * most < all)
		return 0;
	for (unsigned int i = 0; i < nr; i++) {
		const struct rec_inline *at = call_at(s[i].chain, level);

		if (at && !strcmp(at->function, best))
			s[kept++] = s[i];
	}
	return kept;
}

void inlined_narrow(const struct descent_path *p, inlined_lookup *lookup, const void *ctx,
		    struct inlined *out)
{
	struct sample s[DESCENT_PCS];
	unsigned int nr = 0;

	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < p->nr_pcs && i < DESCENT_PCS; i++) {
		const struct rec_inlines *c = lookup(ctx, p->pcs[i].place);

		out->ns += p->pcs[i].ns;
		if (c && c->nr_calls)
			s[nr++] = (struct sample){c, p->pcs[i].place, p->pcs[i].ns};
	}
	while (nr && out->nr < INLINED_LEVELS) {
		struct inlined_level *l = &out->level[out->nr];

		*l = (struct inlined_level){.function = call_at(s[0].chain, out->nr)->function,
					    .file = ""};
		heaviest_line(s, nr, out->nr, l);
		heaviest_loop(s, nr, out->nr, l);
		nr = follow(s, nr, ++out->nr, out->ns);
	}
}
