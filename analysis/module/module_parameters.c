// SPDX-License-Identifier: GPL-2.0-or-later
/* What DWARF says of the parameters of a function, by the registers in which the ABI of x86-64
 * passes them. A parameter whose register is not certain, such as what follows a structure that is
 * passed by value, is left unknown: a wrong name is worse than none. */
#include <dwarf.h>

#include "analysis/base/parameters.h"
#include "analysis/module/module_dwarf.h"

enum {
	MAX_TYPEDEFS = 64,
	MAX_PARAMETERS = 64,
	MAX_MEMBERS = 1024, /* of one structure */
	NOCALL = 3,	    /* DW_CC_nocall: the compiler changed how the function is called */
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

/* Take a name over. False: it cannot stand in the text. */
static bool take_name(struct parameter *p, const char *name)
{
	if (!parameter_name_fits(name))
		return false;
	memcpy(p->name, name, strlen(name) + 1);
	return true;
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
	parameters_put(to, p);
	if (p->kind == PARAMETER_ENUM)
		put_words(to, type);
}

/* The result. False: it is returned in memory, whose address is then the first argument, or not
 * known. */
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

/* A value that can be read behind a parameter. The lowest ranks are read. */
struct behind {
	struct passed value;
	int rank;
};

struct choice {
	struct behind member[PARAMETER_MEMBERS], text;
	unsigned int nr;
	const char *wanted; /* expressions that the user chose, separated by commas; or NULL */
};

static bool is_listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, word, n) && (list[n] == ',' || !list[n]))
			return true;
	return false;
}

/* Write the expression for a member of a parameter, or with NULL for the parameter itself, in the
 * form that the user chose if there is one. False: it is too long. Sets *is_wanted. */
static bool expression(const struct choice *c, struct parameter *to, const char *parameter,
		       const char *member, bool *is_wanted)
{
	const char *arrow = member ? "->" : "";
	int n;

	*is_wanted = false;
	if (member && !parameter_name_fits(member))
		return false;
	n = snprintf(to->name, sizeof(to->name), "arg%u%s%s", to->place.argument, arrow,
		     member ? member : "");
	*is_wanted = n < (int)sizeof(to->name) && is_listed(c->wanted, to->name);
	if (*is_wanted)
		return true;
	n = snprintf(to->name, sizeof(to->name), "%s%s%s", parameter, arrow, member ? member : "");
	*is_wanted = n < (int)sizeof(to->name) && is_listed(c->wanted, to->name);
	return n < (int)sizeof(to->name);
}

static void choose_member(struct choice *c, const struct behind *b)
{
	unsigned int at = c->nr;

	if (at == PARAMETER_MEMBERS && c->member[--at].rank <= b->rank)
		return;
	for (; at > 0 && c->member[at - 1].rank > b->rank; at--)
		c->member[at] = c->member[at - 1];
	c->member[at] = *b;
	c->nr += c->nr < PARAMETER_MEMBERS;
}

static bool is_const(Dwarf_Die *type)
{
	for (int i = 0; i < MAX_TYPEDEFS; i++) {
		if (dwarf_tag(type) == DW_TAG_const_type)
			return true;
		if (dwarf_tag(type) != DW_TAG_typedef || !type_of(type, type))
			return false;
	}
	return false;
}

/* True if this is `char`, not a number of one byte. */
static bool is_char(Dwarf_Die *type)
{
	Dwarf_Die peeled = *type;
	const char *name = peel(&peeled) ? dwarf_diename(&peeled) : NULL;

	return name && dwarf_tag(&peeled) == DW_TAG_base_type && !strcmp(name, "char");
}

/* Most bytes of a string at a type: of a pointer to char, or of an array of char; else 0. */
static uint32_t string_bytes(Dwarf_Die *type, bool *is_constant)
{
	Dwarf_Die of;
	Dwarf_Word size;

	*is_constant = false;
	if (!type_of(type, &of) || !is_char(&of))
		return 0;
	if (dwarf_tag(type) == DW_TAG_pointer_type) {
		*is_constant = is_const(&of);
		return PARAMETER_STRING_BYTES;
	}
	if (dwarf_tag(type) != DW_TAG_array_type || dwarf_aggregate_size(type, &size))
		return 0;
	return size < PARAMETER_STRING_BYTES ? (uint32_t)size : PARAMETER_STRING_BYTES;
}

/* A string, which is at `b->value.p.place` or behind it. What is not constant may be a buffer that
 * the function fills, so it comes last; an array in a structure is read only if it is wanted. */
static void choose_string(struct choice *c, struct behind *b, const char *parameter,
			  const char *member)
{
	bool is_constant, is_wanted, is_array = dwarf_tag(&b->value.type) == DW_TAG_array_type;

	b->value.p.size = string_bytes(&b->value.type, &is_constant);
	b->value.p.kind = PARAMETER_STRING;
	b->value.p.place.is_pointer = member && !is_array;
	if (!b->value.p.size || !expression(c, &b->value.p, parameter, member, &is_wanted) ||
	    (is_array && !is_wanted))
		return;
	b->rank = is_wanted ? 1 : 2 + 2 * (member != NULL) + !is_constant;
	if (!c->text.rank || b->rank < c->text.rank)
		c->text = *b;
}

/* False: a bit field, or a member at a place that is not constant. */
static bool offset_of(Dwarf_Die *member, uint32_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Word at;

	if (dwarf_hasattr(member, DW_AT_bit_size) || dwarf_hasattr(member, DW_AT_data_bit_offset) ||
	    !dwarf_attr(member, DW_AT_data_member_location, &attr) || dwarf_formudata(&attr, &at) ||
	    at >= PARAMETER_MOST_OFFSET)
		return false;
	*offset = (uint32_t)at;
	return true;
}

static void look_at_member(struct choice *c, Dwarf_Die *die, const struct parameter *parameter,
			   uint32_t argument)
{
	static const int ranks[] = {[PARAMETER_ENUM] = 1,
				    [PARAMETER_BOOL] = 2,
				    [PARAMETER_SIGNED] = 3,
				    [PARAMETER_UNSIGNED] = 3};
	struct behind b = {.value.p.place = {.is_known = true, .argument = argument}};
	struct parameter *p = &b.value.p;
	const char *name = dwarf_diename(die);
	enum where where;
	bool is_wanted;

	if (dwarf_tag(die) != DW_TAG_member || !name || !offset_of(die, &p->place.offset) ||
	    !type_of(die, &b.value.type) || !peel(&b.value.type))
		return;
	where = classify(&b.value.type, p);
	if (where == NOT_KNOWN || p->kind == PARAMETER_POINTER)
		choose_string(c, &b, parameter->name, name);
	if (where != IN_REGISTER || !ranks[p->kind] ||
	    !expression(c, p, parameter->name, name, &is_wanted))
		return;
	b.rank = is_wanted ? 0 : ranks[p->kind];
	choose_member(c, &b);
}

/* What is behind a parameter that is a pointer. */
static void look_behind(struct choice *c, const struct passed *from, uint32_t argument)
{
	struct behind string = {
	    .value = {.type = from->type, .p.place = {.is_known = true, .argument = argument}}};
	Dwarf_Die type = from->type, child;
	bool more;

	if (from->p.kind != PARAMETER_POINTER || !from->p.name[0])
		return;
	choose_string(c, &string, from->p.name, NULL);
	if (!type_of(&type, &type) || !peel(&type) ||
	    (dwarf_tag(&type) != DW_TAG_structure_type && dwarf_tag(&type) != DW_TAG_class_type))
		return;
	more = dwarf_child(&type, &child) == 0;
	for (int i = 0; more && i < MAX_MEMBERS; i++, more = die_next_sibling(&child))
		look_at_member(c, &child, &from->p, argument);
}

/* Append the values behind pointers that are worth most, as far as there is room for them. */
static void put_members(struct buf *to, const struct passed *in, const char *wanted)
{
	static const struct passed nothing = {.p.kind = PARAMETER_NONE};
	struct choice c = {.wanted = wanted};

	for (uint32_t i = 0; i < PARAMETER_REGISTERS; i++)
		look_behind(&c, &in[i], i);
	for (unsigned int i = 0; i < PARAMETER_MEMBERS && (i < c.nr || c.text.rank); i++) {
		struct passed one = i < c.nr ? c.member[i].value : nothing;

		put_entry(to, &one.p, &one.type);
	}
	if (c.text.rank)
		parameters_put(to, &c.text.value.p);
}

/* The parameters of a function, by the registers that hold them. */
struct signature {
	struct passed in[PARAMETER_REGISTERS];
	int next;	   /* the next register of the ABI; -1 once that is not known */
	unsigned int most; /* registers that hold parameters at most */
	bool unsure;	   /* some parameter is in a register that is not known */
};

/* Fill in which register holds a parameter. */
static void take_parameter(Dwarf_Die *die, uint64_t entry, struct signature *s)
{
	struct passed this = {.p.kind = PARAMETER_UNKNOWN};
	enum where where = NOT_KNOWN;
	int reg = register_of(die, entry);

	if (type_of(die, &this.type) && peel(&this.type))
		where = classify(&this.type, &this.p);
	if (where == IN_OTHERS)
		return;
	s->most += where == NOT_KNOWN ? 2 : 1;
	if (where == NOT_KNOWN || !dwarf_hasattr(die, DW_AT_location)) {
		/* the function does not use it, so the compiler may not pass it at all */
		s->unsure |= where == NOT_KNOWN;
		s->next = -1;
		return;
	}
	if (reg < 0)
		reg = s->next;
	if (s->next >= 0)
		s->next++;
	s->unsure |= reg < 0;
	if (reg < 0 || reg >= PARAMETER_REGISTERS)
		return;
	if (!take_name(&this.p, dwarf_diename(die)))
		this.p.kind = PARAMETER_UNKNOWN;
	s->in[reg] = this;
}

static void put_parameters(struct buf *to, Dwarf_Die *function, uint64_t entry, const char *wanted)
{
	struct signature s = {0};
	bool open_ended = false, more;
	Dwarf_Die child;

	if (!put_result(to, function))
		return;
	more = dwarf_child(function, &child) == 0;
	for (int i = 0; more && i < MAX_PARAMETERS; i++, more = die_next_sibling(&child)) {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			take_parameter(&child, entry, &s);
		open_ended |= dwarf_tag(&child) == DW_TAG_unspecified_parameters;
	}
	for (unsigned int i = 0; i < PARAMETER_REGISTERS; i++) {
		if (!s.in[i].p.kind)
			s.in[i].p.kind = open_ended || (s.unsure && i < s.most) ? PARAMETER_UNKNOWN
										: PARAMETER_NONE;
		put_entry(to, &s.in[i].p, &s.in[i].type);
	}
	put_members(to, s.in, wanted);
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

void module_parameters(struct module *m, const struct module_function *f, const char *wanted,
		       struct buf *to)
{
	struct lines *l = m->identity.is_go ? NULL : module_lines(m);
	Dwarf_Die unit, function;

	if (l && lines_unit(m, l, f->vaddr, &unit) &&
	    lines_subprogram(m, l, &unit, f->vaddr, &function) && !is_changed(f, &function))
		put_parameters(to, &function, f->vaddr, wanted);
	if (to->err)
		buf_reset(to);
}
