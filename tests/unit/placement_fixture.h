/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small modules for tests of the planner: assembled into read-only data of the
 * test itself, seen by the planner at BASE.
 */
#ifndef PEAKTOP_PLACEMENT_FIXTURE_H
#define PEAKTOP_PLACEMENT_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/code/callers.h"
#include "analysis/code/placement.h"

#define BASE 0x401000ULL
#define OFFSET 0x1000ULL /* in the file, of BASE */

/* Labels inside `body` are to be called NAME_LABEL and declared with LABEL(). */
#define CODE(name, body)                                                                           \
	extern const uint8_t name##_begin[], name##_end[];                                         \
	__asm__(".pushsection .rodata\n.balign 64\n" #name "_begin:\n" body "\n" #name             \
		"_end:\n.popsection\n")
#define LABEL(label) extern const uint8_t label[]
/* Address of a label of `name` in the module. */
#define AT(name, label) (BASE + (uint64_t)(label - name##_begin))

#define CHECK(place, label, klass, cfa_, skipped_)                                                 \
	do {                                                                                       \
		assert_int_equal((place).vaddr, (label));                                          \
		assert_int_equal((place).cls, (klass));                                            \
		assert_int_equal((place).cfa, (cfa_));                                             \
		assert_int_equal((place).skipped, (skipped_));                                     \
	} while (0)

enum { FIXTURE_PARTS = 8, FIXTURE_RULES = 16, FIXTURE_POINTERS = 8 };

struct fixture {
	struct code_source src;
	struct code_bytes bytes;
	struct code_part parts[FIXTURE_PARTS];
	struct code_range rseq;
	struct {
		uint64_t from; /* up to the next rule */
		struct code_cfa cfa;
	} rules[FIXTURE_RULES]; /* ascending */
	size_t nr_rules;
	uint64_t pointers[FIXTURE_POINTERS];
	size_t nr_pointers;
	struct {
		uint64_t vaddr;
		const char *name;
	} names[FIXTURE_POINTERS];
	size_t nr_names;
	uint64_t data_vaddr; /* of data[] */
	uint8_t data[256];
	size_t data_size;
	struct place_policy policy;
	struct placer *placer;
};

static inline struct code_cfa fixture_cfa(void *ctx, uint64_t vaddr)
{
	struct fixture *f = ctx;
	struct code_cfa cfa = {.kind = CODE_CFA_UNKNOWN};

	for (size_t i = 0; i < f->nr_rules && f->rules[i].from <= vaddr; i++)
		cfa = f->rules[i].cfa;
	return cfa;
}

static inline int fixture_read(void *ctx, uint64_t vaddr, void *out, size_t size)
{
	struct fixture *f = ctx;

	if (vaddr < f->data_vaddr || vaddr - f->data_vaddr + size > f->data_size)
		return -1;
	memcpy(out, f->data + (vaddr - f->data_vaddr), size);
	return 0;
}

static inline const char *fixture_name(void *ctx, uint64_t vaddr)
{
	struct fixture *f = ctx;

	for (size_t i = 0; i < f->nr_names; i++)
		if (f->names[i].vaddr == vaddr)
			return f->names[i].name;
	return NULL;
}

static inline bool fixture_in_data(void *ctx, uint64_t vaddr)
{
	struct fixture *f = ctx;

	for (size_t i = 0; i < f->nr_pointers; i++)
		if (f->pointers[i] == vaddr)
			return true;
	return false;
}

/* One part over all of the code; more are added with fixture_split(). */
static inline void fixture_init(struct fixture *f, const uint8_t *begin, const uint8_t *end)
{
	*f = (struct fixture){0};
	f->bytes = (struct code_bytes){
	    .vaddr = BASE,
	    .offset = OFFSET,
	    .bytes = begin,
	    .size = (size_t)(end - begin),
	};
	f->parts[0] = (struct code_part){
	    .start = BASE,
	    .end = BASE + f->bytes.size,
	    .flags = CODE_PART_SYMBOL | CODE_PART_FDE,
	};
	f->src = (struct code_source){
	    .bytes = &f->bytes,
	    .nr_bytes = 1,
	    .parts = f->parts,
	    .nr_parts = 1,
	    .rseq = &f->rseq,
	    .ctx = f,
	    .cfa = fixture_cfa,
	    .read = fixture_read,
	    .name = fixture_name,
	    .slot = fixture_name,
	    .in_data = fixture_in_data,
	};
}

/* The last part ends at `vaddr`, where a new one begins. */
static inline struct code_part *fixture_split(struct fixture *f, uint64_t vaddr, uint32_t flags)
{
	struct code_part *last = &f->parts[f->src.nr_parts - 1];

	assert_true(f->src.nr_parts < FIXTURE_PARTS && vaddr > last->start && vaddr < last->end);
	last[1] = (struct code_part){.start = vaddr, .end = last->end, .flags = flags};
	last->end = vaddr;
	f->src.nr_parts++;
	return &last[1];
}

static inline void fixture_rule(struct fixture *f, uint64_t from, enum code_cfa_kind kind,
				int64_t offset)
{
	assert_true(f->nr_rules < FIXTURE_RULES);
	f->rules[f->nr_rules].from = from;
	f->rules[f->nr_rules++].cfa = (struct code_cfa){.kind = kind, .offset = offset};
}

static inline void fixture_name_add(struct fixture *f, uint64_t vaddr, const char *name)
{
	assert_true(f->nr_names < FIXTURE_POINTERS);
	f->names[f->nr_names].vaddr = vaddr;
	f->names[f->nr_names++].name = name;
}

static inline struct placer *fixture_start(struct fixture *f)
{
	f->placer = placer_new(&f->src, &f->policy);
	assert_non_null(f->placer);
	return f->placer;
}

static inline void fixture_end(struct fixture *f)
{
	placer_free(f->placer);
	f->placer = NULL;
}

/* The entry of the function at the start of `name`, which must be found. */
static inline struct place fixture_entry(struct fixture *f)
{
	struct place place;
	enum place_why why;
	int err = place_entry(f->placer ? f->placer : fixture_start(f), BASE, &place, &why);

	if (err)
		fail_msg("no entry: %s", place_why_text(why));
	assert_int_equal(why, PLACE_OK);
	assert_int_equal(place.kind, PLACE_ENTRY);
	assert_int_equal(place.role, SITE_ENTRY);
	assert_int_equal(place.ideal, BASE);
	assert_int_equal(place.offset, OFFSET + (place.vaddr - BASE));
	return place;
}

/* The reason why there is no entry at `vaddr`. */
static inline enum place_why fixture_no_entry(struct fixture *f, uint64_t vaddr)
{
	struct place place;
	enum place_why why;

	if (!place_entry(f->placer ? f->placer : fixture_start(f), vaddr, &place, &why))
		fail_msg("an entry at %llx: %s", (unsigned long long)place.vaddr, place.text);
	assert_int_not_equal(why, PLACE_OK);
	return why;
}

static inline struct place fixture_return(struct fixture *f, uint64_t ret)
{
	struct place place;
	enum place_why why;
	int err = place_return(f->placer ? f->placer : fixture_start(f), ret, &place, &why);

	if (err)
		fail_msg("no return place: %s", place_why_text(why));
	assert_int_equal(place.kind, PLACE_RETURN);
	assert_int_equal(place.role, SITE_RETURN);
	assert_int_equal(place.ideal, ret);
	return place;
}

static inline enum place_why fixture_no_return(struct fixture *f, uint64_t ret)
{
	struct place place;
	enum place_why why;

	if (!place_return(f->placer ? f->placer : fixture_start(f), ret, &place, &why))
		fail_msg("a return place at %llx: %s", (unsigned long long)place.vaddr, place.text);
	return why;
}

#endif
