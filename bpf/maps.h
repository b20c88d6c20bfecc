/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps. calls.bpf.c defines them, the other objects are linked against it. */
#ifndef PEAKTOP_MAPS_H
#define PEAKTOP_MAPS_H

#include "bpf/kernel.h"
#include "bpf/records.h"
#include <bpf/bpf_helpers.h>

#ifdef PT_DEFINE_MAPS
#define PT_MAP
#else
#define PT_MAP extern
#endif

/* The interrupt that a CPU is in: the outermost one. An interrupt never spans a switch. */
struct irq_context {
	u64 start;
	u32 depth;
	u32 number; /* of the line, or PT_IRQ_... */
	u64 looked; /* ns of it that are this tool's */
};

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_control);
} control SEC(".maps");

/* Index: slot * PT_MAX_SHARDS + shard; the collector lowers max_entries where fewer shards are
 * used. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PT_SLOTS *PT_MAX_SHARDS);
	__type(key, u32);
	__type(value, struct pt_hist);
} hists SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PT_SLOTS *PT_TOKENS);
	__type(key, u32);
	__type(value, u64);
} tokens SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PT_SITES);
	__type(key, u32);
	__type(value, struct pt_site);
} sites SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PT_ACTIVATIONS);
	__type(key, u32);
	__type(value, struct pt_act);
} activations SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_SITES);
	__type(key, struct pt_ret_key);
	__type(value, u32);
} returns SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_THREADS);
	__type(key, u32);
	__type(value, struct pt_thread);
} threads SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct pt_pace);
} paces SEC(".maps");

/* One thread of which nothing is known; never written. A copy on the stack would take most of its
 * 512 bytes. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_thread);
} fresh_thread SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_TARGETS);
	__type(key, u32);
	__type(value, u32);
} targets SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_TARGETS);
	__type(key, u32);
	__type(value, struct pt_phase);
} phases SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct pt_request);
} requests SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PT_FNODES);
	__type(key, u32);
	__type(value, struct pt_fnode);
} fnodes SEC(".maps");

/* Which fnode begins: written by the collector for each armed set. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * PT_FNODES);
	__type(key, struct pt_context);
	__type(value, u32);
} contexts SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PT_LEARNS);
	__type(key, u32);
	__type(value, struct pt_learn);
} learns SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pt_descent);
} descents SEC(".maps");

/*
 * Buffers for building a record with a stack: 0 for context switches, 1 for samples, which
 * may interrupt them.
 */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct pt_record_stack);
} stacks SEC(".maps");

/* By thread; during a descent. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct pt_asleep);
} asleep SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct irq_context);
} irqs SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PT_CPUS);
	__type(key, u32);
	__type(value, struct pt_cpu);
} cpus SEC(".maps");

/* By process. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_TARGETS);
	__type(key, u32);
	__type(value, struct pt_stopper);
} stoppers SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_DIRTIERS);
	__type(key, u32);
	__type(value, struct pt_dirtier);
} dirtiers SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PT_COUNTERS_ROOM);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PT_RING_BYTES);
} ring SEC(".maps");

#endif
