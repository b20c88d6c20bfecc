/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An open call, and what is read when it begins. Part of records.h, which includes it. */
#include "bpf/records.h"
#ifndef PEAKTOP_ACT_H
#define PEAKTOP_ACT_H

enum {
	PT_BLOCKS = 4,	      /* pieces of memory read behind arguments */
	PT_BLOCK = 32,	      /* most bytes of one */
	PT_TEXT = 40,	      /* most bytes of a string behind an argument */
	PT_TEXT_ROOM = 48,    /* with a NUL */
	PT_OFFSETS = 1 << 16, /* members lie below */
};

/* Memory behind an argument. */
struct pt_block {
	pt_u32 argument, offset;
	pt_u32 size;	   /* bytes; of a string at most PT_TEXT; 0: nothing is read */
	pt_u32 is_pointer; /* a pointer to the string is there */
};

/* What is read when a call of a function begins. Key: slot. A read costs much more than a byte, so
 * members of one structure share a block. */
struct pt_behind {
	struct pt_block block[PT_BLOCKS];
	struct pt_block text;
};

/* In arg_mask: an armed site at the return address will see this activation return. */
#define PT_ACT_RETURNS (1u << 31)
/* In arg_mask: the activation began outside of a phase; kept because its end closes a phase. */
#define PT_ACT_OUTSIDE (1u << 30)
/* In arg_mask: which blocks behind the arguments are known, and whether the string is. */
#define PT_ACT_BLOCK0 (1u << 8)
#define PT_ACT_TEXT (1u << 12)
#define PT_ACT_KERNEL (1ull << 63) /* in a key's cfa: a kernel function, on this stack */

enum {
	PT_ACT_TAKEN = 1,
	PT_ACT_OPEN = 2,
	PT_ACT_STATE = 3,
	PT_ACT_START_SHIFT = 2,
	PT_ACT_PROBES = 8
};

/*
 * An entry of the table of open activations. The table is an array: a key is searched in the
 * PT_ACT_PROBES entries from its hash on. A BPF hash map would cost every call two locked
 * updates.
 */
struct pt_act {
	/* 0: free; PT_ACT_TAKEN: being written; PT_ACT_OPEN with `start` in the upper bits,
	 * which makes the state unique to the call */
	pt_u64 state;
	struct pt_act_key key;
	pt_u64 start;
	pt_u64 exit; /* when it passed an exit with PT_SITE_YIELDS; 0: not yet */
	pt_u64 ret;  /* return address, 0 if not read; of a kernel function the place of it */
	pt_u32 tid;
	pt_u32 arg_mask;
	pt_u64 args[PT_ARGS];
	struct pt_snapshot snap;
	pt_u64 blocks[PT_BLOCKS][PT_BLOCK / 8];
	char text[PT_TEXT_ROOM];
};

#endif
