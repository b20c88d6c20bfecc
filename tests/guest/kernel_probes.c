// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel_probes COUNT SEED: arms peaktop's probes in COUNT random functions of the kernel, one
 * after the other, while another process makes system calls, and removes them. For a guest: the
 * kernel that dies of it, or the process that stops, is the failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/attach.h"
#include "collect/kernel_names.h"
#include "collect/kernel_never.h"
#include "collect/kernel_side.h"
#include "collect/process/clock.h"

enum {
	MAX_FUNCTIONS = 1 << 18,
	SITE = 1,
	SLOT = 5,
	GATE = 2,    /* of kernel functions */
	PLACES = 96, /* bytes of a function in which an instruction is probed, too */
	STUCK_MS = 60000,
};

static char *functions[MAX_FUNCTIONS];
static size_t nr_functions;

static void functions_read(void)
{
	FILE *f = fopen("/sys/kernel/tracing/available_filter_functions", "re");
	char name[512];

	while (f && nr_functions < MAX_FUNCTIONS && fscanf(f, "%511s%*[^\n]", name) >= 1)
		if (!kernel_never_probed(name))
			functions[nr_functions++] = strdup(name);
	if (f)
		fclose(f);
}

/* Makes system calls of many kinds, for ever. */
static void work(volatile unsigned int *rounds)
{
	char name[] = "/tmp/kernel_probes.XXXXXX", byte = 0;
	int file = mkstemp(name), ends[2];
	struct stat st;

	for (;; (*rounds)++) {
		void *page =
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (page == MAP_FAILED || child < 0 || pipe(ends) ||
		    write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1 ||
		    pwrite(file, &byte, 1, 0) != 1 || pread(file, &byte, 1, 0) != 1 ||
		    fsync(file) || stat(name, &st) || waitpid(child, NULL, 0) != child)
			_exit(1);
		*(volatile char *)page = 1;
		munmap(page, 4096);
		close(ends[0]);
		close(ends[1]);
		poll(NULL, 0, 1);
	}
}

/* Wait until the worker has made another round. Returns false if it has ended or stands still. */
static bool goes_on(pid_t worker, const volatile unsigned int *rounds)
{
	const unsigned int before = *rounds;
	const uint64_t end = now_ns() + STUCK_MS * 1000000ull;

	while (*rounds - before < 2) {
		if (waitpid(worker, NULL, WNOHANG) || now_ns() > end)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

static void prepare(struct kernel_side *k)
{
	struct pt_control *c = kernel_side_control(k);

	c->host = c->nr_targets = 1;
	c->gate_ns[GATE] = 1;
	kernel_side_sites(k)[SITE] =
	    (struct pt_site){.start_slot = SLOT, .fuse = UINT64_MAX, .flags = PT_SITE_FNODE_CALL};
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0, whole = 0,
		     places = 0;
	volatile unsigned int *rounds =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kernel_side *k;
	pid_t worker;
	int err;

	srandom(argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 1);
	functions_read();
	err = kernel_side_new(&k, false);
	if (!err)
		err = kernel_side_load(k);
	if (err || !nr_functions || rounds == MAP_FAILED) {
		fprintf(stderr, "kernel_probes: cannot begin: %s, %zu functions\n", strerror(-err),
			nr_functions);
		return 1;
	}
	prepare(k);
	worker = fork();
	if (!worker)
		work(rounds);
	for (unsigned int i = 0; i < count; i++) {
		const char *name = functions[(size_t)random() % nr_functions];
		const uint64_t address = kernel_name_address(name);
		struct attachment exit = {0}, entry = {0}, place = {0};

		/* by address: the kernel takes long to find a name */
		whole += !attach_kernel(&exit, kernel_side_program(k, PROGRAM_KERNEL_EXIT), name,
					true, SITE) &&
			 !attach_kernel_place(&entry, kernel_side_program(k, PROGRAM_KERNEL_ENTRY),
					      NULL, address, SITE);
		places +=
		    !attach_kernel_place(&place, kernel_side_program(k, PROGRAM_KERNEL_SITE), NULL,
					 address + 1 + (uint64_t)random() % PLACES, SITE);
		if (!goes_on(worker, rounds)) {
			fprintf(stderr,
				"kernel_probes: a process stands still or has ended while "
				"%s is probed\n",
				name);
			return 1;
		}
		attachment_release(&place, true);
		attachment_release(&entry, true);
		attachment_release(&exit, true);
	}
	if (!goes_on(worker, rounds)) {
		fprintf(stderr, "kernel_probes: a process stands still or has ended\n");
		return 1;
	}
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	printf("functions %u\nplaces %u\nhits %llu\nrounds %u\n", whole, places,
	       (unsigned long long)kernel_side_sites(k)[SITE].hits, *rounds);
	kernel_side_free(k);
	return 0;
}
