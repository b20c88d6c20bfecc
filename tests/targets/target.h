/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every test target shares.
 *
 * A target takes its counts as arguments, does work whose outcome it counts itself, and prints that
 * truth as one line of JSON. With -w as its first argument it prints `ready PID` first and waits
 * for a line (or end of file) on standard input, so that a test can attach; after the truth it
 * waits for another one, so that the test can ask before the process is gone.
 */
#ifndef TESTS_TARGET_H
#define TESTS_TARGET_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A function that tests watch: one copy, never inlined, its callers know nothing of its inside. */
#if defined(__GNUC__) && !defined(__clang__)
#define WATCHED __attribute__((noipa))
#else
#define WATCHED __attribute__((noinline))
#endif
/* Keeps a value, and with it the call that gave it, from being optimised away or turned into a
 * jump. */
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

static bool target_waits;

/* Takes -w off the arguments. */
static inline void target_begin(int *argc, char ***argv)
{
	if (*argc > 1 && strcmp((*argv)[1], "-w") == 0) {
		target_waits = true;
		(*argv)[1] = (*argv)[0];
		++*argv;
		--*argc;
	}
}

/* The n-th argument as a number, `fallback` where it is missing. */
static inline uint64_t target_arg(int argc, char **argv, int n, uint64_t fallback)
{
	return argc > n ? strtoull(argv[n], NULL, 0) : fallback;
}

/* One line from standard input; byte by byte, so that nothing is read ahead over an exec or fork.
 */
static inline void target_wait_line(void)
{
	char c;

	for (;;) {
		ssize_t n = read(STDIN_FILENO, &c, 1);

		if (n == 0 || (n == 1 && c == '\n') || (n < 0 && errno != EINTR))
			return;
	}
}

/* Everything is set up: let the test attach. */
static inline void target_go(void)
{
	if (!target_waits)
		return;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	target_wait_line();
}

/* The truth, one line of JSON, then the end of the test's attention. */
__attribute__((format(printf, 1, 2))) static inline void target_truth(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	if (target_waits)
		target_wait_line();
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec t;

	t.tv_sec = (time_t)(ns / 1000000000u);
	t.tv_nsec = (long)(ns % 1000000000u);
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* Uses this much CPU time of the calling thread, whatever else runs. */
static inline void burn_ns(uint64_t ns)
{
	struct timespec t;
	uint64_t from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	from = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	do {
		volatile int i;

		for (i = 0; i < 200; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	} while (now - from < ns);
}

/* A pseudo-random number; the same seed gives the same run. */
static inline uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1du;
}

static inline void die(const char *what)
{
	perror(what);
	exit(3);
}

#endif
