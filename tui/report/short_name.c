// SPDX-License-Identifier: GPL-2.0-or-later
/* Demangled names as people say them: without parameters, and without long template arguments. */
#include <string.h>

#include "tui/report/output_descend.h"
#include "tui/report/sanitise.h"

enum { LONG_ARGUMENTS = 24, MAX_BRACKETS = 64 };

/* "operator<<" is a name: where its brackets end. `p` if no operator begins here. */
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

/* The bracket that closes the one at `open`; NULL: none. */
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

/* Is this the list of parameters of the whole name, and not of a function that it lies in, or a
 * type's: "main.(*Server).serve"? */
static bool ends_the_name(const char *behind)
{
	return !*behind || *behind == ' ' || *behind == '[';
}

void report_short_name(struct buf *out, const char *name)
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
		/* cut off in the middle, or not of C++ at all */
		if (!end) {
			if (*p == '(' && p > name)
				break;
			p++;
			continue;
		}
		if (*p == '(' && p > name && ends_the_name(end + 1))
			break;
		/* where one begins with "<T as Trait>" that is the name */
		if (*p == '<' && p > name && end - p > LONG_ARGUMENTS) {
			sanitise_append(out, from, (size_t)(p + 1 - from));
			sanitise_append(out, "...", 3);
			from = end;
		}
		p = end + 1;
	}
	sanitise_append(out, from, (size_t)(p - from));
}
