// SPDX-License-Identifier: GPL-2.0-or-later
/* Source lines. libdw reads the descriptor; it must never open a file by itself. */
#include <dwarf.h>

#include "analysis/base/array.h"
#include "analysis/module/module_dwarf.h"

enum { COMPRESSED_ZSTD = 2 /* ELFCOMPRESS_ZSTD */, DWARF_NEWEST = 5 };

/* libdw opens the file named in .gnu_debugaltlink when a form refers to it. An
 * alternate file given before keeps it from that: one with nothing in it, in
 * which every reference is out of range. */
static bool set_empty_alternate(struct lines *l)
{
	static const char names[] = "\0.debug_info\0.debug_str\0.shstrtab";
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[4];
		char names[sizeof(names)];
	} * f;

	f = calloc(1, sizeof(*f));
	if (!f)
		return false;
	l->no_alt_bytes = (char *)f;
	memcpy(f->eh.e_ident, ELFMAG, SELFMAG);
	f->eh.e_ident[EI_CLASS] = ELFCLASS64;
	f->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f->eh.e_ident[EI_VERSION] = EV_CURRENT;
	f->eh.e_type = ET_DYN;
	f->eh.e_machine = EM_X86_64;
	f->eh.e_version = EV_CURRENT;
	f->eh.e_ehsize = sizeof(f->eh);
	f->eh.e_shoff = offsetof(typeof(*f), sh);
	f->eh.e_shentsize = sizeof(f->sh[0]);
	f->eh.e_shnum = 4;
	f->eh.e_shstrndx = 3;
	memcpy(f->names, names, sizeof(names));
	f->sh[1] = f->sh[2] = (Elf64_Shdr){.sh_name = 1,
					   .sh_type = SHT_PROGBITS,
					   .sh_offset = offsetof(typeof(*f), names),
					   .sh_size = 1};
	f->sh[2].sh_name = 13;
	f->sh[3] = (Elf64_Shdr){.sh_name = 24,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(typeof(*f), names),
				.sh_size = sizeof(names)};
	l->no_alt_elf = elf_memory(l->no_alt_bytes, sizeof(*f));
	l->no_alt = l->no_alt_elf ? dwarf_begin_elf(l->no_alt_elf, DWARF_C_READ, NULL) : NULL;
	if (!l->no_alt)
		return false;
	dwarf_setalt(l->dwarf, l->no_alt);
	return true;
}

/* libdw 0.188 runs off the end of a table of strings that does not end in a NUL. */
static bool strings_end(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *name = sh ? elf_strptr(elf, names, sh->sh_name) : NULL;
		Elf_Data *data;

		if (!name ||
		    (strcmp(name, ".debug_str") != 0 && strcmp(name, ".zdebug_str") != 0 &&
		     strcmp(name, ".debug_line_str") != 0 && strcmp(name, ".zdebug_line_str") != 0))
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_size && ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

static void lines_free(struct lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < UNITS_INDEXED; i++)
		free(l->indexed[i].subprograms.r);
	free(l->units.r);
	free(l->kept);
	dwarf_end(l->dwarf);
	dwarf_end(l->no_alt);
	elf_end(l->elf);
	elf_end(l->no_alt_elf);
	free(l->no_alt_bytes);
	free(l);
}

void module_unload_lines(struct module *m)
{
	lines_free(m->lines);
	m->lines = NULL;
	m->lines_tried = false;
}

static const struct image *image_with_dwarf(const struct module *m)
{
	const Elf64_Shdr *info;

	if (m->identity.has_dwarf)
		return &m->image;
	if (!m->has_debug)
		return NULL;
	info = image_section(&m->debug, ".debug_info");
	if (!info)
		info = image_section(&m->debug, ".zdebug_info");
	return image_section_span(&m->debug, info).len ? &m->debug : NULL;
}

static int range_order(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return ascending(x->start, y->start) ?: ascending(x->end, y->end);
}

void ranges_sort(struct ranges *r)
{
	if (r->nr)
		qsort(r->r, r->nr, sizeof(*r->r), range_order);
}

const struct unit_range *ranges_find(const struct ranges *r, uint64_t vaddr)
{
	size_t low = lower_bound(i, r->nr, r->r[i].start <= vaddr), back;

	for (back = 0; back < low && back < 64; back++)
		if (r->r[low - 1 - back].end > vaddr)
			return &r->r[low - 1 - back];
	return NULL;
}

bool ranges_add_die(struct module *m, struct ranges *to, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end || !module_segment_at(m, start))
			continue; /* code that the linker dropped */
		if (to->nr == MAX_RANGES) {
			m->truncated = true;
			return false;
		}
		if (array_append(to->r, to->nr, to->cap, MAX_RANGES,
				 (struct unit_range){start, end, dwarf_dieoffset(die)}))
			return false;
	}
	return true;
}

/* A skeleton's other half is in a file of its own, which libdw would go and open. */
static bool is_split(Dwarf_Die *unit, uint8_t type)
{
	return type == DW_UT_skeleton || type == DW_UT_split_compile ||
	       dwarf_hasattr(unit, DW_AT_GNU_dwo_name) || dwarf_hasattr(unit, DW_AT_dwo_name);
}

bool lines_next_unit(const struct lines *l, Dwarf_Off *off, Dwarf_Die *unit)
{
	Dwarf_Off next, abbrev;
	Dwarf_Half version;
	uint8_t type;
	size_t header;

	while (dwarf_next_unit(l->dwarf, *off, &next, &header, &version, &abbrev, NULL, NULL, NULL,
			       NULL) == 0 &&
	       next > *off) {
		bool found = dwarf_offdie(l->dwarf, *off + header, unit) != NULL;

		*off = next;
		type = DW_UT_compile;
		if (found)
			dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL);
		if (found && !is_split(unit, type))
			return true;
	}
	return false;
}

static void list_units(struct module *m, struct lines *l)
{
	Dwarf_Off off = 0;
	Dwarf_Die die;

	for (size_t n = 0; n < MAX_UNITS && lines_next_unit(l, &off, &die); n++) {
		if (dwarf_tag(&die) == DW_TAG_compile_unit && !ranges_add_die(m, &l->units, &die))
			break;
	}
	ranges_sort(&l->units);
}

struct lines *module_lines(struct module *m)
{
	const struct image *img;
	struct lines *l;

	if (m->lines_tried)
		return m->lines;
	m->lines_tried = true;
	img = image_with_dwarf(m);
	if (!img || img->fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	/* Not dwarf_begin(), which would map a file that its owner may truncate. */
	l->elf = elf_begin(img->fd, ELF_C_READ, NULL);
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	if (!l->dwarf || !strings_end(l->elf) || !set_empty_alternate(l)) {
		lines_free(l);
		return NULL;
	}
	m->lines = l;
	list_units(m, l);
	return l;
}

bool lines_unit(struct module *m, struct lines *l, uint64_t vaddr, Dwarf_Die *unit)
{
	const struct unit_range *r = ranges_find(&l->units, vaddr);

	return r && dwarf_offdie(l->dwarf, r->die, unit);
}

bool module_has_lines(struct module *m)
{
	return image_with_dwarf(m) || module_reads_go(m);
}

/* How a section is compressed; ch_type 0: it is not. */
static Elf64_Chdr compression_head(const struct image *img, const Elf64_Shdr *sh)
{
	struct span at = image_section_span(img, sh);
	Elf64_Chdr head;

	if (!sh || !(sh->sh_flags & SHF_COMPRESSED) || at.len < sizeof(head) ||
	    image_read(img, at.off, &head, sizeof(head)))
		return (Elf64_Chdr){0};
	return head;
}

/* The compression of a section (ELFCOMPRESS_...); 0: it is not compressed. */
static uint32_t compression_of(const struct image *img, const Elf64_Shdr *sh)
{
	return compression_head(img, sh).ch_type;
}

uint64_t module_lines_to_read(const struct module *m)
{
	const struct image *img = image_with_dwarf(m);
	const Elf64_Shdr *info = img ? image_section(img, ".debug_info") : NULL;

	Elf64_Chdr head;

	if (!info || m->lines_tried)
		return 0;
	head = compression_head(img, info);
	return head.ch_type ? head.ch_size : image_section_span(img, info).len;
}

/* True if libelf, which may be older than the compression, can unpack a section. */
static bool can_unpack(const struct image *img, const Elf64_Shdr *sh)
{
	Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(img->fd, ELF_C_READ, NULL) : NULL;
	Elf_Scn *scn = elf ? elf_getscn(elf, (size_t)(sh - img->sh)) : NULL;
	bool can = scn && elf_compress(scn, 0, 0) >= 0;

	elf_end(elf);
	return can;
}

/* Version of the first unit of .debug_info; 0: not known. */
static uint32_t dwarf_version(const struct image *img, const Elf64_Shdr *info)
{
	struct span at = image_section_span(img, info);
	uint8_t head[14];

	if (at.len < sizeof(head) || image_read(img, at.off, head, sizeof(head)))
		return 0;
	return get32(head) == UINT32_MAX ? get16(head + 12) : get16(head + 4);
}

bool module_lines_unread(const struct module *m, char *why, size_t n)
{
	const struct image *img = image_with_dwarf(m);
	const Elf64_Shdr *info = img ? image_section(img, ".debug_info") : NULL, *small = NULL;
	uint32_t method = info ? compression_of(img, info) : 0, version;

	if (!info || img->fd < 0)
		return false;
	for (size_t i = 0; method && i < img->nr_sh; i++) {
		if (compression_of(img, &img->sh[i]) == method &&
		    (!small || img->sh[i].sh_size < small->sh_size))
			small = &img->sh[i];
	}
	if (small && !can_unpack(img, small)) {
		if (method == COMPRESSED_ZSTD)
			snprintf(why, n, "is compressed with zstd");
		else
			snprintf(why, n, "is compressed with method %u", method);
		return true;
	}
	version = method ? 0 : dwarf_version(img, info);
	if (version <= DWARF_NEWEST)
		return false;
	snprintf(why, n, "has DWARF version %u", version);
	return true;
}

/* Append `path` component by component: "." goes, ".." takes the one before it away. */
static size_t add_components(char *out, size_t n, size_t size, const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		const char *last = memrchr(out, '/', n);
		size_t before = last ? (size_t)(last - out) : 0;
		bool up = length == 2 && !memcmp(path, "..", 2);
		/* nothing is known above the first component, or above another ".." */
		bool removable = n > (out[0] == '/') && strcmp(last ? last + 1 : out, "..") != 0;

		if (up && removable) {
			n = before + (before == 0 && out[0] == '/');
			out[n] = '\0';
		} else if (length && !(length == 1 && *path == '.') &&
			   !(up && n == 1 && out[0] == '/')) {
			if (n + length + 2 > size)
				return size;
			if (n && out[n - 1] != '/')
				out[n++] = '/';
			memcpy(out + n, path, length);
			n += length;
			out[n] = '\0';
		}
		path += length + (path[length] == '/');
	}
	return n;
}

const char *lines_path(struct module *m, struct lines *l, Dwarf_Die *unit, const char *name)
{
	const char *folder = NULL;
	char path[MODULE_MAX_NAME];
	Dwarf_Attribute attr;
	struct kept_name *k;
	size_t n;

	if (!name || name[0] == '/')
		return name;
	k = lines_keep(l, name);
	if (!k || k->name)
		return k ? k->name : name;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attr))
		folder = dwarf_formstring(&attr);
	n = folder ? strnlen(folder, sizeof(path)) : 0;
	/* libdw joins some of them by itself */
	if (n && !strncmp(name, folder, n) && name[n] == '/')
		n = 0;
	path[0] = '\0';
	if (n && folder[0] == '/')
		memcpy(path, "/", 2);
	n = n < sizeof(path) ? add_components(path, strlen(path), sizeof(path), n ? folder : "")
			     : sizeof(path);
	if (n < sizeof(path))
		n = add_components(path, n, sizeof(path), name);
	k->name = n && n < sizeof(path) ? module_keep_name(m, path, n) : NULL;
	return k->name ? k->name : name;
}

static int dwarf_line(struct module *m, uint64_t vaddr, const char **file, uint32_t *line)
{
	struct lines *l = module_lines(m);
	Dwarf_Line *row;
	Dwarf_Die unit;
	const char *name;
	int number;

	if (!l || !lines_unit(m, l, vaddr, &unit))
		return -ENOENT;
	row = dwarf_getsrc_die(&unit, vaddr);
	name = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	if (!name || dwarf_lineno(row, &number) || number < 0)
		return -ENOENT;
	*file = lines_path(m, l, &unit, name);
	*line = (uint32_t)number;
	return 0;
}

int module_line(struct module *m, uint64_t vaddr, const char **file, uint32_t *line)
{
	return dwarf_line(m, vaddr, file, line) ? module_go_line(m, vaddr, file, line) : 0;
}
