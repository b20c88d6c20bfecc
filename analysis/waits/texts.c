// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/texts.h"

#include "analysis/base/hash.h"

enum { TEXT_BYTES = 256 };

struct texts {
	char **text; /* [1] is said where there is no room */
	uint32_t nr, max;
	uint32_t *slot; /* open addressing, twice as many as `max` */
	uint32_t mask;
};

static uint64_t hash_of(const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));

	return hash ^ hash >> 32;
}

struct texts *texts_new(uint32_t max)
{
	struct texts *t = calloc(1, sizeof(*t));
	uint32_t slots = 16;

	if (!t)
		return NULL;
	while (slots < 2 * max)
		slots *= 2;
	t->max = max;
	t->mask = slots - 1;
	t->text = calloc(max + 2, sizeof(*t->text));
	t->slot = calloc(slots, sizeof(*t->slot));
	if (!t->text || !t->slot) {
		texts_free(t);
		return NULL;
	}
	t->nr = 2;
	return t;
}

void texts_free(struct texts *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; t->text && i < t->nr; i++)
		free(t->text[i]);
	free(t->text);
	free(t->slot);
	free(t);
}

uint32_t texts_number(struct texts *t, const char *text)
{
	char cut[TEXT_BYTES];
	uint32_t i;

	if (!text || !*text)
		return 0;
	if (strlen(text) >= TEXT_BYTES) {
		memcpy(cut, text, TEXT_BYTES - 1);
		cut[TEXT_BYTES - 1] = '\0';
		text = cut;
	}
	for (i = (uint32_t)hash_of(text) & t->mask; t->slot[i]; i = (i + 1) & t->mask) {
		if (!strcmp(t->text[t->slot[i]], text))
			return t->slot[i];
	}
	if (t->nr >= t->max + 2)
		return 1;
	t->text[t->nr] = strdup(text);
	if (!t->text[t->nr])
		return 1;
	t->slot[i] = t->nr;
	return t->nr++;
}

const char *texts_get(const struct texts *t, uint32_t number)
{
	if (number == 1)
		return "(more names)";
	return number && number < t->nr ? t->text[number] : "";
}
