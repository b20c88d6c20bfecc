/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a descent for the screen, as plain values, so that the view does not depend on the
 * engine. Text is untrusted and need not be sanitised. The screen copies everything. Times in ns,
 * shares 0..1. */
#pragma once

#include "tui/screen/screen.h"

enum {
	SCREEN_DESCENT_FNODES = 4096,	/* numbers from here on belong to inlined functions */
	SCREEN_DESCENT_INLINED = 8,	/* maximum of inlined functions below one fnode */
	SCREEN_DESCENT_WAITS = 1 << 14, /* the last numbers are those of waits */
	SCREEN_DESCENT_MAX_NODES =
	    SCREEN_DESCENT_FNODES * (1 + SCREEN_DESCENT_INLINED) + SCREEN_DESCENT_WAITS,
	SCREEN_DESCENT_MAX_PATHS = 256,
	SCREEN_DESCENT_MAX_PARTS = 16,
	SCREEN_MAX_INSNS = 2048,
};

/* One fnode. The nodes are in preorder: callees follow their caller, with `depth` one larger. No
 * pointer may be NULL. */
struct screen_descent_node {
	uint32_t node;	    /* its number, which never changes; below SCREEN_DESCENT_MAX_NODES */
	unsigned int depth; /* 0: f0, the first and only one */
	const char *name;
	const char *file; /* of its call site; for f0 of its definition; "" unknown */
	uint32_t line;
	uint32_t code_module; /* the same place in the code; 0 unknown */
	uint64_t code_offset;
	uint64_t code_start; /* start of the function that contains that place; 0 unknown */
	double share;	     /* of the time of the in-peak calls */
	uint64_t latency_ns; /* mean */
	uint64_t maxcount;
	uint64_t votes; /* calls that could have voted for it; 0: never measured */
	const char
	    *evidence; /* "measured", "stacks", ...; "": not measured yet, its figures are hidden */
	const char *remark; /* "in a loop", "too frequent to be timed", ""; shown after the name */
	bool armed, root_cause;
	bool wait; /* a layer of a chain of waits, or its call path: no function of the target */
};

struct screen_descent_path {
	double share;
	uint64_t latency_ns;
	const char *cause;    /* "timed sleep (nanosleep)" */
	const char *evidence; /* of the cause */
	const char *where;    /* "in the loop at hash.c:40-44", "" unknown */
	const char *waits;    /* the largest chain of its waits, in one line; NULL: none */
	uint32_t node;	      /* number of its last frame */
};

/* A part of the operation's time. No pointer may be NULL. */
struct screen_descent_part {
	double share;	    /* of the operation's time */
	const char *calls;  /* "7.6% of calls, 1.5-4.2 ms" */
	const char *answer; /* what takes its time, so far */
};

struct screen_descent {
	/* If the operation is explained as a whole: its parts, largest first, and the number (from
	 * 1) of the part that all the rest is about. */
	const char *operation; /* "serve, 1.5k calls/s, 98% of a thread"; "" without parts */
	uint32_t nr_parts, part;
	const struct screen_descent_part *parts;
	const char *sentence; /* the answer so far */
	const char *status;   /* "in progress", "root cause found", ... */
	bool over;
	unsigned int rounds, armed, until_next;
	uint64_t calls_used;
	double explained;
	uint32_t nr_nodes, nr_paths; /* more than the maxima are left out */
	const struct screen_descent_node *nodes;
	const struct screen_descent_path *paths; /* largest share first */
};

/* One instruction. No pointer may be NULL. */
struct screen_insn {
	uint64_t offset;
	const char *text;
	const char *file; /* if it differs from the previous instruction, else "" */
	uint32_t line;	  /* 0: as for the previous instruction */
	double share;	  /* of the samples in this function's own code; 0: none */
	bool loop;	  /* lies in a loop */
	bool jumped_to;
};

struct screen_code {
	const char *title;
	uint64_t start; /* start of the function's code: offsets are relative to it */
	uint32_t site;	/* index of the instruction to mark */
	uint32_t nr;
	const struct screen_insn *insns;
};
