// SPDX-License-Identifier: GPL-2.0-or-later
/* The call sites of a function, for a descent: callee, loop, block and probe places of each. */

#include "analysis/code/arch.h"
#include "analysis/code/blocks.h"
#include "analysis/code/probe_search.h"
#include "tui/parser/serve_internal.h"

enum { IMPORT_MAX = 512, MAX_SLOTS = 16 };

_Static_assert((int)CALL_DIRECT == CALLEE_DIRECT && (int)CALL_PLT == CALLEE_PLT &&
		   (int)CALL_INDIRECT == CALLEE_INDIRECT && (int)CALL_TAIL == CALLEE_TAIL &&
		   (int)CALL_TAIL_INDIRECT == CALLEE_TAIL_INDIRECT,
	       "one numbering of kinds of calls");

/* The state while the sites of one function are described. */
struct context {
	struct server *s;
	struct module *m;
	struct placer *p;
	struct blocks blocks;
};

/* The import's plain name: "memcpy@plt", "memcpy@GLIBC_2.14" -> "memcpy"; NULL for stubs without
 * one. */
static const char *import_name(struct context *c, const char *name)
{
	size_t n = name ? strcspn(name, "@") : 0;
	char *copy;

	if (!n || n > IMPORT_MAX || strchr(name, '+'))
		return NULL;
	copy = arena_alloc(&c->s->arena, n + 1);
	if (!copy)
		return NULL;
	memcpy(copy, name, n);
	copy[n] = '\0';
	return copy;
}

static bool is_stub(struct context *c, uint64_t target)
{
	const struct code_part *to = code_part_at(placer_source(c->p), target);

	return to && to->flags & CODE_PART_PLT;
}

/* The callee: a function of this module, or an import. */
static void fill_callee(struct context *c, const struct call_site *site,
			struct parsed_call_site *out)
{
	const struct code_source *src = placer_source(c->p);
	const struct module_function *f;

	out->import = "";
	if (site->kind == CALL_INDIRECT || site->kind == CALL_TAIL_INDIRECT ||
	    is_stub(c, site->target)) {
		const char *name = site->name;

		if (!name && site->target && src->name)
			name = src->name(src->ctx, site->target);
		name = import_name(c, name);
		if (!name)
			return;
		out->import = name;
		if (out->operand.kind == OPERAND_MEMORY)
			out->operand.kind = OPERAND_SLOT;
		/* Only the loader writes this pointer: treat the call like one through a PLT stub.
		 */
		if (site->kind == CALL_INDIRECT)
			out->kind = CALLEE_PLT;
		else if (site->kind == CALL_TAIL_INDIRECT)
			out->kind = CALLEE_TAIL;
		return;
	}
	f = module_function_at(c->m, site->target);
	if (f && f->ifunc && f->vaddr == site->target)
		return;
	out->known = !module_offset_of(c->m, site->target, &out->callee);
}

/* Find the probe place that starts a tail call: at the jump itself. False (with `*why`) if the jump
 * is conditional or cannot be probed. */
static bool tail_place(struct context *c, uint64_t vaddr, struct place *start, enum place_why *why)
{
	enum site_class cls;
	struct probe_search search;

	if (!probe_search_start(&search, c->p, vaddr, ARCH_ENTRY_CFA)) {
		*why = search.why;
		return false;
	}
	*why = PLACE_NOT_CALL;
	if (search.insn.flow != INSN_JMP && search.insn.flow != INSN_JMP_INDIRECT)
		return false;
	*why = PLACE_NO_FRAME;
	if (!cfi_agrees(c->p, vaddr, ARCH_ENTRY_CFA))
		return false;
	if (!probe_search_candidate(&search, &cls)) {
		*why = search.why;
		return false;
	}
	probe_search_place(&search, cls, start);
	start->kind = PLACE_CALL;
	start->role = SITE_CALL;
	start->ideal = vaddr;
	start->ret_valid = false;
	*why = PLACE_OK;
	return true;
}

static void fill_places(struct context *c, const struct call_site *site,
			struct parsed_call_site *out)
{
	enum place_why why = PLACE_OK;
	struct place start, end;

	if (!site->ret) {
		if (tail_place(c, site->vaddr, &start, &why)) {
			out->flags |= CALL_SITE_TIMED;
			out->start = server_site(c->s, c->m, &start);
		}
		out->why = why;
		return;
	}
	if (!place_call_site(c->p, site->vaddr, &start, &end, &why)) {
		out->start = server_site(c->s, c->m, &start);
		out->end = server_site(c->s, c->m, &end);
		out->end.ret = out->ret;
		out->flags |= CALL_SITE_TIMED;
	} else if (why == PLACE_NO_RETURN) {
		out->flags |= CALL_SITE_NORETURN;
	}
	out->why = why;
}

static int fill_site(struct context *c, const struct call_site *site, struct parsed_call_site *out)
{
	const struct block *k = blocks_at(&c->blocks, site->vaddr);
	int err;

	*out = (struct parsed_call_site){.kind = (uint32_t)site->kind, .operand = site->operand};
	err = module_offset_of(c->m, site->vaddr, &out->offset);
	if (!err && site->ret && module_offset_of(c->m, site->ret, &out->ret))
		/* No code follows the call: the callee does not return. */
		out->flags |= CALL_SITE_NORETURN;
	if (err)
		return err;
	if (k && k->loop)
		out->flags |= CALL_SITE_LOOP;
	if (k && !c->blocks.unresolved)
		out->block = (uint32_t)(k - c->blocks.block) + 1;
	fill_callee(c, site, out);
	if (!(out->flags & CALL_SITE_NORETURN))
		fill_places(c, site, out);
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct parsed_call_site *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Clear the block number of sites that are alone in their block. */
static void drop_lone_blocks(struct parsed_call_site *sites, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		bool before = i && sites[i - 1].block == sites[i].block;
		bool after = i + 1 < nr && sites[i + 1].block == sites[i].block;

		if (!before && !after)
			sites[i].block = 0;
	}
}

static int call_sites(struct context *c, uint64_t vaddr, struct parsed_call_sites *answer,
		      enum place_why *why)
{
	struct call_site *found = calloc(FRAME_MAX_SITES, sizeof(*found));
	struct parsed_call_site *sites =
	    arena_alloc(&c->s->arena, FRAME_MAX_SITES * sizeof(*sites));
	int total = -ENOMEM, err = 0;

	if (found && sites)
		total = function_call_sites(c->p, vaddr, found, FRAME_MAX_SITES, why);
	if (total >= 0)
		err = blocks_find(c->p, &c->blocks);
	for (int i = 0; !err && i < total && i < FRAME_MAX_SITES; i++) {
		if (!fill_site(c, &found[i], &sites[answer->nr]))
			answer->nr++;
	}
	blocks_release(&c->blocks);
	free(found);
	if (total < 0 || err)
		return total < 0 ? total : err;
	qsort(sites, answer->nr, sizeof(*sites), by_offset);
	drop_lone_blocks(sites, answer->nr);
	answer->total = (uint32_t)total;
	answer->sites = sites;
	return 0;
}

int serve_call_sites(struct server *s)
{
	struct parsed_call_sites answer = {.id = s->request.id,
					   .module = s->request.module,
					   .offset = s->request.offset,
					   .reason = ""};
	struct context c = {.s = s};
	enum place_why why = PLACE_OK;
	const struct module_function *f;
	uint64_t vaddr = 0;
	int err;

	answer.error = server_locate(s, &c.m, &c.p, &vaddr, &answer.reason);
	f = answer.error ? NULL : module_function_at(c.m, vaddr);
	if (f && f->ifunc && f->vaddr == vaddr) {
		answer.error = -ENOTSUP;
		answer.reason = "this IFUNC resolver only selects the function that runs";
	}
	if (!answer.error) {
		answer.error = call_sites(&c, vaddr, &answer, &why);
		if (answer.error)
			answer.reason = why ? place_why_text(why) : module_error_text(answer.error);
	}
	while ((err = server_answer(s, PARSED_CALL_SITES, &answer)) == -E2BIG && answer.nr)
		answer.nr /= 2;
	return err;
}

int serve_slots(struct server *s)
{
	struct parsed_call_sites answer = {.reason = ""};
	struct parsed_call_site sites[MAX_SLOTS];
	uint64_t vaddrs[MAX_SLOTS];
	const struct module_function *code;
	struct module *m;

	m = server_module(s, s->request.module, &answer.error, &answer.reason);
	code = m ? module_function(m, 0) : NULL;
	answer.total = code ? (uint32_t)module_slots_of(m, s->request.text, vaddrs, MAX_SLOTS) : 0;
	answer.nr = answer.total < MAX_SLOTS ? answer.total : MAX_SLOTS;
	answer.sites = sites;
	for (uint32_t i = 0; i < answer.nr; i++)
		sites[i] = (struct parsed_call_site){
		    .offset = code->offset,
		    .import = s->request.text,
		    .operand = {.kind = OPERAND_SLOT,
				.base = OPERAND_IP,
				.index = OPERAND_NO_REG,
				.disp = (int64_t)(vaddrs[i] - code->vaddr)}};
	return server_answer(s, PARSED_CALL_SITES, &answer);
}
