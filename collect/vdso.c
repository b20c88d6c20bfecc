// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/vdso.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* The address at which the kernel mapped it; 0: nowhere. */
static uintptr_t own_vdso(void)
{
	return (uintptr_t)getauxval(AT_SYSINFO_EHDR);
}

uint64_t vdso_size(void)
{
	static uint64_t size;
	uint64_t start, end;
	char line[512];
	FILE *f;

	if (size || !own_vdso())
		return size;
	f = fopen("/proc/self/maps", "re");
	while (f && !size && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && start == own_vdso())
			size = end - start;
	}
	if (f)
		fclose(f);
	return size;
}

int vdso_copy(void)
{
	size_t size = (size_t)vdso_size(), done = 0;
	const char *from = (const char *)own_vdso();
	int fd, err;

	if (!size)
		return -ENOENT;
	fd = memfd_create("peaktop-vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (done < size) {
		ssize_t n = write(fd, from + done, size - done);

		if (n <= 0)
			goto fail;
		done += (size_t)n;
	}
	if (!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
fail:
	err = errno ? -errno : -EIO;
	close(fd);
	return err;
}
