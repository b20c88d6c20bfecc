// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/module/module_names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>

/* libiberty bounds its recursion but not its output, and a mangled name of 100
 * bytes can stand for gigabytes (each substitution may double it). Its callback
 * interface works on the stack alone, so that jumping out of it loses nothing. */
struct output {
	char *text;
	size_t len;
	jmp_buf full;
};

static void output_add(const char *s, size_t n, void *opaque)
{
	struct output *o = opaque;

	if (n >= NAME_MAX_TEXT - o->len)
		longjmp(o->full, 1);
	memcpy(o->text + o->len, s, n);
	o->len += n;
}

bool name_is_mangled(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R') && symbol[2];
}

static int form_options(enum name_form form)
{
	switch (form) {
	case NAME_SHORT:
		return DMGL_ANSI;
	case NAME_RETURNING:
		return DMGL_ANSI | DMGL_PARAMS;
	default:
		return DMGL_ANSI | DMGL_PARAMS | DMGL_RET_DROP;
	}
}

static bool demangle(const char *symbol, int options, struct output *o)
{
	if (rust_demangle_callback(symbol, options, output_add, o))
		return true;
	o->len = 0;
	return cplus_demangle_v3_callback(symbol, options, output_add, o) && o->len;
}

bool name_demangle(const char *symbol, enum name_form form, char *out)
{
	struct output o = {.text = out};

	out[0] = 0;
	if (!name_is_mangled(symbol) || strnlen(symbol, NAME_MAX_TEXT) == NAME_MAX_TEXT)
		return false;
	if (setjmp(o.full) || !demangle(symbol, form_options(form), &o)) {
		out[0] = 0;
		return false;
	}
	out[o.len] = 0;
	/* nothing is no name (a damaged symbol) */
	return o.len > 0;
}

bool name_is_deleting_destructor(const char *symbol)
{
	return strstr(symbol, "D0E") && is_gnu_v3_mangled_dtor(symbol) == gnu_v3_deleting_dtor;
}

static size_t digits_before(const char *s, size_t end)
{
	size_t n = 0;

	while (n < end && isdigit((unsigned char)s[end - 1 - n]))
		n++;
	return n;
}

static bool ends_in(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len > n && memcmp(s + len - n, word, n) == 0;
}

static size_t strip_word(const char *s, size_t len)
{
	static const char *const words[] = {".isra",   ".constprop", ".part",	 ".cold",
					    ".clone",  ".lto_priv",  ".llvm",	 ".localalias",
					    ".__uniq", ".__part",    ".resolver"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ends_in(s, len, words[i]))
			return len - strlen(words[i]);
	return len;
}

/* One suffix: ".word", ".word.N" or ".N". */
static size_t strip_suffix(const char *s, size_t len)
{
	size_t n = digits_before(s, len), end;

	if (!n)
		return strip_word(s, len);
	if (n + 1 >= len || s[len - n - 1] != '.')
		return len;
	end = len - n - 1;
	return strip_word(s, end);
}

size_t name_base_length_n(const char *symbol, size_t len)
{
	size_t shorter;

	for (size_t rounds = 0; rounds < 8; rounds++) {
		shorter = strip_suffix(symbol, len);
		if (shorter == len)
			break;
		len = shorter;
	}
	return len;
}

size_t name_base_length(const char *symbol)
{
	return name_base_length_n(symbol, strlen(symbol));
}

const char *name_coroutine_part(const char *symbol)
{
	static const char *const parts[] = {".actor", ".resume", ".destroy", ".cleanup"};
	const char *last = strrchr(symbol, '.');

	for (size_t i = 0; last && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(last, parts[i]))
			return last;
	return NULL;
}

static bool is_body(const char *part)
{
	return !strcmp(part, ".actor") || !strcmp(part, ".resume");
}

bool name_same_coroutine_part(const char *a, const char *b)
{
	return !strcmp(a, b) || (is_body(a) && is_body(b));
}

bool name_is_part(const char *symbol, size_t *owner_length)
{
	size_t len = strlen(symbol), end = len, n = digits_before(symbol, len);

	if (n && n + 1 < len && symbol[len - n - 1] == '.')
		end = len - n - 1;
	if (ends_in(symbol, end, ".cold"))
		*owner_length = end - strlen(".cold");
	else if (end != len && ends_in(symbol, end, ".__part"))
		*owner_length = end - strlen(".__part");
	else
		return false;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* The next character that counts, from *s on; a space only between two words. */
static char next_char(const char **s, char before)
{
	const char *p = *s;
	bool space = false;
	char c;

	for (;;) {
		if (*p == ' ') {
			space = true;
			p++;
		} else if (strncmp(p, "[abi:", 5) == 0 && strchr(p, ']')) {
			p = strchr(p, ']') + 1;
		} else {
			break;
		}
	}
	c = *p;
	if (space && is_word(before) && is_word(c)) {
		*s = p;
		return ' ';
	}
	*s = c ? p + 1 : p;
	return c;
}

bool name_same(const char *a, const char *b)
{
	char ca = 0, cb = 0;

	do {
		ca = next_char(&a, ca);
		cb = next_char(&b, cb);
	} while (ca == cb && ca);
	return ca == cb;
}

/* ---- what a symbol must contain ---- */

/* Words of demangled names that do not stand in the mangled ones. */
static const char *const unmangled[] = {
    "std",
    "string",
    "basic_string",
    "char_traits",
    "allocator",
    "istream",
    "basic_istream",
    "ostream",
    "basic_ostream",
    "iostream",
    "basic_iostream",
    "int",
    "char",
    "bool",
    "long",
    "short",
    "unsigned",
    "signed",
    "void",
    "float",
    "double",
    "const",
    "volatile",
    "restrict",
    "__restrict",
    "true",
    "false",
    "wchar_t",
    "char8_t",
    "char16_t",
    "char32_t",
    "__int128",
    "__float128",
    "_Float",
    "operator",
    "new",
    "delete",
    "co_await",
    "anonymous",
    "namespace",
    "lambda",
    "unnamed",
    "type",
    "auto",
    "decltype",
    "nullptr_t",
    "nullptr",
    "sizeof",
    "alignof",
    "alignas",
    "noexcept",
    "throw",
    "typeid",
    "typeinfo",
    "typename",
    "this",
    "template",
    "parameter",
    "requires",
    "static_cast",
    "const_cast",
    "dynamic_cast",
    "reinterpret_cast",
    "complex",
    "_Complex",
    "imaginary",
    "__vector",
    "half",
    "decimal32",
    "decimal64",
    "decimal128",
    "default",
    "arg",
    "global",
    "thunk",
    "virtual",
    "non",
    "covariant",
    "return",
    "to",
    "clone",
    "vtable",
    "guard",
    "variable",
    "for",
    "initializer",
    "function",
    "fn",
    "name",
    "reference",
    "temporary",
    "hidden",
    "alias",
    "local",
    "static",
    "transaction",
    "closure",
    "shim",
    "vtable",
    "as",
    "dyn",
    "impl",
    "mut",
    "str",
    "extern",
    "unsafe",
    "isize",
    "usize",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "f32",
    "f64",
    "self",
    "crate",
    "constructors",
    "destructors",
    "keyed",
    "to",
    "TLS",
    "init",
    "wrapper",
    "fold",
    "pack",
    "expansion",
    "module",
    "attached",
    "concept",
    "__attribute__",
    "C",
    "ul",
    "ull",
    "ll",
    "__builtin",
    "gs",
    "float16",
    "bf16",
};

/* `part`: the identifier may go on at that side. */
static bool is_unmangled(const char *word, size_t len, bool part)
{
	for (size_t i = 0; i < sizeof(unmangled) / sizeof(unmangled[0]); i++) {
		size_t n = strlen(unmangled[i]);

		if (n == len && strncasecmp(unmangled[i], word, len) == 0)
			return true;
		if (part && len < n && strncasecmp(unmangled[i], word, len) == 0)
			return true;
		if (part && len < n && strncasecmp(unmangled[i] + n - len, word, len) == 0)
			return true;
		if (part && len < n && memmem(unmangled[i], n, word, len))
			return true;
	}
	return false;
}

const char *name_witness(const char *text, bool whole, size_t *len)
{
	const char *best = NULL, *p = text;

	*len = 0;
	while (*p) {
		const char *end = p;
		bool at_edge;

		if (!is_word(*p) || (*p & 0x80)) {
			p++;
			continue;
		}
		while (is_word(*end) && !(*end & 0x80))
			end++;
		at_edge = !whole && (p == text || !*end);
		if (!isdigit((unsigned char)*p) && !strchr("$", *p) && (size_t)(end - p) > *len &&
		    !is_unmangled(p, (size_t)(end - p), at_edge)) {
			best = p;
			*len = (size_t)(end - p);
		}
		p = end;
	}
	return best;
}

/* `start` is where the name of an operator may begin; its end, or NULL. */
static const char *operator_end(const char *start)
{
	if (strncmp(start, "operator", 8) != 0 || is_word(start[8]))
		return NULL;
	start += 8;
	if (start[0] == '(' && start[1] == ')')
		start += 2;
	return start + strcspn(start, "(");
}

const char *name_last_part(const char *name, size_t *len)
{
	const char *p, *start = name, *end = operator_end(name);
	size_t depth = 0;

	for (p = name; *p; p++) {
		if (strchr("<({[", *p)) {
			if (!depth && *p == '(' && p != start)
				break; /* parameters */
			if (!depth && !end && p != start)
				end = p;
			depth++;
		} else if (strchr(">)}]", *p)) {
			depth -= depth > 0;
		} else if (!depth && p[0] == ':' && p[1] == ':') {
			start = p + 2;
			end = operator_end(start);
			p++;
		}
		if (end && end > p)
			break; /* an operator: its brackets are no brackets */
	}
	if (!end)
		end = p;
	*len = (size_t)(end - start);
	return start;
}
