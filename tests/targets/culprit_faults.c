// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that was given back is touched again: page faults. */
#include <sys/mman.h>

#include "culprit.h"

enum { PAGES = 2000 };

static char *memory;

WATCHED void touch(uint64_t pages)
{
	uint64_t k;

	for (k = 0; k < pages; k++)
		((volatile char *)memory)[k * 4096] = 1;
	KEEP(bystander(k));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	touch(i % 4 ? 20 : PAGES);
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	madvise(memory, PAGES * 4096, MADV_DONTNEED);
	serve(i);
}

int main(int argc, char **argv)
{
	memory =
	    mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE);
	return culprit_run(argc, argv, request, 300);
}
