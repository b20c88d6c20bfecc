/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs in the kernel: loading them, their maps, the tracepoint layers.
 *
 * Phases after retsnoop's attacher: new (detect what this kernel has), load,
 * then layers and sites are attached and detached at will, free. Everything is
 * held by file descriptors alone: the kernel removes it when this process ends.
 */
#ifndef PEAKTOP_KERNEL_SIDE_H
#define PEAKTOP_KERNEL_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/session/record.h"
#include "bpf/records.h"

/* How uprobes can be attached here. */
enum uprobe_method {
	UPROBE_NONE = 0,
	UPROBE_PERF,  /* one perf event per site */
	UPROBE_MULTI, /* one link for many sites (kernel 6.6; used from 6.10, whose pid filter is
			 right) */
};

struct kernel_side;
struct bpf_link;

/* Beside enum layer: waits for locks in user space, seen as futex calls. */
#define KERNEL_SIDE_USER_LOCKS (1u << 30)
/* System calls that begin or end phases. */
#define KERNEL_SIDE_PHASES (1u << 28)
/* Wakers and interrupts, during a descent. */
#define KERNEL_SIDE_DESCENT (1u << 29)

/* Open the programs and find out what this kernel has. Negative errno: -ENODEV without BTF. */
int kernel_side_new(struct kernel_side **out);
/* Load what can be loaded. -EPERM without the privileges. */
int kernel_side_load(struct kernel_side *k);
void kernel_side_free(struct kernel_side *k);

/*
 * Attach the tracepoints of these layers (1 << enum layer) and detach all others. Returns
 * the layers that are attached.
 */
uint32_t kernel_side_layers(struct kernel_side *k, uint32_t wanted);
/* Detach what begins system calls of the layers attached now, and keep what ends them. */
void kernel_side_syscalls_drain(struct kernel_side *k);
/* Life and death of targets (fork, exec, exit): always needed. */
int kernel_side_attach_life(struct kernel_side *k);
/* Layers that this kernel can measure. */
uint32_t kernel_side_available(const struct kernel_side *k);
/*
 * True if the kernel reports contention of its own locks (Linux 5.19); if not, LAYER_LOCK
 * measures only waits for user-space locks.
 */
bool kernel_side_own_locks(const struct kernel_side *k);
/* Tracepoints that descents use and this kernel lacks, with commas between; "" if none. Returns
 * `out`. */
const char *kernel_side_missing(const struct kernel_side *k, char *out, size_t n);
/* The table of struct pt_dirtier, by process. */
int kernel_side_dirtiers(const struct kernel_side *k);
/* True if the running kernel is older than peaktop supports. Only used to explain a refusal. */
bool kernel_side_too_old(void);
enum uprobe_method kernel_side_uprobes(const struct kernel_side *k);
int kernel_side_site_program(const struct kernel_side *k);
int kernel_side_break_program(const struct kernel_side *k);
int kernel_side_sample_program(const struct kernel_side *k);
int kernel_side_snapshot_program(const struct kernel_side *k);
int kernel_side_share_program(const struct kernel_side *k);

/*
 * Call `fn` for every thread of the targets, or of the process `pid` if it is not 0.
 * Returns 0 or a negative errno; -EOPNOTSUPP if the kernel has no task iterators.
 */
typedef void (*kernel_side_task_fn)(void *ctx, const struct pt_task_now *t);
int kernel_side_tasks(struct kernel_side *k, uint32_t pid, kernel_side_task_fn each, void *ctx);

/* Probes of kernel functions: whether this kernel has them, and the programs for entry and return.
 */
bool kernel_side_has_kprobes(const struct kernel_side *k);
int kernel_side_kernel_program(const struct kernel_side *k, bool at_return);

struct pt_fnode *kernel_side_fnodes(struct kernel_side *k);
struct pt_learn *kernel_side_learns(struct kernel_side *k);
/* Which fnode (index + 1) begins in a context; the first one that is said for it counts. */
int kernel_side_context_add(struct kernel_side *k, const struct pt_context *key, uint32_t index);
void kernel_side_contexts_clear(struct kernel_side *k);
/* Memory shared with the programs. */
struct pt_control *kernel_side_control(struct kernel_side *k);
struct pt_site *kernel_side_sites(struct kernel_side *k);
uint64_t *kernel_side_tokens(struct kernel_side *k);

/* Add up the shards of one slot; with `extremes`, minimum and maximum begin anew. */
void kernel_side_hist(struct kernel_side *k, uint32_t slot, bool extremes, struct pt_hist *out);
/* Forget what a slot has counted. */
void kernel_side_hist_clear(struct kernel_side *k, uint32_t slot);
/* Hits by cost class, added up over the CPUs. */
void kernel_side_counters(struct kernel_side *k, uint64_t out[PT_COUNTERS]);

/* Readable when a program has woken up the collector for a record; draining the ring buffer ends
 * that. */
int kernel_side_wake_fd(const struct kernel_side *k);
/* Call `each` for every record in the ring buffer. */
typedef void (*kernel_side_record_fn)(void *ctx, const struct pt_record *rec, size_t size);
void kernel_side_drain(struct kernel_side *k, kernel_side_record_fn each, void *ctx);

/* Processes that the BPF programs measure. The programs distinguish their threads. */
int kernel_side_target_add(struct kernel_side *k, uint32_t tgid);
void kernel_side_target_remove(struct kernel_side *k, uint32_t tgid);
/* Count again what a target does that was suspended when it executed a program
 * (control.check_exec). False: it was not. */
bool kernel_side_target_resume(struct kernel_side *k, uint32_t tgid);

/* Iterate over the threads; return nonzero from `each` to delete the entry. */
typedef int (*kernel_side_thread_fn)(void *ctx, uint32_t tid, const struct pt_thread *t);
int kernel_side_threads(struct kernel_side *k, kernel_side_thread_fn each, void *ctx);

/* Iterate over copies of the open activations. */
typedef void (*kernel_side_act_fn)(void *ctx, uint32_t index, const struct pt_act *a);
void kernel_side_activations(struct kernel_side *k, kernel_side_act_fn each, void *ctx);
/* Drop the one that was copied as `a`. False: it has ended in the meantime, and was counted. */
bool kernel_side_activation_drop(struct kernel_side *k, uint32_t index, const struct pt_act *a);
/* Look up the state of one thread. 0 or -ENOENT. */
int kernel_side_thread(struct kernel_side *k, uint32_t tid, struct pt_thread *out);
int kernel_side_thread_seed(struct kernel_side *k, uint32_t tid, const struct pt_thread *t);

/*
 * Add a return address. `ends` true: an armed site ends its calls. False: something else
 * ends them, and the address is not reported as new.
 */
int kernel_side_return_known(struct kernel_side *k, uint32_t tgid, uint32_t slot, uint64_t address,
			     bool ends);

#endif
