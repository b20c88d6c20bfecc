/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the Go runtime (.gopclntab), internal to the module files: where its parts are, the
 * functions in it, and its lists of values by address. Sources: struct pcHeader, functab, _func,
 * moduledata and inlinedCall in src/runtime/symtab.go, runtime2.go and symtabinl.go of Go. */
#pragma once

#include "analysis/module/module_internal.h"

/* What differs between versions of Go; offsets in bytes. */
struct go_layout {
	uint8_t magic;						 /* first byte of the table */
	uint8_t header, text, names, units, files, values, list; /* text 0: none */
	uint8_t entry;	    /* bytes of an entry of the list; its first half is an address */
	uint8_t flags;	    /* in the facts of a function */
	uint8_t inlined;    /* bytes of an inlined call */
	uint8_t called, at; /* in it: its name; where its caller goes on */
	uint16_t tree_base; /* in struct moduledata; 0: the facts have addresses */
};

/* The facts of a function (struct _func), from the name on. */
enum go_fact {
	GO_NAME = 0,
	GO_DEPTHS = 12,	  /* list of the depths of the stack */
	GO_FILES = 16,	  /* of numbers of source files */
	GO_LINES = 20,	  /* of source lines */
	GO_NR_LISTS = 24, /* number of further lists, whose offsets follow the facts */
	GO_UNIT = 28,	  /* first file of its compilation unit */
};

/* An address in a function. */
struct go_place {
	size_t index;
	const uint8_t *facts;
	uint64_t in, size; /* bytes from the function's start; of the function */
};

/* Loads the table. False: there is none, or the address is in none of its functions. */
bool go_find(struct module *m, uint64_t vaddr, struct go_place *place);
/* The address of function number `i`. */
uint64_t go_start(const struct go_table *t, uint64_t i);
/* The facts of a function; NULL if they are not within the table. */
const uint8_t *go_facts(const struct go_table *t, uint64_t i);
/* Text at an offset from the start of the names; NULL unless it is a name of usual length. */
const char *go_text(const struct go_table *t, uint64_t from, uint64_t offset);
/* Value at `in` bytes of a function in the list at `list` (an offset from the values); -1: none.
 * The list has differences of the value (zigzag) and the lengths of code with that value. */
int64_t go_value(const struct go_table *t, uint32_t list, uint64_t in);
/* The largest value of a list; -1: it is empty. */
int64_t go_largest_value(const struct go_table *t, uint32_t list);
/* The value that the loader puts at an address: of the file, or of a relocation. 0: not known. */
uint64_t go_pointer(const struct module *m, uint64_t vaddr);
/* As go_pointer(): the addresses with this value, at most `max`. Returns how many there are. */
size_t go_pointers_to(const struct module *m, uint64_t value, uint64_t *out, size_t max);
