/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that the front passes to the collector when it starts it: plain values, before
 * any record is sent. */
#pragma once

enum { COLLECTOR_MAX_TARGETS = 256 };

struct collector_options {
	pid_t pids[COLLECTOR_MAX_TARGETS]; /* targets named by the user */
	unsigned int nr_pids;
	bool host;	    /* all tasks of the host are measured: there is no target */
	bool matched;	    /* they matched a name: those that have ended are left out */
	char **command;	    /* the command after --, or NULL */
	bool command_quiet; /* send its output to /dev/null, because a screen is shown */
	uid_t uid;	    /* the invoking user; the command runs as this user */
	gid_t gid;
	bool restarts;	      /* if all targets have ended, REQ_TARGET names others */
	bool pick;	      /* no target yet: a REQ_TARGET will name one */
	bool follow;	      /* children become targets */
	bool no_boost;	      /* keep the priority of the invoking shell */
	uint64_t interval_ns; /* slice */
	bool fine_begin;      /* for a screen: shorter slices at the begin, as slice_next() says */
	uint32_t budget_ppm;  /* of the target's CPU time or of one CPU, in parts per million;
				 1000000: no governor */
	bool descends;	 /* for one descent: it may borrow three times the budget from the start */
	bool waits;	 /* the front may ask for the tracing of waits (REQ_WAITS) */
	uint32_t layers; /* 1 << enum layer, measured from the start */
	uint32_t resolution;
	uint32_t shown; /* enum meta_shown */
	bool survey;	/* compare the code of the targets with their files, for doctor */
	bool no_values; /* send no arguments and results of calls, nor what is behind them */
	bool phases;	/* count nothing before REQ_PHASES and the first phase */
	/* In a process of its own: give up all rights and answer on `socket` where in the file `fd`
	 * instructions begin (analysis/code/boundary.h). The collector itself reads no machine
	 * code. */
	int (*code_serve)(int socket, int fd);
	const char *command_line; /* of peaktop, for META */
	const char *targets_note; /* which of the processes that were named are no targets; "" or
				     NULL: none */
};
