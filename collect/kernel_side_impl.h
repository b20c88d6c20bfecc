/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loaded BPF programs and their links. Only kernel_*.c include
 * this. */
#pragma once

#include "collect/kernel_pipes.h"
#include "collect/kernel_side.h"
#include "collect/kernel_waits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "peaktop.skel.h"

enum { MAX_LINKS = 64 };

struct layer_link {
	uint32_t layers; /* attached if any of these layers is wanted */
	struct bpf_program *prog;
	struct bpf_link *link;
	bool exists; /* the kernel has the tracepoint */
};

struct kernel_side {
	struct peaktop_bpf *skel;
	enum uprobe_method uprobes;
	bool kprobes;
	struct pt_control *control;
	struct pt_hist *hists;
	struct pt_site *sites;
	uint64_t *tokens;
	struct pt_act *activations;
	struct pt_fnode *fnodes;
	struct pt_learn *learns;
	struct ring_buffer *ring;
	struct layer_link links[MAX_LINKS];
	unsigned int nr_links;
	int nr_cpus;
	unsigned int shards;  /* of each histogram */
	pt_u64 *counters;     /* PT_COUNTERS_ROOM of each CPU */
	int64_t steal_offset; /* of pt_control */
	kernel_side_record_fn each;
	void *each_ctx;
	struct bpf_link *tasks; /* task iterator of the threads of `tasks_pid`, or of all (0) */
	uint32_t tasks_pid;
	struct bpf_link *files; /* iterator over the open files of all processes */
	struct pipe_end_known pipes[PIPES_KNOWN];
	unsigned int next_pipe; /* the one that is replaced next */
	struct scan_pace scans;
	uint32_t wanted; /* layers that were last asked for */
	bool waits;	 /* the tracepoints of the tracing of waits are wanted */
	struct ring_buffer *waits_ring;
	struct bpf_link *waits_tasks; /* task iterator */
	kernel_waits_fn waits_each;
	void *waits_ctx;
};

/* Declare the links of all programs at tracepoints; find out which of them the kernel has, and
 * leave the programs of the others out. 0 or a negative errno. */
void links_declare(struct kernel_side *k);
int links_look(struct kernel_side *k);

/* Attach an iterator over the threads of `pid`, or of all processes (0), in place of *link. 0 or a
 * negative errno. */
int tasks_link(struct bpf_link **link, struct bpf_program *prog, uint32_t pid);

/*
 * Do not share BPF map memory with child processes: a map exists as long as a process has it
 * mapped, and a helper that hangs may outlive the collector.
 */
void maps_keep_from_children(void);
