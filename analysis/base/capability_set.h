/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which capabilities a process of peaktop keeps; bit N stands for capability N of capabilities(7).
 */
#pragma once

/*
 * What the collector keeps after its BPF programs are loaded and a command is started:
 *   CAP_BPF                 maps, links, iterators
 *   CAP_PERFMON             tracepoints, uprobes, kprobes, clocks, breakpoints
 *   CAP_SYS_PTRACE          /proc/PID of other users' processes
 *   CAP_DAC_READ_SEARCH     files below /proc/PID that only their owner may read
 *   CAP_CHECKPOINT_RESTORE  /proc/PID/map_files
 *   CAP_SYSLOG              addresses in /proc/kallsyms
 *   CAP_LEASE               leases on probed files of other users
 *   CAP_KILL                end a command that was started (`command`)
 *   CAP_SYS_ADMIN           if one of CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE is not held,
 *                           or if the kernel requires more than CAP_PERFMON for perf events
 *                           (`needs_admin`)
 *   CAP_DAC_OVERRIDE        if CAP_DAC_READ_SEARCH is not held
 */
struct capability_needs {
	bool command, needs_admin;
};
uint64_t capability_set_collector(uint64_t permitted, const struct capability_needs *needs);
