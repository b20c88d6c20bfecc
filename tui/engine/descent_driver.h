/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One descent between its state machine (analysis/descent/descent.h), the
 * collector and the parser. It takes every record of the stream, live or saved:
 * what it makes itself (REC_DESCENT, REC_CALLEES, REC_INDIRECT_CALLEES, REC_FNODE_LOST,
 * REC_SYMBOL, REC_INLINES) goes into the stream too and comes back by driver_take(), so that
 * a replay computes the same answer from the records alone.
 *
 * Names of the host are kept as they came: sanitise them where they are shown.
 * Never blocks, knows no clock. Private to tui/.
 */
#ifndef PEAKTOP_DESCENT_DRIVER_H
#define PEAKTOP_DESCENT_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/descent/descent.h"
#include "analysis/descent/first_hop.h"
#include "analysis/descent/inlined.h"
#include "analysis/session/record.h"
#include "tui/engine/parser.h"

struct descent_driver;

/* Callbacks into the front. */
struct driver_host {
	void *ctx;
	/*
	 * Put a record into the stream. driver_take() gets it before this returns, unless this is
	 * called from within driver_take(): then as soon as that has returned.
	 */
	void (*feed)(void *ctx, const struct record *rec);
	/* Send a request to the collector. */
	int (*request)(void *ctx, const struct record *rec);
	/* Ask the parser; false: it cannot be asked, and there will be no answer. */
	bool (*ask)(void *ctx, enum parse_type type, struct parse_request *req,
		    const struct parser_reply *reply);
	/* One line for the person. */
	void (*message)(void *ctx, const char *line);
};

/*
 * An offset with this bit stands for the callee of the call site at the offset without the
 * bit, if the callee is not a known function but has a name (an import, an IFUNC).
 */
#define DRIVER_CALLEE_OF (1ull << 63)

struct driver_symbol {
	uint32_t module;
	uint64_t offset;
	const char *symbol, *function, *file; /* "" if unknown */
	uint32_t line;
};

/*
 * `host` is copied; NULL for a replay, which sends no requests. Returns NULL if out of
 * memory.
 */
struct descent_driver *driver_new(const struct driver_host *host);
void driver_free(struct descent_driver *d);

/* Every saved record of the stream, in its order. */
void driver_take(struct descent_driver *d, const struct record *rec);

/*
 * Live only, in the place of driver_take(): a witness that may lack its frames, a
 * stack with the frames from f0's down that it was unwound to (none: it could not be; f0 a system
 * call: all, innermost first). What they become goes into the stream.
 */
void driver_witness(struct descent_driver *d, const struct rec_witness *w);
void driver_stack(struct descent_driver *d, const struct rec_stack *s,
		  const struct rec_frame *frames, uint32_t nr);

/* Begin, or go on with another peak. -EINVAL: out of range. */
int driver_begin(struct descent_driver *d, const struct rec_descent *ask);
/* Give up: the time is over, or a person stopped it. What was found stays. */
void driver_stop(struct descent_driver *d);

/* f0 is a system call: the place of it is REC_KERNEL_CALL of REC_KERNEL_MODULE. */
bool driver_of_syscall(const struct descent_driver *d);
/* The question of the descent; NULL if there is none yet. */
const struct rec_descent *driver_asked(const struct descent_driver *d);
/* True if the descent has ended or was stopped. */
bool driver_over(const struct descent_driver *d);
const struct descent *driver_descent(const struct descent_driver *d);
/*
 * The present answer, completed with what depends on names. 0 or -ENOMEM;
 * descent_result_release().
 */
int driver_result(const struct descent_driver *d, struct descent_result *out);

/* ---- names (descent_driver_names.c) ---- */

/* Ask for the names that the result as it is now needs: true when none is awaited. */
bool driver_names(struct descent_driver *d);
/* NULL: not known. Valid until the next record. */
const struct driver_symbol *driver_symbol(const struct descent_driver *d, uint32_t module,
					  uint64_t offset);
/* Base name, "" if unknown. */
const char *driver_module(const struct descent_driver *d, uint32_t module);
/* The name of a fnode's function for a person: never empty, cut to fit. */
const char *driver_function(const struct descent_driver *d, const struct descent_fnode *n,
			    char *out, size_t size);

/* The heaviest wait on a path; NULL: none. Valid until the next record. */
const struct hop *driver_wait(const struct descent_driver *d, const struct descent_result *r,
			      const struct descent_path *p);
/* The place in code to ask about for a frame of a stack: of its call, or where the innermost one
 * is. */
struct rec_code driver_frame_place(const struct rec_frame *f, bool innermost);

/* ---- inlined calls (descent_driver_inlines.c) ---- */

/* The inlined calls at a place; NULL if not known. Valid until the next record. */
const struct rec_inlines *driver_inlines(const struct descent_driver *d, struct rec_code place);
/*
 * Narrow the time in the last function of a path to inlined functions. Valid until the next
 * record.
 */
void driver_narrow(const struct descent_driver *d, const struct descent_path *p,
		   struct inlined *out);

#endif
