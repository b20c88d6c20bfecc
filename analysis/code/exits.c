// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/code/arch.h"
#include "analysis/code/placer.h"
#include "analysis/code/probe_search.h"

/* True if a path never returns, such as the call of __stack_chk_fail. The branch that may
 * lead there need not be an exit. */
static bool is_dead_end(struct placer *p, uint64_t vaddr)
{
	struct part_code *pc = flow_part(&p->flow, vaddr);
	long i = pc ? part_find(pc, vaddr) : -1;
	struct insn insn;
	const char *name;

	for (unsigned n = 0; i >= 0 && (size_t)i < pc->nr && n < p->policy.max_skip; n++, i++) {
		const struct flow_insn *fi = &pc->insns[i];

		switch (fi->flow) {
		case INSN_NEXT:
			continue;
		case INSN_STOP:
			return true;
		case INSN_CALL:
		case INSN_CALL_INDIRECT:
			if ((size_t)i + 1 == pc->nr)
				return pc->part->start + fi->off + fi->length == pc->part->end;
			if (pc->insns[i + 1].flow == INSN_STOP)
				return true;
			name =
			    part_insn(p, pc, (size_t)i, &insn) ? NULL : flow_callee_name(p, &insn);
			return name && !strncmp(name, "__stack_chk_fail", 16);
		default:
			return false;
		}
	}
	return false;
}

/* Back from the present instruction to the one before it, if every path to it comes from there. */
static bool search_back(struct probe_search *s)
{
	const struct part_code *pc = s->pc;
	const struct flow_insn *before;
	struct insn_effects e;
	struct insn insn;
	int64_t delta;

	if (!s->i)
		return false;
	before = &pc->insns[s->i - 1];
	if (before->off + before->length != pc->insns[s->i].off ||
	    flow_is_target(&s->p->flow, s->insn.vaddr) ||
	    flow_unresolved_reaches(s->p, s->insn.vaddr) || part_insn(s->p, pc, s->i - 1, &insn) ||
	    arch_is_work(&insn) ||
	    flow_target_between(&s->p->flow, insn.vaddr, insn.vaddr + insn.length))
		return false;
	/* a push belongs to a prologue: what comes after one is not the end yet */
	if (arch_sp_delta(&insn, &delta) && delta < 0)
		return false;
	if (insn.flow != INSN_NEXT && !(insn.flow == INSN_JCC && is_dead_end(s->p, insn.target)))
		return false;
	if (decode_effects(s->p->decoder, &insn, &e) || !e.sp_known)
		return false;
	s->cfa += e.sp_delta;
	s->ret_written |= e.ret;
	s->insn = insn;
	s->i--;
	s->steps++;
	return true;
}

/* A place for the ret at `vaddr`: an emulated instruction before it, else itself.
 * Never the entry's: in a short function that may be in the same straight line. */
static bool exit_place(struct placer *p, uint64_t vaddr, uint64_t entry, struct place *out)
{
	bool found = false;
	enum site_class cls;
	struct probe_search s;

	if (!probe_search_start(&s, p, vaddr, ARCH_ENTRY_CFA))
		return false;
	do {
		if (!probe_search_candidate(&s, &cls) || !cfi_agrees(p, s.insn.vaddr, s.cfa) ||
		    (cls == SITE_STEPPED && s.steps) || s.insn.vaddr == entry)
			continue;
		probe_search_place(&s, cls, out);
		out->kind = PLACE_EXIT;
		out->role = SITE_EXIT;
		out->ideal = vaddr;
		out->args = 0;
		found = true;
		if (cls == SITE_EMULATED)
			return true;
	} while (s.steps < p->policy.max_skip && search_back(&s));
	return found;
}

/* True if execution can continue past the part's last instruction. */
static bool runs_out(struct placer *p, const struct part_code *pc)
{
	const struct flow_insn *last = &pc->insns[pc->nr - 1];
	struct insn insn;

	if (pc->part->start + last->off + last->length != pc->part->end)
		return false;
	if (last->flow == INSN_JCC)
		return true;
	return last->flow == INSN_NEXT && !part_insn(p, pc, pc->nr - 1, &insn) &&
	       !arch_is_padding(&insn);
}

static bool leaves(struct placer *p, const struct part_code *pc, size_t i)
{
	const struct flow_insn *fi = &pc->insns[i];

	switch (fi->flow) {
	case INSN_JMP:
	case INSN_JCC:
		return !flow_part(&p->flow, fi->target);
	case INSN_JMP_INDIRECT:
		return flow_jump_kind(p, pc, i) == JUMP_TAIL;
	default:
		return false;
	}
}

int place_exits(struct placer *p, uint64_t function, struct place *out, size_t max, uint32_t *flags,
		enum place_why *why)
{
	const struct flow *f = &p->flow;
	struct place entry = {0};
	size_t found = 0, rets = 0;
	int err;

	*flags = 0;
	place_entry(p, function, &entry, why);
	err = flow_load(p, function, why);
	if (err)
		return err;
	if (f->start != function) {
		*why = PLACE_NO_START;
		return -ENOTSUP;
	}
	*flags = f->flags;
	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct part_code *pc = f->parts[n];

		for (size_t i = 0; i < pc->nr; i++) {
			struct place place;

			if (leaves(p, pc, i))
				*flags |= EXITS_TAIL_CALLS;
			if (pc->insns[i].flow != INSN_RET)
				continue;
			rets++;
			if (found == max || !exit_place(p, pc->part->start + pc->insns[i].off,
							entry.vaddr, &place)) {
				*flags |= EXITS_INCOMPLETE;
				continue;
			}
			if (place.cls == SITE_STEPPED)
				*flags |= EXITS_STEPPED;
			out[found++] = place;
		}
		if (pc->nr && runs_out(p, pc))
			*flags |= EXITS_TAIL_CALLS;
	}
	if (!rets && !(*flags & EXITS_TAIL_CALLS))
		*flags |= EXITS_NO_RETURN;
	return (int)found;
}

enum { STUB_INSNS = 4 };

/* The pointer through which a linkage stub jumps, as a probe at `call` finds it. */
static void stub_operand(struct placer *p, uint64_t call, uint64_t stub, struct rec_operand *out)
{
	uint64_t slot, at = stub;

	for (int i = 0; i < STUB_INSNS; i++) {
		const uint8_t *bytes;
		struct insn insn;
		size_t left;

		if (!code_bytes_at(p->src, at, &bytes, &left) ||
		    decode_insn(p->decoder, bytes, left, at, &insn))
			return;
		if (insn.flow == INSN_JMP_INDIRECT && arch_pc_relative(&insn, &slot)) {
			*out = (struct rec_operand){.kind = OPERAND_SLOT,
						    .base = OPERAND_IP,
						    .index = OPERAND_NO_REG,
						    .disp = (int64_t)(slot - call)};
			return;
		}
		if (insn.flow != INSN_NEXT)
			return;
		at += insn.length;
	}
}

static bool fill_call_site(struct placer *p, const struct part_code *pc, size_t i,
			   struct call_site *out)
{
	const struct flow_insn *fi = &pc->insns[i];
	const struct code_part *to;
	struct insn insn;

	if (part_insn(p, pc, i, &insn))
		return false;
	*out = (struct call_site){.vaddr = insn.vaddr, .target = insn.target};
	switch (fi->flow) {
	case INSN_CALL:
		out->ret = insn.vaddr + insn.length;
		to = code_part_at(p->src, insn.target);
		out->kind = to && to->flags & CODE_PART_PLT ? CALL_PLT : CALL_DIRECT;
		if (out->kind == CALL_PLT)
			stub_operand(p, insn.vaddr, insn.target, &out->operand);
		break;
	case INSN_CALL_INDIRECT:
		out->ret = insn.vaddr + insn.length;
		out->kind = CALL_INDIRECT;
		arch_probe_operand(&insn, &out->operand);
		break;
	case INSN_JMP:
	case INSN_JCC:
		if (!leaves(p, pc, i))
			return false;
		out->kind = CALL_TAIL;
		to = code_part_at(p->src, insn.target);
		if (to && to->flags & CODE_PART_PLT)
			stub_operand(p, insn.vaddr, insn.target, &out->operand);
		break;
	case INSN_JMP_INDIRECT:
		if (!leaves(p, pc, i))
			return false;
		out->kind = CALL_TAIL_INDIRECT;
		arch_probe_operand(&insn, &out->operand);
		break;
	default:
		return false;
	}
	out->name = flow_callee_name(p, &insn);
	return true;
}

int function_call_sites(struct placer *p, uint64_t function, struct call_site *out, size_t max,
			enum place_why *why)
{
	const struct flow *f = &p->flow;
	int err = flow_load(p, function, why);
	size_t found = 0;

	if (err)
		return err;
	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct part_code *pc = f->parts[n];

		for (size_t i = 0; i < pc->nr; i++) {
			struct call_site site;

			if (pc->insns[i].flow == INSN_NEXT || !fill_call_site(p, pc, i, &site))
				continue;
			if (found < max)
				out[found] = site;
			found++;
		}
	}
	return (int)found;
}
