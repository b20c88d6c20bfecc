// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * file_kinds [N]: reads 64 bytes N times, one time in ten from a pipe, into which another process
 * writes 3 ms after it was asked, else from a file; writes 64 bytes N times, one time in ten to a
 * file that was opened with O_DSYNC, all in $TMPDIR or /tmp.
 */
#include "target.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { BYTES = 64 };

static int file_new(int flags)
{
	const char *dir = getenv("TMPDIR");
	char path[4096], bytes[BYTES] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/peaktop-kinds.XXXXXX", dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC | flags);
	if (fd < 0 || unlink(path) || write(fd, bytes, BYTES) != BYTES)
		die(path);
	return fd;
}

/* Answer each byte after 3 ms, until nobody asks any more. */
static void answer(int questions, int answers)
{
	char bytes[BYTES] = "";

	while (read(questions, bytes, 1) == 1) {
		sleep_ns(3000000);
		if (write(answers, bytes, BYTES) != BYTES)
			break;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int file, synced, questions[2], answers[2];
	uint64_t n, i, seed = 5, piped = 0, flushed = 0;
	char bytes[BYTES];
	pid_t child;

	target_begin(&argc, &argv);
	n = target_arg(argc, argv, 1, 1000);
	file = file_new(0);
	synced = file_new(O_DSYNC);
	if (pipe2(questions, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		die("pipe2");
	child = fork();
	if (!child) {
		close(questions[1]);
		answer(questions[0], answers[1]);
	}
	target_go();
	for (i = 0; i < n; i++) {
		bool slow = !(draw(&seed) % 10);

		if (slow && write(questions[1], bytes, 1) != 1)
			die("write");
		if (!slow && lseek(file, 0, SEEK_SET))
			die("lseek");
		if (read(slow ? answers[0] : file, bytes, BYTES) != BYTES)
			die("read");
		piped += slow;
		slow = !(draw(&seed) % 10);
		if (pwrite(slow ? synced : file, bytes, BYTES, 0) != BYTES)
			die("pwrite");
		flushed += slow;
	}
	target_truth("{\"piped\":%llu,\"flushed\":%llu,\"ok\":true}", (unsigned long long)piped,
		     (unsigned long long)flushed);
	close(questions[1]);
	waitpid(child, NULL, 0);
	return 0;
}
