// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A module with any call frame information and code, and a thread in it with
 * any registers and stack: it ends, within what was given, and what is kept
 * gives the same answer again.
 */
#include "tests/fuzz/fuzz.h"

#include "analysis/unwind/unwind.h"
#include "tests/unit/module_elf.h"

enum { TEXT = 1024, WORDS = 64, MODULE = 1, FDES = 16 };

#define LOADED 0x7f1200000000ULL
#define STACK 0x7ffd00001000ULL

struct thread {
	struct module *m;
	uint64_t text; /* address of the code */
	uint64_t reg[ROW_REGISTERS];
	uint64_t words[WORDS];
	size_t nr_words;
};

static struct module *module_of(void *context, uint32_t number)
{
	struct thread *t = context;

	return number == MODULE ? t->m : NULL;
}

/* One byte for what is likely to lead on, eight more for anything. */
static uint64_t value(struct thread *t, struct input *in)
{
	uint64_t b = input_number(in, 1);

	switch (b & 3) {
	case 0:
		return STACK + (b >> 2) * 8;
	case 1:
		return t->text + (b >> 2) * 4;
	case 2:
		return t->text + (b >> 2) * 4 + 1;
	default:
		return input_number(in, 8);
	}
}

static void make_module(struct thread *t, struct input *in)
{
	unsigned char text[TEXT] = {0};
	struct buf frames;
	struct elf e;
	size_t cie[2], n, i;
	uint64_t at;
	int fd;

	elf_init(&e);
	buf_init(&frames, 1 << 16);
	at = elf_next(&e);
	t->text = LOADED + at - ELF_BASE;
	cie[0] = eh_cie(&frames, "zR");
	cie[1] = eh_cie(&frames, "zRS");
	for (i = input_number(in, 1) % FDES; i; i--) {
		uint64_t start = input_number(in, 1) * 4;
		uint32_t size = (uint32_t)input_number(in, 1) + 1;
		const uint8_t *program;

		n = input_number(in, 1);
		program = input_bytes(in, &n);
		eh_fde(&frames, at + TEXT, cie[size % 7 == 0], at + start, size, -1, program, n);
	}
	n = input_number(in, 2) % TEXT;
	memcpy(text, input_bytes(in, &n), n);
	elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, TEXT);
	elf_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, frames.data, frames.len);
	elf_finish(&e);
	fd = memory_file(e.out.data, e.out.len);
	must(!module_open(&t->m, fd));
	close(fd);
	elf_release(&e);
	buf_release(&frames);
}

static void check(const struct thread *t, const struct unwind_stack *s)
{
	uint64_t floor = t->reg[ROW_RSP];
	unsigned int i;

	must(s->nr >= 1 && s->nr <= UNWIND_MAX_FRAMES && s->stop < UNWIND_STOPS);
	must(!s->missing == (s->stop != UNWIND_END_OF_COPY));
	for (i = 0; i < s->nr; i++) {
		const struct unwind_frame *f = &s->frames[i];

		must(f->module <= MODULE && !(f->cfa >> 56));
		must(i + 1 == s->nr || f->cfa);
		must(f->flags & UNWIND_SIGNAL || !f->cfa || f->cfa > floor);
		/* What was interrupted may be on any other stack. */
		floor = f->flags & UNWIND_SIGNAL ? 0 : f->cfa;
		must(f->module || !f->function);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct unwind_stack first, second;
	struct input in = {data, size};
	struct unwind_mapping mapping = {LOADED, LOADED + 0x10000, 0, MODULE};
	struct thread t = {0};
	struct unwind_memory memory;
	struct unwind_input what;
	struct unwinder *u;
	size_t i;

	make_module(&t, &in);
	for (i = 0; i < ROW_REGISTERS; i++)
		t.reg[i] = value(&t, &in);
	for (i = 0; i < WORDS && in.left; i++)
		t.words[i] = value(&t, &in);
	memory = (struct unwind_memory){STACK, t.words, i * 8};
	what = (struct unwind_input){t.reg, &memory, 1, unwind_map_new(&mapping, 1)};
	u = unwinder_new(module_of, &t);
	must(what.map && u);
	unwind(u, &what, &first);
	check(&t, &first);
	unwind(u, &what, &second);
	must(first.nr == second.nr && first.stop == second.stop);
	must(!memcmp(first.frames, second.frames, first.nr * sizeof(first.frames[0])));
	unwinder_free(u);
	unwind_map_free((struct unwind_map *)what.map);
	module_free(t.m);
	return 0;
}
