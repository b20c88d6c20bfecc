// SPDX-License-Identifier: GPL-2.0-or-later
/* Source lines and inlined calls from the table of the Go runtime, which also has them in a program
 * without symbols and debug information. */

#include "analysis/base/array.h"
#include "analysis/module/module_data.h"
#include "analysis/module/module_go.h"

enum {
	LIST_TREE = 2,	    /* number of the list of indexes into the tree of inlined calls */
	DATA_TREE = 3,	    /* number of the data of a function that is this tree */
	NAMES_IN_DATA = 8,  /* offsets of pointers in struct moduledata: of the names */
	UNITS_IN_DATA = 32, /* of the files of units */
	MAX_CANDIDATES = 16,
	MAX_TREE = 1 << 16,   /* inlined calls of one function */
	MAX_CALLS = 16 << 20, /* of all functions that are searched for a name */
	MAX_CALL_BYTES = 20,  /* bytes of the largest inlined call */
};

/* The source line at `in` bytes of a function, and its file. */
static int position(const struct go_table *t, const uint8_t *facts, uint64_t in, const char **file,
		    uint32_t *line)
{
	int64_t number = go_value(t, get32(facts + GO_LINES), in);
	int64_t nr = go_value(t, get32(facts + GO_FILES), in);
	uint64_t at;
	uint32_t name;

	if (nr < 0 || number <= 0 || number > INT32_MAX || t->units >= t->len)
		return -ENOENT;
	at = ((uint64_t)get32(facts + GO_UNIT) + (uint64_t)nr) * 4;
	if (at + 4 > t->len - t->units)
		return -ENOENT;
	name = get32(t->bytes + t->units + at);
	*file = name == UINT32_MAX ? NULL : go_text(t, t->files, name);
	*line = (uint32_t)number;
	return *file ? 0 : -ENOENT;
}

int module_go_line(struct module *m, uint64_t vaddr, const char **file, uint32_t *line)
{
	struct go_place p;

	return go_find(m, vaddr, &p) ? position(&m->go, p.facts, p.in, file, line) : -ENOENT;
}

/* ---- trees of inlined calls */

/* The runtime describes its parts in a struct moduledata, which begins with the address of the
 * table. Some fields after it have values that are known, so that nothing else is taken for it. */
static uint64_t find_trees(const struct module *m)
{
	const struct go_table *t = &m->go;
	uint64_t at[MAX_CANDIDATES];
	size_t nr = go_pointers_to(m, t->vaddr, at, MAX_CANDIDATES);

	for (size_t i = 0; i < nr; i++)
		if (go_pointer(m, at[i] + NAMES_IN_DATA) == t->vaddr + t->names &&
		    go_pointer(m, at[i] + UNITS_IN_DATA) == t->vaddr + t->units)
			return go_pointer(m, at[i] + t->layout->tree_base);
	return 0;
}

static uint64_t base_of_trees(struct module *m)
{
	struct go_table *t = &m->go;

	if (!t->trees_tried)
		t->trees = find_trees(m);
	t->trees_tried = true;
	return t->trees;
}

/* Offset in the table of what follows the facts of a function: its lists, then its data. */
static uint64_t after_facts(const struct go_table *t, const uint8_t *facts)
{
	return (uint64_t)(facts - t->bytes) + t->layout->flags + 3;
}

/* The list of indexes into the tree; 0: none. */
static uint32_t list_of_tree(const struct go_table *t, const uint8_t *facts)
{
	uint64_t at = after_facts(t, facts) + LIST_TREE * 4;

	if (get32(facts + GO_NR_LISTS) <= LIST_TREE || at + 4 > t->len)
		return 0;
	return get32(t->bytes + at);
}

/* The address of the tree of a function; 0: none. */
static uint64_t tree_of(struct module *m, const uint8_t *facts)
{
	const struct go_table *t = &m->go;
	const unsigned int size = t->layout->tree_base ? 4 : 8;
	uint64_t at = after_facts(t, facts) + 4ULL * get32(facts + GO_NR_LISTS), base;

	if (facts[t->layout->flags + 2] <= DATA_TREE)
		return 0;
	at = (at + size - 1) / size * size + DATA_TREE * size;
	if (at + size > t->len)
		return 0;
	if (size == 8)
		return get64(t->bytes + at);
	base = base_of_trees(m);
	return base && get32(t->bytes + at) != UINT32_MAX ? base + get32(t->bytes + at) : 0;
}

/* An inlined call, number `index` of a tree. Returns the name of the function that was inlined, or
 * NULL; `*caller` is a place of its caller, with the line of the call. */
static const char *inlined_call(const struct module *m, uint64_t tree, int64_t index,
				uint64_t *caller)
{
	const struct go_table *t = &m->go;
	const struct go_layout *l = t->layout;
	uint8_t call[MAX_CALL_BYTES];
	uint32_t name;

	if (index < 0 || index >= MAX_TREE ||
	    module_read_data(m, tree + (uint64_t)index * l->inlined, call, l->inlined))
		return NULL;
	name = get32(call + l->called);
	*caller = get32(call + l->at);
	/* a name begins behind the end of another: what is no tree has no such offset */
	if (name && (name >= t->len - t->names || t->bytes[t->names + name - 1]))
		return NULL;
	return go_text(t, t->names, name);
}

int module_go_inlines(struct module *m, uint64_t vaddr, struct module_inline *out, size_t max)
{
	const struct go_table *t = &m->go;
	const struct module_function *f;
	struct go_place p;
	uint64_t tree, in;
	int64_t index;
	uint32_t list;
	size_t nr = 0;

	if (!max || !go_find(m, vaddr, &p))
		return -ENOENT;
	list = list_of_tree(t, p.facts);
	tree = list ? tree_of(m, p.facts) : 0;
	in = p.in;
	for (;; nr++) {
		index = tree ? go_value(t, list, in) : -1;
		out[nr] = (struct module_inline){.inlined = true};
		if (position(t, p.facts, in, &out[nr].file, &out[nr].line))
			out[nr].file = NULL;
		out[nr].name =
		    index < 0 || nr + 1 == max ? NULL : inlined_call(m, tree, index, &in);
		if (!out[nr].name || in >= p.size)
			break;
	}
	f = module_function_at(m, vaddr);
	out[nr].inlined = false;
	out[nr].name = f ? module_function_name(m, f) : "?";
	return nr || out[0].file ? (int)nr + 1 : -ENOENT;
}

/* ---- functions that exist only inlined */

/* Offset of a name in the names; -1: no function or inlined call has it. */
static int64_t offset_of_name(const struct go_table *t, const char *name)
{
	const uint8_t *names = t->bytes + t->names, *at = names;
	size_t len = strlen(name) + 1, room = t->len - t->names;

	while (*name && (at = memmem(at, room - (size_t)(at - names), name, len))) {
		if (at == names || !at[-1])
			return at - names;
		at++;
	}
	return -1;
}

/* True if a function has an inlined copy of the function whose name is at this offset. */
static bool has_copy(struct module *m, const uint8_t *facts, int64_t name, size_t *left)
{
	const struct go_table *t = &m->go;
	const struct go_layout *l = t->layout;
	uint32_t list = list_of_tree(t, facts);
	uint64_t tree = list ? tree_of(m, facts) : 0;
	int64_t largest = -1;
	bool found = false;
	uint8_t *calls;
	size_t nr;

	if (tree)
		largest = go_largest_value(t, list);
	nr = largest < MAX_TREE ? (size_t)(largest + 1) : 0;
	if (!nr)
		return false;
	if (nr > *left) {
		*left = 0;
		return false;
	}
	*left -= nr;
	calls = malloc(nr * l->inlined);
	if (calls && !module_read_data(m, tree, calls, nr * l->inlined))
		found = any_of(i, nr, get32(calls + i * l->inlined + l->called) == name);
	free(calls);
	return found;
}

int module_go_inlined_into(struct module *m, const char *name, const struct module_function **out,
			   size_t max)
{
	const struct go_table *t = &m->go;
	size_t nr = 0, left = MAX_CALLS;
	int64_t offset;

	if (!module_reads_go(m))
		return 0;
	offset = offset_of_name(t, name);
	for (uint64_t i = 0; offset >= 0 && i < t->nr && nr < max && left; i++) {
		const uint8_t *facts = go_facts(t, i);

		if (!facts || !has_copy(m, facts, offset, &left))
			continue;
		out[nr] = module_function_at(m, go_start(t, i));
		nr += out[nr] != NULL;
	}
	return nr || left ? (int)nr : -E2BIG;
}
