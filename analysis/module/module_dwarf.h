/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF through libdw, internal to the module files: opening without any other
 * file, and the compilation unit of an address. */
#pragma once

#include <elfutils/libdw.h>

#include "analysis/module/module_internal.h"

enum {
	MAX_UNITS = 1 << 20,
	MAX_RANGES = 8 << 20, /* of all units together */
	MAX_DIES = 4 << 20,   /* looked at in one unit */
	MAX_DIE_DEPTH = 64,
	UNITS_INDEXED = 16, /* units whose subprograms are kept */
};

struct unit_range {
	uint64_t start, end;
	uint64_t die; /* offset */
};

struct ranges {
	struct unit_range *r; /* sorted by start */
	size_t nr, cap;
};

struct unit_index {
	uint64_t unit; /* offset of its DIE; 0: free */
	struct ranges subprograms;
};

struct kept_name {
	const char *linkage; /* as libdw gave it: a linkage name, or the name of a file */
	const char *name;
};

struct lines {
	Elf *elf, *no_alt_elf;
	Dwarf *dwarf, *no_alt;
	char *no_alt_bytes;
	struct ranges units;
	struct unit_index indexed[UNITS_INDEXED];
	size_t next_index;
	struct kept_name *kept; /* open addressing, a power of two */
	size_t nr_kept, size_kept;
};

/* Open on first need. NULL without DWARF. */
struct lines *module_lines(struct module *m);
/* DIE of the unit that covers vaddr. */
bool lines_unit(struct module *m, struct lines *l, uint64_t vaddr, Dwarf_Die *unit);
/* The function of this unit whose code contains vaddr, not one that is inlined there. */
bool lines_subprogram(struct module *m, struct lines *l, Dwarf_Die *unit, uint64_t vaddr,
		      Dwarf_Die *subprogram);
/* Where the text made of one of libdw's is kept: `name` is NULL at first. NULL: no memory, or too
 * many. */
struct kept_name *lines_keep(struct lines *l, const char *linkage);
/* The name of a source file in full: a relative one is joined to the folder of its compilation. */
const char *lines_path(struct module *m, struct lines *l, Dwarf_Die *unit, const char *name);
/* Add the ranges of a DIE that are in executable segments. false: no memory or too many. */
bool ranges_add_die(struct module *m, struct ranges *to, Dwarf_Die *die);
void ranges_sort(struct ranges *r);
const struct unit_range *ranges_find(const struct ranges *r, uint64_t vaddr);

/* Go to the next DIE of the same parent. False: `die` is the last one, and unchanged. Siblings that
 * a file makes run backwards, which would never end, are the last ones, too. */
bool die_next_sibling(Dwarf_Die *die);
/* The DIEs below a unit, in preorder, at most `max` of them. The walk does not recurse. */
struct die_walk {
	Dwarf_Die stack[MAX_DIE_DEPTH];
	size_t depth, left; /* left 0: the walk ended early */
};
/* False: the unit has no children. */
bool dies_begin(struct die_walk *w, Dwarf_Die *unit, size_t max);
static inline Dwarf_Die *dies_at(struct die_walk *w)
{
	return &w->stack[w->depth];
}
/* Go to the next DIE: with `enter` to the first child, if there is one. False: that was the last.
 */
bool dies_next(struct die_walk *w, bool enter);
bool die_may_hold_subprograms(int tag);
/* The linkage name of a function, else its name; NULL without one. */
const char *die_linkage_name(Dwarf_Die *die);
/* The next unit of the debug information that is in this file: *off is 0 at first. False: there is
 * none. */
bool lines_next_unit(const struct lines *l, Dwarf_Off *off, Dwarf_Die *unit);
