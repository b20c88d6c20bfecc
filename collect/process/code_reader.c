// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers queries about the instructions of one file. */
#include <sys/socket.h>

#include "analysis/base/array.h"
#include "analysis/code/boundary.h"
#include "analysis/module/module.h"
#include "collect/process/code_reader.h"
#include "collect/process/sandbox.h"

enum { MAX_ROOTS = 4096 };

/* The code around the last queried address, kept because most queries are about the same
 * function. */
struct cached_code {
	uint64_t start, end;
	bool with_symbols;
	const uint8_t *code;
	struct boundaries boundaries;
};

struct asked {
	struct module *module; /* NULL: the file could not be opened */
	struct decoder *decoder;
	struct cached_code range;
};

/* Number of call frame descriptions (FDEs) that begin at or before the address. */
static size_t fdes_before(struct module *m, uint64_t vaddr)
{
	struct module_fde fde;

	return lower_bound(i, module_nr_fdes(m), !module_fde(m, i, &fde) && fde.start <= vaddr);
}

static size_t functions_before(struct module *m, uint64_t vaddr)
{
	return lower_bound(i, module_nr_functions(m), module_function(m, i)->vaddr <= vaddr);
}

/*
 * Find the range of code around an address whose start is known to be an instruction: that of
 * the FDE that covers the address. If no FDE covers it, the range from the nearest function or
 * FDE before it to the next one after it.
 */
static int range_find(struct module *m, uint64_t vaddr, struct cached_code *r)
{
	size_t fde = fdes_before(m, vaddr), function;
	struct module_fde f;
	int err = module_segment(m, vaddr, &r->start, &r->end);

	if (err)
		return err;
	if (fde && !module_fde(m, fde - 1, &f)) {
		if (vaddr < f.end) {
			r->start = f.start;
			r->end = f.end;
			return 0;
		}
		r->start = f.end;
	}
	if (!module_fde(m, fde, &f) && f.start > vaddr && f.start < r->end)
		r->end = f.start;
	r->with_symbols = true;
	function = functions_before(m, vaddr);
	if (function && module_function(m, function - 1)->vaddr > r->start)
		r->start = module_function(m, function - 1)->vaddr;
	if (module_function(m, function) && module_function(m, function)->vaddr < r->end)
		r->end = module_function(m, function)->vaddr;
	if (r->end - r->start > BOUNDARY_MAX_RANGE)
		r->end = vaddr + INSN_MAX_LENGTH < r->end ? vaddr + INSN_MAX_LENGTH : r->end;
	return 0;
}

/* The starts of functions within the range: one FDE may cover several functions that are
 * written in assembly. */
static size_t roots_find(struct module *m, const struct cached_code *r, uint64_t *roots)
{
	size_t nr = 0, i = r->start ? functions_before(m, r->start - 1) : 0;
	const struct module_function *f;

	for (; nr < MAX_ROOTS && (f = module_function(m, i)) && f->vaddr < r->end; i++)
		roots[nr++] = f->vaddr;
	return nr;
}

static int range_load(struct asked *a, uint64_t vaddr, bool with_symbols)
{
	static uint64_t roots[MAX_ROOTS];
	struct cached_code *r = &a->range;
	size_t nr;
	int err;

	boundaries_release(&r->boundaries);
	*r = (struct cached_code){.with_symbols = with_symbols};
	err = range_find(a->module, vaddr, r);
	if (err)
		return err;
	nr = r->with_symbols ? roots_find(a->module, r, roots) : 0;
	r->code = module_code(a->module, r->start, (size_t)(r->end - r->start));
	r->boundaries = (struct boundaries){.start = r->start, .size = (size_t)(r->end - r->start)};
	err = r->code ? boundaries_init(&r->boundaries, a->decoder, r->code, roots, nr) : -EIO;
	if (err)
		*r = (struct cached_code){0};
	return err;
}

/* The answer for the start of an instruction, at an address of the cached range. */
static uint8_t with_length(const struct asked *a, enum boundary found, uint64_t vaddr)
{
	const struct cached_code *r = &a->range;
	size_t at = (size_t)(vaddr - r->start);
	struct insn insn;

	if (found == BOUNDARY_YES &&
	    !decode_insn(a->decoder, r->code + at, r->boundaries.size - at, vaddr, &insn))
		return (uint8_t)(found | (unsigned int)insn.length << CODE_READER_LENGTH_SHIFT);
	return (uint8_t)found;
}

static uint8_t answer(struct asked *a, uint64_t offset)
{
	struct cached_code *r = &a->range;
	enum boundary found;
	uint64_t vaddr;

	if (!a->module || !a->decoder)
		return BOUNDARY_NO_ANSWER;
	if (module_vaddr_of(a->module, offset, &vaddr))
		return BOUNDARY_NO_CODE;
	if ((vaddr < r->start || vaddr >= r->end) && range_load(a, vaddr, false))
		return BOUNDARY_NO_CODE;
	found = boundaries_check(&r->boundaries, a->decoder, r->code, vaddr);
	/* loading many symbols is slow: do it only if there is no answer without them */
	if (found == BOUNDARY_YES || r->with_symbols || range_load(a, vaddr, true))
		return with_length(a, found, vaddr);
	found = boundaries_check(&r->boundaries, a->decoder, r->code, vaddr);
	return with_length(a, found, vaddr);
}

int code_reader_serve(int socket, int fd)
{
	uint64_t offsets[CODE_READER_MAX_ASKED];
	uint8_t answers[CODE_READER_MAX_ASKED];
	struct asked a = {0};
	int err = sandbox_enter(SANDBOX_PARSER);

	if (err)
		return err;
	a.decoder = decoder_new();
	if (module_open(&a.module, fd))
		a.module = NULL;
	for (;;) {
		ssize_t got = recv(socket, offsets, sizeof(offsets), 0);
		size_t nr = got > 0 ? (size_t)got / sizeof(offsets[0]) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (!nr)
			break;
		for (size_t i = 0; i < nr; i++)
			answers[i] = answer(&a, offsets[i]);
		if (send(socket, answers, nr, MSG_NOSIGNAL) != (ssize_t)nr)
			break;
	}
	boundaries_release(&a.range.boundaries);
	module_free(a.module);
	decoder_free(a.decoder);
	return 0;
}
