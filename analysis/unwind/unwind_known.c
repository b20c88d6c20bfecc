// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules of an address: from call frame information, else from the code; kept. */

#include "analysis/unwind/unwind_internal.h"

enum { WAYS = 4, SETS = UNWIND_KNOWN / WAYS };

struct unwinder *unwinder_new(struct module *(*module)(void *context, uint32_t number),
			      void *context)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->module = module;
	u->context = context;
	u->no_module.flags = KNOWN_NO_CFI | KNOWN_POINTER | KNOWN_AFTER_CALL | KNOWN_MADE;
	arch_row_of_frame_pointer(&u->no_module.row);
	return u;
}

void unwinder_free(struct unwinder *u)
{
	free(u);
}

void unwinder_forget(struct unwinder *u, uint32_t module)
{
	for (size_t i = 0; i < UNWIND_KNOWN; i++)
		if (u->known[i].module == module)
			u->known[i].module = 0;
}

/* `vaddr` is that of the next instruction, or a return address. */
static void find_row(struct module *m, uint64_t vaddr, struct known *k)
{
	/* A call may be the last instruction of its function: look before its return address. */
	int err = module_row(m, k->exact ? vaddr : vaddr - 1, &k->row);

	/* If a library has no call frame information for the signal frame, recognise it by the
	 * code of sigreturn. */
	if ((err || !k->row.signal_frame) && arch_row_of_sigreturn(m, vaddr, &k->row))
		return;
	if (!err)
		return;
	k->flags |= KNOWN_NO_CFI | (err == -ENOENT ? 0 : KNOWN_DAMAGED);
	if (k->exact && arch_row_of_edge(m, vaddr, &k->row))
		return;
	k->flags |= KNOWN_POINTER;
	arch_row_of_frame_pointer(&k->row);
}

/* Find the address for an offset in the file. If it is a return address, find the byte before it
 * first, because a return address may be just past the end of a segment. */
static bool vaddr_of(const struct module *m, const struct known *k, uint64_t *vaddr)
{
	if (k->exact || module_vaddr_of(m, k->offset - 1, vaddr))
		return !module_vaddr_of(m, k->offset, vaddr);
	++*vaddr;
	return true;
}

/* True if no call pushed this return address: makecontext() or similar code wrote it when
 * it made the stack. */
static bool begins_function(struct module *m, uint64_t vaddr, const struct module_function **f)
{
	const struct module_function *at = module_function_at(m, vaddr);

	if (!at || at->vaddr != vaddr)
		return false;
	*f = at;
	return true;
}

static void find_out(struct unwinder *u, struct known *k)
{
	struct module *m = u->module(u->context, k->module);
	const struct module_function *f;
	uint64_t vaddr, inner;

	if (!m || !vaddr_of(m, k, &vaddr)) {
		k->flags = KNOWN_NO_CFI | KNOWN_POINTER | KNOWN_AFTER_CALL;
		arch_row_of_frame_pointer(&k->row);
		return;
	}
	if (module_is_perf_map(m))
		k->flags |= KNOWN_MADE;
	find_row(m, vaddr, k);
	inner = vaddr - (!k->exact && !k->row.signal_frame);
	f = module_function_at(m, inner);
	if (!k->exact && arch_after_call(m, vaddr))
		k->flags |= KNOWN_AFTER_CALL;
	else if (inner != vaddr && begins_function(m, vaddr, &f))
		k->flags |= KNOWN_BOTTOM;
	k->function = f ? f->offset : 0;
}

static size_t set_of(uint32_t module, uint64_t offset, bool exact)
{
	uint64_t h = (offset << 1 | exact) * 0x9e3779b97f4a7c15ULL + module * 0xff51afd7ed558ccdULL;

	return (size_t)(h >> 40) % SETS;
}

const struct known *unwinder_known(struct unwinder *u, uint32_t module, uint64_t offset, bool exact)
{
	struct known *k, *oldest;

	if (!module)
		return &u->no_module;
	oldest = k = &u->known[set_of(module, offset, exact) * WAYS];
	u->clock++;
	for (size_t i = 0; i < WAYS; i++, k++) {
		if (k->module == module && k->offset == offset && k->exact == exact) {
			k->used = u->clock;
			return k;
		}
		if (!k->module || (oldest->module && u->clock - k->used > u->clock - oldest->used))
			oldest = k;
	}
	*oldest =
	    (struct known){.module = module, .used = u->clock, .offset = offset, .exact = exact};
	find_out(u, oldest);
	return oldest;
}
