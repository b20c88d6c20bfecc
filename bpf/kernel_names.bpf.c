// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of the kernel's functions, if kernel.kptr_restrict hides their addresses in
 * /proc/kallsyms; the kernel's code. */
#include "bpf/measure.h"

#include "bpf/kernel_name.h"

/* One record at a time: the program of an iterator is not interrupted by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_kernel_name);
} name_room SEC(".maps");

SEC("iter/ksym")
int on_kernel_name(struct bpf_iter__ksym *ctx)
{
	struct kallsym_iter *ksym = ctx->ksym;
	struct pt_kernel_name *r;
	u32 zero = 0;
	char type;

	if (!ksym)
		return 0;
	type = BPF_CORE_READ(ksym, type);
	if (type != 't' && type != 'T' && type != 'w' && type != 'W')
		return 0;
	r = bpf_map_lookup_elem(&name_room, &zero);
	if (!r)
		return 0;
	r->address = BPF_CORE_READ(ksym, value);
	if (r->address && bpf_probe_read_kernel_str(r->name, sizeof(r->name), ksym->name) > 0)
		bpf_seq_write(ctx->meta->seq, r, sizeof(*r));
	return 0;
}

SEC("syscall")
int on_kernel_code(struct pt_kernel_code *ctx)
{
	u64 before = 0;
	long err =
	    bpf_probe_read_kernel(&before, sizeof(before), (void *)(ctx->address - sizeof(before)));

	ctx->before = before;
	return err ? 1 : 0;
}
