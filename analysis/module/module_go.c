// SPDX-License-Identifier: GPL-2.0-or-later
/* .gopclntab: the table of functions that the Go runtime unwinds with. Stripping keeps it. */

#include "analysis/module/module_go.h"
#include "analysis/base/array.h"
#include "analysis/module/module_data.h"
#include "analysis/module/module_row.h"

enum {
	GO_HEADER = 64,	       /* bytes of the shortest struct pcHeader */
	GO_PADDING = 64,       /* bytes between the last function and the end of .text */
	GO_SWITCHES_STACK = 2, /* flag: the stack pointer is set to another stack */
	GO_STEPS = 1 << 16,    /* of a list of values */
	GO_RELOCATION = 24,    /* bytes of Elf64_Rela */
	GO_RELOCATIONS = 4096, /* read at once */
	GO_CHUNK = 1 << 16,    /* bytes of data read at once */
	GO_DATA = 256 << 20,   /* bytes of data read in all */
	GO_TRIES = 16,	       /* headers that prove to be wrong */
};

static const struct go_layout layouts[] = {
    {/* Go 1.16 and 1.17 */
     .magic = 0xfa,
     .header = 64,
     .text = 0,
     .names = 24,
     .units = 32,
     .files = 40,
     .values = 48,
     .list = 56,
     .entry = 16,
     .flags = 33,
     .inlined = 20,
     .called = 12,
     .at = 16,
     .tree_base = 0},
    {/* Go 1.18 and 1.19 */
     .magic = 0xf0,
     .header = 72,
     .text = 24,
     .names = 32,
     .units = 40,
     .files = 48,
     .values = 56,
     .list = 64,
     .entry = 8,
     .flags = 33,
     .inlined = 20,
     .called = 12,
     .at = 16,
     .tree_base = 304},
    {/* Go 1.20 and later */
     .magic = 0xf1,
     .header = 72,
     .text = 24,
     .names = 32,
     .units = 40,
     .files = 48,
     .values = 56,
     .list = 64,
     .entry = 8,
     .flags = 37,
     .inlined = 16,
     .called = 4,
     .at = 8,
     .tree_base = 320},
};

/* The C linker puts the table of a file without a fixed address into .data.rel.ro. */
static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};

bool module_has_go_table(const struct image *img)
{
	return image_section(img, sections[0]) || image_section(img, sections[1]);
}

/* Which pointers are wanted: those at an address, or those with a value. */
struct wanted {
	bool by_value;
	uint64_t key;
	uint64_t *out; /* the value, or the addresses */
	size_t nr, max;
	uint64_t left; /* bytes of data that may still be read */
};

static bool is_full(const struct wanted *w)
{
	return w->nr >= w->max;
}

static void take_pointer(struct wanted *w, uint64_t at, uint64_t value)
{
	if ((w->by_value ? value : at) == w->key && !is_full(w))
		w->out[w->nr++] = w->by_value ? at : value;
}

/* The values that the loader puts into a file without a fixed address. */
static void search_relocations(const struct module *m, struct wanted *w)
{
	uint8_t *p = malloc((size_t)GO_RELOCATIONS * GO_RELOCATION);

	for (size_t i = 0; p && i < m->dynamic.nr_relocations && !is_full(w); i++) {
		struct span at = m->dynamic.relocations[i];

		while (at.len >= GO_RELOCATION && !is_full(w)) {
			uint64_t n = at.len / GO_RELOCATION;

			if (n > GO_RELOCATIONS)
				n = GO_RELOCATIONS;
			if (image_read(&m->image, at.off, p, n * GO_RELOCATION))
				break;
			for (uint64_t k = 0; k < n; k++) {
				const uint8_t *r = p + k * GO_RELOCATION;

				if (ELF64_R_TYPE(get64(r + 8)) == R_X86_64_RELATIVE)
					take_pointer(w, get64(r), get64(r + 16));
			}
			at.off += n * GO_RELOCATION;
			at.len -= n * GO_RELOCATION;
		}
	}
	free(p);
}

uint64_t go_pointer(const struct module *m, uint64_t vaddr)
{
	uint64_t value = 0;
	struct wanted w = {.key = vaddr, .out = &value, .max = 1};
	uint8_t bytes[8];

	if (!module_read_data(m, vaddr, bytes, sizeof(bytes)))
		value = get64(bytes);
	if (!value)
		search_relocations(m, &w);
	return value;
}

static void search_segment(const struct module *m, const Elf64_Phdr *ph, uint8_t *chunk,
			   struct wanted *w)
{
	uint64_t at = (ph->p_vaddr + 7) & ~7ULL;
	struct span left;

	while (!is_full(w) && (left = image_at_vaddr(&m->image, at)).len >= 8 &&
	       at - ph->p_vaddr < ph->p_filesz) {
		size_t len = left.len < GO_CHUNK ? (size_t)left.len & ~7UL : GO_CHUNK;

		if (len > w->left)
			break;
		w->left -= len;
		if (image_read(&m->image, left.off, chunk, len))
			break;
		for (size_t i = 0; i < len; i += 8)
			take_pointer(w, at + i, get64(chunk + i));
		at += len;
	}
}

size_t go_pointers_to(const struct module *m, uint64_t value, uint64_t *out, size_t max)
{
	struct wanted w = {.by_value = true, .key = value, .out = out, .max = max, .left = GO_DATA};
	uint8_t *chunk = malloc(GO_CHUNK);

	for (size_t i = 0; chunk && i < m->image.nr_ph; i++) {
		const Elf64_Phdr *ph = &m->image.ph[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_W)
			search_segment(m, ph, chunk, &w);
	}
	free(chunk);
	search_relocations(m, &w);
	return w.nr;
}

/* Returns the address of .text if the code in it is as long as the table says: then the Go linker
 * has put no other code there. Else 0. */
static uint64_t text_of_length(const struct image *img, uint64_t length)
{
	const Elf64_Shdr *sh = image_section(img, ".text");

	if (!sh || length > sh->sh_size || sh->sh_size - length > GO_PADDING)
		return 0;
	return sh->sh_addr;
}

/* Each entry of the list: entry and offset of the facts. The end of the last function follows the
 * list. */
static uint64_t go_entry(const struct go_table *t, uint64_t i)
{
	const uint8_t *p = t->bytes + t->list + t->layout->entry * i;

	return t->layout->entry == 16 ? get64(p) : get32(p);
}

uint64_t go_start(const struct go_table *t, uint64_t i)
{
	return t->text + go_entry(t, i);
}

static const struct go_layout *layout_of(const uint8_t *p)
{
	if (p[1] != 0xff || p[2] != 0xff || p[3] != 0xff || p[4] || p[5] || p[6] != 1 || p[7] != 8)
		return NULL;
	return find_first(i, layouts, ARRAY_SIZE(layouts), layouts[i].magic == p[0]);
}

static uint64_t find_text(const struct module *m, const struct go_table *t)
{
	const uint64_t at = t->layout->text;
	uint64_t text = get64(t->bytes + at);

	if (!text)
		text = go_pointer(m, t->vaddr + at);
	return text ? text : text_of_length(&m->image, go_entry(t, t->nr));
}

/* Reads the header at the start of the bytes. */
static bool read_header(const struct module *m, struct go_table *t)
{
	const struct go_layout *l = t->layout;
	const uint8_t *p = t->bytes;
	uint64_t room;

	if (t->len < l->header)
		return false;
	t->nr = get64(p + 8);
	t->names = get64(p + l->names);
	t->units = get64(p + l->units);
	t->files = get64(p + l->files);
	t->values = get64(p + l->values);
	t->list = get64(p + l->list);
	if (t->names >= t->len || t->values >= t->len || t->list >= t->len || !t->nr)
		return false;
	room = t->len - t->list;
	if (t->nr > room / l->entry || t->nr * l->entry + l->entry / 2 > room)
		return false;
	if (!l->text)
		return module_segment_at(m, go_entry(t, 0)) != NULL;
	t->text = find_text(m, t);
	return t->text != 0;
}

/* Finds the header in a section; the table is then the rest of the section. */
static bool find_header(const struct module *m, const uint8_t *bytes, const Elf64_Shdr *sh,
			struct go_table *t)
{
	unsigned int tries = 0;

	for (uint64_t at = 0; at + GO_HEADER <= sh->sh_size && tries < GO_TRIES; at += 8) {
		const struct go_layout *layout = layout_of(bytes + at);

		if (!layout)
			continue;
		*t = (struct go_table){.layout = layout,
				       .bytes = bytes + at,
				       .len = sh->sh_size - at,
				       .vaddr = sh->sh_addr + at};
		if (read_header(m, t))
			return true;
		tries++;
	}
	return false;
}

const uint8_t *go_facts(const struct go_table *t, uint64_t i)
{
	const unsigned int address = t->layout->entry / 2;
	const uint8_t *p = t->bytes + t->list + t->layout->entry * i + address;
	uint64_t facts = address == 8 ? get64(p) : get32(p), room = t->len - t->list;

	if (facts > room || room - facts < address + t->layout->flags + 3u)
		return NULL;
	return t->bytes + t->list + facts + address;
}

const char *go_text(const struct go_table *t, uint64_t from, uint64_t offset)
{
	const char *text;

	if (from >= t->len || offset >= t->len - from)
		return NULL;
	text = (const char *)t->bytes + from + offset;
	return *text && strnlen(text, MODULE_MAX_NAME) < MODULE_MAX_NAME ? text : NULL;
}

static const char *go_name(const struct go_table *t, uint64_t i)
{
	const uint8_t *facts = go_facts(t, i);

	return facts ? go_text(t, t->names, get32(facts + GO_NAME)) : NULL;
}

static int go_functions(struct module *m, const struct go_table *t)
{
	const char *bytes = m->strings[FUNCTION_GOPCLNTAB].text;
	int err = 0;

	for (uint64_t i = 0; i < t->nr && !err; i++) {
		uint64_t entry = go_entry(t, i), end = go_entry(t, i + 1);
		struct symbol s = {.vaddr = t->text + entry, .table = FUNCTION_GOPCLNTAB};
		const char *name = go_name(t, i);

		if (!name) {
			m->truncated = true;
			continue;
		}
		s.name = (uint32_t)(name - bytes);
		err = module_keep_symbol(m, &s, name, end > entry ? end - entry : 0);
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
	return go_functions(m, &m->go);
}

int module_load_go(struct module *m)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sections) && !err && !m->go.nr; i++)
		err = load_from(m, image_section(&m->image, sections[i]));
	return err;
}

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

static int64_t values_walk(const struct go_table *t, uint32_t list, uint64_t in, int64_t *largest)
{
	uint64_t at = t->values + list, end = 0;
	int64_t value = -1;

	*largest = -1;
	for (unsigned int i = 0; i < GO_STEPS; i++) {
		uint32_t change = go_number(t, &at);

		if (!change && i)
			break;
		value += change & 1 ? ~(int64_t)(change >> 1) : (int64_t)(change >> 1);
		end += go_number(t, &at);
		if (value > *largest)
			*largest = value;
		if (in < end)
			return value;
	}
	return -1;
}

int64_t go_value(const struct go_table *t, uint32_t list, uint64_t in)
{
	int64_t largest;

	return values_walk(t, list, in, &largest);
}

int64_t go_largest_value(const struct go_table *t, uint32_t list)
{
	int64_t largest;

	values_walk(t, list, UINT64_MAX, &largest);
	return largest;
}

bool module_reads_go(struct module *m)
{
	return m->identity.is_go && !module_load_functions(m) && m->go.nr;
}

bool go_find(struct module *m, uint64_t vaddr, struct go_place *place)
{
	const struct go_table *t = &m->go;
	uint64_t at;

	if (!module_reads_go(m))
		return false;
	at = vaddr - t->text;
	if (at < go_entry(t, 0) || at >= go_entry(t, t->nr))
		return false;
	place->index = lower_bound(i, t->nr, go_entry(t, i) <= at) - 1;
	place->facts = go_facts(t, place->index);
	place->in = at - go_entry(t, place->index);
	place->size = go_entry(t, place->index + 1) - go_entry(t, place->index);
	return place->facts && place->in < place->size;
}

/* Functions that have no caller, or whose caller is on the stack of a goroutine. */
static const char *const begin_stack[] = {"runtime.goexit", "runtime.mstart", "runtime.mcall",
					  "runtime.morestack", "runtime.rt0_go"};
/* Functions that set the stack pointer to another stack. A flag tells since Go
 * 1.17, which has the layout of 1.16. */
static const char *const switch_stack[] = {"runtime.systemstack", "runtime.asmcgocall",
					   "runtime.cgocallback", "runtime.gogo",
					   "runtime.sigtramp"};

static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	return name && any_of(i, nr, !strcmp(name, names[i]));
}

int module_go_row(struct module *m, uint64_t pc, struct row *row)
{
	const struct go_table *t = &m->go;
	struct go_place p;
	int64_t depth;
	const char *name;

	if (!go_find(m, pc, &p))
		return -ENOENT;
	*row = (struct row){.return_register = ROW_RIP};
	row->cfa = (struct row_rule){.kind = RULE_REGISTER, .reg = ROW_RSP, .value = 8};
	name = go_name(t, p.index);
	if (is_one_of(name, begin_stack, ARRAY_SIZE(begin_stack))) {
		row->regs[ROW_RIP].kind = RULE_UNDEFINED;
		return 0;
	}
	depth = go_value(t, get32(p.facts + GO_DEPTHS), p.in);
	if (depth < 0 || depth % 8 || p.facts[t->layout->flags] & GO_SWITCHES_STACK ||
	    (!t->layout->text && is_one_of(name, switch_stack, ARRAY_SIZE(switch_stack))))
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
