// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rseq [CALLS [THREADS]]: count_one() adds to a counter of this CPU in a restartable sequence.
 *
 * A trap inside of the sequence makes the kernel restart it: with a probe there it would never get
 * through. So it gives up after a million restarts in a row, and the truth is then not ok.
 */
#include "target.h"
#include <pthread.h>
#include <sys/rseq.h>

enum { CPUS = 1024, GIVE_UP = 1000000 };

static struct {
	uint64_t n;
	char pad[56];
} counter[CPUS] __attribute__((aligned(64)));
static _Atomic uint64_t aborts, stuck;
static uint64_t calls;

/* 0: counted; 1: restarted. */
static inline int add_on_cpu(struct rseq *rs)
{
	uint32_t cpu = *(volatile uint32_t *)&rs->cpu_id_start;
	uint64_t *slot = &counter[cpu].n;

	__asm__ goto volatile(".pushsection __rseq_cs, \"aw\"\n\t"
			      ".balign 32\n\t"
			      "3: .long 0x0, 0x0\n\t"
			      ".quad 1f, 2f - 1f, 4f\n\t"
			      ".popsection\n\t"
			      "leaq 3b(%%rip), %%rax\n\t"
			      "movq %%rax, %[rseq_cs]\n\t"
			      "1:\n\t"
			      "cmpl %[cpu], %[current]\n\t"
			      "jnz 4f\n\t"
			      "movq (%[slot]), %%rax\n\t"
			      "nop\n\t"
			      "addq $1, %%rax\n\t"
			      "movq %%rax, (%[slot])\n\t"
			      "2:\n\t"
			      ".pushsection __rseq_failure, \"ax\"\n\t"
			      ".byte 0x0f, 0xb9, 0x3d\n\t"
			      ".long 0x53053053\n\t"
			      "4: jmp %l[restarted]\n\t"
			      ".popsection\n\t"
			      :
			      : [rseq_cs] "m"(rs->rseq_cs), [cpu] "r"(cpu),
				[current] "m"(rs->cpu_id), [slot] "r"(slot)
			      : "memory", "cc", "rax"
			      : restarted);
	return 0;
restarted:
	return 1;
}

WATCHED uint64_t count_one(uint64_t i)
{
	struct rseq *rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	uint64_t n = 0;

	while (add_on_cpu(rs)) {
		if (++n == GIVE_UP) {
			stuck++;
			break;
		}
	}
	if (n)
		aborts += n;
	return i + n;
}

static void *run(void *arg)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		KEEP(count_one(i));
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads, i, sum = 0;
	pthread_t ids[64];
	bool ok;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 100000);
	threads = target_arg(argc, argv, 2, 3);
	if (threads > 64)
		return 2;
	if (!__rseq_size) {
		printf("{\"skip\":\"the C library did not register restartable sequences\"}\n");
		return 0;
	}
	target_go();
	for (i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run, NULL);
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < CPUS; i++)
		sum += counter[i].n;
	ok = sum == calls * threads && !stuck;
	target_truth(
	    "{\"count_one\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"counted\":%llu,"
	    "\"restarts\":%llu,\"stuck\":%llu,\"ok\":%s}",
	    (unsigned long long)(calls * threads), (unsigned long long)(calls * threads),
	    (unsigned long long)sum, (unsigned long long)aborts, (unsigned long long)stuck,
	    ok ? "true" : "false");
	return ok ? 0 : 1;
}
