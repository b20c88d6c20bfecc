/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches kprobes in a thread of its own. The kernel may make who attaches one wait for seconds,
 * while it optimises or removes others, and the collector's loop must not stand still.
 */
#pragma once

#include "collect/attach.h"

enum { PLACE_ADDRESSES = 8 };

/*
 * One probe: at the first of these addresses at which the kernel knows an instruction to begin; the
 * others are refused with EILSEQ. Or at the entry or the return of a function.
 */
struct attach_place {
	int prog;
	const char *function; /* NULL: at an address. The batch has a copy */
	bool at_return;
	uint64_t address[PLACE_ADDRESSES];
	unsigned int nr_addresses;
	uint64_t cookie;
	int err;		/* result; without an address EILSEQ */
	struct attachment link; /* result; the caller's from then on */
};

/* Attach this probe. Its `err` tells the outcome. */
void attach_place(struct attach_place *p);

struct attach_batch;

/* Attach programs at these places, in their order. NULL: no memory or no thread. */
struct attach_batch *attach_batch_new(const struct attach_place *places, size_t nr);
/* The places once all were tried, or NULL. */
struct attach_place *attach_batch_done(struct attach_batch *b);
/* Free a batch, or NULL. Of one that is not done what is attached already is removed by its thread,
 * which attaches nothing more. */
void attach_batch_free(struct attach_batch *b);
/* True if no thread attaches probes any more, whether its batch was freed or not. */
bool attach_batches_are_over(void);
