// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF files with lies in them, and maps of code made at run time: every question that the parser
 * worker asks of a module. */
#include "tests/fuzz/fuzz.h"

#include "analysis/base/parameters.h"
#include "analysis/module/module.h"
#include "analysis/module/module_row.h"

enum { ASKED = 200 };

static void ask_function(struct module *m, const struct module_function *f)
{
	const struct module_function *found[8];
	uint64_t start, end, offset, vaddr;
	size_t i;

	must(f->size > 0);
	must(strlen(module_function_name(m, f)) > 0);
	for (i = 0; i < 4 && module_alias(m, f, i); i++)
		;
	for (i = 0; i < 3 && !module_cold_part(m, f, i, &start, &end); i++)
		must(start < end);
	must(!module_offset_of(m, f->vaddr, &offset) && offset == f->offset);
	must(!module_vaddr_of(m, offset, &vaddr));
	if (f->ifunc)
		module_ifunc_targets(m, f, found, 8);
	if (f->symbol)
		module_find(m, f->symbol, found, 8);
}

static void ask_address(struct module *m, uint64_t vaddr)
{
	struct module_inline inlines[8];
	struct module_fde fde;
	struct cfa cfa;
	struct row row;
	const char *file;
	uint64_t start, end;
	uint32_t line;
	int i, n;

	module_function_at(m, vaddr);
	module_code(m, vaddr, 16);
	if (!module_segment(m, vaddr, &start, &end))
		must(start <= vaddr && vaddr < end);
	if (!module_fde_at(m, vaddr, &fde))
		must(fde.start <= vaddr && vaddr < fde.end);
	module_cfa(m, vaddr, &cfa);
	module_row(m, vaddr, &row);
	module_plt_name(m, vaddr);
	module_slot_symbol(m, vaddr);
	if (!module_line(m, vaddr, &file, &line))
		must(file != NULL);
	n = module_inlines(m, vaddr, inlines, 8);
	for (i = 0; i < n && i < 8; i++)
		must(inlines[i].name != NULL);
}

static void ask_parameters(struct module *m, const struct module_function *f)
{
	struct buf text = {.max = PARAMETERS_MAX};
	struct parameter p;

	module_parameters(m, f, "p->n,arg1->name", &text);
	must(!text.err);
	for (unsigned int i = 0; i < PARAMETER_MEMBER && text.len; i++)
		must(parameters_entry(text.data, i, &p));
	for (unsigned int i = PARAMETER_MEMBER; i < PARAMETER_ENTRIES; i++)
		parameters_entry(text.data, i, &p);
	buf_release(&text);
}

static void ask(struct module *m)
{
	const struct module_function *found[16];
	size_t i, nr = module_nr_functions(m), cursor = 0, n;
	struct module_fde fde;
	uint64_t last = 0;

	for (i = 0; i < nr && i < ASKED; i++) {
		const struct module_function *f = module_function(m, i);

		must(f && (!i || f->vaddr > last));
		last = f->vaddr;
		must(f - module_function(m, 0) == (ptrdiff_t)i);
		ask_function(m, f);
		ask_address(m, f->vaddr);
		ask_address(m, f->vaddr + f->size / 2);
		ask_parameters(m, f);
	}
	must(!module_function(m, nr));
	for (i = 0; i < module_nr_fdes(m) && i < ASKED; i++) {
		must(!module_fde(m, i, &fde) && fde.start < fde.end);
		ask_address(m, fde.start);
		ask_address(m, fde.end - 1);
	}
	ask_address(m, 0);
	ask_address(m, UINT64_MAX);
	module_find(m, "main", found, 16);
	module_find(m, "+0x10", found, 16);
	module_nearest(m, "mian", found, NULL, 16);
	module_inlined_into(m, "in", found, 16);
	for (i = 0; i < 100 && cursor < nr; i++) {
		n = module_search(m, "a", &cursor, found, 16);
		must(n <= 16);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module *m;
	int fd = memory_file(data, size);

	if (!module_open(&m, fd)) {
		must(strlen(module_identity(m)->build_id) <= 2 * MODULE_MAX_BUILD_ID);
		module_set_name(m, "fuzzed");
		/* Its own debug file: the same build id, twice the lies. */
		if (size & 1)
			module_add_debug(m, fd);
		ask(m);
		module_free(m);
	} else if (size && data[0] != 0x7f && !module_open_perf_map(&m, fd)) {
		/* what is no ELF file may be a map of code made at run time */
		module_set_name(m, "perf-1.map");
		ask(m);
		module_free(m);
	}
	close(fd);
	return 0;
}
