// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/module/module.h"

#include "analysis/module/module_internal.h"

/* Executable segments: bytes in the file, disjoint both in the file and in memory. */
static bool segment_overlaps(const struct module *m, const struct module_segment *s)
{
	for (size_t i = 0; i < m->nr_segments; i++) {
		const struct module_segment *t = &m->segments[i];

		if (s->vaddr < t->vaddr + t->size && t->vaddr < s->vaddr + s->size)
			return true;
		if (s->offset < t->offset + t->size && t->offset < s->offset + s->size)
			return true;
	}
	return false;
}

static void find_segments(struct module *m)
{
	const struct image *img = &m->image;

	for (size_t i = 0; i < img->nr_ph; i++) {
		const Elf64_Phdr *ph = &img->ph[i];
		struct module_segment s = {ph->p_vaddr, ph->p_offset, ph->p_filesz, NULL, NULL};

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz)
			continue;
		if (s.offset >= img->size || s.vaddr > UINT64_MAX / 2) {
			m->truncated = true;
			continue;
		}
		if (s.size > img->size - s.offset) {
			s.size = img->size - s.offset;
			m->truncated = true;
		}
		if (m->nr_segments == MAX_SEGMENTS || segment_overlaps(m, &s)) {
			m->truncated = true;
			continue;
		}
		m->segments[m->nr_segments++] = s;
	}
}

static void find_debuglink(struct module *m)
{
	const struct image *img = &m->image;
	struct span at = image_section_span(img, image_section(img, ".gnu_debuglink"));
	struct module_identity *id = &m->identity;
	uint8_t *p;
	size_t n;

	if (at.len < 8 || image_load(img, at, 1 << 12, &p))
		return;
	n = strlen((char *)p);
	/* A base name and nothing else: the collector looks it up in fixed places. */
	if (n && n < sizeof(id->debuglink) && !strchr((char *)p, '/') &&
	    strcmp((char *)p, ".") != 0 && strcmp((char *)p, "..") != 0 &&
	    at.len >= (n + 4) / 4 * 4 + 4) {
		memcpy(id->debuglink, p, n + 1);
		id->debuglink_crc = get32(p + (n + 4) / 4 * 4);
	}
	free(p);
}

static bool has_bytes(const struct image *img, const char *section)
{
	return image_section_span(img, image_section(img, section)).len != 0;
}

static void identify(struct module *m)
{
	const struct image *img = &m->image;
	struct module_identity *id = &m->identity;

	id->type = img->eh.e_type == ET_EXEC ? MODULE_EXEC : MODULE_DYN;
	id->size = img->size;
	id->has_symtab = image_section_span(img, image_section_of_type(img, SHT_SYMTAB)).len != 0;
	id->has_dwarf = (has_bytes(img, ".debug_info") && has_bytes(img, ".debug_line")) ||
			has_bytes(img, ".zdebug_info");
	id->has_debugdata = has_bytes(img, ".gnu_debugdata");
	id->has_eh_frame = has_bytes(img, ".eh_frame");
	id->is_go = module_has_go_table(img) || has_bytes(img, ".note.go.buildid");
	for (size_t i = 0; i < img->nr_ph; i++)
		if (img->ph[i].p_type == PT_GNU_EH_FRAME && img->ph[i].p_filesz)
			id->has_eh_frame = true;
	image_build_id(img, id->build_id, MODULE_MAX_BUILD_ID);
	find_debuglink(m);
}

int module_open(struct module **out, int fd)
{
	struct module *m;
	int err;

	*out = NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->debug.fd = m->debugdata.fd = -1;
	buf_init(&m->extra, MAX_EXTRA_NAMES);
	err = image_open(&m->image, fd);
	if (err) {
		free(m);
		return err;
	}
	find_segments(m);
	identify(m);
	*out = m;
	return 0;
}

void module_free(struct module *m)
{
	if (!m)
		return;
	module_unload_functions(m);
	module_unload_lines(m);
	for (size_t i = 0; i < m->nr_segments; i++) {
		free(m->segments[i].code);
		free(m->segments[i].have);
	}
	free(m->frames);
	free(m->fdes);
	free(m->name);
	image_release(&m->image);
	image_release(&m->debug);
	image_release(&m->debugdata);
	free(m);
}

int module_set_name(struct module *m, const char *base_name)
{
	char *copy = strndup(base_name, MODULE_MAX_NAME / 2);

	if (!copy)
		return -ENOMEM;
	free(m->name);
	m->name = copy;
	for (size_t i = 0; i < m->nr_functions; i++)
		if (!m->functions[i].symbol)
			m->names[i] = NULL; /* was made of the old one */
	return 0;
}

const struct module_identity *module_identity(const struct module *m)
{
	return &m->identity;
}

bool module_wants_debug(const struct module *m)
{
	const struct module_identity *id = &m->identity;

	return !m->has_debug && (!id->has_symtab || !id->has_dwarf) &&
	       (id->build_id[0] || id->debuglink[0]);
}

bool module_truncated(const struct module *m)
{
	return m->truncated;
}

const struct module_segment *module_segment_at(const struct module *m, uint64_t vaddr)
{
	for (size_t i = 0; i < m->nr_segments; i++) {
		const struct module_segment *s = &m->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return s;
	}
	return NULL;
}

int module_vaddr_of(const struct module *m, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < m->nr_segments; i++) {
		const struct module_segment *s = &m->segments[i];

		if (offset >= s->offset && offset - s->offset < s->size) {
			*vaddr = s->vaddr + (offset - s->offset);
			return 0;
		}
	}
	return -ERANGE;
}

int module_offset_of(const struct module *m, uint64_t vaddr, uint64_t *offset)
{
	const struct module_segment *s = module_segment_at(m, vaddr);

	if (!s)
		return -ERANGE;
	*offset = s->offset + (vaddr - s->vaddr);
	return 0;
}

int module_segment(const struct module *m, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	const struct module_segment *s = module_segment_at(m, vaddr);

	if (!s)
		return -ERANGE;
	*start = s->vaddr;
	*end = s->vaddr + s->size;
	return 0;
}

/* Memory for the whole section is reserved at once, so that code stays contiguous. It is filled in
 * parts, when they are read. */
static int segment_prepare(struct module_segment *s)
{
	if (s->code)
		return 0;
	if (s->size > MODULE_MAX_TABLE)
		return -E2BIG;
	s->have = calloc(1, s->size / CODE_CHUNK + 1);
	s->code = s->have ? malloc(s->size) : NULL;
	if (!s->code) {
		free(s->have);
		s->have = NULL;
		return -ENOMEM;
	}
	return 0;
}

const uint8_t *module_code(struct module *m, uint64_t vaddr, size_t size)
{
	struct module_segment *s = (struct module_segment *)module_segment_at(m, vaddr);
	uint64_t at;

	if (!s || !size || size > s->size - (vaddr - s->vaddr) || segment_prepare(s))
		return NULL;
	at = vaddr - s->vaddr;
	for (uint64_t i = at / CODE_CHUNK; i <= (at + size - 1) / CODE_CHUNK; i++) {
		uint64_t from = i * CODE_CHUNK, n = s->size - from;

		if (s->have[i])
			continue;
		if (n > CODE_CHUNK)
			n = CODE_CHUNK;
		if (image_read(&m->image, s->offset + from, s->code + from, n))
			return NULL;
		s->have[i] = 1;
	}
	return s->code + at;
}
