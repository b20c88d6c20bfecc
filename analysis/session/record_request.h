/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the front to the collector. Part of record.h, which includes it. */
#include "analysis/session/record.h"
#ifndef PEAKTOP_RECORD_REQUEST_H
#define PEAKTOP_RECORD_REQUEST_H

/* Count only calls that begin inside a phase: from the begin of a call of one operation to the end
 * of a call of another. If both are the same operation, its calls are the phases. Each is an armed
 * function or a system call; if both numbers are 0, the function is not loaded yet. */
struct req_phases {
	uint32_t begin_op, end_op;     /* 0: none */
	uint32_t begin_call, end_call; /* number of the system call + 1; 0: none */
	const char *begin, *end;       /* as on the command line */
};

struct req_layers {
	uint32_t mask; /* 1 << enum layer */
};

struct req_arm {
	uint32_t epoch;
	struct rec_op op;
	uint32_t nr_sites;
	const struct rec_site *sites;
	uint32_t drop_exits; /* once these are armed, remove the SITE_EXIT sites of the operation */
	uint32_t keep_exits; /* some caller has no return probe: never remove the exits */
};

struct req_disarm {
	uint32_t epoch;
	uint32_t op;
};

struct req_file {
	uint32_t module;
	const char *build_id; /* REQ_DEBUG_FILE: hex, or "" */
	const char *name;     /* REQ_DEBUG_FILE: debuglink base name, or "" */
};

/* One fnode with its two addresses. Fnodes with the same site differ in their parent. */
struct req_fnode {
	uint32_t node;	       /* from 1 */
	uint32_t parent;       /* 0: f0 */
	struct rec_site start; /* SITE_CALL, or SITE_ENTRY of the callee */
	struct rec_site end;   /* SITE_RETURN; module 0: a tail call, ends with its parent */
	/* SITE_ENTRY and system calls: file offset (in end.module) of the return address that
	   counts; 0: any */
	uint64_t only_return;
};

/* Answered by ACK once calls of f0 that begin are timed with this set (REC_CALL
 * with this epoch follow), or REFUSED. Replaces the set armed before. nr_nodes 0 is
 * allowed: f0 alone is timed. With `stop`, nothing more is recorded. */
struct req_descend {
	uint32_t epoch;
	uint32_t op;		  /* f0: armed by REQ_ARM */
	uint64_t low_ns, high_ns; /* report only calls with low <= latency < high */
	uint32_t stop;
	/* 1: time no calls of f0, and sample the stacks of the targets wherever they run */
	uint32_t sampled;
	uint32_t nr_nodes;
	const struct req_fnode *nodes;
};

/* Answered by one REC_INDIRECT_CALLEES for the node: with the functions that this site was seen to
 * call in in-peak calls of f0 (module 0: code of no file), or with an error. */
struct req_learn {
	uint32_t op; /* f0: armed by REQ_DESCEND; 0 with OPERAND_SLOT: of no descent */
	uint32_t node;
	uint32_t parent;      /* node that makes the call, 0: f0; any if it is not armed */
	struct rec_site site; /* the call or jump itself */
	struct rec_operand operand;
};

struct req_target {
	uint32_t pid;
};

/* Trace who waits for whom (record_waits.h), beginning with all threads of the targets. Answered by
 * ACK with this epoch before the first REC_WINDOW, or by REFUSED. A second request replaces the
 * first one; the current window ends before. With `stop`, the current window ends and no further
 * one begins. The collector chooses the pauses between windows by --max-overhead; without a budget
 * there is one window until the request to stop. */
struct req_waits {
	uint32_t epoch;
	uint32_t stop;
	uint64_t window_ns; /* least length of a window, 1 s to 60 s; 0: 1 s */
	uint32_t hops; /* how far interest spreads: wakers of targets are 1; at most 16; 0: 8 */
	uint32_t spare;
};

/* Send each call of an operation that takes at least `least_ns` as a REC_SLOW_CALL. The first
 * request is one with op 0: its limit holds for operations that have none of their own. Of calls
 * inside each other the outermost one is sent. Not while there is a descent. Without an answer. */
struct req_keep {
	uint32_t op;
	uint64_t least_ns;
	/* With op 0: the run queue need not be counted, so that threads need not be observed
	 * between their calls. */
	uint32_t only_calls;
};

/* Where a value is: `offset` bytes behind the address in a register of arguments. */
struct rec_member {
	uint32_t argument; /* from 0 */
	uint32_t offset;
	uint32_t size;	     /* bytes: 1 to 8; of the string: most bytes; 0: nothing is read */
	uint32_t is_pointer; /* of the string: 1: a pointer to it is there */
};

/* Read these values when calls of an armed function begin, for rec_sample.members and .text.
 * Replaces what was asked for before. Without an answer. */
struct req_members {
	uint32_t op;
	uint32_t nr_members;
	const struct rec_member *members; /* at most SAMPLE_MEMBERS */
	struct rec_member text;
};

#endif
