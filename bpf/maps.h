/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF maps. calls.bpf.c defines them; the other objects declare them extern and are linked
 * with it. */
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

/* The outermost interrupt that a CPU is handling. An interrupt never spans a context switch. */
struct irq_context {
	u64 start;
	u32 depth;
	u32 number;  /* number of the hardware line, or PT_IRQ_... */
	u64 looked;  /* ns of the interrupt that peaktop's samples took */
	u64 steal;   /* steal time of the CPU when the interrupt began */
	u64 left;    /* when the last one ended that was no soft interrupt */
	u32 vectors; /* 1: an interrupt from another CPU was seen, so this kernel reports them */
	u64 total; /* ns in interrupts since the last context switch; only while waits are traced */
	u64 before;   /* `total` at the last context switch */
	u32 followed; /* 1: the current task may be followed; set at each switch of a window */
	/*
	 * What runs on top of the task, the outermost first, while waits are traced: the contexts
	 * of enum bracket_kind, with the function of a timer or the address of a request.
	 */
	u32 brackets;
	u16 bracket[PT_BRACKETS];
	u64 of[PT_BRACKETS];
};

/* What a CPU has sent of a window. */
struct waits_cpu {
	u32 window;
	u32 lost;
};

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_control);
} control SEC(".maps");

/* Index: slot * PT_MAX_SHARDS + shard. The collector lowers max_entries if fewer shards are
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

/* The initial value of a thread's record; never written. A copy on the BPF stack would take
 * most of its 512 bytes. */
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

/* The threads whose calls count, if pt_control.chosen is set. Key: thread or process id; value:
 * bits of enum pt_chosen. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_CHOSEN);
	__type(key, u32);
	__type(value, u32);
} chosen SEC(".maps");

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

/* Finds the fnode that begins at a site. The collector fills it for each armed set. */
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
 * Buffers for building a record with a stack. Index 0 is used at context switches, index 1 by
 * samples, because a sample may interrupt a switch.
 */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct pt_record_stack);
} stacks SEC(".maps");

/* Key: thread id. Filled only during a descent. */
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

/* Key: process id. */
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

/* ---- tracing of waits */

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PT_WAITS_RING_BYTES);
} waits_ring SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct waits_cpu);
} waits_cpus SEC(".maps");

/* A set of thread ids, modulo its size. */
struct follow_bits {
	u64 word[PT_FOLLOW_BITS / 64];
};
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct follow_bits);
} follow_bits SEC(".maps");

/*
 * Key: thread id. Not task storage: its memory is allocated at the first use, which is within the
 * scheduler, where an allocation that wakes kswapd can lock up the host.
 */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_FOLLOWED);
	__type(key, u32);
	__type(value, struct pt_follow);
} followed SEC(".maps");

/* Tasks that are not followed and were named in this window. Key: start time; value: window. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u32);
} strangers SEC(".maps");

/* Processes that the invoking user may trace. Key: process id. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_TARGETS);
	__type(key, u32);
	__type(value, u32);
} traceable SEC(".maps");

/* Stacks that were sent. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_TRACES);
	__type(key, u32);
	__type(value, u32);
} traces SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_PLACES);
	__type(key, u64);
	__type(value, struct pt_place);
} places SEC(".maps");

/* Per-CPU room for the words of a stack, and for the place that is learnt from it. */
struct place_room {
	u64 word[PT_WAITS_WORDS];
	struct pt_place place;
};
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct place_room);
} place_room SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_waits_stack);
} waits_stack SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_waits_user_stack);
} waits_user_stack SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_waits_object);
} waits_object SEC(".maps");

/* Numbers of functions, by address. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PT_HANDLERS);
	__type(key, u64);
	__type(value, u32);
} handlers SEC(".maps");

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_WAITS_OBJECTS);
	__type(key, struct pt_inode);
	__type(value, u32);
} waits_objects SEC(".maps");

/* Key: address of the request. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_WAITS_REQUESTS);
	__type(key, u64);
	__type(value, struct pt_waits_request);
} waits_requests SEC(".maps");

/* Work items that followed tasks have queued. Key: address; value: window. */
PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PT_WAITS_WORKS);
	__type(key, u64);
	__type(value, u32);
} waits_works SEC(".maps");

#endif
