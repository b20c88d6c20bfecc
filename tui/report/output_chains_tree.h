/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tree of chains and the sentence above it share. Private to tui/report. */
#pragma once

#include "tui/report/output_waits.h"

struct printer {
	const struct wait_report *r;
	const struct waits_chains *chains;
	wait_line_fn *give; /* called for each line */
	void *ctx;
	struct buf *out;
	unsigned int columns;
	/* Waits of a task for a CPU below the same layer are one line. By node: the node whose line
	 * it is on (its own number: itself), and the time of this line. */
	uint32_t *line;
	uint64_t *ns;
	uint64_t whole;	    /* of which the shares are taken: the time of the present thread */
	uint32_t *children; /* indices, grouped by parent, largest first */
	uint32_t *first;    /* of node i: its children are children[first[i] .. first[i + 1]);
			       those of node nr are the outermost layers */
};

/* True if the layer is about another task than the one above it; `parent` NULL: it is outermost. */
bool chains_is_other_task(const struct waits_node *n, const struct waits_node *parent);
bool chains_is_same_task(const struct waits_layer *a, const struct waits_layer *b);
/* The thread of the target with most time that is not rest. */
struct busy_thread {
	struct waits_layer layer; /* its outermost one */
	uint64_t ns;		  /* all its time */
};
/* 0, or -ENOENT: there is no thread, or no memory to find it. */
int chains_busiest_thread(const struct printer *p, struct busy_thread *out);
/* True if the line of node `i` joins several waits for a CPU. */
bool chains_is_joined(const struct printer *p, uint32_t i);
/* True if the line of node `i` is a hand-off, which names the task below it. */
bool chains_is_handoff(const struct printer *p, uint32_t i);
/* Append the task of a layer: "redis-server 1234 ", or "412 tasks named curl: ". */
void chains_put_task(struct buf *out, const struct waits_layer *l);
/* Append the same without the space or colon: "redis-server 1234", or "412 tasks named curl". */
void chains_put_task_name(struct buf *out, const struct waits_layer *l);
/* Append the tasks that ran last on the CPUs for which the nodes on the line of `i` waited. Returns
 * the number of these waits. */
uint64_t chains_put_cpu_users(struct buf *out, const struct printer *p, uint32_t i);
#define CHAINS_FOR_TASKS (1u << 16) /* of chains_times(): only waits for other tasks */
/* By node: its time of these kinds (bits of enum wait_rest), with the layers below. NULL: out of
 * memory. */
uint64_t *chains_times(const struct waits_chains *c, unsigned int kinds);
/* The sentence about the largest wait or run of an outline (output_chains_sentence.c). */
void chains_put_sentence(const struct printer *p, const struct waits_account *a);
