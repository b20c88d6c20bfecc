// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/probe_search.h"

#include "analysis/base/array.h"
#include "analysis/code/arch.h"

enum { ALL_ARGS = (1 << PLACE_ARGS) - 1, MAX_SLOW_PATH = 48 };

bool cfi_agrees(const struct placer *p, uint64_t vaddr, int64_t cfa)
{
	struct code_cfa rule = placer_cfa(p, vaddr);

	return rule.kind != CODE_CFA_SP || rule.offset == cfa;
}

static bool in_rseq(const struct placer *p, uint64_t vaddr)
{
	return any_of(i, p->src->nr_rseq,
		      vaddr >= p->src->rseq[i].start && vaddr < p->src->rseq[i].end);
}

bool probe_search_candidate(struct probe_search *s, enum site_class *cls)
{
	const struct place_policy *policy = &s->p->policy;

	if (in_rseq(s->p, s->insn.vaddr)) {
		s->why = PLACE_RSEQ;
		return false;
	}
	if (flow_target_between(&s->p->flow, s->insn.vaddr, s->insn.vaddr + s->insn.length)) {
		s->why = PLACE_NOT_BOUNDARY;
		return false;
	}
	switch (arch_probe_class(&s->insn, policy)) {
	case ARCH_PROBE_EMULATED:
		*cls = SITE_EMULATED;
		return true;
	case ARCH_PROBE_STEPPED:
		*cls = SITE_STEPPED;
		if (policy->no_stepped)
			s->why = PLACE_STEPPED_ONLY;
		return !policy->no_stepped;
	case ARCH_PROBE_SHADOW:
		s->why = PLACE_SHADOW_STACK;
		return false;
	default:
		s->why = PLACE_REFUSED_INSN;
		return false;
	}
}

void probe_search_place(struct probe_search *s, enum site_class cls, struct place *out)
{
	struct insn_effects effects;

	*out = (struct place){
	    .vaddr = s->insn.vaddr,
	    .offset = code_offset(s->p->src, s->insn.vaddr),
	    .cls = cls,
	    .cfa = s->cfa,
	    .skipped = s->steps,
	    .ret_valid = !s->ret_written,
	    .ret_reg = ARCH_RETURN_REGISTER,
	    .args = ALL_ARGS & (uint8_t)~s->args_written,
	    .length = s->insn.length,
	};
	decode_effects(s->p->decoder, &s->insn, &effects);
	_Static_assert(sizeof(out->text) >= sizeof(effects.text), "text");
	memcpy(out->text, effects.text, sizeof(effects.text));
}

bool probe_search_next(struct probe_search *s)
{
	const struct part_code *pc = s->pc;

	if (s->i + 1 >= pc->nr ||
	    pc->insns[s->i + 1].off != pc->insns[s->i].off + pc->insns[s->i].length)
		return false;
	s->i++;
	s->steps++;
	return !part_insn(s->p, pc, s->i, &s->insn);
}

bool probe_search_forward(struct probe_search *s)
{
	struct insn_effects e;

	if (s->insn.flow != INSN_NEXT || arch_is_work(&s->insn) ||
	    flow_target_between(&s->p->flow, s->insn.vaddr, s->insn.vaddr + s->insn.length) ||
	    decode_effects(s->p->decoder, &s->insn, &e) || !e.sp_known)
		return false;
	s->cfa -= e.sp_delta;
	s->args_written |= e.args;
	s->ret_written |= e.ret;
	return probe_search_next(s);
}

/* The path from `vaddr` makes one call and jumps to `start`. */
static bool calls_and_comes_back(const struct probe_search *s, uint64_t vaddr, uint64_t start)
{
	const struct part_code *pc = flow_part(&s->p->flow, vaddr);
	long i = pc ? part_find(pc, vaddr) : -1;
	unsigned calls = 0;

	/* MAX_SLOW_PATH allows for saving all arguments in registers before the call, and for
	 * loading them again */
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

bool probe_search_at_stack_check(const struct probe_search *s, uint64_t start)
{
	struct insn before;

	return s->insn.flow == INSN_JCC && s->i && !part_insn(s->p, s->pc, s->i - 1, &before) &&
	       arch_is_stack_check(&before) && calls_and_comes_back(s, s->insn.target, start);
}

bool probe_search_start(struct probe_search *s, struct placer *p, uint64_t vaddr, int64_t cfa)
{
	long i;

	*s = (struct probe_search){.p = p, .cfa = cfa, .why = PLACE_NOT_BOUNDARY};
	s->pc = flow_part(&p->flow, vaddr);
	i = s->pc ? part_find(s->pc, vaddr) : -1;
	if (i < 0) {
		if (s->pc && s->pc->undecodable)
			s->why = PLACE_UNDECODABLE;
		return false;
	}
	s->i = (size_t)i;
	return !part_insn(p, s->pc, s->i, &s->insn);
}
