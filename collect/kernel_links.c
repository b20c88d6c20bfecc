// SPDX-License-Identifier: GPL-2.0-or-later
/* Which programs belong to which layer, and which of their tracepoints the kernel has. */
#include <bpf/btf.h>

#include "collect/kernel_side_impl.h"
#include "collect/kernel_waits.h"
#include "collect/steal.h"

static void link_declare(struct kernel_side *k, struct bpf_program *prog, uint32_t layers)
{
	k->links[k->nr_links++] = (struct layer_link){.layers = layers, .prog = prog};
}

/* True if the kernel has the program's tracepoint. libbpf_find_vmlinux_btf_id() is not used
 * because it would read all types of the kernel each time. */
static bool link_exists(const struct layer_link *l, const struct btf *types)
{
	const char *name = strchr(bpf_program__section_name(l->prog), '/');
	char type[80];

	/* before Linux 6.0 the arguments of the tracepoints of io_uring are others */
	if (l->layers == 1u << LAYER_URING && !kernel_at_least(6, 0))
		return false;
	snprintf(type, sizeof(type), "btf_trace_%s", name ? name + 1 : "");
	return btf__find_by_name_kind(types, type, BTF_KIND_TYPEDEF) > 0;
}

/* Declare the links that only descents use. A kernel may lack any of these tracepoints. */
static void descent_links_declare(struct kernel_side *k)
{
	struct bpf_program *const programs[] = {
	    k->skel->progs.on_signal_sent,
	    k->skel->progs.on_signal,
	    k->skel->progs.on_reclaim_begin,
	    k->skel->progs.on_reclaim_end,
	    k->skel->progs.on_group_reclaim_begin,
	    k->skel->progs.on_group_reclaim_end,
	    k->skel->progs.on_compaction_begin,
	    k->skel->progs.on_compaction_end,
	    k->skel->progs.on_dirty,
	};
	struct bpf_program *const vectors[] = {
	    k->skel->progs.on_reschedule_entry,	 k->skel->progs.on_reschedule_exit,
	    k->skel->progs.on_call_entry,	 k->skel->progs.on_call_exit,
	    k->skel->progs.on_call_single_entry, k->skel->progs.on_call_single_exit,
	    k->skel->progs.on_irq_work_entry,	 k->skel->progs.on_irq_work_exit,
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		link_declare(k, programs[i], KERNEL_SIDE_DESCENT);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		link_declare(k, vectors[i], KERNEL_SIDE_DESCENT | KERNEL_SIDE_WAITS);
}

/* Declare the links that only the tracing of waits uses. A kernel may lack any of these
 * tracepoints. */
static void waits_links_declare(struct kernel_side *k)
{
	struct bpf_program *const programs[] = {
	    k->skel->progs.on_hrtimer_entry, k->skel->progs.on_hrtimer_exit,
	    k->skel->progs.on_expiry_entry,  k->skel->progs.on_expiry_exit,
	    k->skel->progs.on_block_done,    k->skel->progs.on_work_queued,
	    k->skel->progs.on_work_begin,    k->skel->progs.on_work_end,
	    k->skel->progs.on_rename,
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		link_declare(k, programs[i], KERNEL_SIDE_WAITS);
}

void links_declare(struct kernel_side *k)
{
	const uint32_t syscalls = 1u << LAYER_SYSCALL | KERNEL_SIDE_USER_LOCKS | KERNEL_SIDE_PHASES,
		       sched = 1u << LAYER_RUNQUEUE;
	const uint32_t block = 1u << LAYER_BLOCK | KERNEL_SIDE_WAITS, lock = 1u << LAYER_LOCK;
	const uint32_t uring = 1u << LAYER_URING;
	const uint32_t interrupts =
	    sched | KERNEL_SIDE_WAITS |
	    KERNEL_SIDE_DESCENT; /* a call's time in interrupts is sent with its time off the CPU */

	link_declare(k, k->skel->progs.on_sys_enter, syscalls);
	link_declare(k, k->skel->progs.on_sys_exit, syscalls);
	link_declare(k, k->skel->progs.on_wakeup, sched);
	link_declare(k, k->skel->progs.on_wakeup_new, sched);
	link_declare(k, k->skel->progs.on_switch, sched | KERNEL_SIDE_WAITS);
	link_declare(k, k->skel->progs.on_block_start, block);
	link_declare(k, k->skel->progs.on_block_merge, block);
	link_declare(k, k->skel->progs.on_block_insert, block);
	link_declare(k, k->skel->progs.on_block_issue, block);
	link_declare(k, k->skel->progs.on_block_complete, block);
	link_declare(k, k->skel->progs.on_contention_begin, lock | KERNEL_SIDE_DESCENT);
	link_declare(k, k->skel->progs.on_contention_end, lock | KERNEL_SIDE_DESCENT);
	link_declare(k, k->skel->progs.on_waking, KERNEL_SIDE_DESCENT | KERNEL_SIDE_WAITS);
	link_declare(k, k->skel->progs.on_irq_entry, interrupts);
	link_declare(k, k->skel->progs.on_irq_exit, interrupts);
	link_declare(k, k->skel->progs.on_timer_entry, interrupts);
	link_declare(k, k->skel->progs.on_timer_exit, interrupts);
	link_declare(k, k->skel->progs.on_softirq_entry, interrupts);
	link_declare(k, k->skel->progs.on_softirq_exit, interrupts);
	link_declare(k, k->skel->progs.on_fault, KERNEL_SIDE_DESCENT);
	link_declare(k, k->skel->progs.on_failed, KERNEL_SIDE_TRIES);
	link_declare(k, k->skel->progs.on_uring_file, KERNEL_SIDE_DESCENT);
	link_declare(k, k->skel->progs.on_socket_state, 1u << LAYER_NET);
	link_declare(k, k->skel->progs.on_uring_submit, uring);
	link_declare(k, k->skel->progs.on_uring_submit_sqe, uring);
	link_declare(k, k->skel->progs.on_uring_complete, uring);
	descent_links_declare(k);
	waits_links_declare(k);
	link_declare(k, k->skel->progs.on_fork, UINT32_MAX);
	link_declare(k, k->skel->progs.on_exec, UINT32_MAX);
	link_declare(k, k->skel->progs.on_exit, UINT32_MAX);
}

int links_look(struct kernel_side *k)
{
	struct btf *types = btf__load_vmlinux_btf();
	long err = libbpf_get_error(types);

	if (err)
		return (int)err;
	for (unsigned int i = 0; i < k->nr_links; i++) {
		struct layer_link *l = &k->links[i];

		l->exists = link_exists(l, types);
		if (!l->exists || (l->layers == KERNEL_SIDE_WAITS && !kernel_waits_available(k)))
			bpf_program__set_autoload(l->prog, false);
	}
	k->steal_offset = steal_offset(types);
	btf__free(types);
	return 0;
}
