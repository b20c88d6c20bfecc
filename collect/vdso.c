// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/vdso.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static const Elf64_Ehdr *own_vdso(void)
{
	/* the kernel passes an address as a number */
	return (const Elf64_Ehdr *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
}

uint64_t vdso_size(void)
{
	const Elf64_Ehdr *e = own_vdso();
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	/* the section headers are the end of the file */
	return e ? (e->e_shoff + (uint64_t)e->e_shnum * e->e_shentsize + page - 1) / page * page
		 : 0;
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
