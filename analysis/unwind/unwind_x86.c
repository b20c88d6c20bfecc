// SPDX-License-Identifier: GPL-2.0-or-later
/* x86-64: derive the frame from bytes of code if there is no call frame information. */
#include "analysis/module/module_data.h"
#include "analysis/unwind/unwind_internal.h"

enum {
	/* struct rt_sigframe of the kernel: rsp points at its ucontext when the handler has
	   returned */
	UCONTEXT_REGISTERS = 40,
	LONGEST_CALL = 7,
	LONGEST_SNAPSHOT = 16,
	ENDBR64 = 4,
};

void unwind_registers(const uint64_t *pt_regs, uint64_t *registers)
{
	/* index in struct pt_regs, by DWARF number */
	static const uint8_t index[ROW_REGISTERS] = {10, 12, 11, 5, 13, 14, 4, 19, 9,
						     8,	 7,  6,	 3, 2,	1,  0, 16};
	unsigned int i;

	for (i = 0; i < ROW_REGISTERS; i++)
		registers[i] = pt_regs[index[i]];
}

static struct row_rule saved(int64_t at)
{
	return (struct row_rule){.kind = RULE_SAVED, .value = at};
}

/* CFA = reg + offset, the return address below it. */
static void plain_row(struct row *row, uint8_t reg, int64_t offset)
{
	*row = (struct row){.return_register = ROW_RIP};
	row->cfa = (struct row_rule){.kind = RULE_REGISTER, .reg = reg, .value = offset};
	row->regs[ROW_RIP] = saved(-WORD);
}

void arch_row_of_frame_pointer(struct row *row)
{
	plain_row(row, ROW_RBP, 2 * WORD);
	row->regs[ROW_RBP] = saved(-2 * WORD);
	/* Where the function saved the others, if it uses them, is not known. */
	row->regs[ROW_RBX].kind = RULE_UNDEFINED;
	for (unsigned int i = ROW_R12; i <= ROW_R15; i++)
		row->regs[i].kind = RULE_UNDEFINED;
}

/* True if the `n` bytes of code at vaddr are these. Reads byte by byte, because an unwinder
 * needs a few bytes here and there, not whole libraries. */
static bool code_is(struct module *m, uint64_t vaddr, const char *bytes, size_t n)
{
	uint8_t code[LONGEST_SNAPSHOT];

	return n <= sizeof(code) && !module_read_data(m, vaddr, code, n) && !memcmp(code, bytes, n);
}

#define CODE_IS(m, vaddr, bytes) code_is(m, vaddr, bytes, sizeof(bytes) - 1)

/* Moving its number into a register and the system call; or already at that. */
static bool is_sigreturn(struct module *m, uint64_t vaddr)
{
	static const char by_rax[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
	static const char by_eax[] = "\xb8\x0f\x00\x00\x00\x0f\x05";

	if (CODE_IS(m, vaddr, "\x0f\x05"))
		return CODE_IS(m, vaddr - 7, by_rax) || CODE_IS(m, vaddr - 5, by_eax);
	return CODE_IS(m, vaddr, by_rax) || CODE_IS(m, vaddr, by_eax);
}

bool arch_row_of_sigreturn(struct module *m, uint64_t vaddr, struct row *row)
{
	/* in the order of struct sigcontext */
	static const uint8_t order[] = {8,	 9,	  10,	   11,	    12,	     13,
					14,	 15,	  ROW_RDI, ROW_RSI, ROW_RBP, ROW_RBX,
					ROW_RDX, ROW_RAX, ROW_RCX, ROW_RSP, ROW_RIP};
	unsigned int i;

	if (!is_sigreturn(m, vaddr))
		return false;
	*row = (struct row){.return_register = ROW_RIP, .signal_frame = true};
	for (i = 0; i < sizeof(order); i++)
		row->regs[order[i]] = (struct row_rule){
		    .kind = RULE_SAVED_SP, .value = UCONTEXT_REGISTERS + WORD * (int)i};
	row->cfa = row->regs[ROW_RSP];
	return true;
}

/* Nothing but a return address (and `pushed` words) is on the stack. */
static bool bare_row(struct row *row, int pushed)
{
	plain_row(row, ROW_RSP, (1 + pushed) * WORD);
	return true;
}

static bool bare_row_rbp_pushed(struct row *row)
{
	bare_row(row, 1);
	row->regs[ROW_RBP] = saved(-2 * WORD);
	return true;
}

/* A jump through a slot, as a stub of a procedure linkage table begins. */
static bool is_stub(struct module *m, uint64_t vaddr)
{
	if (CODE_IS(m, vaddr, "\xf3\x0f\x1e\xfa"))
		vaddr += ENDBR64;
	return CODE_IS(m, vaddr, "\xff\x25") || CODE_IS(m, vaddr, "\xf2\xff\x25");
}

bool arch_row_of_edge(struct module *m, uint64_t vaddr, struct row *row)
{
	const struct module_function *f = module_function_at(m, vaddr);

	if (f && f->vaddr == vaddr)
		return bare_row(row, 0);
	if (f && f->vaddr == vaddr - ENDBR64 && CODE_IS(m, f->vaddr, "\xf3\x0f\x1e\xfa"))
		return bare_row(row, 0);
	/* push %rbp has run, mov %rsp,%rbp comes */
	if (CODE_IS(m, vaddr - 1, "\x55\x48\x89\xe5") || CODE_IS(m, vaddr - 1, "\x55\x48\x8b\xec"))
		return bare_row_rbp_pushed(row);
	/* pop %rbp; ret */
	if (CODE_IS(m, vaddr, "\x5d\xc3"))
		return bare_row_rbp_pushed(row);
	if (CODE_IS(m, vaddr, "\xc3") || CODE_IS(m, vaddr, "\xf3\xc3") || is_stub(m, vaddr))
		return bare_row(row, 0);
	return false;
}

/* Length of `call *operand` from its opcode on, given the byte after that and the next. */
static unsigned int indirect_call_length(uint8_t modrm, uint8_t sib)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7, n = 2 + (mod != 3 && rm == 4);

	if (mod == 1)
		n += 1;
	else if (mod == 2 || (!mod && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		n += 4;
	return n;
}

bool arch_after_call(struct module *m, uint64_t vaddr)
{
	uint8_t bytes[LONGEST_CALL], *code = bytes + LONGEST_CALL;

	if (module_read_data(m, vaddr - LONGEST_CALL, bytes, LONGEST_CALL))
		return true;
	if (code[-5] == 0xe8)
		return true;
	for (unsigned int n = 2; n <= LONGEST_CALL; n++) {
		uint8_t modrm = code[1 - (int)n];

		if (code[-(int)n] == 0xff && (modrm >> 3 & 7) == 2 &&
		    indirect_call_length(modrm, n > 2 ? code[2 - (int)n] : 0) == n)
			return true;
	}
	return false;
}
