// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * syscalls [N]: N reads of /dev/zero, 2N writes to /dev/null, 3N getppid, N/50 nanosleeps of 2 ms,
 * N/500 of 20 ms, N failing openat; all by syscall(), nothing else in between.
 */
#include "target.h"
#include <fcntl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
	uint64_t n, i, failed = 0;
	struct timespec two = {0, 2000000}, twenty = {0, 20000000};
	char block[4096] = {0};
	int zero, null;

	target_begin(&argc, &argv);
	n = target_arg(argc, argv, 1, 5000);
	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	if (zero < 0 || null < 0)
		die("open");
	target_go();
	for (i = 0; i < n; i++) {
		if (syscall(SYS_read, zero, block, sizeof(block)) != sizeof(block))
			die("read");
		syscall(SYS_write, null, block, (size_t)1);
		syscall(SYS_write, null, block, sizeof(block));
		syscall(SYS_getppid);
		syscall(SYS_getppid);
		syscall(SYS_getppid);
		failed += syscall(SYS_openat, AT_FDCWD, "/nonexistent/peaktop", O_RDONLY) < 0;
		if (i % 50 == 49)
			syscall(SYS_nanosleep, &two, NULL);
		if (i % 500 == 499)
			syscall(SYS_nanosleep, &twenty, NULL);
	}
	target_truth(
	    "{\"read\":%llu,\"write\":%llu,\"getppid\":%llu,\"openat\":%llu,\"nanosleep\":%llu,"
	    "\"sleeps\":{\"2ms\":%llu,\"20ms\":%llu},\"ok\":true}",
	    (unsigned long long)n, (unsigned long long)(2 * n), (unsigned long long)(3 * n),
	    (unsigned long long)failed, (unsigned long long)(n / 50 + n / 500),
	    (unsigned long long)(n / 50), (unsigned long long)(n / 500));
	return 0;
}
