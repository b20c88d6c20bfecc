// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of the kernel's functions from a BPF iterator. */
#include <errno.h>
#include <unistd.h>

#include "bpf/kernel_name.h"
#include "collect/kernel_names.h"
#include "collect/kernel_side_impl.h"

enum { NAMES_READ = 512 };

int kernel_side_names(const struct kernel_side *k, void (*each)(uint64_t address, const char *name))
{
	static struct pt_kernel_name names[NAMES_READ];
	struct bpf_program *prog = k->skel->progs.on_kernel_name;
	struct bpf_link *link;
	ssize_t got;
	int fd, err;

	if (bpf_program__fd(prog) < 0)
		return -EOPNOTSUPP;
	link = bpf_program__attach_iter(prog, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : 0;
	while (!err &&
	       ((got = read(fd, names, sizeof(names))) > 0 || (got < 0 && errno == EAGAIN))) {
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(names[0]); i++)
			each(names[i].address, names[i].name);
	}
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}
