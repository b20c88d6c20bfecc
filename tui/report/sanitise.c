// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/sanitise.h"

#include <wchar.h>

#include "analysis/base/array.h"

static bool continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

unsigned int utf8_decode(const char *s, size_t n, uint32_t *cp)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	unsigned int len;
	uint32_t v;

	if (!n)
		return 0;
	if (u[0] < 0x80) {
		*cp = u[0];
		return 1;
	}
	if (u[0] >= 0xc2 && u[0] <= 0xdf) {
		len = 2;
		v = u[0] & 0x1f;
	} else if ((u[0] & 0xf0) == 0xe0) {
		len = 3;
		v = u[0] & 0x0f;
	} else if (u[0] >= 0xf0 && u[0] <= 0xf4) {
		len = 4;
		v = u[0] & 0x07;
	} else {
		return 0;
	}
	if (len > n)
		return 0;
	for (unsigned int i = 1; i < len; i++) {
		if (!continuation(u[i]))
			return 0;
		v = v << 6 | (u[i] & 0x3f);
	}
	if (v < smallest[len] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*cp = v;
	return len;
}

/* Characters that are valid but invisible, or that change how their neighbours are shown. */
static bool is_deceptive(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
	} range[] = {
	    {0x00ad, 0x00ad},	/* soft hyphen */
	    {0x034f, 0x034f},	/* combining grapheme joiner */
	    {0x061c, 0x061c},	/* Arabic letter mark */
	    {0x115f, 0x1160},	/* Hangul fillers */
	    {0x17b4, 0x17b5},	/* invisible Khmer vowels */
	    {0x180b, 0x180f},	/* Mongolian selectors */
	    {0x200b, 0x200f},	/* zero width, LRM, RLM */
	    {0x2028, 0x202e},	/* separators, embeddings and overrides */
	    {0x2060, 0x206f},	/* isolates, invisible operators */
	    {0x3164, 0x3164},	/* Hangul filler */
	    {0xfdd0, 0xfdef},	/* noncharacters */
	    {0xfe00, 0xfe0f},	/* variation selectors */
	    {0xfeff, 0xfeff},	/* byte order mark */
	    {0xffa0, 0xffa0},	/* half-width Hangul filler */
	    {0xfff0, 0xfffb},	/* interlinear annotation */
	    {0xe0000, 0xe0fff}, /* tags, variation selectors */
	};

	if ((cp & 0xfffe) == 0xfffe)
		return true;
	return any_of(i, ARRAY_SIZE(range), cp >= range[i].first && cp <= range[i].last);
}

/* Write the safe form of the first character of s[0..n) to `out`. Stores the length of the safe
 * form in `*len` and of the character in `*used`. */
static void next_safe(const char *s, size_t n, char out[12], size_t *len, size_t *used)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t cp = 0;
	unsigned int size = utf8_decode(s, n, &cp);

	if (!size || cp < 0x20 || cp == 0x7f) {
		*len = (size_t)snprintf(out, 12, "\\x%02x", u[0]);
		*used = 1;
	} else if (cp >= 0x80 && cp <= 0x9f) {
		*len = (size_t)snprintf(out, 12, "\\x%02x\\x%02x", u[0], u[1]);
		*used = 2;
	} else if (is_deceptive(cp)) {
		*len = (size_t)snprintf(out, 12, cp > 0xffff ? "\\U%08x" : "\\u%04x", cp);
		*used = size;
	} else {
		memcpy(out, s, size);
		*len = *used = size;
	}
}

int sanitise_append(struct buf *out, const char *s, size_t n)
{
	size_t start = out->len, len, used;
	char c[12];
	int err;

	while (n) {
		next_safe(s, n, c, &len, &used);
		err = buf_append(out, c, len);
		if (err) {
			out->len = start;
			if (out->data)
				out->data[start] = '\0';
			return err;
		}
		s += used;
		n -= used;
	}
	return out->data ? 0 : buf_append(out, "", 0);
}

int sanitise_puts(struct buf *out, const char *s)
{
	return sanitise_append(out, s, strlen(s));
}

char *sanitise(char *out, size_t size, const char *s)
{
	size_t n = strlen(s), at = 0, len, used;
	char c[12];

	if (!size)
		return out;
	while (n) {
		next_safe(s, n, c, &len, &used);
		if (len >= size - at)
			break;
		memcpy(out + at, c, len);
		at += len;
		s += used;
		n -= used;
	}
	out[at] = '\0';
	return out;
}

const char *sanitise_into(struct arena *a, const char *s)
{
	size_t size = strlen(s) * SANITISE_MAX_GROWTH + 1;
	char *out = arena_alloc(a, size);

	return out ? sanitise(out, size, s) : NULL;
}

static unsigned int columns_of(uint32_t cp)
{
	int w = wcwidth((wchar_t)cp);

	return w < 0 ? 1 : (unsigned int)w;
}

size_t text_fit(const char *s, unsigned int columns)
{
	size_t n = strlen(s), at = 0;
	unsigned int used = 0, w, len;
	uint32_t cp;

	while (at < n) {
		len = utf8_decode(s + at, n - at, &cp);
		w = len ? columns_of(cp) : 1;
		if (w > columns - used)
			break;
		used += w;
		at += len ? len : 1;
	}
	return at;
}

unsigned int text_columns(const char *s)
{
	size_t n = strlen(s), at = 0;
	unsigned int used = 0, len;
	uint32_t cp;

	while (at < n) {
		len = utf8_decode(s + at, n - at, &cp);
		used += len ? columns_of(cp) : 1;
		at += len ? len : 1;
	}
	return used;
}
