/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of rec_symbol.parameters: what debug information says about the registers in which a
 * function gets its integer parameters, about its result, and about values behind parameters that
 * are pointers. From the parser, which reads it from DWARF (analysis/module/module_parameters.c),
 * to the correlation of values, which names what it finds (analysis/latency/values.c).
 *
 * One entry for the result, one for each register in the order of the ABI, one for each value that
 * is read behind a pointer at the begin of each call, and one for a string, separated by ';':
 * NAME,KIND,SIZE and, of an enumeration, a ,WORD=VALUE for each enumerator. The result has no name.
 * Behind a SIZE follows the place of what is read: @REGISTER+OFFSET, and a * if a pointer to the
 * string is there. "" says nothing about any of them; entries at the end may be missing.
 */
#pragma once

#include "analysis/base/buf.h"

enum parameter_kind {
	PARAMETER_UNKNOWN = '?',
	PARAMETER_NONE = 'n', /* nothing is passed in this register */
	PARAMETER_SIGNED = 'i',
	PARAMETER_UNSIGNED = 'u',
	PARAMETER_BOOL = 'b',
	PARAMETER_ENUM = 'e',
	PARAMETER_POINTER = 'p',
	PARAMETER_STRING = 's', /* the first bytes of a string */
};

enum {
	PARAMETER_NAME = 48,
	PARAMETER_WORDS = 64,  /* enumerators of one parameter */
	PARAMETERS_MAX = 2000, /* bytes of a whole text */
	PARAMETER_RESULT = 0,  /* entries: the result, then register 0 */
	PARAMETER_FIRST = 1,
	PARAMETER_REGISTERS = 6,
	PARAMETER_MEMBER = PARAMETER_FIRST + PARAMETER_REGISTERS, /* the first of them */
	PARAMETER_MEMBERS = 4,
	PARAMETER_TEXT = PARAMETER_MEMBER + PARAMETER_MEMBERS, /* the string */
	PARAMETER_ENTRIES,
	PARAMETER_STRING_BYTES = 40, /* of a string that are read */
	PARAMETER_MOST_OFFSET = 1 << 16,
};

/* Where a value behind a parameter is. */
struct parameter_place {
	bool is_known;
	bool is_pointer;   /* a pointer to it is there */
	uint32_t argument; /* the register that holds the address, from 0 */
	uint32_t offset;   /* added to the address */
};

struct parameter {
	char name[PARAMETER_NAME];
	enum parameter_kind kind;
	uint32_t size; /* bytes: 1, 2, 4, 8; 0: not known. A string: most bytes */
	struct parameter_place place;
	const char *words; /* points into the text: "WORD=VALUE,..." up to a ';' or the end */
};

/* True if a name can stand in the text: letters, digits and _ $ : only. */
bool parameter_name_fits(const char *name);

/* Append the beginning of an entry. The name fits, or is "". */
void parameters_begin(struct buf *to, const char *name, enum parameter_kind kind, uint32_t size);
/* The same with all of an entry but its words: `p->name` may also have the characters of "->". */
void parameters_put(struct buf *to, const struct parameter *p);
/* Append an enumerator to the entry begun last. */
void parameters_word(struct buf *to, const char *word, int64_t value);

/* Entry `i` of a text, also of a damaged one. False: the text says nothing about it. */
bool parameters_entry(const char *text, unsigned int i, struct parameter *out);

/* Write the enumerator of a value. False: there is none. */
bool parameter_word(const char *words, int64_t value, char *to, size_t size);

/* The value that the low `size` bytes of a register hold. */
int64_t parameter_value(uint64_t reg, uint32_t size, bool is_signed);
