// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * coverage FILE...: how many functions of each file the planner can watch, and with which pair of
 * places. One line of JSON a file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/code/coverage.h"
#include "analysis/code/source_module.h"

static int count(const char *path, struct module_coverage *c)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -1;
	struct module_source *source = NULL;
	struct module *module = NULL;
	struct placer *placer = NULL;

	if (fd < 0)
		return -1;
	if (!module_open(&module, fd))
		source = module_source_new(module);
	if (source)
		placer = placer_new(module_source(source), NULL);
	if (placer)
		err = coverage_module(placer, c);
	placer_free(placer);
	module_source_free(source);
	module_free(module);
	close(fd);
	return err;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	for (i = 1; i < argc; i++) {
		struct module_coverage c;

		memset(&c, 0, sizeof(c));
		if (count(argv[i], &c)) {
			fprintf(stderr, "coverage: cannot read %s\n", argv[i]);
			failed = 1;
			continue;
		}
		printf("{\"file\":\"%s\",\"functions\":%" PRIu64 ",\"watchable\":%" PRIu64
		       ",\"pairs\":%" PRIu64 ",\"entry_emulated\":%" PRIu64
		       ",\"entry_stepped\":%" PRIu64 ",\"only_direct\":%" PRIu64
		       ",\"only_direct_pairs\":%" PRIu64 "}\n",
		       argv[i], c.functions, coverage_watchable(&c), c.pairs, c.entry_emulated,
		       c.entry_stepped, c.only_direct, c.only_direct_pairs);
		fflush(stdout);
	}
	return failed;
}
