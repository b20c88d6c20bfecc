/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the tests of the unwinder: a module made byte by byte, mapped somewhere,
 * and a thread that runs in it.
 */
#ifndef TESTS_UNIT_UNWIND_MADE_H
#define TESTS_UNIT_UNWIND_MADE_H

#include "analysis/unwind/unwind.h"
#include "tests/unit/module_elf.h"

enum { TEXT = 4096, WORDS = 64, MODULE = 3, INNER = 0, OUTER = 0x100, LAST = 0x200 };

#define LOADED 0x7f1200000000ULL /* where the file is mapped */
#define STACK 0x7ffd00001000ULL

/* A module under construction, a thread that runs in it, and what came of it. */
struct fixture {
	struct elf e;
	struct buf frames;
	unsigned char text[TEXT];
	uint64_t text_at, frames_at;
	size_t cie;
	struct module *m;
	int fd;
	struct unwinder *u;
	struct unwind_map *map;
	unsigned int asked;
	uint64_t reg[ROW_REGISTERS];
	uint64_t words[WORDS]; /* the stack from STACK up */
	size_t bytes;	       /* of it given */
	struct unwind_stack out;
};

static inline struct module *module_of(void *context, uint32_t number)
{
	struct fixture *x = context;

	x->asked++;
	return number == MODULE ? x->m : NULL;
}

static inline uint64_t text(const struct fixture *x, uint32_t at)
{
	return LOADED + (x->text_at - ELF_BASE) + at;
}

static inline void begin(struct fixture *x)
{
	memset(x, 0, sizeof(*x));
	elf_init(&x->e);
	buf_init(&x->frames, 1 << 20);
	memset(x->text, 0x90, sizeof(x->text));
	x->text_at = elf_next(&x->e);
	x->frames_at = x->text_at + TEXT;
	x->cie = eh_cie(&x->frames, "zR");
	x->bytes = sizeof(x->words);
}

static inline void add_fde(struct fixture *x, uint32_t start, uint32_t size, const void *program,
			   size_t len)
{
	eh_fde(&x->frames, x->frames_at, x->cie, x->text_at + start, size, -1, program, len);
}

#define FDE(x, start, size, ...)                                                                   \
	add_fde(x, start, size, (const unsigned char[]){__VA_ARGS__},                              \
		sizeof((const unsigned char[]){__VA_ARGS__}))

static inline void map_all(struct fixture *x, const struct unwind_mapping *list, size_t n)
{
	unwind_map_free(x->map);
	x->map = unwind_map_new(list, n);
	assert_non_null(x->map);
}

static inline void finish(struct fixture *x)
{
	struct unwind_mapping whole = {LOADED, LOADED + (1 << 20), 0, MODULE};

	elf_section(&x->e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, x->text,
		    sizeof(x->text));
	assert_int_equal(elf_next(&x->e), x->frames_at);
	elf_section(&x->e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, x->frames.data, x->frames.len);
	elf_add_tables(&x->e, NULL, 0);
	elf_finish(&x->e);
	x->fd = elf_file(x->e.out.data, x->e.out.len);
	assert_int_equal(module_open(&x->m, x->fd), 0);
	elf_release(&x->e);
	buf_release(&x->frames);
	x->u = unwinder_new(module_of, x);
	assert_non_null(x->u);
	map_all(x, &whole, 1);
	x->reg[ROW_RSP] = STACK;
	x->reg[ROW_RIP] = text(x, INNER);
}

static inline void end(struct fixture *x)
{
	unwinder_free(x->u);
	unwind_map_free(x->map);
	module_free(x->m);
	close(x->fd);
}

static inline void go(struct fixture *x)
{
	struct unwind_memory memory = {STACK, x->words, x->bytes};
	struct unwind_input in = {x->reg, &memory, 1, x->map};

	unwind(x->u, &in, &x->out);
	assert_in_range(x->out.nr, 1, UNWIND_MAX_FRAMES);
	assert_true(x->out.stop < UNWIND_STOPS);
	assert_true(strlen(unwind_stop_text(x->out.stop)) > 0);
	assert_int_equal(x->out.missing != 0, x->out.stop == UNWIND_END_OF_COPY);
}

static inline void frame_is(struct fixture *x, unsigned int i, uint32_t at, uint64_t cfa)
{
	assert_true(i < x->out.nr);
	assert_int_equal(x->out.frames[i].module, MODULE);
	assert_int_equal(x->out.frames[i].offset, x->text_at - ELF_BASE + at);
	assert_int_equal(x->out.frames[i].cfa, cfa);
}

static inline void stops(struct fixture *x, unsigned int nr, enum unwind_stop stop)
{
	assert_int_equal(x->out.stop, stop);
	assert_int_equal(x->out.nr, nr);
}

/* What the word number `i` of the stack holds: an address above all of it. */
#define WORD_AT(i) (STACK + 0x200 + 8 * (i))

static inline void fill_stack(struct fixture *x)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		x->words[i] = WORD_AT(i);
}

#endif
