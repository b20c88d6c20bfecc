/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User functions that are timed: their sites, their links and their state. */
#ifndef PEAKTOP_COLLECT_FUNCTIONS_H
#define PEAKTOP_COLLECT_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "collect/attach.h"

struct collector;

enum { MAX_FUNCTIONS = 64 /* watched at once */, MAX_FUNCTION_SITES = 512 };

enum function_state {
	FUNCTION_OFF = 0, /* nothing armed: waiting for credit */
	FUNCTION_ON,
	FUNCTION_DRAINING, /* entries removed, ends wait for open activations */
};

struct function_site {
	struct rec_site site;
	uint32_t index;		/* in the site table */
	bool dead;		/* refused by the kernel, or not worth its price */
	uint64_t starts_before; /* of the function, when this one was added */
};

/* The links of one function in one process and one file. */
struct function_links {
	pid_t pid;
	uint32_t module;
	struct attachment starts, ends;
	bool exits; /* `ends` are in the function itself */
};

struct function {
	uint32_t op;   /* the front's number */
	uint32_t slot; /* of its histogram */
	struct rec_op meta;
	uint32_t error_ns; /* of the correction of its latencies */
	struct function_site *sites;
	unsigned int nr_sites;
	struct function_links *links;
	unsigned int nr_links;
	enum function_state state;
	int64_t credit_ns; /* what may still be spent */
	struct short_window {
		uint64_t since, spent_ns, ran_ns; /* ran: the targets, probes included */
	} short_window;
	struct armed_time time;
	uint64_t spent_ns; /* estimated cost so far */
	uint64_t owed_ns;  /* more of it, as account_charge() keeps it */
	uint64_t burst_spent_ns,
	    burst_max_ns; /* in this burst, and what it may spend of a descent's account */
	uint64_t state_since;
	uint64_t hits_seen;
	struct attachment *breaks; /* draining: one for each call that is still open */
	unsigned int nr_breaks;
	bool ends_gone;	   /* draining: the ends are detached, the breakpoints wait */
	uint64_t censored; /* open calls given up at the end of a burst */
	bool gate_open;	   /* what begins counts */
	bool hopeless;	   /* every site was refused */
	bool exits_dropped, keep_exits;
	bool exits_wait; /* stepped ones are not armed before it is known how often it is called */
	bool starts_going; /* draining: the starts are being detached, calls that begin still count
			    */
	uint32_t burst;	   /* number of the present one, or of the last */
	uint64_t burst_hits;  /* of the starts before the burst */
	uint64_t starts_hits; /* of the starts, as of the last look while that lasts */
	uint64_t changed_ns;  /* when sites were last added */
};

struct function_table {
	struct function *list[MAX_FUNCTIONS];
	unsigned int nr;
};

void function_arm(struct collector *c, const struct req_arm *arm);
void function_disarm(struct collector *c, uint32_t op);
/* Attach what is armed in a process that has just become a target or has mapped a file. */
void functions_new_mapping(struct collector *c);
/* A process has ended: its links go. */
void functions_forget(struct collector *c, pid_t pid);
/* Forget the open activations of a function: nothing would end them. */
void function_drop_open(struct collector *c, struct function *f);
/* A breakpoint saw a call of this slot return. */
void function_closed(struct collector *c, uint32_t slot);
/* Hits that a site of this class may take until its fuse blows. */
uint64_t function_allowance(const struct collector *c, const struct function *f, uint32_t class);
/* Calls that its probes saw begin; *last (may be NULL): when the last of them did. */
uint64_t function_starts(const struct collector *c, const struct function *f, uint64_t *last);
/* Governor; returns the time of the next check. */
uint64_t functions_govern(struct collector *c, uint64_t now);
/* A breakpoint waits for an open call: its hit must be heard at once. */
bool functions_waiting(const struct collector *c);
void functions_release(struct collector *c);
void functions_sleep(struct collector *c);
void functions_wake(struct collector *c);
void function_exits_drop(struct collector *c, struct function *f);
/* Calls that return there are ended by the exits of the function from now on; the site goes with
 * the burst. */
void function_return_give_up(struct collector *c, struct function *f, struct function_site *s);
/* The opposite: arm the exits that wait or were dropped. 0 or the first errno. */
int function_exits_arm(struct collector *c, struct function *f);
/* The fuse of a site has blown at this instant: it begins nothing since. */
void function_blown(struct collector *c, uint32_t site_index, uint64_t at);
/* Frames of Go are not known by their address. */
bool function_is_go(const struct function *f);
struct function *function_by_slot(struct collector *c, uint32_t slot);
/* Let new activations be counted, or not: at once, whatever is attached. */
void function_gate(struct collector *c, struct function *f, bool open);
/* No call that begins from now on counts, and no time after now counts as armed. */
void function_gate_close(struct collector *c, struct function *f);
/* Attach and detach the links of a function as its state wants. */
void function_links_start(struct collector *c, struct function *f);
void function_links_stop(struct function *f, bool ends_too);

struct function *function_by_op(struct collector *c, uint32_t op);

#endif
