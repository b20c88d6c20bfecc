// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/ring_state.h"

#include "analysis/base/array.h"
#include "analysis/session/raw_frame.h"

enum {
	MAX_ENTRIES = 65536,
	MAX_ENDED = 16, /* processes that have ended and are still described */
	MAX_NOTES = 64,
};

/* What an entry is about: its type, and the numbers that tell it from others of this type. */
struct ring_key {
	uint16_t type;
	uint64_t a, b;
};

struct ring_entry {
	struct ring_key key;
	uint16_t flags;
	uint32_t length;
	void *payload;
};

struct ring_state {
	struct ring_entry *list; /* in the order of the stream */
	size_t nr, cap;
	size_t bytes, max;
	struct buf frame;
};

struct ring_state *ring_state_new(size_t max_bytes)
{
	struct ring_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max = max_bytes;
	buf_init(&s->frame, FRAME_HEADER_SIZE + FRAME_MAX_PAYLOAD);
	return s;
}

void ring_state_free(struct ring_state *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++)
		free(s->list[i].payload);
	free(s->list);
	buf_release(&s->frame);
	free(s);
}

static size_t entry_bytes(const struct ring_entry *e)
{
	return FRAME_HEADER_SIZE + e->length;
}

/* NULL: nothing to drop. Returns whether an entry was dropped. */
static bool drop(struct ring_state *s, struct ring_entry *e)
{
	if (!e)
		return false;
	s->bytes -= entry_bytes(e);
	free(e->payload);
	s->nr--;
	memmove(e, e + 1, (size_t)(s->list + s->nr - e) * sizeof(*e));
	return true;
}

static bool same(const struct ring_key *a, const struct ring_key *b)
{
	return a->type == b->type && a->a == b->a && a->b == b->b;
}

static void drop_key(struct ring_state *s, const struct ring_key *key)
{
	drop(s, find_first(i, s->list, s->nr, same(&s->list[i].key, key)));
}

/* Drop the oldest entry of a type. False: there is none. */
static bool drop_oldest(struct ring_state *s, uint16_t type)
{
	return drop(s, find_first(i, s->list, s->nr, s->list[i].key.type == type));
}

static size_t count(const struct ring_state *s, uint16_t type)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nr; i++)
		n += s->list[i].key.type == type;
	return n;
}

static void drop_mappings(struct ring_state *s, uint32_t pid)
{
	for (size_t i = s->nr; i > 0; i--) {
		if (s->list[i - 1].key.type == REC_MAPPING && s->list[i - 1].key.a == pid)
			drop(s, &s->list[i - 1]);
	}
}

/* A process has ended: its mappings are not needed any more, and after some more ends neither is
 * its description. */
static void target_ended(struct ring_state *s, uint32_t pid)
{
	drop_mappings(s, pid);
	while (count(s, REC_TARGET_END) >= MAX_ENDED) {
		struct ring_entry *oldest =
		    find_first(i, s->list, s->nr, s->list[i].key.type == REC_TARGET_END);
		struct ring_key target = {.type = REC_TARGET, .a = oldest->key.a};

		drop(s, oldest);
		drop_key(s, &target);
	}
}

static uint64_t text_hash(const char *text)
{
	return text ? (uint64_t)crc32c(0, text, strlen(text)) << 32 | strlen(text) : 0;
}

/* What the record is about. False: a ring does not repeat it. */
static bool key_of(const struct record *rec, struct ring_key *key)
{
	*key = (struct ring_key){.type = (uint16_t)rec->type};
	switch (rec->type) {
	case REC_META:
	case REC_CHOICE:
	case REC_PHASES:
	case REC_CLOCK:
		return true;
	case REC_TARGET:
		key->a = rec->target.pid;
		return true;
	case REC_TARGET_END:
		key->a = rec->target_end.pid;
		return true;
	case REC_MODULE:
		key->a = rec->module.module;
		return true;
	case REC_BUILD_ID:
		key->a = rec->build_id.module;
		return true;
	case REC_MAPPING:
		key->a = rec->mapping.pid;
		key->b = rec->mapping.start;
		return true;
	case REC_OP:
		key->a = rec->op.op;
		return true;
	case REC_CONSTANT:
		key->a = text_hash(rec->constant.name);
		return true;
	case REC_SYMBOL:
		key->a = rec->symbol.module;
		key->b = rec->symbol.offset;
		return true;
	case REC_NOTE:
		key->a = text_hash(rec->note.text);
		return true;
	default:
		return false;
	}
}

/* Make room for one more entry of this size. */
static int make_room(struct ring_state *s, size_t bytes)
{
	static const uint16_t dispensable[] = {REC_SYMBOL, REC_NOTE, REC_BUILD_ID, REC_MAPPING,
					       REC_MODULE};

	if (bytes > s->max)
		return -E2BIG;
	for (size_t i = 0; i < ARRAY_SIZE(dispensable) && s->bytes + bytes > s->max; i++) {
		while (s->bytes + bytes > s->max && drop_oldest(s, dispensable[i]))
			;
	}
	return s->bytes + bytes > s->max ? -E2BIG : 0;
}

static int add(struct ring_state *s, const struct ring_key *key, const struct record *rec)
{
	struct ring_entry e = {.key = *key};
	struct raw_frame raw;
	int err;

	buf_reset(&s->frame);
	err = frame_encode(&s->frame, rec, 0);
	if (!err && raw_frame_parse(s->frame.data, s->frame.len, &raw) != 1)
		err = -EINVAL;
	if (!err)
		err = make_room(s, raw.size);
	if (err)
		return err;
	e.flags = raw.flags;
	e.length = (uint32_t)raw.length;
	e.payload = malloc(raw.length + 1);
	if (!e.payload)
		return -ENOMEM;
	if (raw.length)
		memcpy(e.payload, raw.payload, raw.length);
	err = array_append(s->list, s->nr, s->cap, MAX_ENTRIES, e);
	if (err) {
		free(e.payload);
		return err;
	}
	s->bytes += entry_bytes(&e);
	return 0;
}

int ring_state_take(struct ring_state *s, const struct record *rec)
{
	struct ring_key key;

	if (!key_of(rec, &key))
		return 0;
	drop_key(s, &key);
	if (rec->type == REC_MAPPING && rec->mapping.gone)
		return 0;
	if (rec->type == REC_TARGET_END)
		target_ended(s, rec->target_end.pid);
	if (rec->type == REC_NOTE && count(s, REC_NOTE) >= MAX_NOTES)
		drop_oldest(s, REC_NOTE);
	return add(s, &key, rec);
}

uint32_t ring_state_nr(const struct ring_state *s)
{
	return (uint32_t)s->nr;
}

int ring_state_encode(const struct ring_state *s, struct buf *out, uint32_t sequence)
{
	int err = 0;

	for (size_t i = 0; i < s->nr && !err; i++) {
		const struct ring_entry *e = &s->list[i];

		err = raw_frame_append(out, e->key.type, e->flags, sequence + (uint32_t)i,
				       e->payload, e->length);
	}
	return err;
}
