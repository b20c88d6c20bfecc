// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/placement.h"

#include "analysis/code/arch.h"
#include "analysis/code/placer.h"
#include "analysis/code/probe_search.h"

enum { DEFAULT_SKIP = 8, DEFAULT_SITES = 64, ALL_ARGS = (1 << PLACE_ARGS) - 1 };

struct placer *placer_new(const struct code_source *src, const struct place_policy *policy)
{
	struct placer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->src = src;
	if (policy)
		p->policy = *policy;
	if (!p->policy.max_skip)
		p->policy.max_skip = DEFAULT_SKIP;
	if (!p->policy.max_sites)
		p->policy.max_sites = DEFAULT_SITES;
	p->decoder = decoder_new();
	if (!p->decoder) {
		free(p);
		return NULL;
	}
	return p;
}

void placer_free(struct placer *p)
{
	if (!p)
		return;
	flow_release(&p->flow);
	for (size_t i = 0; i < PLACER_CACHE; i++)
		part_release(&p->cache[i]);
	index_release(&p->index);
	decoder_free(p->decoder);
	free(p);
}

const struct place_policy *placer_policy(const struct placer *p)
{
	return &p->policy;
}

const struct code_source *placer_source(const struct placer *p)
{
	return p->src;
}

/* The code right before `vaddr` is another part, and its last instruction is a call. */
static bool part_before_ends_in_call(struct placer *p, uint64_t vaddr)
{
	const struct code_part *before = code_part_at(p->src, vaddr - 1);
	struct part_code *pc = before && before->end == vaddr ? part_decode(p, before) : NULL;
	const struct flow_insn *last;

	if (!pc || !pc->nr)
		return false;
	last = &pc->insns[pc->nr - 1];
	return (last->flow == INSN_CALL || last->flow == INSN_CALL_INDIRECT) &&
	       before->start + last->off + last->length == vaddr;
}

/* Is there a function to enter at this address? */
static enum place_why check_start(struct placer *p, uint64_t function)
{
	const struct code_part *part = code_part_at(p->src, function);
	struct code_cfa cfa;

	if (!part)
		return code_bytes_at(p->src, function, NULL, NULL) ? PLACE_NO_START : PLACE_NO_CODE;
	if (part->start != function) {
		struct part_code *pc = part_decode(p, part);

		return pc && part_find(pc, function) < 0 ? PLACE_NOT_BOUNDARY : PLACE_NO_START;
	}
	if (part->flags & CODE_PART_PLT)
		return PLACE_PLT;
	if (flow_is_fragment(p, part))
		return PLACE_PART;
	cfa = placer_cfa(p, function);
	if (cfa.kind == CODE_CFA_OTHER || (cfa.kind == CODE_CFA_SP && cfa.offset != ARCH_ENTRY_CFA))
		return PLACE_NO_FRAME;
	return PLACE_OK;
}

/* Search from the start of the function for a place that costs no more than necessary. */
static bool search_entry(struct probe_search *s, uint64_t function, struct place *out)
{
	bool repeats = flow_is_target(&s->p->flow, function), found = false, crossing;
	unsigned max = s->p->policy.max_skip;
	enum site_class cls;

	do {
		if (s->steps && (flow_is_target(&s->p->flow, s->insn.vaddr) ||
				 flow_unresolved_reaches(s->p, s->insn.vaddr))) {
			s->why = PLACE_LOOP;
			break;
		}
		crossing = repeats && probe_search_at_stack_check(s, function);
		if (probe_search_candidate(s, &cls) && cfi_agrees(s->p, s->insn.vaddr, s->cfa) &&
		    (!found || cls == SITE_EMULATED)) {
			probe_search_place(s, cls, out);
			out->flags = repeats ? PLACE_REPEATS : 0;
			found = true;
			if (cls == SITE_EMULATED && !crossing)
				break;
		}
		repeats &= !crossing;
	} while (s->steps < max && (crossing ? probe_search_next(s) : probe_search_forward(s)));
	return found;
}

int place_entry(struct placer *p, uint64_t function, struct place *out, enum place_why *why)
{
	struct probe_search s;
	int err;

	*why = check_start(p, function);
	if (*why)
		return -ENOTSUP;
	err = flow_load(p, function, why);
	if (err)
		return err;
	if (!probe_search_start(&s, p, function, ARCH_ENTRY_CFA)) {
		*why = s.why == PLACE_NOT_BOUNDARY ? PLACE_UNDECODABLE : s.why;
		return -ENOTSUP;
	}
	if (!search_entry(&s, function, out)) {
		*why = s.why;
		return -ENOTSUP;
	}
	out->kind = PLACE_ENTRY;
	out->role = SITE_ENTRY;
	out->ideal = function;
	out->ret_valid = false;
	*why = PLACE_OK;
	return 0;
}

/* True if a jump leads back to the present instruction: it is hit once for each turn of a loop. */
static bool begins_loop(const struct probe_search *s)
{
	for (size_t i = s->i; i < s->pc->nr; i++) {
		const struct flow_insn *fi = &s->pc->insns[i];

		if ((fi->flow == INSN_JCC || fi->flow == INSN_JMP) && fi->target == s->insn.vaddr)
			return true;
	}
	return false;
}

/* The same from a return address; `flags` holds for all of the line. A step at the return address
 * costs less than an emulation in each turn of a loop that follows. */
static bool search_return(struct probe_search *s, uint32_t flags, bool guarded, unsigned max_skip,
			  struct place *out)
{
	struct code_cfa at_ret = placer_cfa(s->p, s->insn.vaddr);
	bool found = false, joined;
	enum site_class cls;

	do {
		joined = s->steps && (flow_is_target(&s->p->flow, s->insn.vaddr) ||
				      flow_unresolved_reaches(s->p, s->insn.vaddr));
		if (joined && guarded) {
			s->why = PLACE_LOOP;
			break;
		}
		if (joined && found && begins_loop(s))
			break;
		flags |= joined ? PLACE_JOINED : 0;
		if (at_ret.kind == CODE_CFA_SP &&
		    !cfi_agrees(s->p, s->insn.vaddr, at_ret.offset + s->cfa)) {
			s->why = PLACE_NO_RETURN; /* what follows is another block */
			break;
		}
		if (!probe_search_candidate(s, &cls) || (found && cls == SITE_STEPPED))
			continue;
		probe_search_place(s, cls, out);
		out->flags = flags;
		found = true;
		if (cls == SITE_EMULATED)
			break;
	} while (s->steps < max_skip && probe_search_forward(s));
	return found;
}

int place_return(struct placer *p, uint64_t ret, struct place *out, enum place_why *why)
{
	return place_return_within(p, ret, p->policy.max_skip, out, why);
}

int place_return_within(struct placer *p, uint64_t ret, unsigned max_skip, struct place *out,
			enum place_why *why)
{
	const struct code_part *part = code_part_at(p->src, ret);
	uint32_t flags = 0;
	struct probe_search s;
	bool guarded;
	int err;

	*why = !code_bytes_at(p->src, ret, NULL, NULL) ? PLACE_NO_CODE : PLACE_NO_RETURN;
	if (!part || part->flags & CODE_PART_PLT)
		return -ENOTSUP;
	err = flow_load(p, ret, why);
	if (err)
		return err;
	if (!probe_search_start(&s, p, ret, 0)) {
		*why = s.why;
		return -ENOTSUP;
	}
	/* the instruction before pushed this address: if it is in another function, that
	 * function does not expect the call to come back */
	*why = PLACE_NO_RETURN;
	if (ret == s.pc->part->start && part_before_ends_in_call(p, ret))
		return -ENOTSUP;
	guarded = p->flow.flags & (EXITS_LSDA | EXITS_SETJMP);
	if (guarded && flow_is_target(&p->flow, ret))
		flags |= PLACE_FALSE_RETURN;
	if (!search_return(&s, flags, guarded, max_skip, out)) {
		*why = s.why;
		return -ENOTSUP;
	}
	out->kind = PLACE_RETURN;
	out->role = SITE_RETURN;
	out->ideal = ret;
	out->args = 0;
	*why = PLACE_OK;
	return 0;
}

int place_call_site(struct placer *p, uint64_t call, struct place *start, struct place *end,
		    enum place_why *why)
{
	enum site_class cls;
	struct probe_search s;
	int err;

	*why = PLACE_NO_CODE;
	if (!code_part_at(p->src, call))
		return -ENOTSUP;
	err = flow_load(p, call, why);
	if (err)
		return err;
	if (!probe_search_start(&s, p, call, 0)) {
		*why = s.why;
		return -ENOTSUP;
	}
	*why = PLACE_NOT_CALL;
	if (s.insn.flow != INSN_CALL && s.insn.flow != INSN_CALL_INDIRECT)
		return -ENOTSUP;
	if (!probe_search_candidate(&s, &cls)) {
		*why = s.why;
		return -ENOTSUP;
	}
	probe_search_place(&s, cls, start);
	start->kind = PLACE_CALL;
	start->role = SITE_CALL;
	start->ideal = call;
	start->ret_valid = false;
	*why = PLACE_NO_RETURN;
	if (call + start->length >= s.pc->part->end)
		return -ENOTSUP;
	return place_return(p, call + start->length, end, why);
}

const char *place_why_text(enum place_why why)
{
	static const char *const text[PLACE_WHY_MAX] = {
	    [PLACE_OK] = "can be timed",
	    [PLACE_NO_CODE] = "no code at this address",
	    [PLACE_NO_START] = "no known function starts at this address",
	    [PLACE_NOT_BOUNDARY] = "in the middle of an instruction",
	    [PLACE_UNDECODABLE] = "the bytes at this address are not a known instruction",
	    [PLACE_REFUSED_INSN] = "every instruction at this place is unsafe to probe",
	    [PLACE_RSEQ] = "the address is inside a restartable sequence (rseq)",
	    [PLACE_SHADOW_STACK] = "the instruction is a call and the target uses a shadow stack",
	    [PLACE_PART] = "this is the cold part of another function; watch that function",
	    [PLACE_PLT] = "this is a PLT stub, not a function",
	    [PLACE_LOOP] = "every possible place is inside a loop or where code paths join",
	    [PLACE_NO_FRAME] = "the stack position of the return address is not known here",
	    [PLACE_NO_RETURN] = "the called function does not return",
	    [PLACE_NOT_CALL] = "there is no call at this address",
	    [PLACE_STEPPED_ONLY] =
		"a probe here would need single-stepping, which is not allowed for this site",
	    [PLACE_TOO_LARGE] = "the function is too large to analyse",
	};

	return (unsigned)why < PLACE_WHY_MAX ? text[why] : "unknown reason";
}
