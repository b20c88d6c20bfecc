// SPDX-License-Identifier: GPL-2.0-or-later
/* The values behind arguments that are read when a call of a function begins. */

#include "bpf/ring.h"
#include "collect/functions_impl.h"
#include "collect/kernel_side.h"
#include "collect/state.h"

/* The front may ask for anything: what is out of range is not read. */
static bool can_be_read(const struct rec_member *m, uint32_t most)
{
	return m->size && m->size <= most && m->argument < PT_ARGS && m->offset < PT_OFFSETS;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Let a block cover a member, too. False: it is behind another argument, or too far away. */
static bool block_extend(struct pt_block *b, const struct rec_member *m)
{
	uint32_t from = b->offset < m->offset ? b->offset : m->offset;
	uint32_t end = larger(b->offset + b->size, m->offset + m->size);

	if (b->argument != m->argument || end - from > PT_BLOCK)
		return false;
	b->offset = from;
	b->size = end - from;
	return true;
}

/* Choose the block for a member: there is one for each at most. Returns its number. */
static uint32_t block_choose(struct pt_behind *list, const struct rec_member *m)
{
	for (uint32_t i = 0;; i++) {
		struct pt_block *b = &list->block[i];

		if (b->size && block_extend(b, m))
			return i;
		if (b->size)
			continue;
		*b = (struct pt_block){
		    .argument = m->argument, .offset = m->offset, .size = m->size};
		return i;
	}
}

/* Choose what is read for the members. */
static void members_place(struct function *f, const struct req_members *req, struct pt_behind *list)
{
	for (uint32_t i = 0; i < SAMPLE_MEMBERS; i++) {
		const struct rec_member *m = &req->members[i];

		f->members[i] = (struct member_place){0};
		if (i < req->nr_members && can_be_read(m, sizeof(uint64_t)))
			f->members[i] =
			    (struct member_place){.block = block_choose(list, m), .size = m->size};
	}
	/* now the begins of the blocks are known */
	for (uint32_t i = 0; i < SAMPLE_MEMBERS; i++)
		if (f->members[i].size)
			f->members[i].at =
			    req->members[i].offset - list->block[f->members[i].block].offset;
}

uint64_t site_reads_ns(const struct function *f, const struct pt_site *s)
{
	return s->flags & PT_SITE_BEHIND ? (uint64_t)f->reads * MEMBER_READ_NS : 0;
}

static void starts_mark(struct collector *c, struct function *f, uint32_t reads)
{
	f->reads = reads;
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		struct pt_site *s = &kernel_side_sites(c->kernel)[f->sites[i].index];

		if (!site_starts(&f->sites[i].site))
			continue;
		if (reads)
			s->flags |= PT_SITE_BEHIND;
		else
			s->flags &= ~(pt_u32)PT_SITE_BEHIND;
	}
}

void function_members(struct collector *c, const struct req_members *req)
{
	struct function *f = function_by_op(c, req->op);
	struct pt_behind list = {0};
	uint32_t reads = 0;

	if (!f || c->options->no_values)
		return;
	starts_mark(c, f, 0);
	members_place(f, req, &list);
	if (can_be_read(&req->text, PT_TEXT))
		list.text = (struct pt_block){.argument = req->text.argument,
					      .offset = req->text.offset,
					      .size = req->text.size,
					      .is_pointer = req->text.is_pointer != 0};
	for (uint32_t i = 0; i < PT_BLOCKS; i++)
		reads += list.block[i].size != 0;
	reads += list.text.size != 0;
	if (reads && !kernel_side_behind(c->kernel, f->slot, &list))
		starts_mark(c, f, reads);
}

void function_members_take(const struct function *f, const struct pt_record_sample *from,
			   struct rec_sample *to)
{
	uint32_t blocks = from->known / SAMPLE_MEMBER0;

	for (uint32_t i = 0; i < SAMPLE_MEMBERS; i++) {
		const struct member_place *m = &f->members[i];

		if (!m->size || !(blocks >> m->block & 1))
			continue;
		memcpy(&to->members[i], (const char *)from->blocks[m->block] + m->at, m->size);
		to->known |= (uint32_t)SAMPLE_MEMBER0 << i;
	}
}
