// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/decode.h"

#include <capstone/capstone.h>

#include "analysis/code/arch.h"

struct decoder {
	csh fast, full;
	cs_insn *fast_insn, *full_insn;
};

struct decoder *decoder_new(void)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->fast) != CS_ERR_OK ||
	    cs_open(CS_ARCH_X86, CS_MODE_64, &d->full) != CS_ERR_OK ||
	    cs_option(d->full, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK ||
	    cs_option(d->full, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT) != CS_ERR_OK)
		goto fail;
	d->fast_insn = cs_malloc(d->fast);
	d->full_insn = cs_malloc(d->full);
	if (!d->fast_insn || !d->full_insn)
		goto fail;
	return d;
fail:
	decoder_free(d);
	return NULL;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	if (d->fast_insn)
		cs_free(d->fast_insn, 1);
	if (d->full_insn)
		cs_free(d->full_insn, 1);
	if (d->fast)
		cs_close(&d->fast);
	if (d->full)
		cs_close(&d->full);
	free(d);
}

int decode_insn(struct decoder *d, const uint8_t *bytes, size_t len, uint64_t vaddr,
		struct insn *out)
{
	const uint8_t *at = bytes;
	size_t left = len < INSN_MAX_LENGTH ? len : INSN_MAX_LENGTH;
	size_t max = left, length;
	uint64_t next = vaddr;

	if (left && cs_disasm_iter(d->fast, &at, &left, &next, d->fast_insn))
		length = d->fast_insn->size;
	else
		length = arch_unknown_length(bytes, max);
	if (!length || length > INSN_MAX_LENGTH)
		return -EILSEQ;
	*out = (struct insn){.vaddr = vaddr, .length = (uint8_t)length};
	memcpy(out->bytes, bytes, out->length);
	arch_analyse(out);
	return arch_is_ambiguous(out) ? -EILSEQ : 0;
}

static void add_register(struct insn_effects *e, unsigned reg)
{
	e->args |= arch_argument_bit(reg);
	e->ret |= arch_is_return_register(reg);
	e->sp_written |= arch_is_stack_pointer(reg);
}

void decode_text(struct decoder *d, const struct insn *insn, char *out, size_t size)
{
	const uint8_t *at = insn->bytes;
	size_t left = insn->length, n;
	uint64_t next = insn->vaddr;
	cs_insn *ci = d->full_insn;

	if (cs_disasm_iter(d->full, &at, &left, &next, ci)) {
		snprintf(out, size, "%s%s%s", ci->mnemonic, ci->op_str[0] ? " " : "", ci->op_str);
		return;
	}
	n = (size_t)snprintf(out, size, ".byte");
	for (unsigned i = 0; i < insn->length && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, " 0x%02x", insn->bytes[i]);
}

/* True for an instruction that sets a register to 0 and reads it only in name: xor %ecx, %ecx. */
static bool is_clearing(const cs_insn *ci)
{
	const char *second = strstr(ci->op_str, ", ");

	return second && (!strncmp(ci->mnemonic, "xor", 3) || !strncmp(ci->mnemonic, "sub", 3)) &&
	       strlen(second + 2) == (size_t)(second - ci->op_str) &&
	       !strncmp(ci->op_str, second + 2, (size_t)(second - ci->op_str));
}

int decode_effects(struct decoder *d, const struct insn *insn, struct insn_effects *out)
{
	const uint8_t *at = insn->bytes;
	size_t left = insn->length;
	uint64_t next = insn->vaddr;
	cs_insn *ci = d->full_insn;
	cs_regs rd, wr;
	uint8_t nr_rd = 0, nr_wr = 0;

	*out =
	    (struct insn_effects){.sp_written = true, .args = 0xff, .args_read = 0xff, .ret = true};
	if (!cs_disasm_iter(d->full, &at, &left, &next, ci) ||
	    cs_regs_access(d->full, ci, rd, &nr_rd, wr, &nr_wr) != CS_ERR_OK)
		return -EILSEQ;
	*out = (struct insn_effects){0};
	snprintf(out->text, sizeof(out->text), "%.14s%s%.31s", ci->mnemonic,
		 ci->op_str[0] ? " " : "", ci->op_str);
	for (uint8_t i = 0; i < nr_wr; i++)
		add_register(out, wr[i]);
	if (!is_clearing(ci))
		for (uint8_t i = 0; i < nr_rd; i++)
			out->args_read |= arch_argument_bit(rd[i]);
	if (arch_swaps(insn))
		for (uint8_t i = 0; i < nr_rd; i++)
			add_register(out, rd[i]);
	out->ret |= arch_writes_return(insn);
	out->sp_known = arch_sp_delta(insn, &out->sp_delta);
	if (out->sp_known)
		out->sp_written = true;
	else if (!out->sp_written)
		out->sp_known = true;
	return 0;
}
