// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/parameters.h"

#include <ctype.h>

bool parameter_name_fits(const char *name)
{
	size_t n = name ? strnlen(name, PARAMETER_NAME) : 0;

	if (!n || n == PARAMETER_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_$:", name[i]))
			return false;
	return true;
}

void parameters_begin(struct buf *to, const char *name, enum parameter_kind kind, uint32_t size)
{
	buf_printf(to, "%s%s,%c,%u", to->len ? ";" : "", name, kind, size);
}

void parameters_put(struct buf *to, const struct parameter *p)
{
	parameters_begin(to, p->name, p->kind, p->size);
	if (p->place.is_known)
		buf_printf(to, "@%u+%u%s", p->place.argument, p->place.offset,
			   p->place.is_pointer ? "*" : "");
}

void parameters_word(struct buf *to, const char *word, int64_t value)
{
	if (parameter_name_fits(word))
		buf_printf(to, ",%s=%" PRId64, word, value);
}

static bool is_kind(char c)
{
	return c && strchr("?niubeps", c);
}

/* Read the place behind a size. False: it is damaged. */
static bool read_place(const char *text, struct parameter_place *out)
{
	unsigned long argument, offset;
	char *end;

	if (*text != '@')
		return true;
	argument = strtoul(text + 1, &end, 10);
	offset = *end == '+' ? strtoul(end + 1, &end, 10) : PARAMETER_MOST_OFFSET;
	if (argument >= PARAMETER_REGISTERS || offset >= PARAMETER_MOST_OFFSET)
		return false;
	*out = (struct parameter_place){.is_known = true,
					.is_pointer = *end == '*',
					.argument = (uint32_t)argument,
					.offset = (uint32_t)offset};
	return true;
}

bool parameters_entry(const char *text, unsigned int i, struct parameter *out)
{
	const char *end, *name;
	char *behind;
	size_t n;

	if (!text || !*text)
		return false;
	for (; i; i--) {
		text = strchr(text, ';');
		if (!text++)
			return false;
	}
	end = text + strcspn(text, ";");
	name = text;
	n = strcspn(name, ",;");
	*out = (struct parameter){.words = end};
	if (n >= sizeof(out->name) || name + n + 3 > end || !is_kind(name[n + 1]) ||
	    name[n + 2] != ',')
		return false;
	memcpy(out->name, name, n);
	out->kind = (enum parameter_kind)name[n + 1];
	out->size = (uint32_t)strtoul(name + n + 3, &behind, 10);
	text = name + n + 3 + strcspn(name + n + 3, ",;");
	if (text < end)
		out->words = text + 1;
	return out->size <= (out->kind == PARAMETER_STRING ? PARAMETER_STRING_BYTES : 8) &&
	       read_place(behind, &out->place);
}

bool parameter_word(const char *words, int64_t value, char *to, size_t size)
{
	while (words && *words && *words != ';') {
		size_t all = strcspn(words, ",;"), n = strcspn(words, "=");

		if (n < all && n < size && strtoll(words + n + 1, NULL, 10) == value) {
			memcpy(to, words, n);
			to[n] = '\0';
			return true;
		}
		words += all + (words[all] == ',');
	}
	return false;
}

int64_t parameter_value(uint64_t reg, uint32_t size, bool is_signed)
{
	unsigned int unused = size && size < 8 ? 64 - 8 * size : 0;

	return is_signed ? (int64_t)(reg << unused) >> unused : (int64_t)(reg << unused >> unused);
}
