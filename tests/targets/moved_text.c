// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moved_text [CALLS] [KEEP]: copies its code to an anonymous mapping and moves this over the
 * original, as programs do that want their text in huge pages. With KEEP it does not: the control.
 * Then it calls serve(), which calls qsort_r() of libc, which calls back.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "target.h"

enum { VALUES = 200 };

static uint64_t served, disordered;

WATCHED int compare(const void *a, const void *b, void *unused)
{
	const uint64_t *x = a, *y = b;

	(void)unused;
	return *x < *y ? -1 : *x > *y;
}

WATCHED uint64_t serve(uint64_t i)
{
	uint64_t list[VALUES];

	for (uint64_t k = 0; k < VALUES; k++)
		list[k] = (i + k) * 0x9e3779b97f4a7c15;
	qsort_r(list, VALUES, sizeof(*list), compare, NULL);
	for (uint64_t k = 1; k < VALUES; k++)
		disordered += list[k - 1] > list[k];
	served++;
	return list[0];
}

/* [start, end) of the executable mapping that contains main(). */
static bool find_text(uintptr_t *start, uintptr_t *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], perms[5];
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %4s", start, end, perms) == 3 &&
			(uintptr_t)serve >= *start && (uintptr_t)serve < *end;
	if (maps)
		fclose(maps);
	return found;
}

static bool move_text(void)
{
	uintptr_t start, end;
	void *copy;

	if (!find_text(&start, &end))
		return false;
	copy = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return false;
	memcpy(copy, (const void *)start, end - start);
	/* mremap() returns to the copy, at the address from which it was called */
	return !mprotect(copy, end - start, PROT_READ | PROT_EXEC) &&
	       mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED,
		      (void *)start) == (void *)start;
}

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	uint64_t calls = target_arg(argc, argv, 1, 3000), sum = 0;

	if (argc < 3 && !move_text()) {
		perror("moved_text");
		return 1;
	}
	target_go();
	for (uint64_t i = 0; i < calls; i++)
		sum += serve(i);
	KEEP(sum);
	target_truth("{\"serve\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
		     (unsigned long long)served, (unsigned long long)served,
		     served == calls && !disordered ? "true" : "false");
	return 0;
}
