// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blockio [READS [SYNCS [RUNS]]]: O_DIRECT reads of 4 KB and fsynced writes in a temporary file
 * ($TMPDIR or /tmp), in any order, then RUNS O_DIRECT reads of 512 KB one behind the other. Every
 * read is at least one block request, every fsync too.
 */
#include "target.h"
#include <fcntl.h>

enum { BLOCK = 4096, BLOCKS = 1024, RUN = 128 };

WATCHED void direct_read(int fd, void *buffer, uint64_t block)
{
	if (pread(fd, buffer, BLOCK, (off_t)(block * BLOCK)) != BLOCK)
		die("pread");
}

WATCHED void synced_write(int fd, const void *buffer, uint64_t block)
{
	if (pwrite(fd, buffer, BLOCK, (off_t)(block * BLOCK)) != BLOCK || fsync(fd) < 0)
		die("write");
}

int main(int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");
	uint64_t reads, syncs, runs, i, seed = 7;
	char path[4096];
	void *buffer;
	int fd, direct;

	target_begin(&argc, &argv);
	reads = target_arg(argc, argv, 1, 1000);
	syncs = target_arg(argc, argv, 2, 50);
	runs = target_arg(argc, argv, 3, 0);
	snprintf(path, sizeof(path), "%s/peaktop-blockio.XXXXXX", dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		die(path);
	if (posix_memalign(&buffer, BLOCK, RUN * BLOCK))
		return 3;
	memset(buffer, 'x', RUN * BLOCK);
	for (i = 0; i < BLOCKS; i++)
		if (write(fd, buffer, BLOCK) != BLOCK)
			die("write");
	fsync(fd);
	direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	unlink(path);
	if (direct < 0) {
		printf("{\"skip\":\"no O_DIRECT there\"}\n");
		return 0;
	}
	target_go();
	for (i = 0; i < reads; i++)
		direct_read(direct, buffer, draw(&seed) % BLOCKS);
	for (i = 0; i < syncs; i++)
		synced_write(fd, buffer, draw(&seed) % BLOCKS);
	for (i = 0; i < runs; i++)
		if (pread(direct, buffer, RUN * BLOCK, (off_t)(i * RUN % BLOCKS * BLOCK)) !=
		    RUN * BLOCK)
			die("pread");
	target_truth(
	    "{\"direct_read\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
	    "\"synced_write\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
	    (unsigned long long)reads, (unsigned long long)reads, (unsigned long long)syncs,
	    (unsigned long long)syncs);
	return 0;
}
