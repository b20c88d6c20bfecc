/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user functions that are timed: their sites, links and state. A function belongs to the
 * collector until function_disarm() or functions_release(). */
#pragma once

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "collect/attach.h"

struct pt_site;
struct collector;
struct pt_record_sample;

enum {
	MAX_FUNCTIONS = 64 /* most functions watched at once */,
	MAX_FUNCTION_SITES = 512,
	MAX_FUNCTION_LINKS = 1 << 20
};

enum function_state {
	FUNCTION_OFF = 0, /* nothing is armed; waits for credit */
	FUNCTION_ON,
	FUNCTION_DRAINING, /* starts are detached, ends wait for open activations */
};

struct function_site {
	struct rec_site site;
	uint32_t index;		/* index in the site table */
	bool dead;		/* not attached: refused by the kernel or too expensive */
	bool differs;		/* dead since its code differs from the file; not reported yet */
	uint64_t starts_before; /* starts of the function when this site was added */
};

/* The links of one function in one process and one file. */
struct function_links {
	pid_t pid;
	uint32_t module;
	struct attachment starts, ends;
	bool exits; /* 1: `ends` are exits in the function itself */
};

struct function {
	uint32_t op;   /* the front's number */
	uint32_t slot; /* slot of its histogram */
	struct rec_op *meta;
	uint32_t error_ns; /* error of its latency correction */
	struct function_site *sites;
	unsigned int nr_sites, cap_sites;
	struct function_links *links;
	unsigned int nr_links, cap_links;
	enum function_state state;
	int64_t credit_ns; /* budget that may still be spent */
	struct short_window {
		uint64_t since, spent_ns,
		    ran_ns; /* cost of probes; CPU time of the targets, probes included */
	} short_window;
	struct armed_time time;
	uint64_t spent_ns;		       /* estimated cost so far */
	uint64_t owed_ns;		       /* cost not charged yet; see account_charge() */
	uint64_t burst_spent_ns, burst_max_ns; /* cost of this burst, and its limit in a descent */
	uint64_t state_since;
	uint64_t hits_seen;
	struct attachments breaks; /* draining: a breakpoint for each open call */
	bool ends_gone;		   /* draining: ends are detached, breakpoints wait for returns */
	uint64_t censored;	   /* number of open calls given up after bursts */
	bool gate_open;		   /* calls that begin now count */
	bool hopeless;		   /* every site was refused */
	bool patched;		   /* the code at a site differs from its file */
	bool exits_dropped, keep_exits;
	uint32_t reads; /* of what is behind arguments, at its starts */
	struct member_place {
		uint32_t block, at, size; /* at: the byte in the block; size 0: no member */
	} members[SAMPLE_MEMBERS];
	bool replaced_told;   /* a note says that another tool's return probe is on it */
	bool exits_wait;      /* single-stepped exits wait until the call rate is known */
	bool starts_going;    /* draining: starts are being detached; new calls still count */
	uint32_t burst;	      /* number of the present or last burst */
	uint64_t burst_hits;  /* hits of the starts before the burst */
	uint64_t hits_gone;   /* hits of starts whose sites were forgotten */
	uint64_t starts_hits; /* hits of the starts at the last check while starts_going */
	uint64_t changed_ns;  /* when sites were last added */
};

struct function_table {
	struct function *list[MAX_FUNCTIONS];
	unsigned int nr;
};

/* Carry out REQ_ARM: add probes to a function, which may be new. Sends REC_ACK or REC_REFUSED. */
void function_arm(struct collector *c, const struct req_arm *arm);
/* Remove a function and all its probes. */
void function_disarm(struct collector *c, uint32_t op);
/* Carry out REQ_MEMBERS: read values behind the arguments of a function. */
void function_members(struct collector *c, const struct req_members *req);
/* What these reads cost at each hit of a site, ns. */
uint64_t site_reads_ns(const struct function *f, const struct pt_site *s);
/* Take the members out of the blocks of a sample of the function. */
void function_members_take(const struct function *f, const struct pt_record_sample *from,
			   struct rec_sample *to);
/* Have system calls sampled with what is known of their files. */
void file_values(struct collector *c);
/* Take these values, or the peer of a connection, out of a sample of this layer; the file in words,
 * or the peer's address, is the text of the sample. */
void object_values_take(enum layer layer, const struct pt_record_sample *from,
			struct rec_sample *to, char *text, size_t size);
/* Attach the armed functions in a process that is a new target or has mapped a file. */
void functions_new_mapping(struct collector *c);
/* Release the links in a process that has ended. */
void functions_forget(struct collector *c, pid_t pid);
/* Remove the probes of all functions in this module, whose file changes or has been replaced at
 * `since` (0: now), and forget where they were. */
void functions_file_changed(struct collector *c, uint32_t module, uint64_t since);
/* Stop watching a function, whose calls are not seen since `since` (0: now); and start again. */
void function_rest(struct collector *c, struct function *f, uint64_t since);
void function_revive(struct collector *c, struct function *f);
/* False if it is not known where the function is. */
bool function_has_starts(const struct function *f);
/* The number of its open calls. */
uint64_t function_open(struct collector *c, const struct function *f);
/*
 * Set a hardware breakpoint in its own thread for each call that is still open some time after
 * a burst. Then detach the ends, which every call of every thread would hit. If a breakpoint
 * cannot be set, the ends stay.
 */
void function_breaks_arm(struct collector *c, struct function *f);
/* Drop the open activations of a function, because no probe would end them. */
void function_drop_open(struct collector *c, struct function *f);
/* A hardware breakpoint has seen a call of this slot return. */
void function_closed(struct collector *c, uint32_t slot);
/* Number of hits of a site of this class until its fuse blows. */
uint64_t function_allowance(const struct collector *c, const struct function *f, uint32_t class);
/* Number of hits of the function's starts. *last, if not NULL: time of the last start. */
uint64_t function_starts(const struct collector *c, const struct function *f, uint64_t *last);
/* Run the governor (govern.c). Returns the time of the next check. */
uint64_t functions_govern(struct collector *c, uint64_t now);
/* True if a breakpoint waits for an open call: then read the ring buffer often. */
bool functions_waiting(const struct collector *c);
/* The code at this site was changed in memory: remove its probes. */
void functions_code_changed(struct collector *c, uint32_t module, uint64_t offset);
/* Remove all functions. */
void functions_release(struct collector *c);
/* Detach all probes while the front sleeps; start bursts again when it wakes up. */
void functions_sleep(struct collector *c);
void functions_wake(struct collector *c);
/* Detach the exits: calls end only at their return addresses from now on. */
void function_exits_drop(struct collector *c, struct function *f);
/* Remove a return site: calls that return there end at the exits of the function from now on.
 * The probe is detached with the burst. */
void function_return_give_up(struct collector *c, struct function *f, struct function_site *s);
/* Arm the exits that wait or were dropped; the opposite of function_exits_drop(). Returns 0 or
 * the first error. */
int function_exits_arm(struct collector *c, struct function *f);
/* The fuse of a site has blown at time `at`. */
void function_blown(struct collector *c, uint32_t site_index, uint64_t at);
/* True for a Go function, whose frames are not identified by address. */
bool function_is_go(const struct function *f);
/* The function with this slot; NULL: none. */
struct function *function_by_slot(struct collector *c, uint32_t slot);
/* Open or close the gate: whether calls that begin from now on count. Attaches and detaches
 * nothing. */
void function_gate(struct collector *c, struct function *f, bool open);
/* Close the gate and stop the clock of the armed time. */
void function_gate_close(struct collector *c, struct function *f);
/* Begin a burst: attach all links and open the gate. Stop: detach the starts, and with
 * `ends_too` the ends. */
void function_links_start(struct collector *c, struct function *f);
void function_links_stop(struct function *f, bool ends_too);

/* The function with this number of the front; NULL: none. */
struct function *function_by_op(struct collector *c, uint32_t op);
