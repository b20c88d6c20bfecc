// SPDX-License-Identifier: GPL-2.0-or-later
/* The chains of inlined calls at places in code, and the loops around these. */

#include "analysis/code/blocks.h"
#include "tui/parser/serve_internal.h"

enum {
	ANSWER_BYTES = FRAME_MAX_PAYLOAD - (64 << 10),
	NUMBERS_BYTES = 24,    /* bytes of one inlined call, without its text */
	LOOP_MAX_BYTES = 4096, /* of code: larger loops are not reported */
};

_Static_assert((int)PARSE_MAX_INLINES == (int)MODULE_MAX_INLINES, "calls of one chain");

/* The chain of inlined calls at an offset; without debug information the function alone. */
static size_t chain_at(struct module *m, uint64_t offset, struct module_inline *calls)
{
	const struct module_function *f;
	uint64_t vaddr;
	int n;

	if (module_vaddr_of(m, offset, &vaddr))
		return 0;
	n = module_inlines(m, vaddr, calls, MODULE_MAX_INLINES);
	if (n > 0)
		return (size_t)n;
	f = module_function_at(m, vaddr);
	if (!f)
		return 0;
	calls[0] = (struct module_inline){.name = module_function_name(m, f)};
	if (module_line(m, vaddr, &calls[0].file, &calls[0].line)) {
		calls[0].file = NULL;
		calls[0].line = 0;
	}
	return 1;
}

static size_t text_bytes(const char *text)
{
	return text ? strnlen(text, CODEC_MAX_TEXT) : 0;
}

struct code_loop {
	uint64_t start, end; /* addresses, half-open; 0: none */
};

/* The shortest range of code around the address that ends with a jump back to its start. */
static struct code_loop loop_around(struct placer *p, uint64_t vaddr)
{
	struct code_loop best = {0};
	enum place_why why;
	struct blocks b;

	if (flow_load(p, vaddr, &why) || blocks_find(p, &b))
		return best;
	for (size_t i = 0; i < b.nr; i++) {
		const struct block *k = &b.block[i];

		if (!k->loop || !k->target || k->target > k->start || k->target > vaddr ||
		    vaddr >= k->end)
			continue;
		if (!best.end || k->end - k->target < best.end - best.start)
			best = (struct code_loop){k->target, k->end};
	}
	blocks_release(&b);
	return best.end - best.start <= LOOP_MAX_BYTES ? best : (struct code_loop){0};
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The number of outermost calls that two chains have in common. The innermost common call may have
 * different lines. */
static size_t in_common(const struct module_inline *a, size_t na, const struct module_inline *b,
			size_t nb)
{
	size_t n = 0;

	while (n < na && n < nb) {
		const struct module_inline *x = &a[na - 1 - n], *y = &b[nb - 1 - n];

		if (!same_text(x->name, y->name) || x->inlined != y->inlined)
			break;
		n++;
		if (x->line != y->line || !same_text(x->file, y->file))
			break;
	}
	return n;
}

/* The number of nested inlined calls at instruction `i`; 0 or less if the instruction is outside
 * the loop or the calls are unknown. */
static int chain_in(struct module *m, const struct part_code *pc, size_t i, struct code_loop loop,
		    struct module_inline *out)
{
	uint64_t vaddr = pc->part->start + pc->insns[i].off;

	return vaddr >= loop.start && vaddr < loop.end
		   ? module_inlines(m, vaddr, out, MODULE_MAX_INLINES)
		   : 0;
}

/* Store the source lines of a loop within the innermost inlined call that contains the whole loop.
 */
static void loop_lines(struct module *m, const struct part_code *pc, struct code_loop loop,
		       const struct module_inline *calls, size_t nr, struct parsed_chain *out)
{
	size_t common = nr;
	uint32_t first = 0, last = 0;

	for (size_t i = 0; i < pc->nr && common; i++) {
		struct module_inline at[MODULE_MAX_INLINES];
		int n = chain_in(m, pc, i, loop, at);
		size_t c = n > 0 ? in_common(calls, nr, at, (size_t)n) : common;

		common = c < common ? c : common;
	}
	for (size_t i = 0; i < pc->nr && common; i++) {
		struct module_inline at[MODULE_MAX_INLINES], *call;
		int n = chain_in(m, pc, i, loop, at);

		call = n >= (int)common ? &at[(size_t)n - common] : NULL;
		if (!call || !call->line || !same_text(call->file, calls[nr - common].file))
			continue;
		first = first && first < call->line ? first : call->line;
		last = last > call->line ? last : call->line;
	}
	if (!common || !first)
		return;
	out->loop_call = (uint32_t)(nr - common);
	out->loop_first = first;
	out->loop_last = last;
}

static void find_loop(struct server *s, struct module *m, const struct module_inline *calls,
		      size_t nr, struct parsed_chain *out)
{
	const struct part_code *pc;
	struct code_loop loop;
	struct placer *p;
	uint64_t vaddr;
	const char *reason;
	int err;

	if (!s->request.max || module_vaddr_of(m, out->offset, &vaddr))
		return;
	p = server_placer(s, s->request.module, &err, &reason);
	if (!p)
		return;
	loop = loop_around(p, vaddr);
	pc = loop.end ? flow_part(&p->flow, vaddr) : NULL;
	if (pc)
		loop_lines(m, pc, loop, calls, nr, out);
}

/* Fill one chain if `*room`, the bytes left in the answer, suffices. 0 or -ENOMEM. */
static int describe_chain(struct server *s, struct module *m, struct parsed_chain *chain,
			  size_t *room)
{
	struct module_inline calls[MODULE_MAX_INLINES];
	size_t n = chain_at(m, chain->offset, calls), bytes = NUMBERS_BYTES, i;
	struct parsed_inline *out;

	for (i = 0; i < n; i++)
		bytes += NUMBERS_BYTES + text_bytes(calls[i].name) + text_bytes(calls[i].file);
	if (!n || bytes > *room)
		return 0;
	out = arena_alloc(&s->arena, n * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		out[i] = (struct parsed_inline){calls[i].name, calls[i].file, calls[i].line,
						calls[i].inlined};
	*room -= bytes;
	chain->nr = (uint32_t)n;
	chain->calls = out;
	find_loop(s, m, calls, n, chain);
	return 0;
}

int serve_inlines(struct server *s)
{
	const struct parse_request *r = &s->request;
	struct parsed_inlines answer = {.error = 0};
	size_t room = ANSWER_BYTES - r->nr_offsets * (size_t)NUMBERS_BYTES;
	struct module *m;
	struct parsed_chain *chains = arena_alloc(&s->arena, (r->nr_offsets + 1) * sizeof(*chains));

	if (!chains)
		return -ENOMEM;
	m = server_module(s, r->module, &answer.error, &answer.reason);
	for (uint32_t i = 0; m && i < r->nr_offsets; i++) {
		chains[i] = (struct parsed_chain){.offset = r->offsets[i]};
		if (describe_chain(s, m, &chains[i], &room))
			return -ENOMEM;
	}
	answer.nr = m ? r->nr_offsets : 0;
	answer.chains = chains;
	return server_answer(s, PARSED_INLINES, &answer);
}
