// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_made: main() calls serve(), which calls code that it has made at run time, in memory of no
 * file, and that keeps no frame pointer; that calls compute(), where all time goes. Its map for
 * perf, /tmp/perf-PID.map, calls the made function "made_handler". Ends with a line on standard
 * input.
 */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

static _Atomic bool stop;

WATCHED void compute(void)
{
	volatile unsigned int i;

	for (i = 0; i < 200000; i++)
		;
}

/* push rbp; mov ebp, 16; call rdi; pop rbp; ret: whoever follows frame pointers is lost in it */
static const unsigned char made[] = {0x55, 0xbd, 16, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};

WATCHED uint64_t serve(void (*handler)(void (*)(void)), uint64_t calls)
{
	handler(compute);
	return calls + 1;
}

static void *wait_for_the_end(void *arg)
{
	target_wait_line();
	stop = true;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t calls = 0;
	pthread_t waiter;
	unsigned char *page;
	char path[64];
	FILE *map;

	target_begin(&argc, &argv);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 1;
	memcpy(page + 64, made, sizeof(made));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx made_handler\n", (unsigned long)(page + 64), sizeof(made));
	fclose(map);
	target_go();
	pthread_create(&waiter, NULL, wait_for_the_end, NULL);
	while (!stop)
		calls = serve((void (*)(void (*)(void)))(uintptr_t)(page + 64), calls);
	pthread_join(waiter, NULL);
	unlink(path);
	target_truth("{\"serve\":{\"calls\":%llu},\"ok\":true}", (unsigned long long)calls);
	return 0;
}
