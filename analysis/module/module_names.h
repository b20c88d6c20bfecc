/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linkage names and names for a person: demangling (C++ of the Itanium ABI,
 * Rust v0 and legacy, by libiberty), the suffixes that compilers add, and
 * comparing names as a person writes them. Pure; names are hostile. */
#pragma once

enum {
	NAME_MAX_TEXT = 4096, /* bytes of a name, demangled or not, with its NUL */
};

enum name_form {
	NAME_FULL,	/* with parameters: ns::f<int>(int) */
	NAME_SHORT,	/* without: ns::f<int> */
	NAME_RETURNING, /* with the return type where the symbol has it: void ns::f<int>(int) */
};

/* Demangle into `out` (NAME_MAX_TEXT bytes). false: not mangled, damaged or
 * longer than that; `out` is then "". */
bool name_demangle(const char *symbol, enum name_form form, char *out);
bool name_is_mangled(const char *symbol);
/* A deleting destructor: it shares its demangled name with the destructor proper. */
bool name_is_deleting_destructor(const char *symbol);

/* Length without the suffixes of clones: 3 for "foo.isra.0.constprop.1" and for "foo". */
size_t name_base_length(const char *symbol);
size_t name_base_length_n(const char *symbol, size_t len); /* of its first `len` bytes */
/* Whether it names a part that was moved out of a function ("foo.cold"); then
 * *owner_length is the length of that function's own name. */
bool name_is_part(const char *symbol, size_t *owner_length);

/* The part of a C++ coroutine that a symbol names: ".actor" (by GCC) or ".resume" (by clang) is its
 * body, ".destroy" and ".cleanup" end it; NULL: it names no part of one. Points into `symbol`. */
const char *name_coroutine_part(const char *symbol);
/* Whether both name the same part of coroutines; the body has two names. */
bool name_same_coroutine_part(const char *a, const char *b);

/* Equal but for spaces that do not separate words, and ABI tags ("[abi:cxx11]"). */
bool name_same(const char *a, const char *b);

/* An identifier that every mangled symbol whose demangled name is (`whole`) or
 * contains `text` must contain literally, with its length in *len; NULL when
 * there is none (operators, types of the language, std::string). */
const char *name_witness(const char *text, bool whole, size_t *len);

/* The last part of a demangled name without parameters and template arguments:
 * "f" of "a::b<c::d>::f<int>(g::h)". Points into `name`. */
const char *name_last_part(const char *name, size_t *len);
