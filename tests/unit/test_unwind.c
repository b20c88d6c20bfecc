// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of this very process, through code without frame pointers, the
 * library, signals and other stacks, compared with backtrace() and with what
 * the functions are.
 */
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <cmocka.h>

#include "tests/unit/unwind_process.h"

#pragma GCC optimize("O2", "omit-frame-pointer", "no-optimize-sibling-calls")

enum { COPY = 64 << 10, MAX_TRACE = 200 };

#ifdef __SANITIZE_ADDRESS__
enum { SANITISED = 1 };
#else
enum { SANITISED = 0 };
#endif

#define NOINLINE __attribute__((noinline, noipa))

/* Registers by DWARF numbers, as they are when it has returned. */
void capture_registers(uint64_t *to);
asm(".pushsection .text\n"
    ".globl capture_registers\n"
    ".type capture_registers, @function\n"
    "capture_registers:\n"
    "	mov %rax, 0(%rdi)\n	mov %rdx, 8(%rdi)\n	mov %rcx, 16(%rdi)\n"
    "	mov %rbx, 24(%rdi)\n	mov %rsi, 32(%rdi)\n	mov %rdi, 40(%rdi)\n"
    "	mov %rbp, 48(%rdi)\n	lea 8(%rsp), %rax\n	mov %rax, 56(%rdi)\n"
    "	mov %r8, 64(%rdi)\n	mov %r9, 72(%rdi)\n	mov %r10, 80(%rdi)\n"
    "	mov %r11, 88(%rdi)\n	mov %r12, 96(%rdi)\n	mov %r13, 104(%rdi)\n"
    "	mov %r14, 112(%rdi)\n	mov %r15, 120(%rdi)\n	mov (%rsp), %rax\n"
    "	mov %rax, 128(%rdi)\n	ret\n"
    ".size capture_registers, .-capture_registers\n"
    ".popsection\n");

static struct process self;

/* The last capture. */
static struct capture {
	uint64_t registers[ROW_REGISTERS];
	char bytes[COPY];
	size_t n;
	void *trace[MAX_TRACE];
	int nr_trace;
} shot;
static struct unwind_stack stack;

static void copy_stack(struct capture *c)
{
	c->n = process_read(getpid(), c->registers[ROW_RSP], c->bytes, COPY);
}

/* To be expanded where the stack is to be looked at. */
#define SHOOT()                                                                                    \
	do {                                                                                       \
		shot.nr_trace = backtrace(shot.trace, MAX_TRACE);                                  \
		capture_registers(shot.registers);                                                 \
		copy_stack(&shot);                                                                 \
	} while (0)

/* Unwind the last capture, of which only `n` bytes are given, and maybe other memory. */
static void unwind_shot(size_t n, const struct unwind_memory *other)
{
	struct unwind_memory memory[2] = {{shot.registers[ROW_RSP], shot.bytes, n}};
	struct unwind_input in = {shot.registers, memory, other ? 2 : 1, self.map};

	if (other)
		memory[1] = *other;
	unwind(self.unwinder, &in, &stack);
}

static uint64_t address(unsigned int i)
{
	return process_address(&self, &stack.frames[i]);
}

/* All frames but the innermost are those of backtrace(). */
static uintptr_t trace(unsigned int i)
{
	/* The sanitiser's own backtrace() begins with itself. */
	unsigned int extra = (unsigned int)shot.nr_trace == stack.nr + 1;

	return (uintptr_t)shot.trace[i + extra];
}

static void same_as_backtrace(void)
{
	unsigned int i;

	assert_in_range(shot.nr_trace, stack.nr, stack.nr + SANITISED);
	assert_int_equal(address(0), shot.registers[ROW_RIP]);
	for (i = 1; i < stack.nr; i++)
		assert_int_equal(address(i), trace(i));
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
	assert_int_equal(stack.missing, 0);
}

static void cfas_go_up(unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) {
		assert_int_equal(stack.frames[i].cfa % 8, 0);
		assert_true(stack.frames[i].cfa > (i > from ? stack.frames[i - 1].cfa : 0));
	}
}

static const char *function(unsigned int i)
{
	assert_true(i < stack.nr);
	return process_function(&self, &stack.frames[i]);
}

static unsigned int index_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < stack.nr; i++)
		if (!strcmp(function(i), name))
			return i;
	fail_msg("%s is not in the stack", name);
	return 0;
}

/* ---- kinds of frames; each calls `next` ---- */

typedef int (*callee)(int);
static volatile int sink;
static uint64_t cfa_here; /* of the function that says so */

static NOINLINE int shoot(int n)
{
	SHOOT();
	return n + sink;
}

static NOINLINE int recursive(int n)
{
	int r;

	if (!n)
		return shoot(n);
	r = recursive(n - 1);
	return r * 3 + sink;
}

/* Has to keep everything over the call. */
static NOINLINE int saving(int n)
{
	int a = sink + 1, b = sink ^ n, c = sink * n, d = sink + 7, e = sink - n, f = sink;

	cfa_here = (uintptr_t)__builtin_dwarf_cfa();
	sink = recursive(n);
	return a + b * c - d + e * f + sink;
}

static NOINLINE int with_alloca(int n)
{
	volatile char *p = __builtin_alloca((size_t)(n + 1) * 40);

	p[n] = 1;
	return saving(n) + p[n];
}

static NOINLINE int realigned(int n)
{
	volatile char bytes[256] __attribute__((aligned(128)));

	bytes[n & 255] = 3;
	return with_alloca(n) + bytes[n & 255];
}

static NOINLINE int realigned_alloca(int n)
{
	volatile char bytes[64] __attribute__((aligned(64)));
	volatile char *p = __builtin_alloca((size_t)n + 100);

	bytes[n & 63] = 3;
	p[n] = 1;
	return realigned(n) + bytes[n & 63] + p[n];
}

static NOINLINE int large(int n)
{
	volatile char bytes[5000];

	bytes[n] = 1;
	return realigned_alloca(n) + bytes[n];
}

static NOINLINE int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	return large(a) + b + c + d + e + f + g + h + i + sink;
}

static NOINLINE int pushes_arguments(int n)
{
	return many_arguments(n, 1, 2, 3, sink, sink, 6, sink, n) * 2;
}

static void test_depths(void **state)
{
	int depth;

	for (depth = 0; depth < 60; depth++) {
		recursive(depth);
		unwind_shot(shot.n, NULL);
		same_as_backtrace();
		cfas_go_up(0, stack.nr);
		assert_string_equal(function(0), "shoot");
		assert_string_equal(function((unsigned int)depth + 1), "recursive");
		assert_string_equal(function((unsigned int)depth + 2), "test_depths");
		assert_int_equal(stack.frames[0].flags, 0);
		assert_int_equal(stack.frames[1].flags, UNWIND_CALLER);
	}
	assert_string_equal(function(stack.nr - 1), "_start");
}

static void test_kinds_of_frames(void **state)
{
	int n;

	for (n = 0; n < 5; n++) {
		pushes_arguments(n);
		unwind_shot(shot.n, NULL);
		same_as_backtrace();
		cfas_go_up(0, stack.nr);
		assert_int_equal(stack.frames[index_of("saving")].cfa, cfa_here);
		assert_int_equal(index_of("pushes_arguments"), n + 8);
	}
}

static void test_too_deep(void **state)
{
	recursive(300);
	unwind_shot(shot.n, NULL);
	assert_int_equal(stack.nr, UNWIND_MAX_FRAMES);
	assert_int_equal(stack.stop, UNWIND_LIMIT);
	assert_int_equal(stack.missing, 0);
	assert_string_equal(function(UNWIND_MAX_FRAMES - 1), "recursive");
}

/* Whatever is given, what is said is a beginning of the whole. */
static void test_short_copies(void **state)
{
	static struct unwind_stack whole;
	unsigned int last = 0;
	size_t n;

	pushes_arguments(3);
	unwind_shot(shot.n, NULL);
	whole = stack;
	for (n = 0; n < shot.n; n++) {
		unwind_shot(n, NULL);
		assert_true(stack.nr >= last && stack.nr <= whole.nr);
		last = stack.nr;
		assert_memory_equal(stack.frames, whole.frames,
				    (stack.nr - 1) * sizeof(stack.frames[0]));
		/* It ends at a return address that lies just below the CFA. */
		assert_int_equal(stack.frames[stack.nr - 1].offset,
				 whole.frames[stack.nr - 1].offset);
		if (stack.nr == whole.nr)
			break;
		assert_int_equal(stack.stop, UNWIND_END_OF_COPY);
		assert_true(stack.missing + 8 > shot.registers[ROW_RSP] + n);
		if (stack.frames[stack.nr - 1].cfa)
			assert_int_equal(stack.missing, stack.frames[stack.nr - 1].cfa - 8);
	}
	assert_true(n > 6000 && n < shot.n);
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
}

/* ---- through the library ---- */

static int nr_compared;

static NOINLINE int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (nr_compared++ == 5)
		SHOOT();
	return x < y ? -1 : x > y;
}

static NOINLINE int sort(int *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[0] + sink;
}

static void test_through_qsort(void **state)
{
	int values[] = {5, 3, 9, 1, 7, 7, 2, 8, 11, 4};
	unsigned int i, at, in_libc = 0;

	nr_compared = 0;
	sort(values, sizeof(values) / sizeof(values[0]));
	unwind_shot(shot.n, NULL);
	same_as_backtrace();
	assert_string_equal(function(0), "compare");
	at = index_of("sort");
	assert_true(at >= 2);
	for (i = 1; i < at; i++)
		in_libc += strstr(self.path[stack.frames[i].module], "libc") != NULL;
	assert_in_range(in_libc, at - 1 - SANITISED, at - 1);
	assert_non_null(strstr(function(at - 1), "qsort"));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void once_only(void)
{
	shoot(1);
}

static void *thread(void *arg)
{
	pthread_once(&once, once_only);
	return arg;
}

static void test_thread(void **state)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	unwind_shot(shot.n, NULL);
	same_as_backtrace();
	assert_string_equal(function(index_of("once_only") + 2), "thread");
	assert_true(stack.nr >= 6);
}

static ucontext_t outside, inside;
static char coroutine_stack[64 << 10];

static void coroutine(void)
{
	saving(2);
	swapcontext(&inside, &outside);
}

static void test_coroutine(void **state)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = coroutine_stack;
	inside.uc_stack.ss_size = sizeof(coroutine_stack);
	inside.uc_link = NULL;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	/* The copy goes on into what lies behind that stack. */
	unwind_shot(shot.n, NULL);
	same_as_backtrace();
	assert_string_equal(function(5), "coroutine");
	assert_true(stack.nr <= 7);
}

/* ---- signals ---- */

static void handler(int sig)
{
	shoot(sig);
}

static NOINLINE int raising(int n)
{
	raise(SIGUSR1);
	return n + sink;
}

/* Interrupted at an instruction of its own, before and after it has made its frame. */
int trapping(int n);
asm(".pushsection .text\n"
    ".globl trapping\n"
    ".type trapping, @function\n"
    "trapping:\n"
    "	.cfi_startproc\n"
    "	int3\n"
    "	push %rbx\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	.cfi_rel_offset rbx, 0\n"
    "	int3\n"
    "	xor %ebx, %ebx\n"
    "	sub $40, %rsp\n"
    "	.cfi_adjust_cfa_offset 40\n"
    "	int3\n"
    "	add $40, %rsp\n"
    "	.cfi_adjust_cfa_offset -40\n"
    "	pop %rbx\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	.cfi_restore rbx\n"
    "	int3\n"
    "	mov %edi, %eax\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size trapping, .-trapping\n"
    ".popsection\n");

static NOINLINE int calls_trapping(int n)
{
	int a = sink + n, b = sink * n + 1;

	return trapping(n) + a * b;
}

static void on(int sig, void (*f)(int), int flags)
{
	struct sigaction a = {.sa_handler = f, .sa_flags = flags};

	assert_int_equal(sigaction(sig, &a, NULL), 0);
}

static void test_signal(void **state)
{
	unsigned int at;

	on(SIGUSR1, handler, 0);
	raising(1);
	unwind_shot(shot.n, NULL);
	same_as_backtrace();
	cfas_go_up(0, stack.nr);
	assert_string_equal(function(1), "handler");
	assert_int_equal(stack.frames[2].flags, UNWIND_SIGNAL);
	/* The frame after it was interrupted; it is in libc's raise(). */
	assert_int_equal(stack.frames[3].flags, 0);
	assert_int_equal(stack.frames[4].flags, UNWIND_CALLER);
	at = index_of("raising");
	assert_string_equal(function(at - 1), "raise");
}

static unsigned int nr_traps;

static NOINLINE void trap_handler(int sig)
{
	nr_traps++;
	SHOOT();
	unwind_shot(shot.n, NULL);
	same_as_backtrace();
	assert_string_equal(function(0), "trap_handler");
	assert_int_equal(stack.frames[1].flags, UNWIND_SIGNAL);
	assert_string_equal(function(2), "trapping");
	assert_string_equal(function(3), "calls_trapping");
	assert_string_equal(function(4), "test_signal_at_edges");
	/* One activation, wherever in it. */
	if (nr_traps == 1)
		cfa_here = stack.frames[2].cfa;
	assert_int_equal(stack.frames[2].cfa, cfa_here);
}

static void test_signal_at_edges(void **state)
{
	nr_traps = 0;
	on(SIGTRAP, trap_handler, 0);
	calls_trapping(4);
	on(SIGTRAP, SIG_DFL, 0);
	assert_int_equal(nr_traps, 4);
}

static char signal_stack[64 << 10];

/* The stack that was left, as the collector might copy it: from the interrupted rsp. */
static struct unwind_memory copy_other(uint64_t from)
{
	static char bytes[COPY];

	return (struct unwind_memory){from, bytes, process_read(getpid(), from, bytes, COPY)};
}

static struct unwind_memory other;
static uint64_t other_from;

static void info_handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	other_from = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
	other = copy_other(other_from);
	shoot(sig);
}

static void test_signal_on_another_stack(void **state)
{
	struct sigaction a = {.sa_sigaction = info_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t alternate = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)}, none = {0};
	uint64_t interrupted;
	unsigned int nr;

	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &a, NULL), 0);
	raising(1);
	none.ss_flags = SS_DISABLE;
	assert_int_equal(sigaltstack(&none, NULL), 0);

	unwind_shot(shot.n, &other);
	same_as_backtrace();
	nr = stack.nr;
	interrupted = address(3);
	assert_string_equal(function(1), "info_handler");
	assert_int_equal(stack.frames[2].flags, UNWIND_SIGNAL);
	assert_int_equal(stack.frames[2].cfa, other_from);
	cfas_go_up(0, 2);
	cfas_go_up(3, nr);

	/* With the signal stack alone: up to where it was interrupted, and what is missing. */
	unwind_shot((size_t)(signal_stack + sizeof(signal_stack) -
			     (char *)(uintptr_t)shot.registers[ROW_RSP]),
		    NULL);
	assert_int_equal(stack.stop, UNWIND_END_OF_COPY);
	assert_int_equal(stack.nr, 4);
	assert_int_equal(address(3), interrupted);
	assert_true(stack.missing >= other_from && stack.missing < other_from + 1024);
	assert_int_equal(stack.missing, stack.frames[3].cfa - 8);
}

/* The kernel's own interface: the code to return to is ours and has no call frame information. */
void our_restorer(void);
void our_restorer_eax(void);
asm(".pushsection .text\n"
    "	nop\n"
    "	.cfi_startproc\n" /* whoever looks before it finds a wrong rule */
    "	.cfi_def_cfa_offset 8000\n"
    "	nop\n"
    "	.cfi_endproc\n"
    ".globl our_restorer\n.type our_restorer, @function\n"
    "our_restorer:\n"
    "	mov $15, %rax\n	syscall\n"
    ".size our_restorer, .-our_restorer\n"
    ".globl our_restorer_eax\n.type our_restorer_eax, @function\n"
    "our_restorer_eax:\n"
    "	mov $15, %eax\n	syscall\n"
    ".size our_restorer_eax, .-our_restorer_eax\n"
    "	nop\n"
    ".popsection\n");

/* Nothing but our own unwinder is asked. */
static void quiet_handler(int sig)
{
	capture_registers(shot.registers);
	copy_stack(&shot);
}

static void with_restorer(void (*restorer)(void), const char *name)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} a = {quiet_handler, 0x04000000 /* SA_RESTORER */, restorer, 0};
	unsigned int i, at;

	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR1, &a, NULL, 8), 0);
	raising(2);
	unwind_shot(shot.n, NULL);
	assert_string_equal(function(0), "quiet_handler");
	assert_string_equal(function(1), name);
	assert_int_equal(stack.frames[1].flags, UNWIND_SIGNAL);
	at = index_of("raising");
	assert_string_equal(function(at - 1), "raise");
	assert_string_equal(function(at + 1), "with_restorer");
	for (i = 2; i < stack.nr; i++)
		assert_false(stack.frames[i].flags & UNWIND_GUESSED);
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
}

static void test_restorer_without_cfi(void **state)
{
	with_restorer(our_restorer, "our_restorer");
	with_restorer(our_restorer_eax, "our_restorer_eax");
}

/* ---- code without call frame information ---- */

/* Keeps a frame pointer. */
int pointer_keeper(callee next, int n);
/* Neither keeps one nor says where its frame is. */
int secretive(callee next, int n);
asm(".pushsection .text\n"
    ".globl pointer_keeper\n.type pointer_keeper, @function\n"
    "pointer_keeper:\n"
    "	push %rbp\n	mov %rsp, %rbp\n	push %rbx\n	sub $24, %rsp\n"
    "	mov %rdi, %rax\n	mov %esi, %edi\n	call *%rax\n"
    "	add $24, %rsp\n	pop %rbx\n	pop %rbp\n	ret\n"
    ".size pointer_keeper, .-pointer_keeper\n"
    ".globl secretive\n.type secretive, @function\n"
    "secretive:\n"
    "	push %rbp\n	mov $0x1234, %ebp\n	sub $32, %rsp\n"
    "	mov %rdi, %rax\n	mov %esi, %edi\n	call *%rax\n"
    "	add $32, %rsp\n	pop %rbp\n	ret\n"
    ".size secretive, .-secretive\n"
    ".popsection\n");

static NOINLINE int calls_keeper(int n)
{
	int a = sink + n;

	return pointer_keeper(recursive, n) + a;
}

static NOINLINE int calls_secretive(int n)
{
	int a = sink + n;

	return secretive(recursive, n) + a;
}

static void test_frame_pointers(void **state)
{
	unsigned int at, i;

	calls_keeper(2);
	unwind_shot(shot.n, NULL);
	at = index_of("pointer_keeper");
	assert_int_equal(at, 4);
	assert_int_equal(stack.frames[at].flags, UNWIND_CALLER);
	assert_string_equal(function(at + 1), "calls_keeper");
	assert_int_equal(stack.frames[at + 1].flags, UNWIND_CALLER | UNWIND_GUESSED);
	/* Its caller saved rbx, so that it can go on. */
	assert_string_equal(function(at + 2), "test_frame_pointers");
	for (i = at + 2; i < stack.nr; i++)
		assert_int_equal(stack.frames[i].flags, UNWIND_CALLER);
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
	cfas_go_up(0, stack.nr);
}

static void test_no_way_on(void **state)
{
	calls_secretive(2);
	unwind_shot(shot.n, NULL);
	assert_string_equal(function(stack.nr - 1), "secretive");
	assert_int_equal(stack.nr, 5);
	assert_int_equal(stack.stop, UNWIND_NO_CFI);
	assert_int_equal(stack.frames[4].cfa, 0);
	assert_int_equal(stack.missing, 0);
}

/* Code that no file holds. */
static unsigned char *make_code(const void *bytes, size_t n)
{
	unsigned char *page =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	memcpy(page + 64, bytes, n);
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	return page + 64;
}

static void test_made_code(void **state)
{
	/* push rbp; mov rbp, rsp; mov rax, rdi; mov edi, esi; call rax; pop rbp; ret */
	static const unsigned char keeps[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
					      0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
	/* push rbp; mov ebp, 16; mov rax, rdi; mov edi, esi; call rax; pop rbp; ret */
	static const unsigned char hides[] = {0x55, 0xbd, 16,	0,    0,    0,	  0x48, 0x89,
					      0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
	unsigned char *code = make_code(keeps, sizeof(keeps));

	((int (*)(callee, int))(uintptr_t)code)(recursive, 1);
	unwind_shot(shot.n, NULL);
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
	assert_int_equal(stack.frames[3].module, 0);
	assert_int_equal(stack.frames[3].offset, (uintptr_t)code + 11);
	assert_int_equal(stack.frames[3].function, 0);
	assert_int_equal(stack.frames[3].flags, UNWIND_CALLER);
	assert_string_equal(function(4), "test_made_code");
	assert_int_equal(stack.frames[4].flags, UNWIND_CALLER | UNWIND_GUESSED);
	munmap(code - 64, 4096);

	code = make_code(hides, sizeof(hides));
	((int (*)(callee, int))(uintptr_t)code)(recursive, 1);
	unwind_shot(shot.n, NULL);
	/* without a frame pointer its caller is found by the stack: the way from there leads to the
	 * bottom */
	assert_int_equal(stack.stop, UNWIND_BOTTOM);
	assert_int_equal(stack.frames[3].offset, (uintptr_t)code + 13);
	assert_string_equal(function(4), "test_made_code");
	assert_int_equal(stack.frames[4].flags, UNWIND_CALLER | UNWIND_GUESSED);
	for (unsigned int i = 5; i < stack.nr; i++)
		assert_int_equal(stack.frames[i].flags, UNWIND_CALLER);
	cfas_go_up(0, stack.nr);
	/* without the whole stack nothing proves that way: the frames end there */
	unwind_shot((size_t)(stack.frames[4].cfa - shot.registers[ROW_RSP]), NULL);
	assert_int_equal(stack.nr, 4);
	assert_int_not_equal(stack.stop, UNWIND_BOTTOM);
	munmap(code - 64, 4096);
}

/* ---- what is kept ---- */

static void test_kept(void **state)
{
	unsigned int asked, i;

	recursive(12);
	unwind_shot(shot.n, NULL);
	same_as_backtrace();
	asked = self.asked;
	for (i = 0; i < 1000; i++)
		unwind_shot(shot.n, NULL);
	same_as_backtrace();
	/* Everything was known: no module was needed. */
	assert_int_equal(self.asked, asked);
	unwinder_forget(self.unwinder, stack.frames[0].module);
	unwind_shot(shot.n, NULL);
	assert_true(self.asked > asked);
	same_as_backtrace();
}

static int setup(void **state)
{
	void *warm[4];

	backtrace(warm, 4); /* loads libgcc_s */
	return process_begin(&self, getpid()) ? 0 : -1;
}

static int teardown(void **state)
{
	process_end(&self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_depths),
	    cmocka_unit_test(test_kinds_of_frames),
	    cmocka_unit_test(test_too_deep),
	    cmocka_unit_test(test_short_copies),
	    cmocka_unit_test(test_through_qsort),
	    cmocka_unit_test(test_thread),
	    cmocka_unit_test(test_coroutine),
	    cmocka_unit_test(test_signal),
	    cmocka_unit_test(test_signal_at_edges),
	    cmocka_unit_test(test_signal_on_another_stack),
	    cmocka_unit_test(test_restorer_without_cfi),
	    cmocka_unit_test(test_frame_pointers),
	    cmocka_unit_test(test_no_way_on),
	    cmocka_unit_test(test_made_code),
	    cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
