// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/record_copy.h"

#include "analysis/session/record_codec.h"

/* Where to copy what an object points to. `at` NULL: only count the bytes. */
struct copy_space {
	char *at;
	size_t size;
};

/* Copy the `n` bytes that the pointer at `pointer` points to into the block, in `room` bytes, and
 * let it point there. Returns where these bytes are now. */
static void *move(struct copy_space *b, void *pointer, size_t n, size_t room)
{
	char *to = b->at ? b->at + b->size : NULL;
	void *from;

	memcpy(&from, pointer, sizeof(from));
	b->size += (room + 7) & ~(size_t)7; /* aligned for any number */
	if (!to)
		return from;
	if (n)
		memcpy(to, from, n);
	memcpy(pointer, &to, sizeof(to));
	return to;
}

static void text_move(struct copy_space *b, void *pointer)
{
	const char *text;
	char *copy;
	size_t n;

	memcpy(&text, pointer, sizeof(text));
	n = text ? strnlen(text, CODEC_MAX_TEXT) : 0;
	copy = move(b, pointer, n, n + 1);
	if (b->at)
		copy[n] = '\0';
}

static void parts_move(struct copy_space *b, const struct struct_layout *layout, void *object)
{
	for (unsigned int i = 0; i < layout->nr_fields; i++) {
		const struct field *f = &layout->fields[i];
		char *value = (char *)object + f->offset, *items;
		uint32_t nr;

		memcpy(&nr, (char *)object + f->offset_count, sizeof(nr));
		if (f->kind == FIELD_TEXT) {
			text_move(b, value);
		} else if (f->kind == FIELD_STRUCT) {
			parts_move(b, f->nested, value);
		} else if (f->kind == FIELD_U64S) {
			move(b, value, nr * sizeof(uint64_t), nr * sizeof(uint64_t));
		} else if (f->kind == FIELD_BUCKETS) {
			move(b, value, nr * sizeof(uint32_t), nr * sizeof(uint32_t));
			move(b, (char *)object + f->offset_second, nr * sizeof(uint64_t),
			     nr * sizeof(uint64_t));
		} else if (f->kind == FIELD_STRUCTS) {
			items = move(b, value, nr * f->nested->size, nr * f->nested->size);
			for (uint32_t k = 0; k < nr; k++)
				parts_move(b, f->nested, items + k * f->nested->size);
		}
	}
}

/* Copy an object of `size` bytes, of which those from `offset` on have the layout. */
static void *copy(const struct struct_layout *layout, const void *object, size_t size,
		  size_t offset)
{
	const size_t begin = (size + 7) & ~(size_t)7;
	struct copy_space b = {0};
	char *out;

	parts_move(&b, layout, (char *)(uintptr_t)object + offset);
	out = malloc(begin + b.size);
	if (!out)
		return NULL;
	memcpy(out, object, size);
	b = (struct copy_space){.at = out + begin};
	parts_move(&b, layout, out + offset);
	return out;
}

void *struct_copy(const struct struct_layout *layout, const void *object)
{
	return copy(layout, object, layout->size, 0);
}

struct record *record_copy(const struct record *rec)
{
	const struct struct_layout *layout = record_layout(rec->type);

	return layout ? copy(layout, rec, sizeof(*rec), offsetof(struct record, meta)) : NULL;
}
