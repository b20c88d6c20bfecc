// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts that the compiler moved out of functions ("foo.cold"), and whose they are. */

#include "analysis/base/array.h"
#include "analysis/module/module_internal.h"
#include "analysis/module/module_names.h"

/* The function that a part was moved out of has the name before ".cold". Static
 * functions of several files may share that name: then it is the one of the
 * same file, else the only global one. */
struct owners {
	const struct symbol *local, *global, *same_file;
	size_t nr_local, nr_same_file;
};

static void consider_owner(struct owners *o, const struct symbol *s, const struct symbol *part)
{
	if (s->flags & (SYM_GLOBAL | SYM_WEAK)) {
		o->global = s;
		return;
	}
	o->local = s;
	o->nr_local++;
	if (s->file == part->file && s->table == part->table) {
		o->same_file = s;
		o->nr_same_file++;
	}
}

static const struct symbol *choose_owner(const struct owners *o)
{
	if (o->nr_same_file)
		return o->nr_same_file == 1 ? o->same_file : NULL;
	if (o->global)
		return o->global;
	return o->nr_local == 1 ? o->local : NULL;
}

static uint32_t find_owner(const struct module *m, const struct symbol *part, size_t *budget)
{
	const char *name = symbol_name(m, part);
	struct owners owners = {0};
	const struct module_function *f;
	const struct symbol *found;
	size_t len, base;
	uint32_t i;

	if (!name_is_part(name, &len))
		return NO_OWNER;
	base = name_base_length_n(name, len); /* as hashed: "foo" for "foo.isra.0.cold" */
	i = m->hash_head[name_hash(name, base) & (m->hash_size - 1)];
	for (; i && *budget; i = m->hash_next[i - 1], (*budget)--) {
		const struct symbol *s = &m->symbols[i - 1];
		const char *other = symbol_name(m, s);

		if (!(s->flags & (SYM_PART | SYM_NOTYPE)) && strncmp(other, name, len) == 0 &&
		    !other[len])
			consider_owner(&owners, s, part);
	}
	found = choose_owner(&owners);
	f = found ? module_function_starting(m, found->vaddr) : NULL;
	return f ? (uint32_t)(f - m->functions) : NO_OWNER;
}

static int owner_order(const void *a, const void *b, void *arg)
{
	const struct module *m = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return ascending(m->parts[x].owner, m->parts[y].owner) ?: ascending(x, y);
}

int module_assign_parts(struct module *m)
{
	size_t i, budget = 64 << 20; /* symbols looked at; a lying file makes chains long */

	if (!m->nr_parts)
		return 0;
	m->parts_by_owner = malloc(m->nr_parts * sizeof(*m->parts_by_owner));
	if (!m->parts_by_owner)
		return -ENOMEM;
	for (i = 0; i < m->nr_parts; i++) {
		m->parts[i].owner = find_owner(m, &m->symbols[m->parts[i].symbol], &budget);
		m->parts_by_owner[i] = (uint32_t)i;
	}
	qsort_r(m->parts_by_owner, m->nr_parts, sizeof(*m->parts_by_owner), owner_order, m);
	return 0;
}

const struct module_function *module_part_owner(const struct module *m, uint64_t vaddr)
{
	size_t low = lower_bound(i, m->nr_parts, m->parts[i].vaddr <= vaddr);

	if (!low || vaddr - m->parts[low - 1].vaddr >= m->parts[low - 1].size ||
	    m->parts[low - 1].owner == NO_OWNER)
		return NULL;
	return &m->functions[m->parts[low - 1].owner];
}

int module_cold_part(struct module *m, const struct module_function *f, size_t i, uint64_t *start,
		     uint64_t *end)
{
	uint32_t owner = (uint32_t)(f - m->functions);
	const struct function_part *p;
	size_t low = lower_bound(at, m->nr_parts, m->parts[m->parts_by_owner[at]].owner < owner);

	if (i >= m->nr_parts - low)
		return -ENOENT;
	p = &m->parts[m->parts_by_owner[low + i]];
	if (p->owner != owner)
		return -ENOENT;
	*start = p->vaddr;
	*end = p->vaddr + p->size;
	return 0;
}
