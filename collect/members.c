// SPDX-License-Identifier: GPL-2.0-or-later
/* The values behind arguments that are read when a call of a function begins. */
#include "bpf/records.h"
#include "collect/functions_impl.h"
#include "collect/kernel_side.h"
#include "collect/state.h"

/* The front may ask for anything: what is out of range is not read. */
static struct pt_member member_of(const struct rec_member *m, uint32_t most)
{
	if (!m->size || m->size > most || m->argument >= PT_ARGS || m->offset >= PT_OFFSETS)
		return (struct pt_member){0};
	return (struct pt_member){.argument = m->argument,
				  .offset = m->offset,
				  .size = m->size,
				  .is_pointer = m->is_pointer != 0};
}

static void starts_mark(struct collector *c, struct function *f, bool reads)
{
	f->reads_members = reads;
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		struct pt_site *s = &kernel_side_sites(c->kernel)[f->sites[i].index];

		if (!site_starts(&f->sites[i].site))
			continue;
		if (reads)
			s->flags |= PT_SITE_MEMBERS;
		else
			s->flags &= ~(pt_u32)PT_SITE_MEMBERS;
	}
}

void function_members(struct collector *c, const struct req_members *req)
{
	struct function *f = function_by_op(c, req->op);
	struct pt_members list = {0};

	if (!f || c->options->no_values)
		return;
	for (uint32_t i = 0; i < req->nr_members && i < PT_MEMBERS; i++)
		list.member[i] = member_of(&req->members[i], sizeof(uint64_t));
	list.text = member_of(&req->text, PT_TEXT);
	starts_mark(c, f, false);
	starts_mark(c, f, !kernel_side_members(c->kernel, f->slot, &list));
}
