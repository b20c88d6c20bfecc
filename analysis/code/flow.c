// SPDX-License-Identifier: GPL-2.0-or-later
/* Loading the flow of a function: which parts it has, and what of them belongs to other functions.
 */
#include "analysis/code/flow.h"

#include "analysis/code/arch.h"
#include "analysis/code/branch_index.h"
#include "analysis/code/placer.h"

void flow_release(struct flow *f)
{
	for (size_t i = 0; i < f->nr_parts; i++)
		f->parts[i]->pinned--;
	free(f->targets);
	*f = (struct flow){0};
}

static int add_part(struct placer *p, struct flow *f, const struct code_part *part)
{
	struct part_code *pc = part_decode(p, part);

	if (!pc)
		return -ENOMEM;
	pc->pinned++;
	f->parts[f->nr_parts++] = pc;
	return 0;
}

/* Is anything but a jump out of the flow known to enter the part at its start? */
static bool entered_from_elsewhere(struct placer *p, const struct flow *f,
				   const struct code_part *part)
{
	const struct branch_index *x = &p->index;
	size_t i = index_first(p, &x->calls, part->start);

	if (i < x->calls.nr && index_target(p, x->calls.keys[i]) == part->start)
		return true;
	i = index_first(p, &x->leas, part->start);
	if (i < x->leas.nr && index_target(p, x->leas.keys[i]) == part->start)
		return true;
	for (i = index_first(p, &x->jumps, part->start);
	     i < x->jumps.nr && index_target(p, x->jumps.keys[i]) == part->start; i++)
		if (!flow_part(f, index_source(p, x->jumps.keys[i])))
			return true;
	return p->src->in_data && p->src->in_data(p->src->ctx, part->start);
}

/* The part is a piece of the function in `f`, not a function itself. */
static bool flow_owns(struct placer *p, const struct flow *f, const struct code_part *part)
{
	if (part->flags & CODE_PART_COLD)
		return part->parent == f->start;
	if (part->flags & (CODE_PART_SYMBOL | CODE_PART_PLT) || !(part->flags & CODE_PART_FDE))
		return false;
	return flow_is_fragment(p, part) || !entered_from_elsewhere(p, f, part);
}

/* Follow jumps out of the parts to those that belong to the same function. */
static int collect_parts(struct placer *p, struct flow *f)
{
	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct part_code *pc = f->parts[n];

		for (size_t i = 0; i < pc->nr; i++) {
			const struct flow_insn *fi = &pc->insns[i];
			const struct code_part *part;
			int err;

			if ((fi->flow != INSN_JMP && fi->flow != INSN_JCC) ||
			    (fi->target >= pc->part->start && fi->target < pc->part->end) ||
			    flow_part(f, fi->target))
				continue;
			part = code_part_at(p->src, fi->target);
			/* what is too much counts as another function that is called last */
			if (!part || f->nr_parts == FLOW_MAX_PARTS || !flow_owns(p, f, part))
				continue;
			err = add_part(p, f, part);
			if (err)
				return err;
		}
	}
	return 0;
}

static int flow_fill(struct placer *p, struct flow *f)
{
	int err = collect_parts(p, f);

	return err ? err : flow_collect_targets(p, f);
}

/* Starts with the frame of another function in place. */
bool flow_is_fragment(const struct placer *p, const struct code_part *part)
{
	struct code_cfa cfa;

	if (part->flags & CODE_PART_COLD)
		return true;
	if (part->flags & (CODE_PART_SYMBOL | CODE_PART_PLT) || !(part->flags & CODE_PART_FDE))
		return false;
	cfa = placer_cfa(p, part->start);
	return cfa.kind == CODE_CFA_OTHER ||
	       (cfa.kind == CODE_CFA_SP && cfa.offset != ARCH_ENTRY_CFA);
}

/* The part with the start of the function that a part belongs to. */
static const struct code_part *owner_of(const struct placer *p, const struct code_part *part)
{
	const struct branch_list *jumps = &p->index.jumps;
	const struct code_part *owner = NULL;
	size_t i;

	if (!flow_is_fragment(p, part))
		return part;
	if (part->flags & CODE_PART_COLD && part->parent) {
		owner = code_part_at(p->src, part->parent);
		return owner && owner->start == part->parent ? owner : part;
	}
	i = index_first(p, jumps, part->start);
	if (i < jumps->nr && index_target(p, jumps->keys[i]) < part->end)
		owner = code_part_at(p->src, index_source(p, jumps->keys[i]));
	return owner && !flow_is_fragment(p, owner) ? owner : part;
}

static int load_from(struct placer *p, const struct code_part *part, enum place_why *why)
{
	struct flow *f = &p->flow;
	int err;

	flow_release(f);
	f->start = part->start;
	*why = PLACE_NO_CODE;
	err = add_part(p, f, part);
	if (!err) {
		*why = f->parts[0]->nr ? PLACE_TOO_LARGE : PLACE_UNDECODABLE;
		err = f->parts[0]->too_large || !f->parts[0]->nr ? -ENOTSUP : flow_fill(p, f);
	}
	if (err) {
		flow_release(f);
		return err == -E2BIG ? -ENOTSUP : err;
	}
	f->valid = true;
	*why = PLACE_OK;
	return 0;
}

int flow_load(struct placer *p, uint64_t vaddr, enum place_why *why)
{
	const struct code_part *at = code_part_at(p->src, vaddr), *part;
	const struct flow *f = &p->flow;
	int err;

	*why = PLACE_NO_CODE;
	if (!at)
		return -ENOTSUP;
	err = index_build(p);
	if (err)
		return err;
	part = owner_of(p, at);
	*why = PLACE_OK;
	if (f->valid && flow_part(f, vaddr) && (part != at || f->start == at->start))
		return 0;
	err = load_from(p, part, why);
	/* more pieces than a flow takes: this one by itself */
	if (!err && !flow_part(f, vaddr))
		err = load_from(p, at, why);
	return err;
}
