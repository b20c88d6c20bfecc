// SPDX-License-Identifier: GPL-2.0-or-later
/* Input and output: culprit_file [SECONDS [PATH]] writes to a file and waits for the device. */
#include "culprit.h"

static int file;
static char block[1 << 16];

WATCHED void save(uint64_t i)
{
	memset(block, (int)i, sizeof(block));
	if (pwrite(file, block, sizeof(block), (off_t)(i % 16 * sizeof(block))) < 0 || fsync(file))
		die("save");
	KEEP(bystander(i));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 4 == 0)
		save(i);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[argc - 1] : "culprit_file.data";

	file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0)
		die(path);
	return culprit_run(argc, argv, serve, 300);
}
