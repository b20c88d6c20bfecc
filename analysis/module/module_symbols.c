// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbol tables: every name of code in the file, its debug file and .gnu_debugdata. */

#include "analysis/base/array.h"
#include "analysis/module/module_internal.h"
#include "analysis/module/module_names.h"

enum { SYMBOLS_AT_ONCE = 1 << 10, MAX_DYNAMIC = 1 << 12 };

const char *symbol_name(const struct module *m, const struct symbol *s)
{
	return m->strings[s->table].text + s->name;
}

const char *symbol_version(const struct module *m, const struct symbol *s)
{
	const char *name;

	if (!s->version)
		return "";
	name = symbol_name(m, s);
	if (s->table == TABLE_EXTRA) /* made by split_version() */
		return name + strlen(name) + 1;
	return m->strings[FUNCTION_DYNSYM].text + m->version_names[s->version - 1];
}

/* ---- where the loader's tables are ---- */

static struct span section_or_none(const struct image *img, uint32_t type, struct span *strings)
{
	const Elf64_Shdr *sh = image_section_of_type(img, type);

	if (sh && strings && sh->sh_link < img->nr_sh)
		*strings = image_section_span(img, &img->sh[sh->sh_link]);
	return image_section_span(img, sh);
}

static void dynamic_from_sections(const struct image *img, struct dynamic *d)
{
	d->symbols = section_or_none(img, SHT_DYNSYM, &d->strings);
	d->versions = section_or_none(img, SHT_GNU_versym, NULL);
	d->version_defs = section_or_none(img, SHT_GNU_verdef, NULL);
	for (size_t i = 1; i < img->nr_sh && d->nr_relocations < 8; i++)
		if (img->sh[i].sh_type == SHT_RELA && (img->sh[i].sh_flags & SHF_ALLOC))
			d->relocations[d->nr_relocations++] = image_section_span(img, &img->sh[i]);
}

static struct span at_vaddr_len(const struct image *img, uint64_t vaddr, uint64_t len)
{
	struct span at = image_at_vaddr(img, vaddr);

	if (!vaddr || at.len < len)
		return (struct span){0, 0};
	at.len = len;
	return at;
}

/* The number of symbols is only in the hash tables. */
static uint64_t count_by_gnu_hash(const struct image *img, uint64_t vaddr)
{
	struct span at = image_at_vaddr(img, vaddr);
	uint64_t nr_buckets, first, bloom, buckets, last = 0;
	uint8_t *p;

	if (at.len < 16)
		return 0;
	if (at.len > 64 << 20)
		at.len = 64 << 20;
	if (image_load(img, at, 64 << 20, &p))
		return 0;
	nr_buckets = get32(p);
	first = get32(p + 4);
	bloom = get32(p + 8);
	buckets = 16 + bloom * 8;
	if (buckets + nr_buckets * 4 > at.len)
		nr_buckets = 0;
	for (uint64_t i = 0; i < nr_buckets; i++)
		if (get32(p + buckets + 4 * i) > last)
			last = get32(p + buckets + 4 * i);
	/* Find the last symbol of the last bucket: its hash has the lowest bit set. */
	for (uint64_t i = last; last && i >= first; i++) {
		uint64_t chain = buckets + nr_buckets * 4 + (i - first) * 4;

		if (chain + 4 > at.len)
			break;
		last = i;
		if (get32(p + chain) & 1)
			break;
	}
	free(p);
	return last ? last + 1 : first;
}

static uint64_t count_symbols(const struct image *img, uint64_t hash, uint64_t gnu_hash)
{
	struct span at = image_at_vaddr(img, hash);
	uint8_t head[8];

	if (hash && at.len >= 8 && !image_read(img, at.off, head, 8))
		return get32(head + 4);
	return gnu_hash ? count_by_gnu_hash(img, gnu_hash) : 0;
}

/* Values of the tags below DT_NUM that matter; index by tag. */
struct dynamic_values {
	uint64_t tag[DT_NUM];
	uint64_t gnu_hash, versym, verdef;
};

static bool read_dynamic(const struct image *img, struct dynamic_values *v)
{
	struct span at = {0, 0};
	uint8_t *p;

	memset(v, 0, sizeof(*v));
	for (uint64_t i = 0; i < img->nr_ph; i++)
		if (img->ph[i].p_type == PT_DYNAMIC)
			at = (struct span){img->ph[i].p_offset, img->ph[i].p_filesz};
	if (at.len > MAX_DYNAMIC * 16)
		at.len = MAX_DYNAMIC * 16;
	if (!at.len || image_load(img, at, MAX_DYNAMIC * 16, &p))
		return false;
	for (uint64_t i = 0; i + 16 <= at.len; i += 16) {
		uint64_t tag = get64(p + i), val = get64(p + i + 8);

		if (tag == DT_NULL)
			break;
		if (tag < DT_NUM)
			v->tag[tag] = val;
		else if (tag == DT_GNU_HASH)
			v->gnu_hash = val;
		else if (tag == DT_VERSYM)
			v->versym = val;
		else if (tag == DT_VERDEF)
			v->verdef = val;
	}
	free(p);
	return true;
}

static void dynamic_from_segment(const struct image *img, struct dynamic *d)
{
	struct dynamic_values v;
	uint64_t nr;

	if (!read_dynamic(img, &v))
		return;
	nr = count_symbols(img, v.tag[DT_HASH], v.gnu_hash);
	d->symbols = at_vaddr_len(img, v.tag[DT_SYMTAB], nr * sizeof(Elf64_Sym));
	d->strings = at_vaddr_len(img, v.tag[DT_STRTAB], v.tag[DT_STRSZ]);
	d->versions = at_vaddr_len(img, v.versym, nr * 2);
	d->version_defs = v.verdef ? image_at_vaddr(img, v.verdef) : (struct span){0, 0};
	d->relocations[0] = at_vaddr_len(img, v.tag[DT_RELA], v.tag[DT_RELASZ]);
	d->relocations[1] = at_vaddr_len(img, v.tag[DT_JMPREL], v.tag[DT_PLTRELSZ]);
	d->nr_relocations = 2;
}

static void load_versions(struct module *m)
{
	struct span at = m->dynamic.version_defs;
	uint64_t pos = 0, left = MAX_VERSIONS;
	uint8_t *p;

	if (at.len > 16 << 20)
		at.len = 16 << 20;
	if (!at.len || image_load(&m->image, at, 16 << 20, &p))
		return;
	m->version_names = calloc(MAX_VERSIONS, sizeof(*m->version_names));
	while (m->version_names && left-- && pos + sizeof(Elf64_Verdef) <= at.len) {
		uint32_t index = get16(p + pos + 4) & 0x7fff;
		uint64_t aux = pos + get32(p + pos + 12), next = get32(p + pos + 16);
		uint32_t name = aux + 8 <= at.len ? get32(p + aux) : 0;

		if (name < m->strings[FUNCTION_DYNSYM].len)
			m->version_names[index] = name;
		if (!next)
			break;
		pos += next;
	}
	free(p);
}

/* State of reading one table. */
struct symbol_reader {
	struct module *m;
	uint8_t table;
	uint32_t file;	   /* number of the last STT_FILE */
	uint8_t *versions; /* .gnu.version, or NULL */
	uint64_t nr_versions;
};

static int add_symbol(struct module *m, const struct symbol *s)
{
	if (m->nr_symbols == MODULE_MAX_SYMBOLS) {
		m->truncated = true;
		return 0;
	}
	return array_append(m->symbols, m->nr_symbols, m->cap_symbols, MODULE_MAX_SYMBOLS, *s);
}

/* "memcpy@@GLIBC_2.14" in .symtab: keep the name and the version apart. */
static bool split_version(struct module *m, struct symbol *s, const char *name, const char *at)
{
	const char *version = at + 1 + (at[1] == '@');
	size_t start = m->extra.len;

	if (at == name || !*version)
		return false;
	if (buf_append(&m->extra, name, (size_t)(at - name)) || buf_putc(&m->extra, 0) ||
	    buf_puts(&m->extra, version) || buf_putc(&m->extra, 0)) {
		m->truncated = true;
		return false;
	}
	s->name = (uint32_t)start;
	s->version = s->table + 1;
	s->table = TABLE_EXTRA;
	if (at[1] != '@')
		s->flags |= SYM_OLD_VERSION;
	return true;
}

static void set_rank(struct symbol *s, const char *name)
{
	uint32_t lead = 0;

	if (!name_is_mangled(name))
		while (lead < 3 && name[lead] == '_')
			lead++;
	s->rank = (uint32_t)(s->flags & SYM_NOTYPE ? 128 : 0) |
		  (uint32_t)(s->flags & (SYM_GLOBAL | SYM_WEAK) ? 0 : 64) |
		  (uint32_t)(s->flags & SYM_OLD_VERSION ? 32 : 0) |
		  (uint32_t)(s->flags & SYM_CLONE ? 16 : 0) | lead << 2 |
		  (uint32_t)(s->flags & SYM_WEAK ? 2 : 0) |
		  (uint32_t)(s->flags & SYM_DYNAMIC ? 1 : 0);
}

static uint8_t flags_of(const struct symbol_reader *r, const Elf64_Sym *sym)
{
	uint8_t flags = r->table == FUNCTION_DYNSYM ? SYM_DYNAMIC : 0;

	switch (ELF64_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		break;
	case STB_WEAK:
		flags |= SYM_WEAK;
		break;
	default:
		flags |= SYM_GLOBAL;
		break;
	}
	if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
		flags |= SYM_IFUNC;
	if (ELF64_ST_TYPE(sym->st_info) == STT_NOTYPE)
		flags |= SYM_NOTYPE;
	return flags;
}

/* Whether it can name code; *name is then its text. */
static bool names_code(struct symbol_reader *r, const Elf64_Sym *sym, const char **name)
{
	const struct strings *st = &r->m->strings[r->table];
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	if (type == STT_FILE && r->file < (1 << 24) - 1)
		r->file++;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	if (!module_segment_at(r->m, sym->st_value))
		return false;
	if (!sym->st_name || sym->st_name >= st->len)
		return false;
	*name = st->text + sym->st_name;
	return **name != 0;
}

int module_keep_symbol(struct module *m, struct symbol *s, const char *name, uint64_t size)
{
	const struct module_segment *seg = module_segment_at(m, s->vaddr);
	size_t len = strnlen(name, MODULE_MAX_NAME), owner;
	uint64_t room;

	if (!seg || !len || len == MODULE_MAX_NAME) {
		m->truncated |= len == MODULE_MAX_NAME;
		return 0;
	}
	room = seg->vaddr + seg->size - s->vaddr;
	if (size > room)
		size = room;
	s->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	if (memchr(name, '.', len)) {
		if (name_is_part(name, &owner))
			s->flags |= SYM_PART;
		else if (name_base_length(name) != len)
			s->flags |= SYM_CLONE;
	}
	set_rank(s, name);
	return add_symbol(m, s);
}

static int take_symbol(struct symbol_reader *r, const Elf64_Sym *sym, uint64_t index)
{
	struct module *m = r->m;
	struct symbol s = {.vaddr = sym->st_value, .name = sym->st_name, .table = r->table};
	const char *name, *at;
	size_t len;

	if (!names_code(r, sym, &name))
		return 0;
	len = strnlen(name, MODULE_MAX_NAME);
	if (len == MODULE_MAX_NAME) {
		m->truncated = true;
		return 0;
	}
	s.flags = flags_of(r, sym);
	s.file = s.flags & (SYM_GLOBAL | SYM_WEAK) ? 0 : r->file;
	at = memchr(name, '@', len);
	if (!(at && split_version(m, &s, name, at)) && r->versions && index < r->nr_versions) {
		uint16_t v = get16(r->versions + 2 * index);

		if ((v & 0x7fff) > 1 && m->version_names && m->version_names[v & 0x7fff]) {
			s.version = (uint16_t)((v & 0x7fff) + 1);
			if (v & 0x8000)
				s.flags |= SYM_OLD_VERSION;
		}
	}
	if (s.table == TABLE_EXTRA)
		name = m->extra.data + s.name;
	return module_keep_symbol(m, &s, name, sym->st_size);
}

static int read_table(struct module *m, const struct image *img, uint8_t table, struct span symbols,
		      struct span strings)
{
	struct symbol_reader r = {.m = m, .table = table};
	struct strings *st = &m->strings[table];
	uint64_t nr = symbols.len / sizeof(Elf64_Sym), done = 0, i;
	Elf64_Sym *piece;
	uint8_t *text;
	int err;

	if (!nr || !strings.len)
		return 0;
	err = image_load(img, strings, MODULE_MAX_TABLE, &text);
	if (err) {
		m->truncated = true;
		return err == -ENOMEM ? err : 0;
	}
	st->text = (char *)text;
	st->len = strings.len;
	if (table == FUNCTION_DYNSYM) {
		load_versions(m);
		r.nr_versions = m->dynamic.versions.len / 2;
		if (r.nr_versions &&
		    image_load(img, m->dynamic.versions, MODULE_MAX_TABLE, &r.versions))
			r.versions = NULL;
	}
	piece = malloc(SYMBOLS_AT_ONCE * sizeof(*piece));
	err = piece ? 0 : -ENOMEM;
	while (!err && done < nr && done < 4 * (uint64_t)MODULE_MAX_SYMBOLS) {
		uint64_t n = nr - done < SYMBOLS_AT_ONCE ? nr - done : SYMBOLS_AT_ONCE;

		err =
		    image_read(img, symbols.off + done * sizeof(*piece), piece, n * sizeof(*piece));
		for (i = 0; !err && i < n; i++)
			err = take_symbol(&r, &piece[i], done + i);
		done += n;
	}
	free(piece);
	free(r.versions);
	if (err || done < nr)
		m->truncated = true;
	return err == -ENOMEM ? err : 0;
}

static int read_symtab(struct module *m, const struct image *img, uint8_t table)
{
	struct span strings = {0, 0};
	struct span symbols = section_or_none(img, SHT_SYMTAB, &strings);

	return read_table(m, img, table, symbols, strings);
}

int module_load_symbols(struct module *m)
{
	struct dynamic *d = &m->dynamic;
	int err;

	memset(d, 0, sizeof(*d));
	dynamic_from_sections(&m->image, d);
	if (!d->symbols.len)
		dynamic_from_segment(&m->image, d);
	err = read_table(m, &m->image, FUNCTION_DYNSYM, d->symbols, d->strings);
	if (!err)
		err = read_symtab(m, &m->image, FUNCTION_SYMTAB);
	if (!err && m->has_debug)
		err = read_symtab(m, &m->debug, FUNCTION_DEBUG);
	if (!err && !m->identity.has_symtab && !m->has_debug && module_load_debugdata(m))
		err = read_symtab(m, &m->debugdata, FUNCTION_DEBUGDATA);
	if (!err && m->identity.is_go)
		err = module_load_go(m);
	m->strings[TABLE_EXTRA] = (struct strings){m->extra.data, m->extra.len};
	return err;
}
