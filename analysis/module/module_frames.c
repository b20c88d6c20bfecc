// SPDX-License-Identifier: GPL-2.0-or-later
/* The FDEs of .eh_frame: where they are, what they cover. */
#include "analysis/module/module_frames.h"
#include "analysis/base/array.h"

enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_OMIT = 0xff,
	MAX_AUGMENTATION = 16,
};

uint64_t cursor_fixed(struct cursor *c, size_t bytes)
{
	uint64_t v = 0;

	if (c->bad || bytes > c->end - c->pos) {
		c->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)c->base[c->pos + i] << 8 * i;
	c->pos += bytes;
	return v;
}

/* Read a LEB128 number. If `is_signed`, extend the sign bit of its last byte. */
static uint64_t cursor_leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		byte = (uint8_t)cursor_fixed(c, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && shift + 7 < 64 && (byte & 0x40))
			v |= ~0ULL << (shift + 7);
		return v;
	}
	c->bad = true;
	return 0;
}

uint64_t cursor_uleb(struct cursor *c)
{
	return cursor_leb(c, false);
}

int64_t cursor_sleb(struct cursor *c)
{
	return (int64_t)cursor_leb(c, true);
}

void cursor_skip(struct cursor *c, uint64_t bytes)
{
	if (c->bad || bytes > c->end - c->pos)
		c->bad = true;
	else
		c->pos += bytes;
}

static int64_t sign_extend(uint64_t v, unsigned int bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* An encoded pointer: as stored in *raw, and with its base added. */
static uint64_t read_pointer(struct cursor *c, uint8_t encoding, uint64_t section_vaddr,
			     uint64_t *raw)
{
	uint64_t from = section_vaddr + c->pos, v;

	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		v = cursor_fixed(c, 8);
		break;
	case PE_ULEB128:
		v = cursor_uleb(c);
		break;
	case PE_SLEB128:
		v = (uint64_t)cursor_sleb(c);
		break;
	case PE_UDATA2:
		v = cursor_fixed(c, 2);
		break;
	case PE_SDATA2:
		v = (uint64_t)sign_extend(cursor_fixed(c, 2), 16);
		break;
	case PE_UDATA4:
		v = cursor_fixed(c, 4);
		break;
	case PE_SDATA4:
		v = (uint64_t)sign_extend(cursor_fixed(c, 4), 32);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if (raw)
		*raw = v;
	return (encoding & 0x70) == PE_PCREL ? v + from : v;
}

/* Length and contents of the entry at c->pos: c then ends with it. Returns its id. */
static uint64_t open_entry(struct cursor *c, size_t *id_at)
{
	uint64_t len = cursor_fixed(c, 4);

	if (len == 0xffffffff)
		len = cursor_fixed(c, 8);
	if (c->bad || len > c->end - c->pos) {
		c->bad = true;
		return 0;
	}
	c->end = c->pos + len;
	*id_at = c->pos;
	/* In .eh_frame the id is 4 bytes wide even with a 64-bit length (as libgcc reads it). */
	return cursor_fixed(c, 4);
}

static bool parse_augmentation(const struct module *m, struct cursor *c, const char *letters,
			       struct cie *cie)
{
	uint64_t len;
	size_t end;

	cie->pointers = PE_ABSPTR;
	cie->lsda = PE_OMIT;
	if (!*letters)
		return true;
	if (*letters != 'z')
		return false; /* no compiler emits this, and its size is not known */
	cie->augmented = true;
	len = cursor_uleb(c);
	if (c->bad || len > c->end - c->pos)
		return false;
	end = c->pos + len;
	for (letters++; *letters; letters++) {
		if (*letters == 'L')
			cie->lsda = (uint8_t)cursor_fixed(c, 1);
		else if (*letters == 'R')
			cie->pointers = (uint8_t)cursor_fixed(c, 1);
		else if (*letters == 'P')
			read_pointer(c, (uint8_t)cursor_fixed(c, 1), m->frames_vaddr, NULL);
		else if (*letters == 'S')
			cie->signal_frame = true;
		else if (*letters != 'B')
			break; /* the rest is skipped by the length */
	}
	if (c->bad || c->pos > end)
		return false;
	c->pos = end;
	return true;
}

static bool cie_parse(const struct module *m, size_t at, struct cie *cie)
{
	struct cursor c = {m->frames, at, m->frames_len, false};
	char letters[MAX_AUGMENTATION];
	size_t id_at, n = 0;
	uint64_t version;

	memset(cie, 0, sizeof(*cie));
	cie->at = at;
	if (open_entry(&c, &id_at) != 0 || c.bad)
		return false;
	version = cursor_fixed(&c, 1);
	if (version != 1 && version != 3)
		return false;
	do {
		letters[n] = (char)cursor_fixed(&c, 1);
	} while (letters[n] && ++n < sizeof(letters));
	if (c.bad || n == sizeof(letters))
		return false;
	cie->code_align = cursor_uleb(&c);
	cie->data_align = cursor_sleb(&c);
	cie->return_register = version == 1 ? cursor_fixed(&c, 1) : cursor_uleb(&c);
	if (!parse_augmentation(m, &c, letters, cie))
		return false;
	cie->program = c.pos;
	cie->end = c.end;
	return !c.bad;
}

bool frame_entry_parse(const struct module *m, size_t at, const struct cie *cie,
		       struct frame_entry *e)
{
	struct cursor c = {m->frames, at, m->frames_len, false};
	size_t id_at, end;
	uint64_t id = open_entry(&c, &id_at), len, raw = 0;

	if (c.bad || !id || id > id_at) {
		e->cie.at = SIZE_MAX;
		return false;
	}
	if (cie && cie->at == id_at - id) {
		e->cie = *cie;
	} else if (!cie_parse(m, id_at - id, &e->cie)) {
		e->cie.at = SIZE_MAX;
		return false;
	}
	e->start = read_pointer(&c, e->cie.pointers, m->frames_vaddr, NULL);
	e->size = read_pointer(&c, e->cie.pointers & 0x0f, 0, NULL);
	e->has_lsda = false;
	if (e->cie.augmented) {
		len = cursor_uleb(&c);
		if (c.bad || len > c.end - c.pos)
			return false;
		end = c.pos + len;
		if (e->cie.lsda != PE_OMIT && len) {
			read_pointer(&c, e->cie.lsda, m->frames_vaddr, &raw);
			e->has_lsda = raw != 0;
		}
		c.pos = end;
	}
	e->program = c.pos;
	e->end = c.end;
	return !c.bad && (e->cie.pointers & 0xe0) == 0; /* absolute or relative to itself */
}

/* ---- where .eh_frame is ---- */

/* The loader finds it by the segment, so that is believed before the section. */
static bool frames_by_segment(const struct image *img, uint64_t *vaddr)
{
	uint8_t head[16];

	for (size_t i = 0; i < img->nr_ph; i++) {
		const Elf64_Phdr *ph = &img->ph[i];
		struct cursor c = {head, 4, sizeof(head), false};

		if (ph->p_type != PT_GNU_EH_FRAME ||
		    image_read(img, ph->p_offset, head, sizeof(head)) || head[0] != 1)
			continue;
		*vaddr = read_pointer(&c, head[1], ph->p_vaddr, NULL);
		return !c.bad && !(head[1] & 0x80);
	}
	return false;
}

static struct span find_frames(struct module *m, bool *to_zero)
{
	const Elf64_Shdr *sh = image_section(&m->image, ".eh_frame");
	uint64_t vaddr;

	*to_zero = false;
	if (frames_by_segment(&m->image, &vaddr)) {
		m->frames_vaddr = vaddr;
		if (sh && sh->sh_addr == vaddr)
			return image_section_span(&m->image, sh);
		*to_zero = true; /* its length is not known */
		return image_at_vaddr(&m->image, vaddr);
	}
	m->frames_vaddr = sh ? sh->sh_addr : 0;
	return image_section_span(&m->image, sh);
}

static int fde_order(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;

	return ascending(x->start, y->start) ?: ascending(x->at, y->at);
}

static bool add_fde(struct module *m, size_t *cap, const struct frame_entry *e, size_t at)
{
	const struct module_segment *s = module_segment_at(m, e->start);

	if (!e->start || !e->size)
		return true; /* code that the linker dropped */
	if (!s || e->size > s->vaddr + s->size - e->start || e->size > UINT32_MAX) {
		m->truncated = true;
		return true;
	}
	if (!array_append(m->fdes, m->nr_fdes, *cap, MODULE_MAX_FDES,
			  (struct fde){e->start, (uint32_t)e->size, (uint32_t)at}))
		return true;
	m->truncated = true;
	return false;
}

static void walk_frames(struct module *m, bool to_zero)
{
	struct frame_entry e = {.cie.at = SIZE_MAX};
	size_t at = 0, cap = 0, id_at;
	bool more = true;

	while (more && m->frames_len - at >= 4) {
		struct cursor c = {m->frames, at, m->frames_len, false};
		struct cie cie = e.cie;
		uint64_t id;

		if (!get32(m->frames + at)) { /* the end, or of one of several joined tables */
			if (to_zero)
				break;
			at += 4;
			continue;
		}
		id = open_entry(&c, &id_at);
		if (c.bad) {
			m->truncated = true;
			break;
		}
		if (id) {
			if (frame_entry_parse(m, at, &cie, &e))
				more = add_fde(m, &cap, &e, at);
			else
				m->truncated = true;
		}
		at = c.end;
	}
}

static void sort_fdes(struct module *m)
{
	size_t n = 0;

	if (m->nr_fdes)
		qsort(m->fdes, m->nr_fdes, sizeof(*m->fdes), fde_order);
	for (size_t i = 0; i < m->nr_fdes; i++) {
		struct fde *last = n ? &m->fdes[n - 1] : NULL;

		if (last && last->start == m->fdes[i].start) {
			m->truncated = true;
			continue;
		}
		if (last && last->start + last->size > m->fdes[i].start) {
			last->size = (uint32_t)(m->fdes[i].start - last->start);
			m->truncated = true;
		}
		m->fdes[n++] = m->fdes[i];
	}
	m->nr_fdes = n;
}

void module_load_frames(struct module *m)
{
	struct span at;
	bool to_zero;

	if (m->frames_loaded)
		return;
	m->frames_loaded = true;
	at = find_frames(m, &to_zero);
	if (at.len > MODULE_MAX_TABLE) {
		at.len = MODULE_MAX_TABLE;
		m->truncated = true;
	}
	if (!at.len || image_load(&m->image, at, MODULE_MAX_TABLE, &m->frames))
		return;
	m->frames_len = at.len;
	walk_frames(m, to_zero);
	sort_fdes(m);
}

long module_fde_index(const struct module *m, uint64_t vaddr)
{
	size_t low = lower_bound(i, m->nr_fdes, m->fdes[i].start <= vaddr);

	if (!low || vaddr - m->fdes[low - 1].start >= m->fdes[low - 1].size)
		return -1;
	return (long)(low - 1);
}

size_t module_nr_fdes(struct module *m)
{
	module_load_frames(m);
	return m->nr_fdes;
}

int module_fde(struct module *m, size_t i, struct module_fde *fde)
{
	struct frame_entry e;

	module_load_frames(m);
	if (i >= m->nr_fdes || !frame_entry_parse(m, m->fdes[i].at, NULL, &e))
		return -ENOENT;
	fde->start = m->fdes[i].start;
	fde->end = m->fdes[i].start + m->fdes[i].size;
	fde->has_lsda = e.has_lsda;
	fde->signal_frame = e.cie.signal_frame;
	return 0;
}

int module_fde_at(struct module *m, uint64_t vaddr, struct module_fde *fde)
{
	long i;

	module_load_frames(m);
	i = module_fde_index(m, vaddr);
	return i < 0 ? -ENOENT : module_fde(m, (size_t)i, fde);
}
