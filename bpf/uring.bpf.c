// SPDX-License-Identifier: GPL-2.0-or-later
/* Records the file of an io_uring request, because io_uring_enter() has only the descriptor of
 * the ring. */
#include "bpf/asleep.h"

/* The type of the first argument differs between kernels. Registered files have no descriptor
 * and do not pass this tracepoint. */
SEC("tp_btf/io_uring_file_get")
int BPF_PROG(on_uring_file, void *request, int fd)
{
	u64 id = bpf_get_current_pid_tgid();
	struct pt_control *c = the_control();
	struct pt_asleep *a;

	if (!c || !c->descend_slot || !is_target(c, id >> 32))
		return 0;
	a = asleep_of((u32)id);
	if (a)
		a->uring_fd = fd;
	return 0;
}
