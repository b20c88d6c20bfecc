/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the front tells the screen of a descent: plain values, so that the view
 * knows nothing of how it is done. Text is not trusted and need not be
 * sanitised; everything is copied. Times in ns, shares 0..1.
 */
#ifndef PEAKTOP_SCREEN_DESCENT_H
#define PEAKTOP_SCREEN_DESCENT_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/screen.h"

enum { SCREEN_DESCENT_MAX_NODES = 4096, SCREEN_DESCENT_MAX_PATHS = 256 };

/* One fnode, in preorder: what it calls follows it, one deeper. No pointer may be NULL. */
struct screen_descent_node {
	uint32_t node;	    /* its number for good, below SCREEN_DESCENT_MAX_NODES */
	unsigned int depth; /* 0: f0, the first and only one */
	const char *name;
	const char *file; /* where it is called; of f0: where it is defined; "" unknown */
	uint32_t line;
	double share;	     /* of the time of the in-peak calls */
	uint64_t latency_ns; /* mean */
	uint64_t maxcount;
	uint64_t votes;	      /* calls in which it could have got one; 0: never measured */
	const char *evidence; /* "measured", "witnessed", ... */
	const char *remark; /* "in a loop", "too frequent to be timed", ""; shown after the name */
	bool armed, root_cause;
};

struct screen_descent_path {
	double share;
	uint64_t latency_ns;
	const char *cause;    /* "asleep on purpose (nanosleep)" */
	const char *evidence; /* of the cause */
	const char *file;     /* where the last frame mostly was, "" unknown */
	uint32_t line;
	uint32_t node; /* number of its last frame */
};

struct screen_descent {
	const char *sentence; /* the answer so far */
	const char *status;   /* "in progress", "root cause found", ... */
	bool over;
	unsigned int rounds, armed, decisions, until_next;
	uint64_t calls_used;
	double explained;
	uint32_t nr_nodes, nr_paths; /* what is beyond the maxima is left out */
	const struct screen_descent_node *nodes;
	const struct screen_descent_path *paths; /* largest share first */
};

/*
 * Show the view of a descent: in answer to SCREEN_DESCEND, once it has begun. Where
 * it is open already (asked again), it stays. Closing it gives SCREEN_DESCEND_STOP.
 */
void screen_open_descent(struct screen *s, uint32_t op, int peak);
/* The state now; shown from the next screen_tick() on. 0, -EINVAL (not in preorder) or -ENOMEM. */
int screen_set_descent(struct screen *s, const struct screen_descent *d);

/* In answer to SCREEN_SOURCE: lines of a file with this one (from 1) marked. */
void screen_show_source(struct screen *s, const char *title, const char *text, uint32_t line);

#endif
