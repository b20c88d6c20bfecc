// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The placement planner over any bytes: the input says where functions start,
 * what the call frame information claims, and the rest is code. Whatever it
 * plans must lie inside the code and not in the forbidden range.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "analysis/code/coverage.h"
#include "analysis/code/placement.h"

enum { BASE = 0x401000, OFFSET = 0x1000, MAX_PARTS = 16 };

struct made {
	struct code_bytes bytes;
	struct code_part parts[MAX_PARTS];
	struct code_range rseq;
	struct code_source source;
	int64_t cfa_bias;
};

static struct code_cfa made_cfa(void *ctx, uint64_t vaddr)
{
	const struct made *m = ctx;

	return (struct code_cfa){vaddr % 7 ? CODE_CFA_SP : CODE_CFA_UNKNOWN,
				 8 + m->cfa_bias * (int64_t)(vaddr & 8)};
}

/* Tables and pointers lie in the code too: any address wraps into it. */
static int made_read(void *ctx, uint64_t vaddr, void *out, size_t size)
{
	const struct made *m = ctx;

	if (!m->bytes.size || vaddr % 5 == 0)
		return -EFAULT;
	vaddr %= m->bytes.size;
	if (size > m->bytes.size - vaddr)
		return -EFAULT;
	memcpy(out, m->bytes.bytes + vaddr, size);
	return 0;
}

static const char *made_name(void *ctx, uint64_t vaddr)
{
	return vaddr % 3 ? NULL : vaddr % 2 ? "__sigsetjmp" : "longjmp";
}

static bool made_in_data(void *ctx, uint64_t vaddr)
{
	return vaddr % 11 == 0;
}

static void make(struct made *m, struct input *in)
{
	size_t nr = 1 + input_number(in, 1) % MAX_PARTS, i;
	uint8_t lengths[MAX_PARTS], flags[MAX_PARTS];
	uint64_t at = BASE;

	*m = (struct made){.cfa_bias = (int64_t)input_number(in, 1) - 128};
	for (i = 0; i < nr; i++) {
		lengths[i] = (uint8_t)input_number(in, 1);
		flags[i] = (uint8_t)input_number(in, 1);
	}
	m->rseq.start = BASE + input_number(in, 1);
	m->rseq.end = m->rseq.start + 4;
	m->bytes = (struct code_bytes){
	    .vaddr = BASE, .offset = OFFSET, .bytes = in->data, .size = in->left};
	for (i = 0; i < nr; i++) {
		struct code_part *p = &m->parts[m->source.nr_parts];

		if (at + lengths[i] + 1U > BASE + in->left)
			break;
		*p = (struct code_part){.start = at, .end = at + lengths[i] + 1U};
		p->flags =
		    flags[i] & (CODE_PART_FDE | CODE_PART_SYMBOL | CODE_PART_EXPORTED |
				CODE_PART_PLT | CODE_PART_COLD | CODE_PART_IFUNC | CODE_PART_LSDA);
		p->parent = flags[i] & CODE_PART_COLD ? BASE : 0;
		at = p->end;
		m->source.nr_parts++;
	}
	m->source.bytes = &m->bytes;
	m->source.nr_bytes = 1;
	m->source.parts = m->parts;
	m->source.rseq = &m->rseq;
	m->source.nr_rseq = 1;
	m->source.shared = m->cfa_bias & 1;
	m->source.ctx = m;
	m->source.fixed = m->cfa_bias & 2;
	m->source.cfa = made_cfa;
	m->source.read = made_read;
	m->source.name = made_name;
	m->source.slot = made_name;
	m->source.in_data = made_in_data;
}

static void check_place(const struct made *m, const struct place *p)
{
	must(p->vaddr >= BASE && p->vaddr < BASE + m->bytes.size);
	must(p->offset == p->vaddr - BASE + OFFSET);
	must(p->length > 0 && p->length <= 15);
	must(p->vaddr + p->length <= BASE + m->bytes.size);
	must(p->vaddr < m->rseq.start || p->vaddr >= m->rseq.end);
	must(p->cls == SITE_EMULATED || p->cls == SITE_STEPPED);
	must(memchr(p->text, '\0', sizeof(p->text)));
}

static void check_plan(const struct made *m, struct placer *placer, uint64_t function)
{
	struct plan plan;
	size_t i;

	if (!plan_function(placer, function, &plan)) {
		check_place(m, &plan.entry);
		for (i = 0; i < plan.nr_exits; i++)
			check_place(m, &plan.exits[i]);
		for (i = 0; i < plan.nr_returns; i++)
			check_place(m, &plan.returns[i]);
	} else {
		must(plan.why != PLACE_OK);
	}
	must(strlen(plan.text) > 0);
	plan_release(&plan);
}

static void check_sites(const struct made *m, struct placer *placer, uint64_t function)
{
	struct call_site sites[16];
	struct place start, end;
	enum place_why why;
	int n = function_call_sites(placer, function, sites, 16, &why), i;

	for (i = 0; i < n && i < 16; i++) {
		if (!place_call_site(placer, sites[i].vaddr, &start, &end, &why)) {
			check_place(m, &start);
			check_place(m, &end);
		}
		if (sites[i].ret && !place_return(placer, sites[i].ret, &end, &why))
			check_place(m, &end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct place_policy policy = {0};
	struct module_coverage coverage;
	struct placer *placer;
	enum place_why why;
	struct place place;
	struct made m;
	uint64_t bits;
	size_t i;

	if (size < 64)
		return 0;
	bits = input_number(&in, 1);
	policy.no_stepped = bits & 1;
	policy.shadow_stack = bits & 2;
	policy.long_nops_stepped = bits & 4;
	policy.allow_nop5 = bits & 8;
	make(&m, &in);
	placer = placer_new(&m.source, &policy);
	must(placer);
	for (i = 0; i < m.source.nr_parts; i++) {
		check_plan(&m, placer, m.parts[i].start);
		check_plan(&m, placer, m.parts[i].start + 1);
		check_sites(&m, placer, m.parts[i].start);
		if (!place_return(placer, m.parts[i].start + 5, &place, &why))
			check_place(&m, &place);
	}
	if (!coverage_module(placer, &coverage))
		must(coverage_watchable(&coverage) <= coverage.functions);
	placer_free(placer);
	return 0;
}
