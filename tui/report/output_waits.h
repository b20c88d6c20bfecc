/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the answers of `peaktop chains` and `peaktop critical` from the analysis of waits, as JSON
 * (docs/peaktop.schema.json) or as text. Names of the target and the host are sanitised here. Each
 * returns 0, -ENOMEM, or the negative errno of a failed write. */
#pragma once

#include <jansson.h>

#include "analysis/waits/timeline.h"
#include "analysis/waits/waits.h"
#include "analysis/waits/waits_critical.h"
#include "tui/engine/descent_driver.h"
#include "tui/report/output.h"

struct wait_report {
	struct model *model;
	const struct descent_driver *names;
	struct waits *waits;	 /* NULL: nothing was observed */
	uint64_t stacks_dropped; /* user stacks that were not unwound */
	bool live;		 /* not of a session file: more is to come */
};

int output_chains_json(const struct wait_report *r, const struct output_options *o, FILE *f);
/* One line a chain: its layers and their frames, then ns. */
int output_chains_folded(const struct wait_report *r, FILE *f);
int output_chains_text(const struct wait_report *r, const struct output_options *o, FILE *f);
/* The chains of one task, which need not be a target, in the newest window. */
int output_chains_of_text(const struct wait_report *r, const struct waits_lane *lane,
			  const struct output_options *o, FILE *f);
/* The chains as a flame view: a row per layer, boxes as wide as their time. */
int output_flame_text(const struct wait_report *r, const struct output_options *o, FILE *f);
/* The accounting by itself, with the deficit of the critical path. */
int output_account_text(const struct wait_report *r, const struct output_options *o, FILE *f);
int output_critical_json(const struct wait_report *r, const struct output_options *o, FILE *f);
int output_critical_text(const struct wait_report *r, const struct output_options *o, FILE *f);

/* ---- shared by text and JSON (output_waits.c, output_chains_tree.c); all append sanitised text
 * ---- */

/* What the task or the thing of a layer did, without the name of the task: "waiting for a file in
 * fsync: /var/log/x". */
void wait_layer_words(struct buf *out, const struct waits_node *n);
/* What a block request did: "read"; "" if it has no name. `operation`: as in BLOCK_OPERATION(). */
struct wait_operation {
	char s[32];
};
struct wait_operation wait_operation_word(uint32_t operation);
/* The name of a user frame's function: "serve", or "libc.so.6+0x1234". */
void wait_frame_name(struct buf *out, const struct wait_report *r, const struct rec_frame *f);
/* The call path of a task: of its program, or, of a thread of the kernel, there. Nothing if it is
 * not known. */
void wait_stack_words(struct buf *out, const struct wait_report *r, const struct waits_layer *l);
/* What a machine of the critical path does in a state: "running serve", "block I/O". */
void wait_state_words(struct buf *out, const struct wait_report *r, const struct waits_state *s);
/* The same with the machine: "redis-server 1234: running serve". */
void wait_state_label(struct buf *out, const struct wait_report *r, uint32_t state);
/* Append the sentence about the largest chain of an outline; its account must not be empty. 0 or
 * -ENOMEM. */
int wait_sentence_text(struct buf *out, const struct wait_report *r,
		       const struct waits_chains *outline, const struct waits_account *account,
		       unsigned int columns);
/* Append the tree of all chains. 0 or -ENOMEM. */
int wait_tree_text(struct buf *out, const struct wait_report *r, const struct waits_chains *chains,
		   unsigned int columns);
/* One line of a tree of chains. */
struct wait_line {
	unsigned int depth;
	uint32_t node; /* of the chains; their number of nodes: smaller ones added up */
	uint64_t ns, count;
	const char *words, *stack; /* "C 502 running", "main > serve"; "": not known */
};
typedef void wait_line_fn(void *ctx, const struct wait_line *line);
/* Call `fn` for each line of these chains, largest first. 0 or -ENOMEM. */
int wait_subtrees_each(const struct wait_report *r, const struct waits_chains *chains,
		       wait_line_fn *fn, void *ctx);
/* Append the trees of these chains alone, with shares of their time. 0 or -ENOMEM. */
int wait_subtrees_text(struct buf *out, const struct wait_report *r,
		       const struct waits_chains *chains, unsigned int columns);
/* Append the table of the accounting, and what is not accounted for; its time must not be 0. `bar`:
 * columns of a bar beside the figures. */
void wait_account_table(struct buf *out, const struct waits_account *a, unsigned int bar,
			bool ascii);
/* Append how much was observed, and what makes the result less than it looks. */
void wait_observed_lines(struct buf *out, const struct wait_report *r,
			 const struct output_options *o);
/* The chain that ends at a node. */
json_t *wait_chain_json(const struct wait_report *r, const struct waits_chains *chains,
			uint32_t node);
/* One sentence at a time about what makes the result less than it looks. False: there are no more.
 */
bool wait_doubt(struct buf *out, const struct wait_report *r, const struct waits_stats *stats,
		unsigned int i);
/* What a thread of the target did in time of a chain: bits. */
enum wait_rest {
	WAIT_NO_REST = 1 << 0,	    /* it was at work, or waited for others to go on with it */
	WAIT_REST = 1 << 1,	    /* it did nothing, or nothing that is known */
	WAIT_PERHAPS_REST = 1 << 2, /* it had nothing to do, or waited for others */
};
/* Time of this node. A call never does nothing, nor does a thread that waits for room, for a lock,
 * for an answer, or for what it has started, whatever others do meanwhile. */
enum wait_rest wait_rest_of(const struct waits_chains *c, uint32_t node, enum wait_account a);
/* How long waits were observed, of how long, and the share: "1.5 s of 3 s (50%) in 2 windows". */
void wait_observed_words(struct buf *out, const struct wait_report *r,
			 const struct output_options *o, const struct waits_stats *stats);
/* If tracing has begun and no window was open yet: that, and what opens one; else `text`. */
void wait_nothing_words(struct buf *out, const struct wait_report *r, const char *text,
			unsigned int columns);
extern const char wait_no_window[];
/* How many calls of --of were followed: "12 of 15 sampled calls of fsync, ...". Nothing without
 * --of.
 */
void wait_calls_words(struct buf *out, const struct wait_report *r);
/* The share of the whole measurement in which waits were observed, 0..1. */
double wait_share_observed(const struct wait_report *r, const struct output_options *o,
			   const struct waits_stats *stats);
