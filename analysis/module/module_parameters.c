// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What DWARF says of the parameters of a function, by the registers in which the ABI of x86-64
 * passes them. A parameter whose register is not certain, such as what follows a structure that is
 * passed by value, is left unknown: a wrong name is worse than none.
 */
#include <dwarf.h>

#include "analysis/base/parameters.h"
#include "analysis/module/module_dwarf.h"

enum {
	REGISTERS = 6,
	MAX_TYPEDEFS = 64,
	MAX_PARAMETERS = 64,
	NOCALL = 3, /* DW_CC_nocall: the compiler changed how the function is called */
};

/* Where a parameter is passed. */
enum where { IN_REGISTER, IN_OTHERS /* vector registers, memory */, NOT_KNOWN };

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
}

/* Go to what a typedef or a qualified type stands for. False: to nothing, as `const void`. */
static bool peel(Dwarf_Die *type)
{
	for (int i = 0; i < MAX_TYPEDEFS; i++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!type_of(type, type))
				return false;
			break;
		default:
			return true;
		}
	}
	return false;
}

static uint32_t size_of(Dwarf_Die *type)
{
	int size = dwarf_bytesize(type);

	return size > 0 && size <= 8 && !(size & (size - 1)) ? (uint32_t)size : 0;
}

static enum where classify_base(Dwarf_Die *type, struct parameter *p)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (!dwarf_attr(type, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &encoding))
		return NOT_KNOWN;
	switch (encoding) {
	case DW_ATE_float:
		return IN_OTHERS;
	case DW_ATE_boolean:
		p->kind = PARAMETER_BOOL;
		break;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		p->kind = PARAMETER_SIGNED;
		break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		p->kind = PARAMETER_UNSIGNED;
		break;
	default:
		return NOT_KNOWN;
	}
	p->size = size_of(type);
	return p->size ? IN_REGISTER : NOT_KNOWN;
}

static enum where classify(Dwarf_Die *type, struct parameter *p)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		return classify_base(type, p);
	case DW_TAG_enumeration_type:
		p->kind = PARAMETER_ENUM;
		p->size = size_of(type);
		return p->size ? IN_REGISTER : NOT_KNOWN;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		p->kind = PARAMETER_POINTER;
		p->size = 8;
		return IN_REGISTER;
	default:
		return NOT_KNOWN;
	}
}

/* The number of the argument register that holds a parameter at the function's first instruction,
 * if that is said; else -1. */
static int register_of(Dwarf_Die *die, uint64_t entry)
{
	static const signed char number[] = {
	    [DW_OP_reg5 - DW_OP_reg0] = 1, [DW_OP_reg4 - DW_OP_reg0] = 2,
	    [DW_OP_reg1 - DW_OP_reg0] = 3, [DW_OP_reg2 - DW_OP_reg0] = 4,
	    [DW_OP_reg8 - DW_OP_reg0] = 5, [DW_OP_reg9 - DW_OP_reg0] = 6,
	};
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, entry, &op, &n, 1) != 1 || n != 1 ||
	    op[0].atom < DW_OP_reg0 || op[0].atom - DW_OP_reg0 >= (int)sizeof(number))
		return -1;
	return number[op[0].atom - DW_OP_reg0] - 1;
}

static void put_words(struct buf *to, Dwarf_Die *type)
{
	Dwarf_Die child;
	bool more = dwarf_child(type, &child) == 0;

	/* the other entries need room, too */
	for (int i = 0; more && i < PARAMETER_WORDS && to->len < PARAMETERS_MAX / 2;
	     i++, more = die_next_sibling(&child)) {
		Dwarf_Attribute attr;
		Dwarf_Sword value;

		if (dwarf_tag(&child) == DW_TAG_enumerator &&
		    dwarf_attr(&child, DW_AT_const_value, &attr) && !dwarf_formsdata(&attr, &value))
			parameters_word(to, dwarf_diename(&child), value);
	}
}

static void put_entry(struct buf *to, const struct parameter *p, Dwarf_Die *type)
{
	parameters_begin(to, p->name, p->kind, p->size);
	if (p->kind == PARAMETER_ENUM)
		put_words(to, type);
}

/*
 * The result. False: it is returned in memory, whose address is then the first argument, or not
 * known.
 */
static bool put_result(struct buf *to, Dwarf_Die *function)
{
	struct parameter p = {.kind = PARAMETER_NONE};
	Dwarf_Die type;

	if (type_of(function, &type) && peel(&type) && classify(&type, &p) == NOT_KNOWN)
		return false;
	put_entry(to, &p, &type);
	return true;
}

struct passed {
	struct parameter p;
	Dwarf_Die type;
};

/* Fill in what each register holds. `next` is the next one of the ABI, -1 once that is not known.
 */
static void take_parameter(Dwarf_Die *die, uint64_t entry, struct passed *passed, int *next)
{
	struct passed this = {.p.kind = PARAMETER_UNKNOWN};
	enum where where = NOT_KNOWN;
	const char *name = dwarf_diename(die);
	int reg = register_of(die, entry);

	if (type_of(die, &this.type) && peel(&this.type))
		where = classify(&this.type, &this.p);
	if (where == NOT_KNOWN)
		*next = -1;
	if (where != IN_REGISTER)
		return;
	if (reg < 0)
		reg = *next;
	if (*next >= 0)
		++*next;
	if (reg < 0 || reg >= REGISTERS)
		return;
	if (parameter_name_fits(name))
		memcpy(this.p.name, name, strlen(name) + 1);
	else
		this.p.kind = PARAMETER_UNKNOWN;
	passed[reg] = this;
}

static void put_parameters(struct buf *to, Dwarf_Die *function, uint64_t entry)
{
	struct passed passed[REGISTERS] = {0};
	bool open_ended = false, more;
	Dwarf_Die child;
	int next = 0;

	if (!put_result(to, function))
		return;
	more = dwarf_child(function, &child) == 0;
	for (int i = 0; more && i < MAX_PARAMETERS; i++, more = die_next_sibling(&child)) {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			take_parameter(&child, entry, passed, &next);
		open_ended |= dwarf_tag(&child) == DW_TAG_unspecified_parameters;
	}
	for (int i = 0; i < REGISTERS; i++) {
		if (!passed[i].p.kind)
			passed[i].p.kind =
			    next < 0 || i < next || open_ended ? PARAMETER_UNKNOWN : PARAMETER_NONE;
		put_entry(to, &passed[i].p, &passed[i].type);
	}
}

/* True if the compiler may pass other parameters than the source says. */
static bool is_changed(const struct module_function *f, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Word how = 0;

	return (f->symbol && strchr(f->symbol, '.')) ||
	       (dwarf_attr_integrate(function, DW_AT_calling_convention, &attr) &&
		!dwarf_formudata(&attr, &how) && how == NOCALL);
}

void module_parameters(struct module *m, const struct module_function *f, struct buf *to)
{
	struct lines *l = m->identity.is_go ? NULL : module_lines(m);
	Dwarf_Die unit, function;

	if (l && lines_unit(m, l, f->vaddr, &unit) &&
	    lines_subprogram(m, l, &unit, f->vaddr, &function) && !is_changed(f, &function))
		put_parameters(to, &function, f->vaddr);
	if (to->err)
		buf_reset(to);
}
