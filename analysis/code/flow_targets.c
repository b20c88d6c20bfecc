// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the code of a function can be jumped to, and what its indirect jumps are. */
#include "analysis/base/array.h"
#include "analysis/code/flow.h"

#include "analysis/code/arch.h"
#include "analysis/code/branch_index.h"
#include "analysis/code/placer.h"

enum { TABLE_PIECE = 4096, TABLES_REMEMBERED = 64 };

struct part_code *flow_part(const struct flow *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->nr_parts; i++) {
		const struct code_part *part = f->parts[i]->part;

		if (vaddr >= part->start && vaddr < part->end)
			return f->parts[i];
	}
	return NULL;
}

/* Number of targets below `vaddr`. */
static size_t targets_below(const struct flow *f, uint64_t vaddr)
{
	size_t lo = lower_bound(i, f->nr_targets, f->targets[i] < vaddr);

	return lo;
}

bool flow_is_target(const struct flow *f, uint64_t vaddr)
{
	size_t i = targets_below(f, vaddr);

	return i < f->nr_targets && f->targets[i] == vaddr;
}

bool flow_target_between(const struct flow *f, uint64_t low, uint64_t high)
{
	size_t i = targets_below(f, low + 1);

	return i < f->nr_targets && f->targets[i] < high;
}

static int add_target(struct flow *f, uint64_t vaddr)
{
	return array_append(f->targets, f->nr_targets, f->cap_targets, FLOW_MAX_TARGETS, vaddr);
}

static int collect_own_targets(struct flow *f)
{
	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct part_code *pc = f->parts[n];

		for (size_t i = 0; i < pc->nr; i++) {
			const struct flow_insn *fi = &pc->insns[i];
			int err;

			if (fi->flow != INSN_JMP && fi->flow != INSN_JCC && fi->flow != INSN_CALL)
				continue;
			/* a recursive call enters at the start anew */
			if (!flow_part(f, fi->target) ||
			    (fi->flow == INSN_CALL && fi->target == f->start))
				continue;
			err = add_target(f, fi->target);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Jumps from elsewhere to anything but the start of a part. */
static int collect_foreign_targets(struct placer *p, struct flow *f)
{
	const struct branch_list *jumps = &p->index.jumps;

	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct code_part *part = f->parts[n]->part;

		for (size_t i = index_first(p, jumps, part->start + 1); i < jumps->nr; i++) {
			uint64_t target = index_target(p, jumps->keys[i]);
			uint64_t source = index_source(p, jumps->keys[i]);
			const struct flow_insn *fi;
			struct part_code *pc;
			int err;

			if (target >= part->end)
				break;
			if (flow_part(f, source))
				continue;
			fi = index_verify(p, source, &pc);
			if (!fi || fi->target != target)
				continue;
			err = add_target(f, target);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Short jumps from the parts next to the function: the index has only long ones. */
static int collect_short_jumps(struct placer *p, struct flow *f, const struct code_part *part)
{
	struct part_code *pc = part_decode(p, part);

	for (size_t i = 0; pc && i < pc->nr; i++) {
		const struct flow_insn *fi = &pc->insns[i];
		int err;

		if ((fi->flow != INSN_JMP && fi->flow != INSN_JCC) || fi->length > 3 ||
		    fi->target == f->start || !flow_part(f, fi->target))
			continue;
		err = add_target(f, fi->target);
		if (err)
			return err;
	}
	return 0;
}

static int collect_neighbours(struct placer *p, struct flow *f)
{
	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct code_part *part = f->parts[n]->part;
		const struct code_part *first = p->src->parts, *last = first + p->src->nr_parts;
		int err = 0;

		if (part > first && part[-1].end + ARCH_SHORT_REACH > part->start &&
		    !flow_part(f, part[-1].start))
			err = collect_short_jumps(p, f, &part[-1]);
		if (!err && part + 1 < last && part[1].start < part->end + ARCH_SHORT_REACH &&
		    !flow_part(f, part[1].start))
			err = collect_short_jumps(p, f, &part[1]);
		if (err)
			return err;
	}
	return 0;
}

/* Tables are read in pieces; those of this function that were read already. */
struct tables {
	uint8_t piece[TABLE_PIECE];
	uint64_t seen[TABLES_REMEMBERED];
	size_t nr_seen;
};

static bool seen_before(struct tables *t, uint64_t table)
{
	size_t n = t->nr_seen < TABLES_REMEMBERED ? t->nr_seen : TABLES_REMEMBERED;

	for (size_t i = 0; i < n; i++)
		if (t->seen[i] == table)
			return true;
	t->seen[t->nr_seen++ % TABLES_REMEMBERED] = table;
	return false;
}

/* Tables of other data look like tables of code, but seldom hit instructions. */
static bool can_be_target(const struct flow *f, uint64_t vaddr)
{
	const struct part_code *pc = flow_part(f, vaddr);

	return pc && (pc->undecodable || part_find(pc, vaddr) >= 0);
}

/* As many bytes at `vaddr` as there are, up to a piece of `size`; 0 if none. */
static size_t read_piece(struct placer *p, struct tables *t, uint64_t vaddr, size_t size)
{
	for (; size >= sizeof(uint64_t); size /= 2)
		if (!p->src->read(p->src->ctx, vaddr, t->piece, size))
			return size;
	size = sizeof(uint32_t);
	return p->src->read(p->src->ctx, vaddr, t->piece, size) ? 0 : size;
}

/* Entries of a table of 32-bit distances from its own address, or of addresses. */
static int read_table(struct placer *p, struct flow *f, struct tables *t, uint64_t table,
		      bool absolute)
{
	size_t entry = absolute ? sizeof(int64_t) : sizeof(int32_t), size = 64;
	unsigned found = 0;

	while (found < FLOW_MAX_TABLE) {
		size_t n = read_piece(p, t, table + (uint64_t)found * entry, size) / entry;

		for (size_t i = 0; i < n; i++) {
			int64_t value;
			int32_t distance;
			uint64_t target;
			int err;

			memcpy(&distance, t->piece + i * entry, sizeof(distance));
			if (absolute)
				memcpy(&value, t->piece + i * entry, sizeof(value));
			target = absolute ? (uint64_t)value : table + (uint64_t)(int64_t)distance;
			if (!can_be_target(f, target))
				return (int)found;
			err = add_target(f, target);
			if (err)
				return err;
			found++;
		}
		if (!n)
			break;
		size = TABLE_PIECE;
	}
	return (int)found;
}

/* Every address of data that the function takes may be the start of a table: one
 * target too many does no harm. */
static int collect_tables(struct placer *p, struct flow *f)
{
	struct tables t = {.nr_seen = 0};

	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct part_code *pc = f->parts[n];

		for (size_t i = 0; i < pc->nr; i++) {
			const struct flow_insn *fi = &pc->insns[i];
			struct insn insn;
			uint64_t table;
			bool absolute;
			int found;

			if ((fi->flow != INSN_NEXT && fi->flow != INSN_JMP_INDIRECT) ||
			    fi->length < 5 || part_insn(p, pc, i, &insn))
				continue;
			absolute = arch_absolute_table(&insn, &table);
			if (!absolute && (!arch_takes_address(&insn, &table) || table & 3))
				continue;
			if (code_part_at(p->src, table) || seen_before(&t, table))
				continue;
			found = read_table(p, f, &t, table, absolute);
			if (found < 0)
				return found;
			if (found)
				f->flags |= EXITS_JUMP_TABLES;
		}
	}
	return 0;
}

static bool has_indirect_jump(const struct flow *f)
{
	for (size_t n = 0; n < f->nr_parts; n++)
		for (size_t i = 0; i < f->parts[n]->nr; i++)
			if (f->parts[n]->insns[i].flow == INSN_JMP_INDIRECT)
				return true;
	return false;
}

/* How many instructions before an indirect jump its table is read. */
enum { TABLE_LOAD_DISTANCE = 12 };

enum jump_kind flow_jump_kind(struct placer *p, const struct part_code *pc, size_t i)
{
	const struct flow *f = &p->flow;
	uint64_t vaddr = pc->part->start + pc->insns[i].off, table;
	struct code_cfa cfa = placer_cfa(p, vaddr);
	struct insn insn;

	if (f->flags & EXITS_JUMP_TABLES) {
		size_t first = i > TABLE_LOAD_DISTANCE ? i - TABLE_LOAD_DISTANCE : 0;

		if (!part_insn(p, pc, i, &insn) && arch_absolute_table(&insn, &table))
			return JUMP_TABLE;
		for (size_t k = i; k-- > first;)
			if (!part_insn(p, pc, k, &insn) && arch_loads_table_entry(&insn))
				return JUMP_TABLE;
	}
	if (cfa.kind == CODE_CFA_SP && cfa.offset == ARCH_ENTRY_CFA)
		return JUMP_TAIL;
	/* through the GOT, or else the frame is still there, or nothing is known */
	if (!part_insn(p, pc, i, &insn) && arch_pc_relative(&insn, &table))
		return JUMP_TAIL;
	return JUMP_UNRESOLVED;
}

const char *flow_callee_name(struct placer *p, const struct insn *insn)
{
	const struct code_source *src = p->src;
	uint64_t slot;

	if (insn->flow == INSN_CALL || insn->flow == INSN_JMP)
		return src->name ? src->name(src->ctx, insn->target) : NULL;
	if (arch_pc_relative(insn, &slot))
		return src->slot ? src->slot(src->ctx, slot) : NULL;
	return NULL;
}

/* Functions that return twice: code after their call runs again without it. */
static bool returns_twice(const char *name)
{
	static const char *const names[] = {"setjmp", "sigsetjmp", "vfork", "getcontext",
					    "savectx"};
	size_t len;

	if (!name)
		return false;
	while (*name == '_')
		name++;
	len = strcspn(name, "@");
	return any_of(i, ARRAY_SIZE(names),
		      strlen(names[i]) == len && !memcmp(names[i], name, len));
}

static bool same_rule(struct code_cfa a, struct code_cfa b)
{
	return a.kind == b.kind && (a.kind != CODE_CFA_SP || a.offset == b.offset);
}

bool flow_unresolved_reaches(const struct placer *p, uint64_t vaddr)
{
	const struct flow *f = &p->flow;
	struct code_cfa here;

	if (!f->nr_unresolved)
		return false;
	here = placer_cfa(p, vaddr);
	if (here.kind == CODE_CFA_UNKNOWN || f->nr_unresolved > FLOW_MAX_RULES)
		return true;
	return any_of(i, f->nr_unresolved,
		      f->unresolved[i].kind == CODE_CFA_UNKNOWN ||
			  same_rule(f->unresolved[i], here));
}

static void add_unresolved(const struct placer *p, struct flow *f, uint64_t vaddr)
{
	struct code_cfa rule = placer_cfa(p, vaddr);

	f->flags |= EXITS_UNRESOLVED;
	for (size_t i = 0; i < f->nr_unresolved && i < FLOW_MAX_RULES; i++)
		if (same_rule(f->unresolved[i], rule))
			return;
	if (f->nr_unresolved < FLOW_MAX_RULES)
		f->unresolved[f->nr_unresolved] = rule;
	f->nr_unresolved++;
}

static void collect_flags(struct placer *p, struct flow *f)
{
	for (size_t n = 0; n < f->nr_parts; n++) {
		const struct part_code *pc = f->parts[n];

		if (pc->part->flags & CODE_PART_LSDA)
			f->flags |= EXITS_LSDA;
		if (pc->undecodable)
			f->flags |= EXITS_UNDECODABLE;
		for (size_t i = 0; i < pc->nr; i++) {
			const struct flow_insn *fi = &pc->insns[i];
			struct insn insn;

			if (fi->flow == INSN_JMP_INDIRECT &&
			    flow_jump_kind(p, pc, i) == JUMP_UNRESOLVED)
				add_unresolved(p, f, pc->part->start + fi->off);
			if ((fi->flow == INSN_CALL || fi->flow == INSN_CALL_INDIRECT) &&
			    !(f->flags & EXITS_SETJMP) && !part_insn(p, pc, i, &insn) &&
			    returns_twice(flow_callee_name(p, &insn)))
				f->flags |= EXITS_SETJMP;
		}
	}
}

static void sort_targets(struct flow *f)
{
	size_t n = 0;

	if (!f->nr_targets)
		return;
	qsort(f->targets, f->nr_targets, sizeof(*f->targets), compare_u64);
	for (size_t i = 0; i < f->nr_targets; i++)
		if (!n || f->targets[n - 1] != f->targets[i])
			f->targets[n++] = f->targets[i];
	f->nr_targets = n;
}

int flow_collect_targets(struct placer *p, struct flow *f)
{
	int err = collect_own_targets(f);

	if (!err)
		err = collect_foreign_targets(p, f);
	if (!err)
		err = collect_neighbours(p, f);
	if (!err && has_indirect_jump(f) && p->src->read)
		err = collect_tables(p, f);
	if (err)
		return err;
	sort_targets(f);
	collect_flags(p, f);
	return 0;
}
