/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF maps. calls.bpf.c defines them; the other objects declare them extern and are linked
 * with it. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/records.h"
#include <bpf/bpf_helpers.h>

#ifdef PT_DEFINE_MAPS
#define PT_MAP
#else
#define PT_MAP extern
#endif

/* A map of a kind (BPF_MAP_TYPE_...), with at most `entries` entries. */
#define MAP(kind, name_, key_, value_, entries)                                                    \
	PT_MAP struct {                                                                            \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, key_);                                                                 \
		__type(value, value_);                                                             \
	} name_ SEC(".maps")

/* An array that the collector maps into its memory. */
#define SHARED_ARRAY(name_, value_, entries)                                                       \
	PT_MAP struct {                                                                            \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, u32);                                                                  \
		__type(value, value_);                                                             \
	} name_ SEC(".maps")

/* The outermost interrupt that a CPU is handling. An interrupt never spans a context switch. */
struct irq_context {
	u64 start;
	u32 depth;
	u32 number;   /* number of the hardware line, or PT_IRQ_... */
	u64 looked;   /* ns of the interrupt that peaktop's samples took */
	u64 steal;    /* steal time of the CPU when the interrupt began */
	u64 left;     /* when the last one ended that was no soft interrupt */
	u64 asked;    /* when the last one ended that another CPU sent */
	u64 asked_ns; /* its time, until a soft interrupt has run behind it */
	u32 vectors;  /* 1: an interrupt from another CPU was seen, so this kernel reports them */
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

SHARED_ARRAY(control, struct pt_control, 1);

/* Index: shard * PT_SLOTS + slot. The collector lowers max_entries if the host has fewer CPUs than
 * shards. */
SHARED_ARRAY(hists, struct pt_hist, PT_SLOTS *PT_MAX_SHARDS);

SHARED_ARRAY(tokens, u64, PT_SLOTS *PT_TOKENS);

SHARED_ARRAY(sites, struct pt_site, PT_SITES);

SHARED_ARRAY(activations, struct pt_act, PT_ACTIVATIONS);

MAP(ARRAY, behind, u32, struct pt_behind, PT_SLOTS);

MAP(HASH, returns, struct pt_ret_key, u32, PT_SITES);

MAP(HASH, threads, u32, struct pt_thread, PT_THREADS);

MAP(LRU_HASH, paces, u64, struct pt_pace, 8192);

/* The initial value of a thread's record; never written. A copy on the BPF stack would take
 * most of its 512 bytes. */
MAP(ARRAY, fresh_thread, u32, struct pt_thread, 1);

MAP(HASH, targets, u32, u32, PT_TARGETS);

/* The threads whose calls count, if pt_control.chosen is set. Key: thread or process id; value:
 * bits of enum pt_chosen. */
MAP(HASH, chosen, u32, u32, PT_CHOSEN);

MAP(HASH, phases, u32, struct pt_phase, PT_TARGETS);

/* A block request of a target. */
struct pt_request {
	pt_u64 start;  /* 0: not counted: began outside of a phase or with the gate closed */
	pt_u64 issued; /* to the device, the last time; 0: not yet, or this was not seen */
	pt_u64 sector;
	pt_u64 distance; /* sectors + 1 from the end of the request issued before; 0: not known */
	pt_u32 tgid, tid;
	pt_u32 bytes;
	pt_u32 flags;
	pt_u32 device;
	pt_u32 spare;
};

/* A request of an io_uring of a target. */
struct pt_uring {
	pt_u64 start;
	pt_u32 tgid, tid;
	pt_u32 burst; /* of the system calls */
	pt_u32 opcode;
	pt_s32 fd;
	pt_u32 spare;
};

MAP(LRU_HASH, requests, u64, struct pt_request, 8192);

/* Where the last request ended that a device was given, and when it was. */
struct pt_request_end {
	pt_u64 sector, at;
};

/* Key: address of the queue. */
MAP(LRU_HASH, request_ends, u64, struct pt_request_end, 256);

/* Connections that are being made. Key: address of the socket. */
MAP(LRU_HASH, connects, u64, struct pt_request, 8192);

MAP(LRU_HASH, urings, u64, struct pt_uring, 16384);

SHARED_ARRAY(fnodes, struct pt_fnode, PT_FNODES);

/* Finds the fnode that begins at a site. The collector fills it for each armed set. */
MAP(HASH, contexts, struct pt_context, u32, PT_CONTEXTS);

SHARED_ARRAY(learns, struct pt_learn, PT_LEARNS);

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
MAP(PERCPU_ARRAY, stacks, u32, struct pt_record_stack, 2);

/* Key: thread id. Filled only during a descent. */
MAP(LRU_HASH, asleep, u32, struct pt_asleep, 4096);

MAP(PERCPU_ARRAY, irqs, u32, struct irq_context, 1);

MAP(ARRAY, cpus, u32, struct pt_cpu, PT_CPUS);

/* Key: process id. */
MAP(LRU_HASH, stoppers, u32, struct pt_stopper, PT_TARGETS);

MAP(LRU_HASH, dirtiers, u32, struct pt_dirtier, PT_DIRTIERS);

/* Index: CPU * PT_COUNTERS_ROOM + counter. The collector sets max_entries. It reads the counters
 * dozens of times a second, and needs a system call for each reading of a per-CPU map. */
SHARED_ARRAY(counters, u64, PT_COUNTERS_ROOM);

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PT_RING_BYTES);
} ring SEC(".maps");

/* ---- tracing of waits */

PT_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PT_WAITS_RING_BYTES);
} waits_ring SEC(".maps");

MAP(PERCPU_ARRAY, waits_cpus, u32, struct waits_cpu, 1);

/* A set of thread ids, modulo its size. */
struct follow_bits {
	u64 word[PT_FOLLOW_BITS / 64];
};
MAP(ARRAY, follow_bits, u32, struct follow_bits, 1);

/*
 * Key: thread id. Not task storage: its memory is allocated at the first use, which is within the
 * scheduler, where an allocation that wakes kswapd can lock up the host.
 */
MAP(HASH, followed, u32, struct pt_follow, PT_FOLLOWED);

/* Tasks that are not followed and were named in this window. Key: start time; value: window. */
MAP(LRU_HASH, strangers, u64, u32, 4096);

/* Processes that the invoking user may trace. Key: process id. */
MAP(LRU_HASH, traceable, u32, u32, PT_TARGETS);

/* Stacks that were sent. */
MAP(LRU_HASH, traces, u32, u32, PT_TRACES);

MAP(LRU_HASH, places, u64, struct pt_place, PT_PLACES);

/* Per-CPU room to learn a place. */
MAP(PERCPU_ARRAY, place_room, u32, struct pt_place_room, 1);

MAP(PERCPU_ARRAY, waits_stack, u32, struct pt_waits_stack, 1);

MAP(PERCPU_ARRAY, waits_user_stack, u32, struct pt_waits_user_stack, 1);

MAP(PERCPU_ARRAY, waits_object, u32, struct pt_waits_object, 1);

/* Numbers of functions, by address. */
MAP(HASH, handlers, u64, u32, PT_HANDLERS);

MAP(LRU_HASH, waits_objects, struct pt_inode, u32, PT_WAITS_OBJECTS);

/* Key: address of the request. */
MAP(LRU_HASH, waits_requests, u64, struct pt_waits_request, PT_WAITS_REQUESTS);

/* Work items that followed tasks have queued. Key: address; value: window. */
MAP(LRU_HASH, waits_works, u64, u32, PT_WAITS_WORKS);
