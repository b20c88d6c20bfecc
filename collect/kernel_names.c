// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_names.h"
#include "analysis/base/array.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1 << 20, MAX_TEXT = 64 << 20 };

struct name {
	uint64_t address;
	uint32_t text; /* offset in `texts` */
};

static struct name *names;
static char *texts;
static size_t nr_names, cap_names, text_bytes, cap_text;
static uint64_t base;
static bool tried;

void kernel_names_release(void)
{
	free(names);
	free(texts);
	names = NULL;
	texts = NULL;
	nr_names = cap_names = text_bytes = cap_text = 0;
	tried = false;
}

static bool room(size_t bytes)
{
	void *grown;

	if (array_grow(names, nr_names, cap_names, MAX_NAMES))
		return false;
	if (text_bytes + bytes > cap_text) {
		size_t cap = cap_text ? 2 * cap_text : 1 << 20;

		grown = cap <= MAX_TEXT ? realloc(texts, cap) : NULL;
		if (!grown)
			return false;
		texts = grown;
		cap_text = cap;
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->text < y->text ? -1 : x->text > y->text;
}

static void names_read(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], type;
	uint64_t address;

	tried = true;
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		size_t n;

		if (sscanf(line, "%" SCNx64 " %c %511s", &address, &type, name) != 3 || !address ||
		    !strchr("tTwW", type))
			continue;
		if (!strcmp(name, "_stext"))
			base = address;
		n = strlen(name) + 1;
		if (!room(n))
			break;
		names[nr_names++] = (struct name){address, (uint32_t)text_bytes};
		memcpy(texts + text_bytes, name, n);
		text_bytes += n;
	}
	fclose(f);
	qsort(names, nr_names, sizeof(*names), by_address);
}

bool kernel_place_of(uint64_t address, struct kernel_place *out)
{
	size_t low;

	if (!tried)
		names_read();
	low = lower_bound(i, nr_names, names[i].address <= address);
	if (!low)
		return false;
	low--;
	/* an address may have several names: always choose the same */
	while (low && names[low - 1].address == names[low].address)
		low--;
	*out = (struct kernel_place){
	    .name = texts + names[low].text, .start = names[low].address, .index = low};
	return true;
}

const char *kernel_name(uint64_t address)
{
	struct kernel_place p;

	return kernel_place_of(address, &p) ? p.name : NULL;
}

size_t kernel_names_count(void)
{
	if (!tried)
		names_read();
	return nr_names;
}

uint64_t kernel_names_base(void)
{
	return base;
}

void kernel_names_line(const uint64_t *innermost_first, size_t nr, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = nr; i > 0; i--) {
		/* all but the innermost are return addresses: the byte before such an address
		 * belongs to the caller */
		const char *name = kernel_name(innermost_first[i - 1] - (i > 1));
		int n = name ? snprintf(out + at, size - at, "%s%s", at ? ";" : "", name) : 0;

		if (n < 0 || (size_t)n >= size - at) {
			out[at] = '\0';
			return;
		}
		at += (size_t)n;
	}
}
