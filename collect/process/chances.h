/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a thread that does not answer could have answered. On a busy host a thread may wait for
 * a CPU for seconds: it does not hang then, and a limit that counted this time would end a
 * measurement that only needs patience.
 */
#pragma once

struct chances {
	uint64_t
	    counted_ns;	    /* time since chances_begin() in which the thread could have answered */
	uint64_t silent_ns; /* all time since then */
	uint64_t cpu_ns;    /* CPU time at the last turn; 0: not known yet */
};

/* The thread has answered: count anew. */
void chances_begin(struct chances *c);
/*
 * Count `turn_ns` more, the time since the last turn or since chances_begin(), for the main thread
 * of the process: while it sleeps, is stopped, or runs, the whole time; while it waits for a CPU,
 * only the CPU time that it got, but at least a tenth. All of it if /proc does not tell.
 */
void chances_turn(struct chances *c, pid_t pid, uint64_t turn_ns);
/*
 * The same for a thread that sleeps and perhaps waits for a lock that a thread of `process` has.
 * While one of the first of these threads is ready to run and has no CPU, a tenth of the time
 * counts.
 */
void chances_turn_behind(struct chances *c, pid_t process, uint64_t turn_ns);
