// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/calibrate_helper.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/process/clock.h"
#include "collect/reader.h"
#include "collect/sites.h"

/*
 * Time many short rounds and take their lower quartile: on a busy host most long rounds would
 * be interrupted, and the best round is faster than what a target experiences.
 */
enum {
	ROUNDS = 60,
	LEAST_ROUNDS = 12,
	BATCHES = 4,
	BATCH_NS = 2000000, /* a batch that has the least number of rounds ends after this time */
	SWITCH_ROUNDS = 5,
	WARM_CALLS = 4,
	CACHES = 4 << 20, /* bytes to touch in order to replace the content of a CPU's caches */
	LINE = 64,
};

/*
 * An empty function for each class of instruction, with labels where the probes
 * go: on a nop of one byte (emulated) or on a mov (stepped), and on a nop behind
 * it for the end.
 */
asm(".text\n"
    ".p2align 4\n"
    ".type peaktop_calibrate_emulated, @function\n"
    ".globl peaktop_calibrate_emulated\n"
    ".hidden peaktop_calibrate_emulated\n"
    "peaktop_calibrate_emulated:\n"
    "	nop\n"
    ".globl peaktop_calibrate_emulated_end\n"
    ".hidden peaktop_calibrate_emulated_end\n"
    "peaktop_calibrate_emulated_end:\n"
    "	nop\n"
    "	ret\n"
    ".size peaktop_calibrate_emulated, . - peaktop_calibrate_emulated\n"
    ".p2align 4\n"
    ".type peaktop_calibrate_stepped, @function\n"
    ".globl peaktop_calibrate_stepped\n"
    ".hidden peaktop_calibrate_stepped\n"
    "peaktop_calibrate_stepped:\n"
    "	mov %rax, %rax\n"
    ".globl peaktop_calibrate_stepped_end\n"
    ".hidden peaktop_calibrate_stepped_end\n"
    "peaktop_calibrate_stepped_end:\n"
    "	nop\n"
    "	ret\n"
    ".size peaktop_calibrate_stepped, . - peaktop_calibrate_stepped\n");

static void helper_switches(int calls)
{
	int there[2], back[2];
	char byte = 0;
	pid_t child;

	if (pipe(there) || pipe(back))
		return;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* close the parent's ends: while they are open here, the parent's death goes
		 * unnoticed */
		close(there[1]);
		close(back[0]);
		for (int i = 0; i < calls && read(there[0], &byte, 1) == 1; i++) {
			if (write(back[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	for (int i = 0; child > 0 && i < calls; i++) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			break;
	}
	waitpid(child, NULL, 0);
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
}

/* Touch pages that were given back to the kernel. Returns the ns that this takes. */
static uint64_t helper_faults(int pages, bool writes)
{
	static volatile char *memory;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)pages * page;
	uint64_t start;

	if (!memory) {
		void *mapped =
		    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mapped == MAP_FAILED)
			_exit(1);
		memory = mapped;
		madvise(mapped, size, MADV_NOHUGEPAGE);
	}
	madvise((void *)(uintptr_t)memory, size, MADV_DONTNEED);
	start = now_ns();
	for (int i = 0; i < pages; i++) {
		if (writes)
			memory[(size_t)i * page] = 1;
		else
			(void)memory[(size_t)i * page];
	}
	return now_ns() - start;
}

/* The median time of calls with cold caches: before each call, other memory fills the caches. */
static uint64_t helper_cold(int calls)
{
	static volatile char *memory;
	uint64_t ns[COLD_CALLS], start;

	if (!memory) {
		void *mapped = mmap(NULL, CACHES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (mapped == MAP_FAILED)
			_exit(1);
		memory = mapped;
	}
	for (int i = 0; i < calls && i < COLD_CALLS; i++) {
		for (size_t at = 0; at < CACHES; at += LINE)
			memory[at]++;
		start = now_ns();
		peaktop_calibrate_emulated();
		ns[i] = now_ns() - start;
	}
	qsort(ns, (size_t)calls, sizeof(*ns), compare_u64);
	return ns[calls / 2];
}

static uint64_t helper_time(const struct calibration_order *o)
{
	uint64_t start;

	if (o->what == 3) {
		start = now_ns();
		helper_switches(o->calls);
		return now_ns() - start;
	}
	if (o->what == 4 || o->what == 6)
		return helper_faults(o->calls, o->what == 4);
	if (o->what == 5)
		return helper_cold(o->calls);
	start = now_ns();
	for (int i = 0; i < o->calls; i++) {
		if (o->what == SITE_EMULATED)
			peaktop_calibrate_emulated();
		else if (o->what == SITE_STEPPED)
			peaktop_calibrate_stepped();
		else
			syscall(SYS_getppid);
	}
	return now_ns() - start;
}

/*
 * The ns of a typical round: the lower quartile of a batch. If the quartile is far from the
 * best round, the batch was disturbed: try again, and take the best batch. What a round
 * takes differs by a factor of fifty between hosts (a page fault of some virtual machines).
 */
static uint64_t helper_typical(const struct calibration_order *o)
{
	/* a round of context switches begins with a fork, so it is long: do few */
	size_t rounds = o->what == 3 ? SWITCH_ROUNDS : o->what == 5 ? 1 : ROUNDS, done;
	uint64_t ns[ROUNDS], least = UINT64_MAX, best = UINT64_MAX, end;

	if (o->once) {
		helper_time(&(struct calibration_order){.what = o->what, .calls = WARM_CALLS});
		return helper_time(o);
	}

	for (int batch = 0; batch < BATCHES; batch++) {
		end = now_ns() + BATCH_NS;
		for (done = 0; done < rounds && (done < LEAST_ROUNDS || now_ns() < end); done++)
			ns[done] = helper_time(o);
		qsort(ns, done, sizeof(*ns), compare_u64);
		if (ns[0] < least)
			least = ns[0];
		if (ns[done / 4] < best)
			best = ns[done / 4];
		if (best - least <= least / 4)
			break;
	}
	return best;
}

/* The helper process. It closes all other descriptors, because it may briefly outlive the
 * other processes of peaktop. */
static void helper(int socket, pid_t parent)
{
	struct calibration_order o;
	uint64_t ns;

	prctl(PR_SET_NAME, "peaktop-measure");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || reader_close_all_but(socket))
		_exit(1);
	socket = 3;
	while (read(socket, &o, sizeof(o)) == (ssize_t)sizeof(o) && o.what >= 0) {
		ns = helper_typical(&o);
		if (write(socket, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
			break;
	}
	_exit(0);
}

int calibrate_helper_start(struct helper_process *h)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	h->pid = fork();
	if (h->pid == 0)
		helper(pair[1], parent);
	close(pair[1]);
	h->socket = pair[0];
	if (h->pid > 0)
		return 0;
	close(h->socket);
	return -EAGAIN;
}

void calibrate_helper_stop(struct helper_process *h)
{
	close(h->socket);
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
}

uint64_t calibrate_helper_order(const struct helper_process *h, const struct calibration_order *o)
{
	uint64_t ns = 0;

	if (write(h->socket, o, sizeof(*o)) != (ssize_t)sizeof(*o) ||
	    read(h->socket, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
		return 0;
	return ns;
}

uint64_t calibrate_helper_ask(const struct helper_process *h, int what, int calls)
{
	return calibrate_helper_order(h, &(struct calibration_order){.what = what, .calls = calls});
}
