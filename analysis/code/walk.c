// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/walk.h"

#include <string.h>

#include "analysis/code/arch.h"

enum { ALL_ARGS = (1 << PLACE_ARGS) - 1, MAX_SLOW_PATH = 48 };

bool cfi_agrees(const struct placer *p, uint64_t vaddr, int64_t cfa)
{
	struct code_cfa rule = placer_cfa(p, vaddr);

	return rule.kind != CODE_CFA_SP || rule.offset == cfa;
}

static bool in_rseq(const struct placer *p, uint64_t vaddr)
{
	for (size_t i = 0; i < p->src->nr_rseq; i++)
		if (vaddr >= p->src->rseq[i].start && vaddr < p->src->rseq[i].end)
			return true;
	return false;
}

bool walk_candidate(struct walk *w, enum site_class *cls)
{
	const struct place_policy *policy = &w->p->policy;

	if (in_rseq(w->p, w->insn.vaddr)) {
		w->why = PLACE_RSEQ;
		return false;
	}
	if (flow_target_between(&w->p->flow, w->insn.vaddr, w->insn.vaddr + w->insn.length)) {
		w->why = PLACE_NOT_BOUNDARY;
		return false;
	}
	switch (arch_probe_class(&w->insn, policy)) {
	case ARCH_PROBE_EMULATED:
		*cls = SITE_EMULATED;
		return true;
	case ARCH_PROBE_STEPPED:
		*cls = SITE_STEPPED;
		if (policy->no_stepped)
			w->why = PLACE_STEPPED_ONLY;
		return !policy->no_stepped;
	case ARCH_PROBE_SHADOW:
		w->why = PLACE_SHADOW_STACK;
		return false;
	default:
		w->why = PLACE_REFUSED_INSN;
		return false;
	}
}

void walk_place(struct walk *w, enum site_class cls, struct place *out)
{
	struct insn_effects effects;

	*out = (struct place){
	    .vaddr = w->insn.vaddr,
	    .offset = code_offset(w->p->src, w->insn.vaddr),
	    .cls = cls,
	    .cfa = w->cfa,
	    .skipped = w->steps,
	    .ret_valid = !w->ret_written,
	    .ret_reg = ARCH_RETURN_REGISTER,
	    .args = ALL_ARGS & (uint8_t)~w->args_written,
	    .length = w->insn.length,
	};
	decode_effects(w->p->decoder, &w->insn, &effects);
	_Static_assert(sizeof(out->text) >= sizeof(effects.text), "text");
	memcpy(out->text, effects.text, sizeof(effects.text));
}

bool walk_next(struct walk *w)
{
	const struct part_code *pc = w->pc;

	if (w->i + 1 >= pc->nr ||
	    pc->insns[w->i + 1].off != pc->insns[w->i].off + pc->insns[w->i].length)
		return false;
	w->i++;
	w->steps++;
	return !flow_insn_full(w->p, pc, w->i, &w->insn);
}

bool walk_forward(struct walk *w)
{
	struct insn_effects e;

	if (w->insn.flow != INSN_NEXT || arch_is_work(&w->insn) ||
	    flow_target_between(&w->p->flow, w->insn.vaddr, w->insn.vaddr + w->insn.length) ||
	    decode_effects(w->p->decoder, &w->insn, &e) || !e.sp_known)
		return false;
	w->cfa -= e.sp_delta;
	w->args_written |= e.args;
	w->ret_written |= e.ret;
	return walk_next(w);
}

/* The path from `vaddr` makes one call and jumps to `start`. */
static bool calls_and_comes_back(const struct walk *w, uint64_t vaddr, uint64_t start)
{
	const struct part_code *pc = flow_part(&w->p->flow, vaddr);
	long i = pc ? part_find(pc, vaddr) : -1;
	unsigned calls = 0;

	/* all arguments that are in registers may be saved before it, and loaded again */
	for (unsigned n = 0; i >= 0 && (size_t)i < pc->nr && n < MAX_SLOW_PATH; n++, i++) {
		const struct flow_insn *fi = &pc->insns[i];

		if (fi->flow == INSN_JMP)
			return fi->target == start && calls == 1;
		if (fi->flow == INSN_CALL)
			calls++;
		else if (fi->flow != INSN_NEXT)
			return false;
	}
	return false;
}

bool walk_at_stack_check(const struct walk *w, uint64_t start)
{
	struct insn before;

	return w->insn.flow == INSN_JCC && w->i &&
	       !flow_insn_full(w->p, w->pc, w->i - 1, &before) && arch_is_stack_check(&before) &&
	       calls_and_comes_back(w, w->insn.target, start);
}

bool walk_start(struct walk *w, struct placer *p, uint64_t vaddr, int64_t cfa)
{
	long i;

	*w = (struct walk){.p = p, .cfa = cfa, .why = PLACE_NOT_BOUNDARY};
	w->pc = flow_part(&p->flow, vaddr);
	i = w->pc ? part_find(w->pc, vaddr) : -1;
	if (i < 0) {
		if (w->pc && w->pc->undecodable)
			w->why = PLACE_UNDECODABLE;
		return false;
	}
	w->i = (size_t)i;
	return !flow_insn_full(p, w->pc, w->i, &w->insn);
}
