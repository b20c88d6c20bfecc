// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * patched HOW [before|later [PAUSE_US]]: calls request(), which calls serve() and with_nops(), all
 * the time, with a pause (500 us) after 16 calls, and checks each result. It patches its own code:
 *
 *	none	nothing: the control
 *	serve	the first 5 bytes of serve() become a jump to serve_new(), which returns the same
 *	nops	the nops of with_nops() (-fpatchable-function-entry) become a call of hook()
 *	request	the first 5 bytes of request() become a jump to request_new()
 *	trap	the first byte of serve() becomes a breakpoint, whose handler goes on in serve_new()
 *
 * With `before` it does so before it is `ready`. Commands on standard input: "patch" and "restore"
 * (the bytes that it found when it patched), answered by "patched" and "restored"; "stop": the
 * truth. The thread that calls these functions patches them itself, between two calls.
 */
#include "target.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { NOTHING, PATCH, RESTORE, STOP };
enum { JUMP = 0xe9, CALL = 0xe8, BREAKPOINT = 0xcc, BYTES = 5 };

static atomic_int wanted;
static atomic_ullong hooked, replaced;
static unsigned char saved[BYTES];

/* Assembly: the first five bytes are whole instructions that do not depend on their address. */
__asm__(".text\n.p2align 4\n.globl serve\n.type serve,@function\n"
	"serve: .cfi_startproc\n"
	"	push %rbx\n	.cfi_def_cfa_offset 16\n	.cfi_offset %rbx, -16\n"
	"	mov %rdi, %rbx\n	xor %eax, %eax\n"
	"	lea 3(%rbx), %rax\n"
	"	pop %rbx\n	.cfi_def_cfa_offset 8\n	.cfi_restore %rbx\n	ret\n"
	"	.cfi_endproc\n.size serve,.-serve\n");
uint64_t serve(uint64_t x);

WATCHED __attribute__((patchable_function_entry(5, 0))) uint64_t with_nops(uint64_t x)
{
	KEEP(x);
	return x * 3;
}

__attribute__((used)) static void count_hook(void)
{
	atomic_fetch_add(&hooked, 1);
}

/* Called in front of a function's first instruction: changes no register but flags. */
__asm__(
    ".text\n.type hook,@function\nhook:\n"
    "	push %rax\n	push %rcx\n	push %rdx\n	push %rsi\n	push %rdi\n	push %r8\n"
    "	push %r9\n	push %r10\n	push %r11\n	call count_hook\n"
    "	pop %r11\n	pop %r10\n	pop %r9\n	pop %r8\n	pop %rdi\n	pop %rsi\n"
    "	pop %rdx\n	pop %rcx\n	pop %rax\n	ret\n.size hook,.-hook\n");
extern char hook[] __attribute__((visibility("hidden")));

WATCHED uint64_t serve_new(uint64_t x)
{
	atomic_fetch_add(&replaced, 1);
	return x + 3;
}

WATCHED uint64_t request(uint64_t x)
{
	uint64_t a = serve(x);

	burn_ns(20000);
	return a + with_nops(x);
}

WATCHED uint64_t request_new(uint64_t x)
{
	atomic_fetch_add(&replaced, 1);
	return x + 3 + with_nops(x);
}

static void write_code(unsigned char *at, const unsigned char *bytes, size_t n)
{
	unsigned char *page = (unsigned char *)((uintptr_t)at & ~UINT64_C(4095));
	size_t size = (size_t)(at - page) + n > 4096 ? 8192 : 4096;

	if (mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mprotect");
	memcpy(at, bytes, n);
	if (mprotect(page, size, PROT_READ | PROT_EXEC))
		die("mprotect");
}

static void go_on_elsewhere(int signal, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)signal;
	(void)info;
	if (u->uc_mcontext.gregs[REG_RIP] != (greg_t)(uintptr_t)serve + 1)
		abort();
	u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)serve_new;
}

struct place {
	unsigned char *at;
	unsigned char opcode;
	const char *to;
};

static void patch(const struct place *p)
{
	unsigned char code[BYTES] = {p->opcode};
	int32_t distance = (int32_t)((intptr_t)p->to - (intptr_t)p->at - BYTES);

	memcpy(saved, p->at, sizeof(saved));
	memcpy(code + 1, &distance, sizeof(distance));
	write_code(p->at, code, p->opcode == BREAKPOINT ? 1 : sizeof(code));
}

static void *commands(void *unused)
{
	char line[64];

	(void)unused;
	while (fgets(line, sizeof(line), stdin)) {
		int want = !strncmp(line, "patch", 5)	  ? PATCH
			   : !strncmp(line, "restore", 7) ? RESTORE
							  : STOP;

		atomic_store(&wanted, want);
		if (want == STOP)
			break;
	}
	atomic_store(&wanted, STOP);
	return NULL;
}

static struct place place_of(const char *how)
{
	if (!strcmp(how, "serve"))
		return (struct place){(unsigned char *)serve, JUMP, (char *)serve_new};
	if (!strcmp(how, "nops"))
		return (struct place){(unsigned char *)with_nops, CALL, hook};
	if (!strcmp(how, "request"))
		return (struct place){(unsigned char *)request, JUMP, (char *)request_new};
	if (!strcmp(how, "trap")) {
		struct sigaction action = {.sa_sigaction = go_on_elsewhere, .sa_flags = SA_SIGINFO};

		sigaction(SIGTRAP, &action, NULL);
		return (struct place){(unsigned char *)serve, BREAKPOINT, (char *)serve_new};
	}
	return (struct place){0};
}

static void obey(const struct place *p, int want)
{
	atomic_store(&wanted, NOTHING);
	if (want == PATCH && p->at)
		patch(p);
	if (want == RESTORE && p->at)
		write_code(p->at, saved, sizeof(saved));
	puts(want == PATCH ? "patched" : "restored");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t calls = 0, wrong = 0, pause_us;
	struct place p;
	pthread_t thread;
	int want;

	target_begin(&argc, &argv);
	p = place_of(argc > 1 ? argv[1] : "none");
	if (argc > 2 && !strcmp(argv[2], "before") && p.at)
		patch(&p);
	pause_us = target_arg(argc, argv, 3, 500);
	target_go();
	if (pthread_create(&thread, NULL, commands, NULL))
		die("pthread_create");
	do {
		wrong += request(calls) != calls + 3 + calls * 3;
		calls++;
		if (calls % 16 == 0)
			sleep_ns(pause_us * 1000);
		want = atomic_load(&wanted);
		if (want != STOP && want)
			obey(&p, want);
	} while (want != STOP);
	pthread_join(thread, NULL);
	target_truth("{\"calls\":%llu,\"hooked\":%llu,\"replaced\":%llu,\"ok\":%s}",
		     (unsigned long long)calls, (unsigned long long)hooked,
		     (unsigned long long)replaced, wrong ? "false" : "true");
	return 0;
}
