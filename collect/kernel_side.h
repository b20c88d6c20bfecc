/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and attaches the BPF programs and gives access to their maps.
 *
 * The order of calls follows retsnoop's attacher: kernel_side_new() (detects the kernel's
 * features), kernel_side_load(), then attach and detach layers and sites at any time,
 * kernel_side_free(). Only file descriptors keep the programs in the kernel, so the kernel
 * removes everything when this process ends.
 *
 * Functions that return int return 0 (or a descriptor) or a negative errno.
 */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

/* How uprobes can be attached on this kernel. */
enum uprobe_method {
	UPROBE_NONE = 0,
	UPROBE_DENIED, /* by perf events, for which this kernel requires CAP_SYS_ADMIN */
	UPROBE_PERF,   /* one perf event per site */
	UPROBE_MULTI,  /* one link for many sites; exists since Linux 6.6, used from 6.10 on because
			  its pid filter is correct only there */
};

struct kernel_side;
struct bpf_link;

/* A bit beside those of enum layer: waits for user-space locks, seen as futex calls. */
#define KERNEL_SIDE_USER_LOCKS (1u << 30)
/* A bit: system calls that begin or end phases, or that are f0. */
#define KERNEL_SIDE_PHASES (1u << 28)
/* A bit: tracepoints that only descents need, such as wakers and interrupts. */
#define KERNEL_SIDE_DESCENT (1u << 29)

/* A bit: which calls fail, for descents in whose calls threads sleep by a timer. */
#define KERNEL_SIDE_TRIES (1u << 26)

/* A bit: the tracing of waits, see kernel_waits.h. Set and cleared there. */
#define KERNEL_SIDE_WAITS (1u << 27)

/*
 * Open the BPF programs and find out what the kernel supports. `waits`: with the tracing of waits,
 * which takes the kernel almost as long to verify as all the rest. -ENODEV: the kernel has no BTF.
 */
int kernel_side_new(struct kernel_side **out, bool waits);
/* Load the programs that this kernel supports. -EPERM: privileges are missing. */
int kernel_side_load(struct kernel_side *k);
void kernel_side_free(struct kernel_side *k);

/*
 * Attach the tracepoints of these layers (1 << enum layer) and detach all others. Returns
 * the layers that are attached.
 */
uint32_t kernel_side_layers(struct kernel_side *k, uint32_t wanted);
/* Detach sys_enter and keep sys_exit, so that open system calls can end. */
void kernel_side_syscalls_drain(struct kernel_side *k);
/* Attach the tracepoints for fork, exec and exit of targets, which are always needed. */
int kernel_side_attach_life(struct kernel_side *k);
/* Layers that this kernel can measure. */
uint32_t kernel_side_available(const struct kernel_side *k);
/*
 * True if the kernel reports contention of its own locks (Linux 5.19); if not, LAYER_LOCK
 * measures only waits for user-space locks.
 */
bool kernel_side_own_locks(const struct kernel_side *k);
/* Write the names of tracepoints that descents use and this kernel lacks, separated by commas,
 * into `out`; "" if none. Returns `out`. */
const char *kernel_side_missing(const struct kernel_side *k, char *out, size_t n);
/* Descriptor of the map of struct pt_dirtier; the key is the process id. */
int kernel_side_dirtiers(const struct kernel_side *k);
/* True if the running kernel is at least of this version. Vendors may have backported what is
 * newer, and say so by what they accept. */
bool kernel_at_least(int major, int minor);
enum uprobe_method kernel_side_uprobes(const struct kernel_side *k);
/* True if uprobes can be attached. */
bool kernel_side_has_uprobes(const struct kernel_side *k);
/* Programs that are attached by descriptor. */
enum kernel_program {
	PROGRAM_SITE,
	PROGRAM_BREAK, /* at a breakpoint */
	PROGRAM_SAMPLE,
	PROGRAM_SNAPSHOT,
	PROGRAM_SHARE,
	PROGRAM_RUN_SAMPLE, /* at a timer: samples tasks whose waits are traced */
	PROGRAM_KERNEL_ENTRY,
	PROGRAM_KERNEL_EXIT,
	PROGRAM_KERNEL_SITE, /* at a call site of a kernel function, and at its return address */
};
/* The descriptor of a program. */
int kernel_side_program(const struct kernel_side *k, enum kernel_program which);

/*
 * Call `each` for every thread of the targets, or of the process `pid` if it is not 0. Returns
 * 0 or a negative errno; -EOPNOTSUPP if the kernel has no task iterators.
 */
typedef void (*kernel_side_task_fn)(void *ctx, const struct pt_task_now *t);
int kernel_side_tasks(struct kernel_side *k, uint32_t pid, kernel_side_task_fn each, void *ctx);
/* The same for one thread of a target. */
int kernel_side_task(struct kernel_side *k, uint32_t tid, kernel_side_task_fn each, void *ctx);
/* Follow the open call `found` of a thread that does not run; fills in the answer. 0 or a negative
 * errno. */
int kernel_side_found(struct kernel_side *k, struct pt_found *found);
/* The next kernel_side_tasks() looks up what these descriptors of a thread in poll() refer to. */
void kernel_side_polled(struct kernel_side *k, uint32_t tid, const struct pt_polled *polled);

/* True if the kernel supports probes of its functions. */
bool kernel_side_has_kprobes(const struct kernel_side *k);
/* Read the kernel's code that ends at this address. 0 or a negative errno. */
enum { KERNEL_SIDE_CODE = 8 };
int kernel_side_code(const struct kernel_side *k, uint64_t address,
		     uint8_t before[KERNEL_SIDE_CODE]);

/* Memory shared with the BPF programs: PT_FNODES and PT_LEARNS entries. */
struct pt_fnode *kernel_side_fnodes(struct kernel_side *k);
struct pt_learn *kernel_side_learns(struct kernel_side *k);
/* Set which fnode (index + 1) begins in a context. If the context already has an fnode, keep
 * it. */
int kernel_side_context_add(struct kernel_side *k, const struct pt_context *key, uint32_t index);
void kernel_side_contexts_clear(struct kernel_side *k);
/* Memory that is shared with the BPF programs. */
struct pt_control *kernel_side_control(struct kernel_side *k);
struct pt_site *kernel_side_sites(struct kernel_side *k);
uint64_t *kernel_side_tokens(struct kernel_side *k);

/* Add up the shards of one slot. With `extremes`, reset minimum and maximum. */
void kernel_side_hist(struct kernel_side *k, uint32_t slot, bool extremes, struct pt_hist *out);
/* Clear the histogram of a slot. */
void kernel_side_hist_clear(struct kernel_side *k, uint32_t slot);
/* Hit counters (enum pt_counter), summed over the CPUs. */
void kernel_side_counters(struct kernel_side *k, uint64_t out[PT_COUNTERS]);

/* A descriptor that is readable when a BPF program has woken up the collector for a record.
 * kernel_side_woken() resets it: call that before kernel_side_drain(). */
int kernel_side_wake_fd(const struct kernel_side *k);
void kernel_side_woken(struct kernel_side *k);
/* Call `each` for every record in the ring buffer. */
typedef void (*kernel_side_record_fn)(void *ctx, const struct pt_record *rec, size_t size);
void kernel_side_drain(struct kernel_side *k, kernel_side_record_fn each, void *ctx);

/* Count only calls of these threads and processes; none: of all. 0 or a negative errno. */
int kernel_side_choose(struct kernel_side *k, const struct rec_chosen *list, uint32_t nr);

/* Add a process to those that the BPF programs measure, or confirm a child that they added;
 * remove a process. */
int kernel_side_target_add(struct kernel_side *k, uint32_t tgid);
void kernel_side_target_remove(struct kernel_side *k, uint32_t tgid);
/* Measure a target again that was suspended because it called execve() (control.check_exec).
 * Returns false if it was not suspended. */
bool kernel_side_target_resume(struct kernel_side *k, uint32_t tgid);

/* Iterate over the threads; return nonzero from `each` to delete the entry. */
typedef int (*kernel_side_thread_fn)(void *ctx, uint32_t tid, const struct pt_thread *t);
int kernel_side_threads(struct kernel_side *k, kernel_side_thread_fn each, void *ctx);

/* Iterate over copies of the open activations. */
typedef void (*kernel_side_act_fn)(void *ctx, uint32_t index, const struct pt_act *a);
void kernel_side_activations(struct kernel_side *k, kernel_side_act_fn each, void *ctx);
/* Drop the activation that was copied as `a`. Returns false if it has ended in the meantime
 * and was counted. */
bool kernel_side_activation_drop(struct kernel_side *k, uint32_t index, const struct pt_act *a);
/* Look up the state of one thread. 0 or -ENOENT. */
int kernel_side_thread(struct kernel_side *k, uint32_t tid, struct pt_thread *out);
int kernel_side_thread_seed(struct kernel_side *k, uint32_t tid, const struct pt_thread *t);

/* Set what is read behind the arguments of a slot's calls. 0 or a negative errno. */
int kernel_side_behind(struct kernel_side *k, uint32_t slot, const struct pt_behind *b);

/*
 * Set the state of a return address. With `ends`, an armed site there ends calls. Without it
 * another site ends them, and the address is not reported as new.
 */
int kernel_side_return_known(struct kernel_side *k, uint32_t tgid, uint32_t slot, uint64_t address,
			     bool ends);
/* Forget the return addresses in a range of a process. */
void kernel_side_returns_forget(struct kernel_side *k, uint32_t tgid, uint64_t start, uint64_t end);
