// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit [ROUNDS [CALLS]]: writes a function into anonymous memory, names it in /tmp/perf-PID.map,
 * calls it CALLS times within 20 ms by way of work(), and unmaps it, ROUNDS times. Checks each
 * result.
 */
#include "target.h"
#include <sys/mman.h>

WATCHED uint64_t work(uint64_t (*made)(uint64_t), uint64_t i)
{
	return made(i) + 1;
}

/* Returns its argument plus `add`. */
static uint64_t (*make(uint32_t add))(uint64_t)
{
	/* lea add(%rdi), %rax; ret */
	unsigned char code[] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		die("mmap");
	memcpy(code + 3, &add, sizeof(add));
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		die("mprotect");
	return (uint64_t(*)(uint64_t))page;
}

int main(int argc, char **argv)
{
	uint64_t rounds, calls, r, i, done = 0, wrong = 0;
	char path[64];
	FILE *map;

	target_begin(&argc, &argv);
	rounds = target_arg(argc, argv, 1, 50);
	calls = target_arg(argc, argv, 2, 50);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		die(path);
	target_go();
	for (r = 0; r < rounds; r++) {
		uint64_t (*made)(uint64_t) = make((uint32_t)r);

		fprintf(map, "%lx 8 made_%llu\n", (unsigned long)made, (unsigned long long)r);
		fflush(map);
		for (i = 0; i < calls; i++) {
			wrong += work(made, i) != i + r + 1;
			done++;
			sleep_ns(20000000 / calls);
		}
		munmap((void *)made, 4096);
	}
	target_truth("{\"work\":{\"calls\":%llu,\"wrong\":%llu},\"ok\":%s}",
		     (unsigned long long)done, (unsigned long long)wrong, wrong ? "false" : "true");
	fclose(map);
	unlink(path);
	return 0;
}
