// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's text, by BPF programs: the names of its functions, and its code. */
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

int kernel_side_code(const struct kernel_side *k, uint64_t address,
		     uint8_t before[KERNEL_SIDE_CODE])
{
	struct pt_kernel_code code = {.address = address};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &code, .ctx_size_in = sizeof(code));
	int prog = bpf_program__fd(k->skel->progs.on_kernel_code), err;

	_Static_assert(sizeof(code.before) == KERNEL_SIDE_CODE, "bytes before an address");
	if (prog < 0)
		return -EOPNOTSUPP;
	/* the kernel writes the context back to where it has read it */
	err = bpf_prog_test_run_opts(prog, &opts);
	if (err)
		return err;
	memcpy(before, &code.before, sizeof(code.before));
	return opts.retval ? -EFAULT : 0;
}
