// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/code/source_module.h"
#include "analysis/base/array.h"

#include "analysis/code/decode.h"
#include "analysis/module/module_data.h"

enum { MAX_PARTS = MODULE_MAX_FDES + MODULE_MAX_SYMBOLS };

struct module_source {
	struct code_source source;
	struct module *module;
	struct code_bytes *bytes;
	struct code_part *parts;
	size_t nr_parts, cap_parts;
	struct code_range *rseq;
	uint64_t *pointers;
	long nr_pointers; /* negative: could not be read, or too many */
	bool pointers_read;
};

static struct code_cfa source_cfa(void *ctx, uint64_t vaddr)
{
	struct module_source *s = ctx;
	struct cfa cfa;

	if (module_cfa(s->module, vaddr, &cfa))
		return (struct code_cfa){.kind = CODE_CFA_UNKNOWN};
	if (cfa.reg != CFA_RSP)
		return (struct code_cfa){.kind = CODE_CFA_OTHER};
	return (struct code_cfa){.kind = CODE_CFA_SP, .offset = cfa.offset};
}

static int source_read(void *ctx, uint64_t vaddr, void *out, size_t size)
{
	struct module_source *s = ctx;

	return module_read_data(s->module, vaddr, out, size);
}

static const char *source_name(void *ctx, uint64_t vaddr)
{
	struct module_source *s = ctx;
	const struct module_function *f = module_function_at(s->module, vaddr);

	if (f && f->vaddr == vaddr && f->symbol)
		return f->symbol;
	return module_plt_name(s->module, vaddr);
}

static const char *source_slot(void *ctx, uint64_t vaddr)
{
	struct module_source *s = ctx;

	return module_slot_symbol(s->module, vaddr);
}

static bool source_in_data(void *ctx, uint64_t vaddr)
{
	struct module_source *s = ctx;

	if (!s->pointers_read) {
		s->nr_pointers = module_code_pointers(s->module, &s->pointers);
		s->pointers_read = true;
	}
	if (s->nr_pointers < 0)
		return true; /* the pointers are not known, so it may be one */
	return s->nr_pointers && bsearch(&vaddr, s->pointers, (size_t)s->nr_pointers,
					 sizeof(*s->pointers), compare_u64);
}

static int add_part(struct module_source *s, struct code_part part)
{
	return array_append(s->parts, s->nr_parts, s->cap_parts, MAX_PARTS, part);
}

static int add_functions(struct module_source *s)
{
	size_t nr = module_nr_functions(s->module);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		const struct module_function *f = module_function(s->module, i);
		struct code_part part = {.start = f->vaddr, .end = f->vaddr + f->size};

		if (f->symbol)
			part.flags |= CODE_PART_SYMBOL;
		if (f->exported)
			part.flags |= CODE_PART_EXPORTED;
		if (f->ifunc)
			part.flags |= CODE_PART_IFUNC;
		err = add_part(s, part);
		for (size_t k = 0; !err; k++) {
			struct code_part cold = {.parent = f->vaddr, .flags = CODE_PART_COLD};

			if (module_cold_part(s->module, f, k, &cold.start, &cold.end))
				break;
			err = add_part(s, cold);
		}
	}
	return err;
}

static int add_fdes(struct module_source *s)
{
	size_t nr = module_nr_fdes(s->module);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		struct module_fde fde;

		if (module_fde(s->module, i, &fde))
			continue;
		/* the unwinder looks one byte before a signal frame's code */
		if (fde.signal_frame)
			fde.start++;
		err = add_part(s, (struct code_part){
				      .start = fde.start,
				      .end = fde.end,
				      .flags = CODE_PART_FDE | (fde.has_lsda ? CODE_PART_LSDA : 0),
				  });
	}
	return err;
}

static int add_stubs(struct module_source *s)
{
	struct module_range range;
	int err = 0;

	for (size_t i = 0; !err && !module_plt_section(s->module, i, &range); i++)
		err = add_part(s, (struct code_part){
				      .start = range.start,
				      .end = range.end,
				      .flags = CODE_PART_PLT,
				  });
	return err;
}

/* By start; of the same start what has an FDE last, so that its end wins. */
static int compare_parts(const void *a, const void *b)
{
	const struct code_part *x = a, *y = b;

	return ascending(x->start, y->start)
		   ?: (int)(x->flags & CODE_PART_FDE) - (int)(y->flags & CODE_PART_FDE);
}

static void merge_same_start(struct module_source *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nr_parts; i++) {
		struct code_part *part = &s->parts[i], *last = n ? &s->parts[n - 1] : NULL;

		if (part->end <= part->start)
			continue;
		if (!last || last->start != part->start) {
			s->parts[n++] = *part;
			continue;
		}
		last->end = part->end;
		last->flags |= part->flags;
		if (part->parent)
			last->parent = part->parent;
	}
	s->nr_parts = n;
}

/* Is `vaddr` reached when decoding goes on from `start`? True also where it cannot be known. */
static bool on_boundary(struct module_source *s, struct decoder *d, uint64_t start, uint64_t vaddr)
{
	while (start < vaddr) {
		uint64_t seg_start, seg_end;
		const uint8_t *bytes;
		struct insn insn;
		size_t len;

		if (module_segment(s->module, start, &seg_start, &seg_end))
			return true;
		len =
		    seg_end - start < INSN_MAX_LENGTH ? (size_t)(seg_end - start) : INSN_MAX_LENGTH;
		bytes = module_code(s->module, start, len);
		if (!bytes || decode_insn(d, bytes, len, start, &insn))
			return true;
		start += insn.length;
	}
	return start == vaddr;
}

/* Symbols inside the code of an FDE are further entries of it (assembly), and
 * split it; one that points into the middle of an instruction is a lie. */
static int split_inner(struct module_source *s)
{
	struct decoder *d = decoder_new();
	uint64_t fde_start = 0, fde_end = 0;
	uint32_t fde_flags = 0;
	size_t n = 0;

	if (!d)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_parts; i++) {
		struct code_part part = s->parts[i], *last = n ? &s->parts[n - 1] : NULL;

		if (part.flags & CODE_PART_FDE) {
			fde_start = part.start;
			fde_end = part.end;
			fde_flags = part.flags & (CODE_PART_FDE | CODE_PART_LSDA);
		} else if (part.start < fde_end) {
			if (!on_boundary(s, d, fde_start, part.start))
				continue;
			part.flags |= fde_flags;
			part.end = fde_end;
		}
		if (last && last->end > part.start)
			last->end = part.start;
		s->parts[n++] = part;
	}
	s->nr_parts = n;
	decoder_free(d);
	return 0;
}

static void mark_stubs(struct module_source *s)
{
	struct module_range range;

	for (size_t i = 0; !module_plt_section(s->module, i, &range); i++)
		for (size_t k = 0; k < s->nr_parts; k++)
			if (s->parts[k].start >= range.start && s->parts[k].start < range.end)
				s->parts[k].flags |= CODE_PART_PLT;
}

static int fill_parts(struct module_source *s)
{
	int err = add_functions(s);

	if (!err)
		err = add_fdes(s);
	if (!err)
		err = add_stubs(s);
	if (err)
		return err;
	if (s->nr_parts)
		qsort(s->parts, s->nr_parts, sizeof(*s->parts), compare_parts);
	merge_same_start(s);
	err = split_inner(s);
	mark_stubs(s);
	s->source.parts = s->parts;
	s->source.nr_parts = s->nr_parts;
	return err;
}

/* Executable segments that hold a part. */
static int fill_bytes(struct module_source *s)
{
	uint64_t end = 0;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < s->nr_parts; i++) {
		struct code_bytes b;
		uint64_t start;

		if (s->parts[i].start < end ||
		    module_segment(s->module, s->parts[i].start, &start, &end))
			continue;
		b = (struct code_bytes){.vaddr = start, .size = (size_t)(end - start)};
		b.bytes = module_code(s->module, start, b.size);
		if (!b.bytes || module_offset_of(s->module, start, &b.offset))
			continue;
		if (array_append(s->bytes, n, cap, s->nr_parts, b))
			return -ENOMEM;
	}
	s->source.bytes = s->bytes;
	s->source.nr_bytes = n;
	return 0;
}

static int fill_rseq(struct module_source *s)
{
	struct module_range *ranges;
	long nr = module_rseq(s->module, &ranges);

	if (nr < 0)
		return (int)nr;
	s->rseq = calloc((size_t)nr + 1, sizeof(*s->rseq));
	for (long i = 0; s->rseq && i < nr; i++)
		s->rseq[i] = (struct code_range){ranges[i].start, ranges[i].end};
	free(ranges);
	if (!s->rseq)
		return -ENOMEM;
	s->source.rseq = s->rseq;
	s->source.nr_rseq = (size_t)nr;
	return 0;
}

struct module_source *module_source_new(struct module *m)
{
	struct module_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->module = m;
	s->source = (struct code_source){
	    .shared = module_is_library(m),
	    .fixed = module_identity(m)->type == MODULE_EXEC,
	    .ctx = s,
	    .cfa = source_cfa,
	    .read = source_read,
	    .name = source_name,
	    .slot = source_slot,
	    .in_data = source_in_data,
	};
	if (fill_parts(s) || fill_bytes(s) || fill_rseq(s)) {
		module_source_free(s);
		return NULL;
	}
	return s;
}

void module_source_free(struct module_source *s)
{
	if (!s)
		return;
	free(s->bytes);
	free(s->parts);
	free(s->rseq);
	free(s->pointers);
	free(s);
}

const struct code_source *module_source(const struct module_source *s)
{
	return &s->source;
}
