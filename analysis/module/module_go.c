// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .gopclntab: the table of functions that the Go runtime unwinds with. Stripping keeps it. The
 * layout is that of Go 1.18 and later; source: struct pcHeader, functab and _func in
 * src/runtime/symtab.go and src/runtime/runtime2.go of Go.
 */
#include <errno.h>

#include "analysis/base/array.h"
#include "analysis/module/module_internal.h"
#include "analysis/module/module_row.h"

enum {
	GO_HEADER = 72,	     /* bytes of struct pcHeader */
	GO_MAGIC_118 = 0xf0, /* last byte of 0xfffffff0: Go 1.18 and 1.19 */
	GO_MAGIC_120 = 0xf1, /* of 0xfffffff1: Go 1.20 and later */
	GO_PADDING = 64,     /* bytes between the last function and the end of .text */
	GO_FACTS = 44,	     /* bytes of struct _func that are read */
	GO_FLAGS_118 = 37,   /* where its flags are */
	GO_FLAGS_120 = 41,
	GO_SWITCHES_STACK = 2, /* flag: the stack pointer is set to another stack */
	GO_STEPS = 1 << 16,    /* of the list of depths of one function */
	GO_RELOCATION = 24,    /* bytes of Elf64_Rela */
	GO_RELOCATIONS = 4096, /* read at once */
	GO_TRIES = 16,	       /* headers that prove to be wrong */
};

/* The C linker puts the table of a file without a fixed address into .data.rel.ro. */
static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};

bool module_has_go_table(const struct image *img)
{
	return image_section(img, sections[0]) || image_section(img, sections[1]);
}

/* ---- the address of the code */

/* Returns the value that the loader puts at `vaddr` of a file without a fixed address, or 0. */
static uint64_t relocated(const struct module *m, uint64_t vaddr)
{
	uint8_t *p = malloc((size_t)GO_RELOCATIONS * GO_RELOCATION);
	uint64_t value = 0;

	for (size_t i = 0; p && i < m->dynamic.nr_relocations && !value; i++) {
		struct span at = m->dynamic.relocations[i];

		while (at.len >= GO_RELOCATION && !value) {
			uint64_t n = at.len / GO_RELOCATION;

			if (n > GO_RELOCATIONS)
				n = GO_RELOCATIONS;
			if (image_read(&m->image, at.off, p, n * GO_RELOCATION))
				break;
			for (uint64_t k = 0; k < n && !value; k++) {
				const uint8_t *r = p + k * GO_RELOCATION;

				if (get64(r) == vaddr &&
				    ELF64_R_TYPE(get64(r + 8)) == R_X86_64_RELATIVE)
					value = get64(r + 16);
			}
			at.off += n * GO_RELOCATION;
			at.len -= n * GO_RELOCATION;
		}
	}
	free(p);
	return value;
}

/*
 * Returns the address of .text if the code in it is as long as the table says: then the Go linker
 * has put no other code there. Else 0.
 */
static uint64_t text_of_length(const struct image *img, uint64_t length)
{
	const Elf64_Shdr *sh = image_section(img, ".text");

	if (!sh || length > sh->sh_size || sh->sh_size - length > GO_PADDING)
		return 0;
	return sh->sh_addr;
}

/* ---- the table */

/* Each entry of the list: entry and offset of the facts, 4 bytes each. The end of the last
 * function follows the list. */
static uint32_t go_entry(const struct go_table *t, uint64_t i)
{
	return get32(t->bytes + t->functions + 8 * i);
}

static bool is_header(const uint8_t *p)
{
	return (p[0] == GO_MAGIC_118 || p[0] == GO_MAGIC_120) && p[1] == 0xff && p[2] == 0xff &&
	       p[3] == 0xff && !p[4] && !p[5] && p[6] == 1 && p[7] == 8;
}

/* Reads the header at the start of the bytes, which are at `vaddr`. */
static bool read_header(const struct module *m, struct go_table *t, uint64_t vaddr)
{
	const uint8_t *p = t->bytes;

	if (t->len < GO_HEADER || !is_header(p))
		return false;
	t->nr = get64(p + 8);
	t->text = get64(p + 24);
	t->names = get64(p + 32);
	t->depths = get64(p + 56);
	t->functions = get64(p + 64);
	if (t->names >= t->len || t->depths >= t->len || t->functions >= t->len || !t->nr ||
	    t->nr > (t->len - t->functions) / 8 || t->nr * 8 + 4 > t->len - t->functions)
		return false;
	if (!t->text)
		t->text = relocated(m, vaddr + 24);
	if (!t->text)
		t->text = text_of_length(&m->image, go_entry(t, t->nr));
	return t->text != 0;
}

/* Finds the header in a section; the table is then the rest of the section. */
static bool find_header(const struct module *m, const uint8_t *bytes, const Elf64_Shdr *sh,
			struct go_table *t)
{
	unsigned int tries = 0;

	for (uint64_t at = 0; at + GO_HEADER <= sh->sh_size && tries < GO_TRIES; at += 8) {
		if (!is_header(bytes + at))
			continue;
		*t = (struct go_table){.bytes = bytes + at, .len = sh->sh_size - at};
		if (read_header(m, t, sh->sh_addr + at))
			return true;
		tries++;
	}
	return false;
}

/* Returns the facts of a function (struct _func), or NULL if they are not within the table. */
static const uint8_t *go_facts(const struct go_table *t, uint64_t i)
{
	uint64_t facts = get32(t->bytes + t->functions + 8 * i + 4);

	if (facts + GO_FACTS > t->len - t->functions)
		return NULL;
	return t->bytes + t->functions + facts;
}

/* Offset of the name of a function in the table, or 0. */
static uint64_t go_name(const struct go_table *t, uint64_t i)
{
	const uint8_t *facts = go_facts(t, i);
	uint64_t name = facts ? get32(facts + 4) : UINT64_MAX;

	return name < t->len - t->names ? t->names + name : 0;
}

static int go_functions(struct module *m, const struct go_table *t, uint64_t at)
{
	int err = 0;

	for (uint64_t i = 0; i < t->nr && !err; i++) {
		uint32_t entry = go_entry(t, i), end = go_entry(t, i + 1);
		struct symbol s = {.vaddr = t->text + entry, .table = FUNCTION_GOPCLNTAB};
		uint64_t name = go_name(t, i);

		if (!name) {
			m->truncated = true;
			continue;
		}
		s.name = (uint32_t)(at + name);
		err = module_keep_symbol(m, &s, (const char *)t->bytes + name,
					 end > entry ? end - entry : 0);
	}
	return err;
}

static int load_from(struct module *m, const Elf64_Shdr *sh)
{
	struct span at = image_section_span(&m->image, sh);
	uint8_t *bytes;
	int err;

	if (!at.len)
		return 0;
	err = image_load(&m->image, at, MODULE_MAX_TABLE, &bytes);
	if (err) {
		m->truncated = true;
		return err == -ENOMEM ? err : 0;
	}
	if (!find_header(m, bytes, sh, &m->go)) {
		m->go = (struct go_table){0};
		free(bytes);
		return 0;
	}
	m->strings[FUNCTION_GOPCLNTAB] = (struct strings){(char *)bytes, at.len};
	if (m->identity.has_symtab || m->has_debug)
		return 0; /* the symbol table names the functions */
	return go_functions(m, &m->go, (uint64_t)(m->go.bytes - bytes));
}

int module_load_go(struct module *m)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sections) && !err && !m->go.nr; i++)
		err = load_from(m, image_section(&m->image, sections[i]));
	return err;
}

/* ---- unwinding */

/* Reads a number of 7 bits a byte. Past the end of the table it is 0. */
static uint32_t go_number(const struct go_table *t, uint64_t *at)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; *at < t->len && shift < 32; shift += 7) {
		uint8_t byte = t->bytes[(*at)++];

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/*
 * Returns the bytes between the stack pointer and the return address at a place in a function, or
 * -1. The list has differences of the depth (zigzag) and the lengths of code with that depth.
 */
static int64_t go_depth(const struct go_table *t, const uint8_t *facts, uint64_t place)
{
	uint64_t at = t->depths + get32(facts + 16), end = 0;
	int64_t depth = -1;

	for (unsigned int i = 0; i < GO_STEPS; i++) {
		uint32_t change = go_number(t, &at);

		if (!change && i)
			break;
		depth += change & 1 ? ~(int64_t)(change >> 1) : (int64_t)(change >> 1);
		end += go_number(t, &at);
		if (place < end)
			return depth;
	}
	return -1;
}

/* Functions that have no caller, or whose caller is on the stack of a goroutine. */
static bool go_begins_stack(const struct go_table *t, uint64_t i)
{
	static const char *const names[] = {"runtime.goexit", "runtime.mstart", "runtime.mcall",
					    "runtime.morestack", "runtime.rt0_go"};
	uint64_t name = go_name(t, i);

	for (size_t k = 0; name && k < ARRAY_SIZE(names); k++)
		if (!strcmp((const char *)t->bytes + name, names[k]))
			return true;
	return false;
}

int module_go_row(struct module *m, uint64_t pc, struct row *row)
{
	const struct go_table *t = &m->go;
	uint64_t place, low;
	const uint8_t *facts;
	int64_t depth;

	if (module_load_functions(m) || !t->nr)
		return -ENOENT;
	place = pc - t->text;
	if (place < go_entry(t, 0) || place >= go_entry(t, t->nr))
		return -ENOENT;
	low = lower_bound(i, t->nr, go_entry(t, i) <= place) - 1;
	facts = go_facts(t, low);
	if (!facts || place < go_entry(t, low))
		return -ENOENT;
	*row = (struct row){.return_register = ROW_RIP};
	row->cfa = (struct row_rule){.kind = RULE_REGISTER, .reg = ROW_RSP, .value = 8};
	if (go_begins_stack(t, low)) {
		row->regs[ROW_RIP].kind = RULE_UNDEFINED;
		return 0;
	}
	depth = go_depth(t, facts, place - go_entry(t, low));
	if (depth < 0 || depth % 8 ||
	    facts[t->bytes[0] == GO_MAGIC_118 ? GO_FLAGS_118 : GO_FLAGS_120] & GO_SWITCHES_STACK)
		return -ENOENT;
	row->cfa.value += depth;
	row->regs[ROW_RIP] = (struct row_rule){.kind = RULE_SAVED, .value = -8};
	/* a function with a frame saves the frame pointer first */
	if (depth)
		row->regs[ROW_RBP] = (struct row_rule){.kind = RULE_SAVED, .value = -16};
	row->regs[ROW_RBX].kind = RULE_UNDEFINED;
	for (unsigned int i = ROW_R12; i <= ROW_R15; i++)
		row->regs[i].kind = RULE_UNDEFINED;
	return 0;
}
