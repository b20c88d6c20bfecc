// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/module/module_data.h"
#include "analysis/base/array.h"

#include "analysis/module/module_internal.h"

enum { DATA_CHUNK = 1 << 16, MAX_DYNAMIC = 1 << 16 };

int module_read_data(const struct module *m, uint64_t vaddr, void *out, size_t size)
{
	struct span at = image_at_vaddr(&m->image, vaddr);

	if (!at.len || at.len < size)
		return -ERANGE;
	return image_read(&m->image, at.off, out, size);
}

struct pointers {
	uint64_t *values;
	size_t nr, cap;
};

static int add_pointer(struct pointers *p, uint64_t value)
{
	return array_append(p->values, p->nr, p->cap, MODULE_MAX_POINTERS, value);
}

/* `skip`: symbol tables also contain addresses of functions, but no code calls through them. */
static int scan_chunk(const struct module *m, const uint8_t *bytes, size_t len, uint64_t off,
		      struct span skip, struct pointers *p)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t value = get64(bytes + i);
		int err;

		if (!value || !module_segment_at(m, value) ||
		    (off + i >= skip.off && off + i - skip.off < skip.len))
			continue;
		err = add_pointer(p, value);
		if (err)
			return err;
	}
	return 0;
}

static int scan_segment(const struct module *m, const Elf64_Phdr *ph, uint8_t *chunk,
			struct span skip, struct pointers *p)
{
	/* what is aligned in memory is aligned in the file, from a multiple of 8 on */
	uint64_t off = (ph->p_offset + 7) & ~7ULL, end = ph->p_offset + ph->p_filesz;

	if (end < ph->p_offset || end > m->image.size)
		end = m->image.size;
	while (off < end) {
		size_t len = end - off < DATA_CHUNK ? (size_t)(end - off) : DATA_CHUNK;
		int err = image_read(&m->image, off, chunk, len);

		if (err)
			return 0; /* it was cut off since; what follows cannot be mapped either */
		err = scan_chunk(m, chunk, len, off, skip, p);
		if (err)
			return err;
		off += len;
	}
	return 0;
}

long module_code_pointers(const struct module *m, uint64_t **out)
{
	struct span skip =
	    image_section_span(&m->image, image_section_of_type(&m->image, SHT_DYNSYM));
	uint8_t *chunk = malloc(DATA_CHUNK);
	struct pointers p = {0};
	size_t nr = 0;
	int err = chunk ? 0 : -ENOMEM;

	*out = NULL;
	for (size_t i = 0; i < m->image.nr_ph && !err; i++)
		if (m->image.ph[i].p_type == PT_LOAD)
			err = scan_segment(m, &m->image.ph[i], chunk, skip, &p);
	free(chunk);
	if (err) {
		free(p.values);
		return err;
	}
	if (p.nr)
		qsort(p.values, p.nr, sizeof(*p.values), compare_u64);
	for (size_t i = 0; i < p.nr; i++)
		if (!nr || p.values[nr - 1] != p.values[i])
			p.values[nr++] = p.values[i];
	*out = p.values;
	return (long)nr;
}

/* Put the addends of relative relocations where the loader would. */
static void relocate(const struct module *m, uint64_t vaddr, uint8_t *bytes, size_t len)
{
	struct span at = image_section_span(&m->image, image_section(&m->image, ".rela.dyn"));
	uint8_t *rela;

	if (!at.len || image_load(&m->image, at, MODULE_MAX_TABLE, &rela))
		return;
	for (size_t i = 0; i + sizeof(Elf64_Rela) <= at.len; i += sizeof(Elf64_Rela)) {
		uint64_t where = get64(rela + i);

		if ((uint32_t)get64(rela + i + 8) == R_X86_64_RELATIVE && where >= vaddr &&
		    where - vaddr < len && len - (where - vaddr) >= 8)
			memcpy(bytes + (where - vaddr), rela + i + 16, 8);
	}
	free(rela);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct module_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

long module_rseq(const struct module *m, struct module_range **out)
{
	/* struct rseq_cs: version, flags, start, length, abort address; aligned to 32 bytes */
	enum { ENTRY = 32, START = 8, LENGTH = 16 };
	const Elf64_Shdr *sh = image_section(&m->image, "__rseq_cs");
	struct span at = image_section_span(&m->image, sh);
	struct module_range *ranges;
	uint8_t *bytes;
	size_t nr = 0;
	int err;

	*out = NULL;
	if (!at.len)
		return 0;
	err = image_load(&m->image, at, MODULE_MAX_RSEQ * ENTRY, &bytes);
	if (err)
		return err == -ENOMEM || err == -E2BIG ? err : 0;
	relocate(m, sh->sh_addr, bytes, at.len);
	ranges = calloc(at.len / ENTRY + 1, sizeof(*ranges));
	for (size_t i = 0; ranges && i + ENTRY <= at.len; i += ENTRY) {
		uint64_t start = get64(bytes + i + START), size = get64(bytes + i + LENGTH);

		if (module_segment_at(m, start) && start + size >= start)
			ranges[nr++] = (struct module_range){start, start + size};
	}
	free(bytes);
	if (!ranges)
		return -ENOMEM;
	qsort(ranges, nr, sizeof(*ranges), compare_ranges);
	*out = ranges;
	return (long)nr;
}

int module_plt_section(const struct module *m, size_t i, struct module_range *out)
{
	static const char *const names[] = {".plt", ".plt.got", ".plt.sec", ".iplt"};

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		const Elf64_Shdr *sh = image_section(&m->image, names[n]);

		if (!sh || !sh->sh_size || !module_segment_at(m, sh->sh_addr) ||
		    sh->sh_addr + sh->sh_size < sh->sh_addr)
			continue;
		if (!i--) {
			*out = (struct module_range){sh->sh_addr, sh->sh_addr + sh->sh_size};
			return 0;
		}
	}
	return -ENOENT;
}

bool module_is_library(const struct module *m)
{
	bool interpreter = false, soname = false, pie = false;

	if (m->image.eh.e_type != ET_DYN)
		return false;
	for (size_t i = 0; i < m->image.nr_ph; i++) {
		const Elf64_Phdr *ph = &m->image.ph[i];
		struct span at = {ph->p_offset, ph->p_filesz};
		uint8_t *bytes;

		interpreter |= ph->p_type == PT_INTERP;
		if (ph->p_type != PT_DYNAMIC || image_load(&m->image, at, MAX_DYNAMIC, &bytes))
			continue;
		for (size_t k = 0; k + 16 <= at.len && get64(bytes + k); k += 16) {
			soname |= get64(bytes + k) == DT_SONAME;
			pie |= get64(bytes + k) == DT_FLAGS_1 && get64(bytes + k + 8) & DF_1_PIE;
		}
		free(bytes);
	}
	return !pie && (soname || !interpreter);
}
