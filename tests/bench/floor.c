// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * floor [-r] PID FILE OFFSET...: an empty BPF program on these addresses, until standard input
 * ends. With -r on the return from the functions that start there, too (uretprobe).
 *
 * What probes on these addresses cost at least, whoever uses them. uprobe_multi where the kernel
 * has it, as peaktop does.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX = 512, UPROBE_MULTI = 48, MULTI_RETURN = 1 };

int main(int argc, char **argv)
{
	/* r0 = 0; exit */
	uint64_t code[] = {0x00000000000000b7, 0x0000000000000095};
	uint64_t offsets[MAX];
	/* union bpf_attr of older headers lacks the fields: as bytes, at the places of
	 * include/uapi/linux/bpf.h. */
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, link_flags, pid;
		uint32_t pad;
	} link;
	union bpf_attr load;
	int program, returns = argc > 1 && !strcmp(argv[1], "-r"), i;
	char c;

	argv += returns;
	argc -= returns;
	if (argc < 4 || argc - 3 > MAX)
		return 2;
	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_KPROBE;
	load.expected_attach_type = UPROBE_MULTI;
	load.insns = (uint64_t)(uintptr_t)code;
	load.insn_cnt = 2;
	load.license = (uint64_t)(uintptr_t) "GPL";
	program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	if (program < 0) {
		perror("floor: load");
		return 1;
	}
	for (i = 3; i < argc; i++)
		offsets[i - 3] = strtoull(argv[i], NULL, 0);
	memset(&link, 0, sizeof(link));
	link.prog_fd = (uint32_t)program;
	link.attach_type = UPROBE_MULTI;
	link.path = (uint64_t)(uintptr_t)argv[2];
	link.offsets = (uint64_t)(uintptr_t)offsets;
	link.cnt = (uint32_t)(argc - 3);
	link.pid = (uint32_t)atoi(argv[1]);
	for (i = 0; i <= returns; i++) {
		link.link_flags = i ? MULTI_RETURN : 0;
		if (syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link)) < 0) {
			perror("floor: attach");
			return 1;
		}
	}
	printf("attached\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
