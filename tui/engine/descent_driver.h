/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver of a descent connects its state machine (analysis/descent/descent.h) with the
 * collector and the parser. It reads every record of the stream, live or saved. The records that it
 * makes (REC_DESCENT, REC_CALLEES, REC_INDIRECT_CALLEES, REC_FNODE_LOST, REC_SYMBOL, REC_INLINES)
 * go into the stream, too, and come back through driver_take(). So a replay computes the same
 * answer from the records alone.
 *
 * Names from the target are stored unchanged: sanitise them before showing them.
 * The driver never blocks and reads no clock. Private to tui/.
 */
#pragma once

#include "analysis/descent/choose.h"
#include "analysis/descent/descent.h"
#include "analysis/descent/first_hop.h"
#include "analysis/descent/inlined.h"
#include "analysis/session/record.h"
#include "tui/engine/parser.h"

struct descent_driver;

/* Callbacks into the front. */
struct driver_host {
	void *ctx;
	/* Put a record into the stream. The stream calls driver_take() with the record before
	 * feed() returns. If driver_take() itself called feed(), the record follows when
	 * driver_take() has returned. */
	void (*feed)(void *ctx, const struct record *rec);
	/* Send a request to the collector. */
	int (*request)(void *ctx, const struct record *rec);
	/* Send a request to the parser. False: the request was not sent, and no answer will come.
	 */
	bool (*ask)(void *ctx, enum parse_type type, struct parse_request *req,
		    const struct parser_reply *reply);
	/* Show one line to the user. */
	void (*message)(void *ctx, const char *line);
};

/* An offset with this bit stands for the callee of the call site at the offset without the
 * bit, if the callee is not a known function but has a name (an import, an IFUNC). */
#define DRIVER_CALLEE_OF (1ull << 63)

struct driver_symbol {
	uint32_t module;
	uint64_t offset;
	const char *symbol, *function, *file; /* "" if unknown; they point into the copy */
	uint32_t line;
	struct rec_symbol *copy; /* private to descent_driver_names.c */
};

/* `host` is copied; NULL for a replay, which sends no requests. Returns NULL if out of
 * memory. */
struct descent_driver *driver_new(const struct driver_host *host);
void driver_free(struct descent_driver *d);

/* Call this for every record of the stream that a session file can hold, in stream order. */
void driver_take(struct descent_driver *d, const struct record *rec);

/* Live only, for records that need work before they enter the stream as REC_WITNESS.
 * driver_witness() fills in missing frames from the armed set. driver_stack() takes a stack sample
 * with its unwound frames: those from f0 inwards, or, if f0 is in the kernel, all frames, innermost
 * first. `nr` is 0 if the stack could not be unwound. */
void driver_witness(struct descent_driver *d, const struct rec_witness *w);
void driver_stack(struct descent_driver *d, const struct rec_stack *s,
		  const struct rec_frame *frames, uint32_t nr);

/* Begin a descent, or change the running one to another peak. 0, or -EINVAL: `ask` is out of range,
 * or this is a replay. */
int driver_begin(struct descent_driver *d, const struct rec_descent *ask);
/* Begin the first descent of several into the parts of an operation; driver_begin() begins the
 * others, each when the one before is over. Their answers are kept until another operation or range
 * is asked for. Returns as driver_begin(). */
int driver_begin_parts(struct descent_driver *d, const struct rec_parts *parts,
		       const struct rec_descent *ask);
/* Put into the stream what the user asks of operation `op`, before a descent can begin.
 * driver_question() returns what the stream has; NULL: nothing. */
void driver_ask_question(struct descent_driver *d, uint32_t op, const struct descent_question *q);
const struct rec_question *driver_question(const struct descent_driver *d);
/* The operation of the descent, or of a question whose descent never began; 0: there is neither. */
uint32_t driver_op(const struct descent_driver *d);
/* Stop the descent early (time limit, or the user stopped it). The results so far stay available.
 */
void driver_stop(struct descent_driver *d);

/* True if f0 is of the kernel: then its place has the module REC_KERNEL_MODULE, and that of a
 * system call an offset with REC_KERNEL_CALL. */
bool driver_is_in_kernel(const struct descent_driver *d);
/* The question of the descent; NULL if there is none yet. */
const struct rec_descent *driver_asked(const struct descent_driver *d);
/* The waits for a CPU of the calls beside which a peak was chosen (DESCENT_BESIDE_WAITS). */
struct driver_waited {
	uint64_t low_ns; /* the calls from this latency on */
	struct choose_waited waited;
};
/* Returns NULL if no peak was chosen for that reason. */
const struct driver_waited *driver_waited(const struct descent_driver *d);
/* True if the descent has ended or was stopped. */
/* The armed call sites, and the epoch of this set. */
const struct descent_armed *driver_armed(const struct descent_driver *d, uint32_t *nr);
uint32_t driver_epoch(const struct descent_driver *d);
bool driver_over(const struct descent_driver *d);
const struct descent *driver_descent(const struct descent_driver *d);
/* The answer as of now, with the parts that depend on names filled in. Returns 0 or -ENOMEM. Free
 * it with descent_result_release(). */
int driver_result(const struct descent_driver *d, struct descent_result *out);

/* ---- the parts of an operation (descent_driver_parts.c) ---- */

/* NULL: the present descent is not one into a part. Valid until the next record. */
const struct rec_parts *driver_parts(const struct descent_driver *d);
/* The driver as it was at the end of the descent into part `number` (from 1), to be read only; the
 * driver itself for the present descent. NULL: there was none into this part. Valid until the next
 * record. */
const struct descent_driver *driver_part(const struct descent_driver *d, uint32_t number);

/* ---- names (descent_driver_names.c) ---- */

/* Request the names that the present result needs. True: no request is outstanding. */
bool driver_names(struct descent_driver *d);
/* The name of a place; NULL if it is not known. Valid until the next record. */
const struct driver_symbol *driver_symbol(const struct descent_driver *d, uint32_t module,
					  uint64_t offset);
/* Calls `emit` with a REC_SYMBOL for each place of which the name is known, until it returns an
 * error, which is returned. */
int driver_symbols(const struct descent_driver *d, int (*emit)(void *ctx, const struct record *rec),
		   void *ctx);
/* The base name of a module, "" if unknown. */
const char *driver_module(const struct descent_driver *d, uint32_t module);
/* What tells whether a module of another session is the same file. */
struct module_origin {
	char *path;	/* as the target sees it */
	char *build_id; /* NULL: none, or not read */
	uint64_t size;
};
/* Returns NULL for a number that no module has. Valid until the next record. */
const struct module_origin *driver_module_identity(const struct descent_driver *d, uint32_t module);
uint32_t driver_nr_modules(const struct descent_driver *d);
/* The release of the host's kernel; NULL: not known. */
const char *driver_kernel(const struct descent_driver *d);
/* What users call a module: the link by which it was started, else its file name without
 * " (deleted)". NULL: no memory. Free it with free(). */
char *driver_module_label(const struct rec_module *m);
/* Write the name of a fnode's function for display into `out`: never empty, truncated to `size`.
 * Returns `out`. */
const char *driver_function(const struct descent_driver *d, const struct descent_fnode *n,
			    char *out, size_t size);

/* The heaviest wait on a path; NULL: none. Valid until the next record. */
const struct hop *driver_wait(const struct descent_driver *d, const struct descent_result *r,
			      const struct descent_path *p);
/* The place whose name describes a stack frame: its call instruction (just before the return
 * address), or, for the innermost frame, its instruction pointer. */
struct rec_code driver_frame_place(const struct rec_frame *f, bool innermost);

/* ---- inlined calls (descent_driver_inlines.c) ---- */

/* The inlined calls at a place; NULL if not known. Valid until the next record. */
const struct rec_inlines *driver_inlines(const struct descent_driver *d, struct rec_code place);
/* Attribute the time in the last function of a path to the functions inlined in it. Valid until the
 * next record. */
void driver_narrow(const struct descent_driver *d, const struct descent_path *p,
		   struct inlined *out);
