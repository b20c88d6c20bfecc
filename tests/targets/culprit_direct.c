// SPDX-License-Identifier: GPL-2.0-or-later
/* culprit_direct SECONDS FILE: reads past the page cache (O_DIRECT), which wait for the device each
 * time. */
#include "culprit.h"

enum { BLOCK = 1 << 17, BLOCKS = 64 };

static int file;
static char *block;

WATCHED void fetch(uint64_t i)
{
	int k;

	for (k = 0; k < 8; k++)
		if (pread(file, block, BLOCK,
			  (off_t)((i * 7 + (uint64_t)k * 11) % BLOCKS * BLOCK)) != BLOCK)
			die("pread");
	KEEP(bystander(i));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 4 == 0)
		fetch(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[argc - 1] : "culprit_direct.data";
	int k;

	file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
	if (file < 0 && errno == EINVAL) {
		printf("{\"skip\":\"no O_DIRECT on the file system of %s\"}\n", path);
		return 0;
	}
	if (file < 0 || posix_memalign((void **)&block, 4096, BLOCK))
		die(path);
	memset(block, 'x', BLOCK);
	for (k = 0; k < BLOCKS; k++)
		if (pwrite(file, block, BLOCK, (off_t)k * BLOCK) != BLOCK)
			die("pwrite");
	if (fsync(file))
		die("fsync");
	return culprit_run(argc, argv, serve, 300);
}
