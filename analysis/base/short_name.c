// SPDX-License-Identifier: GPL-2.0-or-later
/* Shortens demangled names: without parameters, long template arguments, and long parameters of
 * enclosing functions. */
#include "analysis/base/short_name.h"

enum { LONG_ARGUMENTS = 24, MAX_BRACKETS = 64 };

/* If a C++ operator name ("operator<<") begins at `p`, return its end, else `p`: its brackets
 * enclose nothing. */
static const char *behind_operator(const char *name, const char *p)
{
	static const char word[] = "operator";
	const char *end = p + sizeof(word) - 1;

	if (strncmp(p, word, sizeof(word) - 1) || (p > name && p[-1] != ':' && p[-1] != ' '))
		return p;
	if (!strncmp(end, "()", 2) || !strncmp(end, "[]", 2))
		return end + 2;
	return end + strspn(end, "<>=-*&!+/|^%~,");
}

/* The bracket that closes the bracket at `open`; NULL: there is none. */
static const char *closing(const char *name, const char *open)
{
	char want[MAX_BRACKETS];
	unsigned int depth = 0;

	for (const char *p = open; *p; p++) {
		const char *skip = behind_operator(name, p);
		const char *kind = NULL;

		if (skip > p) {
			p = skip - 1;
			continue;
		}
		if (depth && *p == want[depth - 1]) {
			if (!--depth)
				return p;
			continue;
		}
		if (*p == '<')
			kind = ">";
		else if (*p == '(')
			kind = ")";
		else if (*p == '{')
			kind = "}";
		if (!kind)
			continue;
		if (depth == MAX_BRACKETS)
			return NULL;
		want[depth++] = *kind;
	}
	return NULL;
}

/* True if the parentheses that end before `behind` hold the parameters of the whole name. Else they
 * belong to an enclosing function or to a type, as in "main.(*Server).serve". */
static bool ends_the_name(const char *behind)
{
	return !*behind || *behind == ' ' || *behind == '[';
}

void short_name(struct buf *out, const char *name)
{
	const char *from = name, *p = name, *end;

	while (*p) {
		const char *skip = behind_operator(name, p);

		if (skip > p) {
			p = skip;
			continue;
		}
		if (*p != '<' && *p != '(' && *p != '{') {
			p++;
			continue;
		}
		end = closing(name, p);
		/* unbalanced: the name was truncated, or is not C++ */
		if (!end) {
			if (*p == '(' && p > name)
				break;
			p++;
			continue;
		}
		if (*p == '(' && p > name && ends_the_name(end + 1))
			break;
		/* keep "<T as Trait>" at the start of a Rust name, and the receiver in one of Go */
		if (*p != '{' && p > name && p[-1] != '.' && end - p > LONG_ARGUMENTS) {
			buf_append(out, from, (size_t)(p + 1 - from));
			buf_append(out, "...", 3);
			from = end;
		}
		p = end + 1;
	}
	buf_append(out, from, (size_t)(p - from));
}
