// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions of a function for display, with names, source lines and loops. */

#include "analysis/base/array.h"
#include "analysis/code/blocks.h"
#include "tui/parser/serve_internal.h"

enum { TEXT_BYTES = 256, ANSWER_BYTES = FRAME_MAX_PAYLOAD - (64 << 10), NUMBERS_BYTES = 24 };

/* The state while instructions are described. */
struct listing {
	struct server *s;
	struct module *m;
	struct placer *p;
	struct part_code *pc;
	struct blocks blocks; /* empty if control flow is not known */
	bool flow;
	const char *file; /* of the previous instruction */
	uint32_t line;
	size_t room;
};

static const char *keep(struct listing *l, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = n + NUMBERS_BYTES <= l->room ? arena_alloc(&l->s->arena, n) : NULL;

	if (!copy)
		return "";
	l->room -= n;
	memcpy(copy, text, n);
	return copy;
}

/* Decode the code around an address. Loops are known only if the control flow of the whole function
 * can be followed. */
static int listing_find(struct listing *l, uint64_t vaddr)
{
	const struct code_part *part;
	enum place_why why;

	if (!flow_load(l->p, vaddr, &why)) {
		l->pc = flow_part(&l->p->flow, vaddr);
		l->flow = l->pc != NULL;
		if (l->flow && blocks_find(l->p, &l->blocks))
			return -ENOMEM;
	}
	if (!l->pc) {
		part = code_part_at(placer_source(l->p), vaddr);
		l->pc = part ? part_decode(l->p, part) : NULL;
	}
	return l->pc && l->pc->nr ? 0 : -ENOENT;
}

/* The last instruction that begins at or before the address. */
static size_t index_of(const struct part_code *pc, uint64_t vaddr)
{
	size_t after = lower_bound(i, pc->nr, pc->part->start + pc->insns[i].off <= vaddr);

	return after ? after - 1 : 0;
}

/* Describe the target of a direct branch; "" if the description would only repeat the instruction.
 */
static void target_of(const struct listing *l, const struct insn *insn, char *out, size_t size)
{
	const struct code_part *part = l->pc->part;
	const char *name = flow_callee_name(l->p, insn);
	const struct module_function *f;

	out[0] = '\0';
	if (insn->target >= part->start && insn->target < part->end && insn->flow != INSN_CALL) {
		snprintf(out, size, "+0x%" PRIx64, insn->target - part->start);
		return;
	}
	if (name) {
		snprintf(out, size, "%s", name);
		return;
	}
	f = insn->target ? module_function_at(l->m, insn->target) : NULL;
	if (f && f->vaddr == insn->target)
		snprintf(out, size, "%s", module_function_name(l->m, f));
	else if (f)
		snprintf(out, size, "%s+0x%" PRIx64, module_function_name(l->m, f),
			 insn->target - f->vaddr);
}

static bool is_direct(const struct insn *insn)
{
	return insn->flow == INSN_CALL || insn->flow == INSN_JMP || insn->flow == INSN_JCC;
}

static const char *text_of(struct listing *l, const struct insn *insn)
{
	char text[TEXT_BYTES], target[TEXT_BYTES], all[2 * TEXT_BYTES + 8];
	bool branch =
	    is_direct(insn) || insn->flow == INSN_CALL_INDIRECT || insn->flow == INSN_JMP_INDIRECT;

	decode_text(l->p->decoder, insn, text, sizeof(text));
	target[0] = '\0';
	if (branch)
		target_of(l, insn, target, sizeof(target));
	if (!target[0])
		snprintf(all, sizeof(all), "%s", text);
	else if (is_direct(insn))
		snprintf(all, sizeof(all), "%.*s %s", (int)strcspn(text, " "), text, target);
	else
		snprintf(all, sizeof(all), "%s <%s>", text, target);
	return keep(l, all);
}

static void line_of(struct listing *l, uint64_t vaddr, struct parsed_insn *out)
{
	const char *file = NULL;
	uint32_t line = 0;

	out->file = "";
	if (module_line(l->m, vaddr, &file, &line) || !file || (file == l->file && line == l->line))
		return;
	if (!l->file || strcmp(file, l->file) != 0)
		out->file = keep(l, file);
	l->file = file;
	l->line = out->line = line;
}

static uint32_t flags_of(const struct listing *l, uint64_t vaddr)
{
	const struct block *k = blocks_at(&l->blocks, vaddr);
	uint32_t flags = 0;

	if (k && k->loop)
		flags |= INSN_OF_LOOP;
	if (l->flow && flow_is_target(&l->p->flow, vaddr))
		flags |= INSN_JUMPED_TO;
	return flags;
}

static int describe(struct listing *l, size_t first, uint32_t nr, struct parsed_insn *out)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct insn insn;
		int err = part_insn(l->p, l->pc, first + i, &insn);

		if (!err)
			err = module_offset_of(l->m, insn.vaddr, &out[i].offset);
		if (err)
			return err;
		out[i].text = text_of(l, &insn);
		line_of(l, insn.vaddr, &out[i]);
		out[i].flags = flags_of(l, insn.vaddr);
	}
	return 0;
}

/* Fill the answer with the requested number of instructions, with the one at `vaddr` in the middle.
 */
static int listing_fill(struct listing *l, uint64_t vaddr, struct parsed_code *answer)
{
	uint32_t max = l->s->request.max && l->s->request.max < PARSE_MAX_INSNS ? l->s->request.max
										: PARSE_MAX_INSNS;
	const struct module_function *f = module_function_at(l->m, vaddr);
	size_t nr = l->pc->nr, site = index_of(l->pc, vaddr), first = 0;
	struct parsed_insn *insns;
	int err;

	if (nr > max) {
		first = site > max / 2 ? site - max / 2 : 0;
		first = first < nr - max ? first : nr - max;
		nr = max;
	}
	insns = arena_alloc(&l->s->arena, nr * sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	memset(insns, 0, nr * sizeof(*insns));
	l->room = ANSWER_BYTES - nr * NUMBERS_BYTES;
	answer->function = f ? module_function_name(l->m, f) : "";
	answer->size = l->pc->part->end - l->pc->part->start;
	answer->total = (uint32_t)l->pc->nr;
	answer->site = (uint32_t)(site - first);
	err = module_offset_of(l->m, l->pc->part->start, &answer->start);
	if (!err)
		err = describe(l, first, (uint32_t)nr, insns);
	if (err)
		return err;
	answer->nr = (uint32_t)nr;
	answer->insns = insns;
	return 0;
}

int serve_code(struct server *s)
{
	struct parsed_code answer = {.reason = "", .function = ""};
	struct listing l = {.s = s};
	uint64_t vaddr = 0;

	answer.error = server_locate(s, &l.m, &l.p, &vaddr, &answer.reason);
	if (!answer.error) {
		answer.error = listing_find(&l, vaddr);
		if (!answer.error)
			answer.error = listing_fill(&l, vaddr, &answer);
		if (answer.error)
			answer.reason = answer.error == -ENOENT
					    ? "no function is known at this address"
					    : module_error_text(answer.error);
		blocks_release(&l.blocks);
	}
	return server_answer(s, PARSED_CODE, &answer);
}
