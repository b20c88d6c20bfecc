// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_chain SECONDS KIND [FILE]: a slow call waits for somebody who is at work himself.
 *   child   for a child, "worker", that runs
 *   file    for a mutex, whose holder "keeper" waits for a file to be on the disk, and then until
 *           HELD_MS have passed, so that a disk of varying speed makes one peak
 */
#include "culprit_kinds.h"

enum { WORK_US = 4000, BLOCK = 256 << 10, HELD_MS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *path = "culprit_chain.data";
static int ask[2], held[2], file;

static void child_serve(uint64_t i)
{
	pid_t pid = child_run("worker");
	int status;

	if (!pid) {
		SPIN_US(WORK_US);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	KEEP(i);
}

/* It holds the mutex while it waits for the disk. */
static void *keep(void *nothing)
{
	static char block[BLOCK];
	uint64_t from, took;

	name_thread("keeper");
	for (;;) {
		byte_take(ask[0]);
		pthread_mutex_lock(&mutex);
		byte_send(held[1]);
		from = now_ns();
		for (int k = 0; k < 3; k++) {
			block[0]++;
			if (pwrite(file, block, sizeof(block), 0) < 0 || fsync(file))
				die("fsync");
		}
		took = now_ns() - from;
		if (took < HELD_MS * 1000000ull)
			sleep_ns(HELD_MS * 1000000ull - took);
		pthread_mutex_unlock(&mutex);
	}
	return nothing;
}

static void file_begin(void)
{
	file = open(path, O_RDWR | O_CREAT, 0600);
	if (file < 0 || pipe(ask) || pipe(held))
		die(path);
	thread_run(keep);
}

static void file_before(void)
{
	byte_send(ask[1]);
	byte_take(held[0]);
}

static void file_serve(uint64_t i)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	KEEP(i);
}

int main(int argc, char **argv)
{
	static const struct kind kinds[] = {{"child", NULL, NULL, child_serve},
					    {"file", file_begin, file_before, file_serve}};

	if (kind_choose(&argc, &argv, kinds, sizeof(kinds) / sizeof(kinds[0]), &path))
		return 2;
	return culprit_run(argc, argv, request, 500);
}
