// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/coverage.h"

#include "analysis/code/arch.h"
#include "analysis/code/placer.h"

/* What the code says of one part, gathered while all parts are looked at in order. */
struct part_facts {
	uint32_t calls;		 /* direct calls of its start that have code after them */
	uint32_t calls_emulated; /* ... with an emulated end */
	bool other_ways;	 /* address taken, jumped to, run into, exported */
	bool exits_emulated;
	uint8_t entry; /* enum entry_class */
	uint8_t why;
};

enum entry_class { ENTRY_NONE = 0, ENTRY_NOT_FUNCTION, ENTRY_EMULATED, ENTRY_STEPPED };

struct coverage_run {
	struct placer *placer;
	struct part_facts *facts; /* of the parts of the source */
	size_t next;
	struct module_coverage result;
};

struct coverage_run *coverage_begin(struct placer *p)
{
	struct coverage_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->placer = p;
	run->facts = calloc(p->src->nr_parts + 1, sizeof(*run->facts));
	if (!run->facts) {
		free(run);
		return NULL;
	}
	return run;
}

void coverage_end(struct coverage_run *run)
{
	if (!run)
		return;
	free(run->facts);
	free(run);
}

const struct module_coverage *coverage_result(const struct coverage_run *run)
{
	return &run->result;
}

/* Facts of the part that starts at `vaddr`, NULL if none does. */
static struct part_facts *facts_at(struct coverage_run *run, uint64_t vaddr)
{
	const struct code_source *src = run->placer->src;
	const struct code_part *part = code_part_at(src, vaddr);

	return part && part->start == vaddr ? &run->facts[part - src->parts] : NULL;
}

/* The end of one call, counted for itself and for its callee. */
static int look_at_call(struct coverage_run *run, const struct part_code *pc, size_t i)
{
	const struct flow_insn *fi = &pc->insns[i];
	struct part_facts *callee = fi->flow == INSN_CALL ? facts_at(run, fi->target) : NULL;
	uint64_t ret = pc->part->start + fi->off + fi->length;
	struct module_coverage *c = &run->result;
	struct place place;
	enum place_why why;
	int err;

	if (ret >= pc->part->end)
		return 0;
	c->calls++;
	c->calls_indirect += fi->flow == INSN_CALL_INDIRECT;
	err = place_return(run->placer, ret, &place, &why);
	if (err && err != -ENOTSUP)
		return err;
	if (callee)
		callee->calls++;
	if (err) {
		c->ends_none++;
	} else if (place.cls == SITE_STEPPED) {
		c->ends_stepped++;
	} else {
		c->ends_emulated++;
		c->ends_straight += !(place.flags & (PLACE_JOINED | PLACE_FALSE_RETURN));
		if (callee)
			callee->calls_emulated++;
	}
	return 0;
}

static void other_way(struct coverage_run *run, uint64_t vaddr)
{
	struct part_facts *facts = facts_at(run, vaddr);

	if (facts)
		facts->other_ways = true;
}

static int look_at_code(struct coverage_run *run, const struct code_part *part)
{
	struct placer *p = run->placer;
	struct part_code *pc = part_decode(p, part);
	int err = 0;

	if (!pc)
		return 0;
	pc->pinned++;
	for (size_t i = 0; i < pc->nr && !err; i++) {
		const struct flow_insn *fi = &pc->insns[i];
		struct insn insn;
		uint64_t address;

		if (fi->flow == INSN_CALL || fi->flow == INSN_CALL_INDIRECT)
			err = look_at_call(run, pc, i);
		else if ((fi->flow == INSN_JMP || fi->flow == INSN_JCC) &&
			 (fi->target < part->start || fi->target >= part->end))
			other_way(run, fi->target);
		else if (fi->flow == INSN_NEXT && fi->length >= 5 && !part_insn(p, pc, i, &insn) &&
			 arch_takes_address(&insn, &address))
			other_way(run, address);
	}
	pc->pinned--;
	return err;
}

static int look_at_entry(struct coverage_run *run, const struct code_part *part,
			 struct part_facts *facts)
{
	struct placer *p = run->placer;
	struct place place, exits[8];
	enum place_why why;
	uint32_t flags;
	int err, n;

	facts->entry = ENTRY_NOT_FUNCTION;
	if (part->flags & (CODE_PART_PLT | CODE_PART_COLD) || flow_is_fragment(p, part))
		return 0;
	err = place_entry(p, part->start, &place, &why);
	if (err && err != -ENOTSUP)
		return err;
	facts->why = (uint8_t)why;
	facts->entry = err			    ? ENTRY_NONE
		       : place.cls == SITE_EMULATED ? ENTRY_EMULATED
						    : ENTRY_STEPPED;
	if (err)
		return 0;
	n = place_exits(p, part->start, exits, sizeof(exits) / sizeof(exits[0]), &flags, &why);
	if (n < 0)
		return n == -ENOTSUP ? 0 : n;
	facts->exits_emulated =
	    n &&
	    !(flags & (EXITS_STEPPED | EXITS_INCOMPLETE | EXITS_TAIL_CALLS | EXITS_UNDECODABLE));
	facts->other_ways |= (part->flags & CODE_PART_EXPORTED && p->src->shared) ||
			     part->flags & CODE_PART_IFUNC ||
			     (p->src->in_data && p->src->in_data(p->src->ctx, part->start));
	return 0;
}

static void sum_up(struct coverage_run *run)
{
	struct module_coverage *c = &run->result;

	for (size_t i = 0; i < run->placer->src->nr_parts; i++) {
		const struct part_facts *f = &run->facts[i];
		bool by_callers = f->calls && f->calls == f->calls_emulated;
		bool direct = f->calls && !f->other_ways;

		if (f->entry == ENTRY_NOT_FUNCTION)
			continue;
		c->functions++;
		c->only_direct += direct;
		if (f->entry == ENTRY_NONE) {
			c->declined[f->why]++;
		} else if (f->entry == ENTRY_STEPPED) {
			c->entry_stepped++;
		} else if (by_callers || f->exits_emulated) {
			c->pairs++;
			c->only_direct_pairs += direct && by_callers;
		} else {
			c->entry_emulated++;
		}
	}
}

int coverage_step(struct coverage_run *run, size_t parts)
{
	const struct code_source *src = run->placer->src;

	for (; parts && run->next < src->nr_parts; parts--, run->next++) {
		const struct code_part *part = &src->parts[run->next];
		int err = look_at_entry(run, part, &run->facts[run->next]);

		if (!err && !(part->flags & CODE_PART_PLT))
			err = look_at_code(run, part);
		if (err)
			return err;
		if (run->next + 1 == src->nr_parts)
			sum_up(run);
	}
	return run->next < src->nr_parts;
}

int coverage_module(struct placer *p, struct module_coverage *out)
{
	struct coverage_run *run = coverage_begin(p);
	int err = run ? 1 : -ENOMEM;

	*out = (struct module_coverage){0};
	while (err > 0)
		err = coverage_step(run, SIZE_MAX);
	if (run)
		*out = run->result;
	coverage_end(run);
	return err;
}

uint64_t coverage_watchable(const struct module_coverage *c)
{
	return c->pairs + c->entry_emulated + c->entry_stepped;
}

static void line(struct buf *out, uint64_t n, uint64_t of, const char *what)
{
	buf_printf(out, "  %8" PRIu64 "  %5.1f%%  %s\n", n,
		   of ? 100.0 * (double)n / (double)of : 0.0, what);
}

int coverage_text(const struct module_coverage *c, const char *module, struct buf *out)
{
	uint64_t n = c->functions;

	buf_printf(out, "%s: %" PRIu64 " of %" PRIu64 " functions can be watched (%.1f%%)\n",
		   module, coverage_watchable(c), n,
		   n ? 100.0 * (double)coverage_watchable(c) / (double)n : 0.0);
	line(out, c->pairs, n, "entry and ends emulated");
	line(out, c->entry_emulated, n, "entry emulated, ends single-stepped or discovered");
	line(out, c->entry_stepped, n, "entry single-stepped");
	for (unsigned i = 0; i < PLACE_WHY_MAX; i++)
		if (c->declined[i])
			line(out, c->declined[i], n, place_why_text((enum place_why)i));
	buf_printf(out,
		   "  called only directly: %" PRIu64
		   ", with an emulated end at every caller: %" PRIu64 "\n",
		   c->only_direct, c->only_direct_pairs);
	buf_printf(out,
		   "  calls: %" PRIu64 ", ends emulated: %" PRIu64 ", not joined: %" PRIu64
		   ", single-stepped: %" PRIu64 ", none: %" PRIu64 "\n",
		   c->calls, c->ends_emulated, c->ends_straight, c->ends_stepped, c->ends_none);
	return out->err;
}
