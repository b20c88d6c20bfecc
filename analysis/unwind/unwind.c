// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/unwind/unwind.h"

#include "analysis/unwind/unwind_internal.h"

enum {
	ADDRESS_BITS = 56,	 /* of user space, at most */
	LOWEST_CODE = 4096,	 /* the kernel maps nothing below */
	GAP_TRIES = 48,		 /* return addresses that are tried above code without frames */
	LARGEST_STACK = 8 << 20, /* as far as a frame pointer is believed without being seen */
	/* r12..r15, rbx, rbp, rsp: a function preserves their values for its caller */
	PRESERVED = 0xf << ROW_R12 | 1 << ROW_RBX | 1 << ROW_RBP | 1 << ROW_RSP,
};

struct unwind_run {
	struct unwinder *u;
	const struct unwind_map *map;
	struct frame_state s;
	uint64_t floor; /* the next CFA is above it */
	bool exact;	/* s.reg[ROW_RIP] is the next instruction, not a return address */
	bool guessed;	/* it was found without call frame information */
};

/* The first frame of code of no file since the last one that call frame information led to. */
struct code_without_cfi {
	struct frame_state at;
	unsigned int nr; /* frames up to it; 0: none */
};

const char *unwind_stop_text(enum unwind_stop stop)
{
	static const char *const texts[UNWIND_STOPS] = {
	    [UNWIND_BOTTOM] = "complete",
	    [UNWIND_END_OF_COPY] = "the copied part of the stack ends here",
	    [UNWIND_NO_CFI] = "the code has neither call frame information nor frame pointers",
	    [UNWIND_LIMIT] = "the stack has too many frames",
	    [UNWIND_BAD_CFA] = "the next frame is not above the last one on the stack",
	    [UNWIND_BAD_CFI] =
		"the call frame information is damaged or needs a register that is not known",
	    [UNWIND_BAD_RETURN] = "the return address is not valid",
	};

	return stop < UNWIND_STOPS ? texts[stop] : "";
}

static bool run_expression(struct unwind_run *run, uint32_t module, const struct row_rule *rule,
			   const uint64_t *cfa, uint64_t *value)
{
	struct module *m = run->u->module(run->u->context, module);
	const uint8_t *bytes = m ? module_row_expression(m, rule) : NULL;

	return bytes && expression_run(bytes, rule->len, &run->s, cfa, value);
}

/* Compute the value of a register in the calling frame by its CFI rule. False if the value cannot
 * be recovered. */
static bool apply(struct unwind_run *run, uint32_t module, const struct row_rule *rule,
		  uint64_t cfa, uint64_t *value)
{
	struct frame_state *s = &run->s;
	uint64_t at;

	switch ((enum rule_kind)rule->kind) {
	case RULE_SAVED:
		return state_read(s, cfa + (uint64_t)rule->value, WORD, value);
	case RULE_SAVED_SP:
		return state_read(s, s->reg[ROW_RSP] + (uint64_t)rule->value, WORD, value);
	case RULE_VALUE:
		*value = cfa + (uint64_t)rule->value;
		return true;
	case RULE_REGISTER:
		*value = s->reg[rule->reg];
		return state_knows(s, rule->reg);
	case RULE_SAVED_EXPRESSION:
		return run_expression(run, module, rule, &cfa, &at) &&
		       state_read(s, at, WORD, value);
	case RULE_EXPRESSION:
		return run_expression(run, module, rule, &cfa, value);
	case RULE_NONE:
	case RULE_SAME:
	case RULE_UNDEFINED:
		break;
	}
	return false;
}

static bool find_cfa(struct unwind_run *run, const struct known *k, uint64_t *cfa)
{
	const struct row_rule *rule = &k->row.cfa;
	struct frame_state *s = &run->s;

	switch ((enum rule_kind)rule->kind) {
	case RULE_REGISTER:
		*cfa = s->reg[rule->reg] + (uint64_t)rule->value;
		return state_knows(s, rule->reg);
	case RULE_SAVED_SP:
		return state_read(s, s->reg[ROW_RSP] + (uint64_t)rule->value, WORD, cfa);
	case RULE_EXPRESSION:
		return run_expression(run, k->module, rule, NULL, cfa);
	default:
		return false;
	}
}

/* A frame lies above the one that it called. A signal may have come on any other stack. */
static bool cfa_plausible(const struct unwind_run *run, const struct known *k, uint64_t cfa)
{
	if (!cfa || cfa >> ADDRESS_BITS)
		return false;
	return k->row.signal_frame || (cfa % WORD == 0 && cfa > run->floor);
}

/* A place below the stack pointer, of which the copy has nothing: the end of a
 * function has taken the register from there already, and compilers do not say
 * so. (A function that calls none may have saved it there, below its stack: then
 * the register is another one. That is rare.) */
static bool taken_back(const struct unwind_run *run, const struct row_rule *rule, uint64_t cfa)
{
	return rule->kind == RULE_SAVED && cfa + (uint64_t)rule->value < run->s.reg[ROW_RSP];
}

/* The registers of the caller, but for where it is. */
static void find_registers(struct unwind_run *run, const struct known *k, uint64_t cfa,
			   struct frame_state *caller)
{
	*caller = run->s;
	for (unsigned int i = 0; i < ROW_RIP; i++) {
		const struct row_rule *rule = &k->row.regs[i];

		if (rule->kind == RULE_SAME || (rule->kind == RULE_NONE && PRESERVED >> i & 1))
			continue;
		if (apply(run, k->module, rule, cfa, &caller->reg[i]))
			caller->known |= 1U << i;
		else if (!taken_back(run, rule, cfa))
			caller->known &= ~(1U << i);
	}
	if (k->row.regs[ROW_RSP].kind == RULE_NONE || !state_knows(caller, ROW_RSP))
		caller->reg[ROW_RSP] = cfa;
	caller->known |= 1U << ROW_RSP;
}

/* A rule led nowhere; without call frame information that is all there is to say. */
static enum unwind_stop failed(const struct known *k, enum unwind_stop why)
{
	if (!(k->flags & KNOWN_NO_CFI))
		return why;
	return k->flags & KNOWN_DAMAGED ? UNWIND_BAD_CFI : UNWIND_NO_CFI;
}

/* The reason to stop if the CFA or the return address could not be computed. */
static enum unwind_stop not_found(const struct unwind_run *run, const struct known *k)
{
	uint64_t above = run->s.missing - run->s.reg[ROW_RSP];

	if (run->s.missing && (!(k->flags & KNOWN_NO_CFI) || above < LARGEST_STACK))
		return UNWIND_END_OF_COPY;
	return failed(k, UNWIND_BAD_CFI);
}

static enum unwind_stop check_return(const struct known *k, uint64_t address)
{
	if (address >= LOWEST_CODE && !(address >> ADDRESS_BITS))
		return UNWIND_STOPS;
	if (!address && !k->row.signal_frame)
		return UNWIND_BOTTOM;
	return failed(k, UNWIND_BAD_RETURN);
}

/* Go to the caller of `frame`, of which the CFA is then known. UNWIND_STOPS: it is there. */
static enum unwind_stop step(struct unwind_run *run, const struct known *k,
			     struct unwind_frame *frame)
{
	const struct row_rule *ret = &k->row.regs[k->row.return_register];
	struct frame_state caller;
	enum unwind_stop stop;
	uint64_t cfa = 0, address = 0;

	if (k->flags & KNOWN_BOTTOM)
		return UNWIND_BOTTOM;
	/* By convention the outermost frame pointer is 0; in code without them it may be 0 too. */
	if (k->flags & KNOWN_POINTER && state_knows(&run->s, ROW_RBP) && !run->s.reg[ROW_RBP])
		return run->exact ? failed(k, UNWIND_NO_CFI) : UNWIND_BOTTOM;
	run->s.missing = 0;
	if (!find_cfa(run, k, &cfa))
		return not_found(run, k);
	if (!cfa_plausible(run, k, cfa))
		return failed(k, UNWIND_BAD_CFA);
	if (ret->kind == RULE_UNDEFINED) {
		frame->cfa = cfa;
		return UNWIND_BOTTOM;
	}
	find_registers(run, k, cfa, &caller);
	run->s.missing = 0;
	stop = apply(run, k->module, ret, cfa, &address) ? check_return(k, address)
							 : not_found(run, k);
	if (stop == UNWIND_STOPS || stop == UNWIND_BOTTOM || !(k->flags & KNOWN_NO_CFI))
		frame->cfa = cfa;
	if (stop != UNWIND_STOPS)
		return stop;
	caller.reg[ROW_RIP] = address;
	caller.known |= 1U << ROW_RIP;
	run->s = caller;
	run->floor = k->row.signal_frame ? caller.reg[ROW_RSP] : cfa;
	run->exact = k->row.signal_frame;
	run->guessed = k->flags & KNOWN_NO_CFI;
	return UNWIND_STOPS;
}

/* True for an address on the stack, which holds no code unless its mapping is executable. */
static bool is_data(struct unwind_run *run, uint64_t address)
{
	uint64_t unused;

	return state_read(&run->s, address, 1, &unused);
}

/* The place of the present frame; false: there cannot be one. */
static bool locate(struct unwind_run *run, struct unwind_frame *frame, const struct known **k)
{
	uint64_t pc = run->s.reg[ROW_RIP];
	const struct unwind_mapping *m = unwind_map_at(run->map, pc - !run->exact);

	if (!m && !run->exact)
		m = unwind_map_at(run->map, pc);
	*frame = (struct unwind_frame){.offset = pc};
	if (m && m->module) {
		frame->module = m->module;
		frame->offset = pc - m->start + m->offset;
	}
	*k = unwinder_known(run->u, frame->module, frame->offset, run->exact);
	frame->function = (*k)->function;
	if ((*k)->row.signal_frame)
		frame->flags |= UNWIND_SIGNAL;
	else if (!run->exact)
		frame->flags |= UNWIND_CALLER;
	if (run->guessed)
		frame->flags |= UNWIND_GUESSED;
	if (run->guessed && !((*k)->flags & KNOWN_AFTER_CALL))
		return false;
	return m || run->exact || !is_data(run, pc);
}

/* Guesses in no file that led to none are not worth saying. */
static void drop_guesses(struct unwind_stack *out)
{
	unsigned int nr = out->nr;

	if (out->stop == UNWIND_BOTTOM || out->stop == UNWIND_END_OF_COPY ||
	    out->stop == UNWIND_LIMIT)
		return;
	while (out->nr && !out->frames[out->nr - 1].module &&
	       out->frames[out->nr - 1].flags & UNWIND_GUESSED)
		out->nr--;
	if (out->nr < nr)
		out->frames[out->nr - 1].cfa = 0;
}

/* From the present frame up. `by_cfi`: end where there is none; then `stop` is not UNWIND_BOTTOM.
 */
static void frames_follow(struct unwind_run *run, bool by_cfi, struct code_without_cfi *gap,
			  struct unwind_stack *out)
{
	for (;;) {
		struct unwind_frame *frame = &out->frames[out->nr];
		const struct known *k;

		if (!locate(run, frame, &k)) {
			out->stop = run->guessed ? UNWIND_NO_CFI : UNWIND_BAD_RETURN;
			if (run->guessed)
				out->frames[out->nr - 1].cfa = 0;
			return;
		}
		if (by_cfi && k->flags & KNOWN_NO_CFI) {
			out->stop = UNWIND_NO_CFI;
			return;
		}
		if (gap && k->flags & KNOWN_MADE && !gap->nr) {
			gap->at = run->s;
			gap->nr = out->nr + 1;
		} else if (gap && !(k->flags & KNOWN_MADE) && !run->guessed) {
			gap->nr = 0;
		}
		out->nr++;
		out->stop = step(run, k, frame);
		if (out->stop != UNWIND_STOPS)
			return;
		if (out->nr == UNWIND_MAX_FRAMES) {
			out->stop = UNWIND_LIMIT;
			return;
		}
	}
}

/* Is there a whole stack above, if the word at `at` is a return address? Then its frames are added
 * to those of `out`. */
static bool frames_from(const struct unwind_run *from, const struct code_without_cfi *gap,
			uint64_t at, uint64_t word, bool pointer, struct unwind_stack *out)
{
	struct unwind_run run = *from;
	uint64_t rbp = 0;

	run.s = gap->at;
	run.s.known = 1U << ROW_RSP | 1U << ROW_RIP;
	run.s.reg[ROW_RSP] = at + WORD;
	run.s.reg[ROW_RIP] = word;
	/* where code begins with the usual two instructions, the caller's frame pointer lies below
	 * the return address */
	if (pointer) {
		if (!state_read(&run.s, at - WORD, WORD, &rbp) || rbp <= at ||
		    rbp - at > LARGEST_STACK || rbp % WORD)
			return false;
		run.s.reg[ROW_RBP] = rbp;
		run.s.known |= 1U << ROW_RBP;
	}
	run.floor = at;
	run.exact = run.guessed = false;
	out->nr = gap->nr;
	frames_follow(&run, true, NULL, out);
	return out->stop == UNWIND_BOTTOM;
}

/* Pass over code that a compiler made at run time and that keeps no frame pointer: look
 * up the stack for a return address into a file, behind a call, from which call frame
 * information leads to where the thread began. An old return address that was left on the
 * stack would have to do so too to be mistaken for it. */
static void gap_pass(struct unwind_run *run, const struct code_without_cfi *gap,
		     struct unwind_stack *out)
{
	struct unwind_stack *trial = &run->u->trial;
	unsigned int tries = 0;
	struct frame_state s = gap->at;

	memcpy(trial->frames, out->frames, gap->nr * sizeof(trial->frames[0]));
	for (uint64_t at = (s.reg[ROW_RSP] + WORD - 1) / WORD * WORD, word;
	     tries < GAP_TRIES && state_read(&s, at, WORD, &word); at += WORD) {
		const struct unwind_mapping *m = unwind_map_at(run->map, word - 1);
		const struct known *k;

		if (!m || !m->module)
			continue;
		k = unwinder_known(run->u, m->module, word - m->start + m->offset, false);
		if ((k->flags & (KNOWN_AFTER_CALL | KNOWN_NO_CFI)) != KNOWN_AFTER_CALL ||
		    !k->function)
			continue;
		tries++;
		if (!frames_from(run, gap, at, word, true, trial) &&
		    !frames_from(run, gap, at, word, false, trial))
			continue;
		trial->frames[gap->nr - 1].cfa = at + WORD;
		trial->frames[gap->nr].flags |= UNWIND_GUESSED;
		trial->missing = 0;
		*out = *trial;
		return;
	}
}

void unwind(struct unwinder *u, const struct unwind_input *in, struct unwind_stack *out)
{
	struct unwind_run run = {.u = u, .map = in->map, .exact = true};
	struct code_without_cfi gap = {0};

	memcpy(run.s.reg, in->registers, sizeof(run.s.reg));
	run.s.known = (1U << ROW_REGISTERS) - 1;
	run.floor = run.s.reg[ROW_RSP];
	run.s.memory = in->memory;
	run.s.nr_memory = in->nr_memory;
	out->nr = 0;
	out->missing = 0;
	frames_follow(&run, false, &gap, out);
	if (out->stop != UNWIND_BOTTOM && out->stop != UNWIND_LIMIT && gap.nr)
		gap_pass(&run, &gap, out);
	if (out->stop == UNWIND_END_OF_COPY)
		out->missing = run.s.missing;
	drop_guesses(out);
}
