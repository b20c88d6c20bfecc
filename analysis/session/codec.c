// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/codec.h"

#include <stdalign.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	alignas(max_align_t) char bytes[];
};

enum { ARENA_CHUNK = 16384 };

void arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){.max = max};
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_chunk *c = a->chunks;
	size_t size;
	void *p;

	if (n > a->max || a->used > a->max - n)
		return NULL;
	n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!c || c->size - c->used < n) {
		size = n > ARENA_CHUNK ? n : ARENA_CHUNK;
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct arena_chunk){.next = a->chunks, .size = size};
		a->chunks = c;
	}
	p = c->bytes + c->used;
	c->used += n;
	a->used += n;
	return p;
}

void arena_reset(struct arena *a)
{
	struct arena_chunk *c;

	while (a->chunks && (a->chunks->next || a->chunks->size > ARENA_CHUNK)) {
		c = a->chunks;
		a->chunks = c->next;
		free(c);
	}
	if (a->chunks)
		a->chunks->used = 0;
	a->used = 0;
}

void arena_release(struct arena *a)
{
	struct arena_chunk *c;

	while ((c = a->chunks)) {
		a->chunks = c->next;
		free(c);
	}
	a->used = 0;
}

static size_t varint_bytes(uint8_t bytes[10], uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	return n;
}

/* Append one unsigned varint, at most 10 bytes. */
static int varint_put(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];

	return buf_append(out, bytes, varint_bytes(bytes, value));
}

/* Read one varint from data[*pos..n) and advance *pos. -EBADMSG: cut off, or over 64 bits. */
static int varint_get(const uint8_t *data, size_t n, size_t *pos, uint64_t *value)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (*pos >= n)
			return -EBADMSG;
		byte = data[(*pos)++];
		if (shift == 63 && byte > 1)
			return -EBADMSG;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

static const void *const_at(const void *object, size_t offset)
{
	return (const char *)object + offset;
}

static void *at(void *object, size_t offset)
{
	return (char *)object + offset;
}

static uint32_t array_count(const struct field *f, const void *object)
{
	return *(const uint32_t *)const_at(object, f->offset_count);
}

static int text_encode(struct buf *out, const char *text)
{
	size_t n = text ? strnlen(text, CODEC_MAX_TEXT) : 0;
	int err = varint_put(out, n);

	return err ? err : buf_append(out, text, n);
}

static int numbers_encode(struct buf *out, const uint64_t *v, uint32_t n)
{
	int err = varint_put(out, n);

	for (uint32_t i = 0; !err && i < n; i++)
		err = varint_put(out, v[i]);
	return err;
}

static int buckets_encode(struct buf *out, const struct field *f, const void *object)
{
	const uint32_t *bucket = *(const uint32_t *const *)const_at(object, f->offset);
	const uint64_t *count = *(const uint64_t *const *)const_at(object, f->offset_second);
	uint32_t n = array_count(f, object), i;
	int err;

	if (n > f->maximum || (n && (!bucket || !count)))
		return -EINVAL;
	err = varint_put(out, n);
	for (i = 0; !err && i < n; i++) {
		if (bucket[i] >= f->maximum || (i && bucket[i] <= bucket[i - 1]) || !count[i])
			return -EINVAL;
		err = varint_put(out, i ? bucket[i] - bucket[i - 1] : bucket[i]);
		if (!err)
			err = varint_put(out, count[i]);
	}
	return err;
}

/* Encode a struct with its length in front, which is known only after the struct is encoded. */
static int nested_encode(struct buf *out, const struct struct_layout *layout, const void *object)
{
	size_t start = out->len, n, bytes;
	uint8_t length[10];
	int err = struct_encode(out, layout, object);

	if (err)
		return err;
	n = out->len - start;
	bytes = varint_bytes(length, n);
	err = buf_append(out, length, bytes);
	if (err)
		return err;
	memmove(out->data + start + bytes, out->data + start, n);
	memcpy(out->data + start, length, bytes);
	return 0;
}

static int array_encode(struct buf *out, const struct field *f, const void *object)
{
	const char *items = *(const char *const *)const_at(object, f->offset);
	uint32_t n = array_count(f, object), i;
	int err;

	if (n > f->maximum || (n && !items))
		return -EINVAL;
	if (f->kind == FIELD_U64S)
		return numbers_encode(out, (const uint64_t *)(const void *)items, n);
	err = varint_put(out, n);
	for (i = 0; !err && i < n; i++)
		err = nested_encode(out, f->nested, items + (size_t)i * f->nested->size);
	return err;
}

static int field_encode(struct buf *out, const struct field *f, const void *object)
{
	const void *value = const_at(object, f->offset);
	uint32_t n;

	switch ((enum field_kind)f->kind) {
	case FIELD_U32:
		return varint_put(out, *(const uint32_t *)value);
	case FIELD_U64:
		return varint_put(out, *(const uint64_t *)value);
	case FIELD_I32:
		return varint_put(out, zigzag(*(const int32_t *)value));
	case FIELD_I64:
		return varint_put(out, zigzag(*(const int64_t *)value));
	case FIELD_TEXT:
		return text_encode(out, *(const char *const *)value);
	case FIELD_NUMBERS:
		for (n = f->maximum; n && !((const uint64_t *)value)[n - 1]; n--)
			;
		return numbers_encode(out, value, n);
	case FIELD_STRUCT:
		return nested_encode(out, f->nested, value);
	case FIELD_U64S:
	case FIELD_STRUCTS:
		return array_encode(out, f, object);
	case FIELD_BUCKETS:
		return buckets_encode(out, f, object);
	}
	return -EINVAL;
}

int struct_encode(struct buf *out, const struct struct_layout *layout, const void *object)
{
	int err;

	for (unsigned int i = 0; i < layout->nr_fields; i++) {
		err = field_encode(out, &layout->fields[i], object);
		if (err)
			return err;
	}
	return 0;
}

struct payload_reader {
	struct arena *arena;
	const uint8_t *data;
	size_t n, pos;
};

static int number_decode(struct payload_reader *r, uint64_t maximum, uint64_t *value)
{
	int err = varint_get(r->data, r->n, &r->pos, value);

	return err ? err : *value > maximum ? -EBADMSG : 0;
}

/* Read a number of items or bytes: at most `maximum`, and at most the remaining bytes. */
static int count_decode(struct payload_reader *r, uint32_t maximum, uint32_t *count)
{
	uint64_t v;
	int err = number_decode(r, maximum, &v);

	if (err)
		return err;
	if (v > r->n - r->pos)
		return -EBADMSG;
	*count = (uint32_t)v;
	return 0;
}

static int text_decode(struct payload_reader *r, const char **text)
{
	uint32_t n;
	char *copy;
	int err = count_decode(r, CODEC_MAX_TEXT, &n);

	if (err)
		return err;
	if (!n) {
		*text = "";
		return 0;
	}
	if (memchr(r->data + r->pos, '\0', n))
		return -EBADMSG;
	copy = arena_alloc(r->arena, (size_t)n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, r->data + r->pos, n);
	copy[n] = '\0';
	r->pos += n;
	*text = copy;
	return 0;
}

static int signed_decode(struct payload_reader *r, const struct field *f, void *value)
{
	uint64_t raw;
	int64_t v;
	int err = number_decode(r, UINT64_MAX, &raw);

	if (err)
		return err;
	v = unzigzag(raw);
	if (f->kind == FIELD_I64)
		*(int64_t *)value = v;
	else if (v < INT32_MIN || v > INT32_MAX)
		return -EBADMSG;
	else
		*(int32_t *)value = (int32_t)v;
	return 0;
}

/* Skip numbers beyond the maximum: a newer writer has added them. */
static int numbers_decode(struct payload_reader *r, uint64_t *v, uint32_t maximum)
{
	uint32_t n;
	uint64_t number;
	int err = count_decode(r, UINT32_MAX, &n);

	for (uint32_t i = 0; !err && i < n; i++) {
		err = number_decode(r, UINT64_MAX, &number);
		if (!err && i < maximum)
			v[i] = number;
	}
	return err;
}

static int buckets_decode(struct payload_reader *r, const struct field *f, void *object)
{
	uint32_t n, i, *bucket;
	uint64_t delta, *count, last = 0;
	int err = count_decode(r, f->maximum, &n);

	if (err || !n)
		return err;
	if (n > (r->n - r->pos) / 2)
		return -EBADMSG;
	bucket = arena_alloc(r->arena, n * sizeof(*bucket));
	count = arena_alloc(r->arena, n * sizeof(*count));
	if (!bucket || !count)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		err = number_decode(r, f->maximum - 1, &delta);
		if (!err)
			err = number_decode(r, UINT64_MAX, &count[i]);
		if (err)
			return err;
		last += delta;
		if ((i && !delta) || last >= f->maximum || !count[i])
			return -EBADMSG;
		bucket[i] = (uint32_t)last;
	}
	*(uint32_t *)at(object, f->offset_count) = n;
	*(const uint32_t **)at(object, f->offset) = bucket;
	*(const uint64_t **)at(object, f->offset_second) = count;
	return 0;
}

static int nested_decode(struct payload_reader *r, const struct struct_layout *layout, void *object)
{
	uint32_t n;
	int err = count_decode(r, UINT32_MAX, &n);

	if (err)
		return err;
	err = struct_decode(r->arena, layout, r->data + r->pos, n, object);
	r->pos += n;
	return err;
}

static int array_decode(struct payload_reader *r, const struct field *f, void *object)
{
	size_t size = f->kind == FIELD_U64S ? sizeof(uint64_t) : f->nested->size;
	uint32_t n;
	char *items;
	int err = count_decode(r, f->maximum, &n);

	if (err || !n)
		return err;
	items = arena_alloc(r->arena, n * size);
	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++) {
		if (f->kind == FIELD_U64S)
			err = number_decode(r, UINT64_MAX, (uint64_t *)(void *)(items + i * size));
		else
			err = nested_decode(r, f->nested, items + i * size);
	}
	if (err)
		return err;
	*(uint32_t *)at(object, f->offset_count) = n;
	*(void **)at(object, f->offset) = items;
	return 0;
}

static int field_decode(struct payload_reader *r, const struct field *f, void *object)
{
	void *value = at(object, f->offset);
	uint64_t v;
	int err;

	switch ((enum field_kind)f->kind) {
	case FIELD_U32:
		err = number_decode(r, UINT32_MAX, &v);
		if (!err)
			*(uint32_t *)value = (uint32_t)v;
		return err;
	case FIELD_U64:
		return number_decode(r, UINT64_MAX, value);
	case FIELD_I32:
	case FIELD_I64:
		return signed_decode(r, f, value);
	case FIELD_TEXT:
		return text_decode(r, value);
	case FIELD_NUMBERS:
		return numbers_decode(r, value, f->maximum);
	case FIELD_STRUCT:
		return nested_decode(r, f->nested, value);
	case FIELD_U64S:
	case FIELD_STRUCTS:
		return array_decode(r, f, object);
	case FIELD_BUCKETS:
		return buckets_decode(r, f, object);
	}
	return -EBADMSG;
}

/* Text is "" and never NULL, also in structs that were left out; all else is 0. */
static void texts_default(const struct struct_layout *layout, void *object)
{
	for (unsigned int i = 0; i < layout->nr_fields; i++) {
		const struct field *f = &layout->fields[i];

		if (f->kind == FIELD_TEXT)
			*(const char **)at(object, f->offset) = "";
		else if (f->kind == FIELD_STRUCT)
			texts_default(f->nested, at(object, f->offset));
	}
}

int struct_decode(struct arena *arena, const struct struct_layout *layout, const void *data,
		  size_t n, void *object)
{
	struct payload_reader r = {.arena = arena, .data = data, .n = n};
	int err;

	memset(object, 0, layout->size);
	texts_default(layout, object);
	for (unsigned int i = 0; i < layout->nr_fields && r.pos < r.n; i++) {
		err = field_decode(&r, &layout->fields[i], object);
		if (err)
			return err;
	}
	return 0;
}
