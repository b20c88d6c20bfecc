// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of the kernel in which no probe is ever placed. The kernel itself refuses those in
 * which a probe would break it (NOKPROBE, notrace, /sys/kernel/debug/kprobes/blacklist). It allows
 * the ones here, but their probes would cost much, miss calls, or measure only themselves.
 */
#include "collect/kernel_never.h"

#include "collect/kernel_names.h"

static const struct {
	const char *reason;
	const char *const begins[20]; /* how the names begin; ends with NULL */
} never[] = {
    {"the BPF programs of peaktop run in it, or use it",
     {"bpf_", "__bpf_", "htab_", "__htab_", "array_map_", "ringbuf_", "copy_from_kernel_nofault",
      "__traceiter_", NULL}},
    {"the kernel's own probes and samples use it",
     {"kprobe_", "kretprobe_", "aggr_", "opt_pre_handler", "optimized_callback", "rethook_",
      "arch_rethook_", "ftrace_", "perf_", "__perf_", "text_poke", "irq_work_", "trace_call_bpf",
      NULL}},
    {"it runs where the kernel enters and leaves, before it knows its own state",
     {"entry_", "asm_", "do_syscall_", "syscall_enter_", "syscall_exit_", "irqentry_", "exc_int3",
      "do_int3", "exc_debug", "ct_", "__ct_", "context_tracking_", NULL}},
    {"it runs in interrupts that nothing can hold up (NMI)",
     {"exc_nmi", "default_do_nmi", "nmi_", "__nmi_", NULL}},
    {"it is the idle CPU's, whose calls belong to nobody",
     {"do_idle", "default_idle", "cpuidle_", "acpi_idle_", "acpi_processor_ffh_", "intel_idle",
      "poll_idle", "arch_cpu_idle", "cpu_idle_", "tick_nohz_idle_", "pv_native_safe_halt", NULL}},
    {"it holds the lock of a CPU's run queue, which what a probe starts may need",
     {"__schedule", "finish_task_switch", "__switch_to", "try_to_wake_up", "ttwu_", "pick_next_",
      "enqueue_task", "dequeue_task", "raw_spin_rq_", "update_curr", "scheduler_tick", "sched_tick",
      NULL}},
    {"it is part of a spin lock or of the clock, which the probes use",
     {"_raw_spin_", "_raw_read_", "_raw_write_", "native_queued_spin_", "queued_spin_",
      "__pv_queued_spin_", "ktime_get", "sched_clock", "rcu_read_", "__rcu_read_", NULL}},
};

const char *kernel_never_probed(const char *function)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (kernel_name_begins(function, never[i].begins))
			return never[i].reason;
	}
	return NULL;
}
