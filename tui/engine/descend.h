/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One descent between its state machine (analysis/descent/descent.h), the
 * collector and the parser. It takes every record of the stream, live or saved:
 * what it makes itself (REC_DESCENT, REC_CALLEES, REC_INDIRECT_CALLEES, REC_FNODE_LOST,
 * REC_SYMBOL, REC_INLINES) goes into the stream too and comes back by descend_take(), so that
 * a replay computes the same answer from the records alone.
 *
 * Names of the host are kept as they came: sanitise them where they are shown.
 * Never blocks, knows no clock. Private to tui/.
 */
#ifndef PEAKTOP_DESCEND_H
#define PEAKTOP_DESCEND_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/descent/descent.h"
#include "analysis/descent/first_hop.h"
#include "analysis/descent/inlined.h"
#include "analysis/session/record.h"
#include "tui/engine/parser.h"

struct descend;

/* Callbacks into the front. */
struct descend_host {
	void *ctx;
	/*
	 * Put a record into the stream. descend_take() gets it before this returns, unless this is
	 * called from within descend_take(): then as soon as that has returned.
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
#define DESCEND_CALLEE_OF (1ull << 63)

struct descend_symbol {
	uint32_t module;
	uint64_t offset;
	const char *symbol, *function, *file; /* "" if unknown */
	uint32_t line;
};

/*
 * `host` is copied; NULL for a replay, which sends no requests. Returns NULL if out of
 * memory.
 */
struct descend *descend_new(const struct descend_host *host);
void descend_free(struct descend *d);

/* Every saved record of the stream, in its order. */
void descend_take(struct descend *d, const struct record *rec);

/*
 * Live only, in the place of descend_take(): a witness that may lack its frames, a
 * stack with the frames from f0's down that it was unwound to (none: it could not be; f0 a system
 * call: all, innermost first). What they become goes into the stream.
 */
void descend_witness(struct descend *d, const struct rec_witness *w);
void descend_stack(struct descend *d, const struct rec_stack *s, const struct rec_frame *frames,
		   uint32_t nr);

/* Begin, or go on with another peak. -EINVAL: out of range. */
int descend_begin(struct descend *d, const struct rec_descent *ask);
/* Give up: the time is over, or a person stopped it. What was found stays. */
void descend_stop(struct descend *d);

/* f0 is a system call: the place of it is REC_KERNEL_CALL of REC_KERNEL_MODULE. */
bool descend_of_syscall(const struct descend *d);
/* The question of the descent; NULL if there is none yet. */
const struct rec_descent *descend_asked(const struct descend *d);
/* True if the descent has ended or was stopped. */
bool descend_over(const struct descend *d);
const struct descent *descend_state(const struct descend *d);
/*
 * The present answer, completed with what depends on names. 0 or -ENOMEM;
 * descent_result_release().
 */
int descend_result(const struct descend *d, struct descent_result *out);

/* ---- names (descend_names.c) ---- */

/* Ask for the names that the result as it is now needs: true when none is awaited. */
bool descend_names(struct descend *d);
/* NULL: not known. Valid until the next record. */
const struct descend_symbol *descend_symbol(const struct descend *d, uint32_t module,
					    uint64_t offset);
/* Base name, "" if unknown. */
const char *descend_module(const struct descend *d, uint32_t module);
/* The name of a fnode's function for a person: never empty, cut to fit. */
const char *descend_function(const struct descend *d, const struct descent_fnode *n, char *out,
			     size_t size);

/* The heaviest wait on a path; NULL: none. Valid until the next record. */
const struct hop *descend_wait(const struct descend *d, const struct descent_result *r,
			       const struct descent_path *p);
/* The place in code to ask about for a frame of a stack: of its call, or where the innermost one
 * is. */
struct rec_code descend_frame_place(const struct rec_frame *f, bool innermost);

/* ---- inlined calls (descend_inlines.c) ---- */

/* The inlined calls at a place; NULL if not known. Valid until the next record. */
const struct rec_inlines *descend_inlines(const struct descend *d, struct rec_code place);
/*
 * Narrow the time in the last function of a path to inlined functions. Valid until the next
 * record.
 */
void descend_narrow(const struct descend *d, const struct descent_path *p, struct inlined *out);

#endif
