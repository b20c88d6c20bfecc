// SPDX-License-Identifier: GPL-2.0-or-later
/* Slots that the loader fills (GOT), jumps through them (PLT), and IFUNCs. */
#include <capstone/capstone.h>

#include "analysis/base/array.h"
#include "analysis/module/module_internal.h"

enum { RELOCATIONS_AT_ONCE = 1 << 10, MAX_RESOLVER = 1 << 14 };

static int slot_order(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Name of a dynamic symbol, as its offset in the strings; 0: none. */
static uint32_t dynamic_name(const struct module *m, const uint8_t *symbols, uint64_t nr,
			     uint64_t index)
{
	const struct strings *st = &m->strings[FUNCTION_DYNSYM];
	uint32_t name;

	if (!index || index >= nr)
		return 0;
	name = get32(symbols + index * sizeof(Elf64_Sym));
	if (name >= st->len || strnlen(st->text + name, MODULE_MAX_NAME) == MODULE_MAX_NAME)
		return 0;
	return name;
}

static bool add_slot(struct module *m, size_t *cap, const struct slot *s)
{
	if (!array_append(m->slots, m->nr_slots, *cap, MAX_SLOTS, *s))
		return true;
	m->truncated = true;
	return false;
}

static void read_relocations(struct module *m, struct span at, const uint8_t *symbols, uint64_t nr,
			     size_t *cap)
{
	Elf64_Rela *piece = malloc(RELOCATIONS_AT_ONCE * sizeof(*piece));
	uint64_t left = at.len / sizeof(*piece), i, n;
	bool more = piece != NULL;

	for (; more && left; left -= n) {
		n = left < RELOCATIONS_AT_ONCE ? left : RELOCATIONS_AT_ONCE;
		if (image_read(&m->image, at.off, piece, n * sizeof(*piece)))
			break;
		at.off += n * sizeof(*piece);
		for (i = 0; more && i < n; i++) {
			const Elf64_Rela *r = &piece[i];
			uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
			struct slot s = {.vaddr = r->r_offset};

			if (type == R_X86_64_IRELATIVE)
				s.resolver = (uint64_t)r->r_addend;
			else if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
				s.name = dynamic_name(m, symbols, nr, ELF64_R_SYM(r->r_info));
			if (s.name || s.resolver)
				more = add_slot(m, cap, &s);
		}
	}
	free(piece);
}

void module_load_slots(struct module *m)
{
	const struct dynamic *d = &m->dynamic;
	uint64_t nr = d->symbols.len / sizeof(Elf64_Sym);
	uint8_t *symbols = NULL;
	size_t cap = 0;

	if (!m->strings[FUNCTION_DYNSYM].text ||
	    image_load(&m->image, d->symbols, MODULE_MAX_TABLE, &symbols))
		nr = 0;
	for (size_t i = 0; i < d->nr_relocations; i++)
		read_relocations(m, d->relocations[i], symbols, nr, &cap);
	free(symbols);
	if (m->nr_slots)
		qsort(m->slots, m->nr_slots, sizeof(*m->slots), slot_order);
}

static const struct slot *slot_at(const struct module *m, uint64_t vaddr)
{
	struct slot key = {.vaddr = vaddr};

	if (!m->nr_slots)
		return NULL;
	return bsearch(&key, m->slots, m->nr_slots, sizeof(key), slot_order);
}

static const char *slot_name(const struct module *m, const struct slot *s)
{
	const struct module_function *f;

	if (s->name)
		return m->strings[FUNCTION_DYNSYM].text + s->name;
	f = module_function_starting(m, s->resolver);
	return f ? f->symbol : NULL;
}

const char *module_slot_symbol(struct module *m, uint64_t vaddr)
{
	const struct slot *s;

	if (module_load_functions(m))
		return NULL;
	s = slot_at(m, vaddr);
	return s ? slot_name(m, s) : NULL;
}

size_t module_slots_of(struct module *m, const char *symbol, uint64_t *vaddrs, size_t max)
{
	size_t nr = 0;

	if (module_load_functions(m))
		return 0;
	for (size_t i = 0; i < m->nr_slots; i++) {
		const char *name = slot_name(m, &m->slots[i]);

		if (!name || strcmp(name, symbol) != 0)
			continue;
		if (nr < max)
			vaddrs[nr] = m->slots[i].vaddr;
		nr++;
	}
	return nr;
}

/* Slot of `jmp *slot(%rip)`, maybe after endbr64 and with a bnd prefix. */
static bool jump_slot(struct module *m, uint64_t vaddr, uint64_t *slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const uint8_t *p = module_code(m, vaddr, 4);
	uint64_t at = vaddr;

	if (p && memcmp(p, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	p = module_code(m, at, 1);
	if (p && *p == 0xf2)
		at++;
	p = module_code(m, at, 6);
	if (!p || p[0] != 0xff || p[1] != 0x25)
		return false;
	*slot = at + 6 + (uint64_t)(int64_t)(int32_t)get32(p + 2);
	return true;
}

bool module_is_import(struct module *m, uint64_t vaddr)
{
	uint64_t slot;

	return jump_slot(m, vaddr, &slot) && slot_at(m, slot);
}

const char *module_plt_name(struct module *m, uint64_t vaddr)
{
	char text[MODULE_MAX_NAME + 8];
	const char *name;
	struct slot *s;
	uint64_t slot;
	int n;

	if (module_load_functions(m) || !jump_slot(m, vaddr, &slot))
		return NULL;
	s = (struct slot *)slot_at(m, slot);
	if (!s)
		return NULL;
	if (s->plt_name)
		return s->plt_name;
	name = slot_name(m, s);
	if (name)
		n = snprintf(text, sizeof(text), "%s@plt", name);
	else
		n = snprintf(text, sizeof(text), "%s+0x%llx@plt", m->name ? m->name : "",
			     (unsigned long long)s->resolver);
	s->plt_name = module_keep_name(m, text, (size_t)n);
	return s->plt_name;
}

struct targets {
	struct module *m;
	const struct module_function **out;
	size_t max, nr;
};

static void add_target(struct targets *t, uint64_t vaddr)
{
	const struct module_function *f = module_function_starting(t->m, vaddr);

	if (!f || f->ifunc)
		return;
	for (size_t i = 0; i < t->nr && i < t->max; i++)
		if (t->out[i] == f)
			return;
	if (t->nr < t->max)
		t->out[t->nr] = f;
	t->nr++;
}

/* Addresses that one instruction of a resolver takes; *tail: where it jumps out to. */
static void look_at(struct targets *t, const cs_insn *insn, const struct module_function *f,
		    uint64_t *tail)
{
	const cs_x86 *x = &insn->detail->x86;
	uint64_t to;

	if (insn->id == X86_INS_LEA && x->op_count == 2 && x->operands[1].mem.base == X86_REG_RIP &&
	    x->operands[1].mem.index == X86_REG_INVALID) {
		add_target(t, insn->address + insn->size + (uint64_t)x->operands[1].mem.disp);
	} else if ((insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS) && x->op_count == 2 &&
		   x->operands[1].type == X86_OP_IMM) {
		add_target(t, (uint64_t)x->operands[1].imm);
	} else if (insn->id == X86_INS_JMP && x->op_count == 1 &&
		   x->operands[0].type == X86_OP_IMM) {
		to = (uint64_t)x->operands[0].imm;
		if (to < f->vaddr || to - f->vaddr >= f->size)
			*tail = to;
	}
}

static const struct module_function *scan_resolver(struct targets *t, csh cs, cs_insn *insn,
						   const struct module_function *f)
{
	size_t size = f->size < MAX_RESOLVER ? f->size : MAX_RESOLVER;
	const uint8_t *code = module_code(t->m, f->vaddr, size);
	uint64_t address = f->vaddr, tail = 0;

	while (code && size && cs_disasm_iter(cs, &code, &size, &address, insn))
		look_at(t, insn, f, &tail);
	return tail ? module_function_starting(t->m, tail) : NULL;
}

int module_ifunc_targets(struct module *m, const struct module_function *f,
			 const struct module_function **out, size_t max)
{
	struct targets t = {.m = m, .out = out, .max = max};
	cs_insn *insn;
	bool ok;
	csh cs;

	if (!f->ifunc)
		return -EINVAL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(cs);
	/* A resolver may end in a jump to a function that several resolvers share. */
	for (int hops = 0; insn && f && hops < 4; hops++)
		f = scan_resolver(&t, cs, insn, f);
	ok = insn != NULL;
	if (ok)
		cs_free(insn, 1);
	cs_close(&cs);
	return ok ? (int)t.nr : -ENOMEM;
}
