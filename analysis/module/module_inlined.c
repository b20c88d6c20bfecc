// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions into which the compiler inlined all calls of one that has no code of its own.
 *
 * The text of .debug_str is searched for the name first, so that a misspelt name costs no walk
 * over the DIEs. Then the abstract instances with this name are collected (DW_AT_inline), and
 * the inlined copies that refer to them (DW_AT_abstract_origin) are located.
 */
#include <dwarf.h>

#include "analysis/module/module_dwarf.h"
#include "analysis/module/module_names.h"

enum {
	MAX_ABSTRACT = 64,	 /* instances of one name: one for each unit that has it */
	INLINED_DIES = 16 << 20, /* looked at in one call: some seconds */
	SHORTEST_SHARED = 5,	 /* shorter names are stored in .debug_info itself */
};

struct inlined_search {
	struct module *m;
	struct lines *l;
	const char *name, *witness; /* every linkage name of the function contains `witness` */
	size_t witness_len;
	size_t left; /* DIEs that may still be looked at */
	Dwarf_Off abstract[MAX_ABSTRACT];
	size_t nr_abstract;
	const struct module_function **out;
	size_t nr, max;
};

/* False only if no DIE can have the name. */
static bool strings_have(const struct inlined_search *s)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (s->witness_len < SHORTEST_SHARED || elf_getshdrstrndx(s->l->elf, &names))
		return true;
	while ((scn = elf_nextscn(s->l->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *name = sh ? elf_strptr(s->l->elf, names, sh->sh_name) : NULL;
		Elf_Data *data;

		if (!name || !strstr(name, "debug_str") || strstr(name, "debug_str_offsets"))
			continue;
		data = elf_getdata(scn, NULL);
		if (sh->sh_flags & SHF_COMPRESSED || !data || !data->d_buf ||
		    memmem(data->d_buf, data->d_size, s->witness, s->witness_len))
			return true;
	}
	return false;
}

static bool is_named(const struct inlined_search *s, Dwarf_Die *die)
{
	const char *name = die_linkage_name(die);

	if (!name || !memmem(name, strlen(name), s->witness, s->witness_len))
		return false;
	return !strcmp(name, s->name) || (name_is_mangled(name) && name_is_called(name, s->name));
}

static void find_abstract(struct inlined_search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	if (dwarf_tag(die) != DW_TAG_subprogram || !dwarf_attr(die, DW_AT_inline, &attr) ||
	    dwarf_formudata(&attr, &how) ||
	    (how != DW_INL_inlined && how != DW_INL_declared_inlined) || !is_named(s, die))
		return;
	if (s->nr_abstract < MAX_ABSTRACT)
		s->abstract[s->nr_abstract++] = dwarf_dieoffset(die);
}

static bool is_copy(const struct inlined_search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (dwarf_tag(die) != DW_TAG_inlined_subroutine ||
	    !dwarf_attr(die, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &origin))
		return false;
	for (size_t i = 0; i < s->nr_abstract; i++)
		if (s->abstract[i] == dwarf_dieoffset(&origin))
			return true;
	return false;
}

/* Add the function whose code contains the copy. */
static void find_copy(struct inlined_search *s, Dwarf_Die *die)
{
	const struct module_function *f = NULL;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	if (!is_copy(s, die))
		return;
	while (!f && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		f = start < end ? module_function_at(s->m, start) : NULL;
	for (size_t i = 0; f && i < s->nr && i < s->max; i++)
		if (s->out[i] == f)
			return;
	if (f && s->nr < s->max)
		s->out[s->nr++] = f;
}

static bool may_hold_copies(int tag)
{
	return tag == DW_TAG_inlined_subroutine || die_may_hold_subprograms(tag);
}

static bool may_hold_abstract(int tag)
{
	return tag != DW_TAG_subprogram && die_may_hold_subprograms(tag);
}

static void each_die(struct inlined_search *s, void (*take)(struct inlined_search *, Dwarf_Die *),
		     bool (*enter)(int tag))
{
	Dwarf_Off off = 0;
	Dwarf_Die unit;

	while (s->left && lines_next_unit(s->l, &off, &unit)) {
		struct die_walk w;
		bool more = dies_begin(&w, &unit, s->left);

		while (more) {
			take(s, dies_at(&w));
			more = dies_next(&w, enter(dwarf_tag(dies_at(&w))));
		}
		s->left = w.left;
	}
}

static int dwarf_inlined_into(struct module *m, const char *name,
			      const struct module_function **out, size_t max)
{
	struct inlined_search s = {.m = m,
				   .l = module_lines(m),
				   .name = name,
				   .left = INLINED_DIES,
				   .out = out,
				   .max = max};

	if (!s.l || !*name || strnlen(name, NAME_MAX_TEXT) == NAME_MAX_TEXT)
		return 0;
	s.witness = name_witness(name, true, &s.witness_len);
	if (!s.witness || name_is_mangled(name)) {
		s.witness = name;
		s.witness_len = strlen(name);
	}
	if (!strings_have(&s))
		return 0;
	each_die(&s, find_abstract, may_hold_abstract);
	if (s.nr_abstract)
		each_die(&s, find_copy, may_hold_copies);
	return s.nr || s.left ? (int)s.nr : -E2BIG;
}

int module_inlined_into(struct module *m, const char *name, const struct module_function **out,
			size_t max)
{
	int nr = dwarf_inlined_into(m, name, out, max), go;

	if (nr > 0)
		return nr;
	go = module_go_inlined_into(m, name, out, max);
	return go ? go : nr;
}
