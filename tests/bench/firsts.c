// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firsts NAME SECONDS [WARM]: calls one function for so long, after WARM (0.05) seconds that do not
 * count, and prints what a call took.
 *
 * NAME: push, endbr, sub, mov: the first instruction of the function; with _direct or _pointer: how
 * it is called. `_leaf` in between: nothing but the call site's own instructions can be emulated by
 * the kernel; the others reach a conditional jump in a straight line, as compiled functions do. Or
 * getppid: a system call. The functions stand in assembler, so that no compiler changes them.
 */
#include "../targets/target.h"
#include <sys/syscall.h>

#define LEAF "mov $12, %ecx\n1: dec %ecx\njnz 1b\n"
#define BODY "test %edi, %edi\njs 2f\n" LEAF "2:\n"
#define FUNCTION(name, first, body, last)                                                          \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name                               \
		",@function\n.p2align 4\n" #name ":\n.cfi_startproc\n" first body last             \
		"ret\n.cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n");               \
	void name(int positive)
#define PUSH "push %rbx\n.cfi_adjust_cfa_offset 8\n"
#define POP "pop %rbx\n.cfi_adjust_cfa_offset -8\n"
#define SUB "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
#define ADD "add $24, %rsp\n.cfi_adjust_cfa_offset -24\n"
#define MOV "mov %rdi, %rax\n"

FUNCTION(push_direct, PUSH, BODY, POP);
FUNCTION(push_pointer, PUSH, BODY, POP);
FUNCTION(endbr_direct, "endbr64\n" PUSH, BODY, POP);
FUNCTION(endbr_pointer, "endbr64\n" PUSH, BODY, POP);
FUNCTION(sub_direct, SUB, BODY, ADD);
FUNCTION(sub_pointer, SUB, BODY, ADD);
FUNCTION(mov_direct, MOV, BODY, "");
FUNCTION(mov_pointer, MOV, BODY, "");
FUNCTION(sub_leaf_direct, SUB, LEAF, ADD);
FUNCTION(mov_leaf_direct, MOV, LEAF, "");

enum { BATCH = 1000 };
static void (*volatile pointer)(int);

#define DIRECT(name)                                                                               \
	static void batch_##name(void)                                                             \
	{                                                                                          \
		int i;                                                                             \
                                                                                                   \
		for (i = 0; i < BATCH; i++) {                                                      \
			name(i);                                                                   \
			__asm__ volatile("nop");                                                   \
		}                                                                                  \
	}
DIRECT(push_direct)
DIRECT(endbr_direct)
DIRECT(sub_direct)
DIRECT(mov_direct)
DIRECT(sub_leaf_direct)
DIRECT(mov_leaf_direct)

static void batch_pointer(void)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		pointer(i);
		__asm__ volatile("nop");
	}
}

static void batch_getppid(void)
{
	int i;

	for (i = 0; i < BATCH; i++)
		syscall(SYS_getppid);
}

static const struct {
	const char *name;
	void (*batch)(void);
	void (*pointer)(int);
} kinds[] = {
    {"push_direct", batch_push_direct, NULL},
    {"push_pointer", batch_pointer, push_pointer},
    {"endbr_direct", batch_endbr_direct, NULL},
    {"endbr_pointer", batch_pointer, endbr_pointer},
    {"sub_direct", batch_sub_direct, NULL},
    {"sub_pointer", batch_pointer, sub_pointer},
    {"mov_direct", batch_mov_direct, NULL},
    {"mov_pointer", batch_pointer, mov_pointer},
    {"sub_leaf_direct", batch_sub_leaf_direct, NULL},
    {"mov_leaf_direct", batch_mov_leaf_direct, NULL},
    {"getppid", batch_getppid, NULL},
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t seconds_arg(int argc, char **argv, int n, double fallback)
{
	return (uint64_t)((argc > n ? strtod(argv[n], NULL) : fallback) * 1e9);
}

int main(int argc, char **argv)
{
	uint64_t calls = 0, start, cpu, until;
	size_t i;

	target_begin(&argc, &argv);
	for (i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			break;
	if (argc < 2 || i == sizeof(kinds) / sizeof(kinds[0])) {
		fprintf(stderr, "firsts: NAME SECONDS [WARM]\n");
		return 2;
	}
	pointer = kinds[i].pointer;
	target_go();
	/* The first batches fill caches and tables of whoever watches. */
	for (until = now_ns() + seconds_arg(argc, argv, 3, 0.05); now_ns() < until;)
		kinds[i].batch();
	start = now_ns();
	cpu = cpu_ns();
	until = start + seconds_arg(argc, argv, 2, 1);
	while (now_ns() < until) {
		kinds[i].batch();
		calls += BATCH;
	}
	target_truth("{\"calls\":%llu,\"ns\":%.1f,\"wall_ns\":%.1f}", (unsigned long long)calls,
		     (double)(cpu_ns() - cpu) / (double)calls,
		     (double)(now_ns() - start) / (double)calls);
	return 0;
}
