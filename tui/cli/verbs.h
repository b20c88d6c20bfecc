/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of the command line. Each runs to its end and returns the exit status. */
#pragma once

#include "tui/engine/front.h"
#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/report/output_waits.h"
#include "tui/report/progress.h"

/* Print the help text of a verb (usage.h). */
int verb_help(enum verb verb);
int verb_watch(struct options *o);
int verb_record(struct options *o);
int verb_descend(struct options *o);
int verb_resume(struct options *o);
/* chains and critical */
int verb_waits(struct options *o);
int verb_doctor(struct options *o);
/* `doctor TARGET`: print the share of its functions that can be watched. */
int verb_coverage(struct options *o);
int verb_watch_file(struct options *o);
int verb_export(struct options *o);
int verb_diff(struct options *o);
int verb_why(struct options *o);
int verb_script(struct options *o);

/* Open a session and read all of it. Returns 0, or an exit status after printing the error. */
int replay_whole(struct replay **r, const char *path);
/* The same; `config` says how to analyse the waits in it. */
int replay_whole_waits(struct replay **r, const char *path, const struct waits_config *config);
/* Sets the options that the session was recorded with and the command line does not give: with
 * these, the answer of its records is that of the recording. */
void replay_options(struct options *o, struct replay *r);

/* Open two sessions and read all of both; on an error, none is left open. */
int replay_two(struct replay *r[2], const char *const path[2]);

/* Close a session after its answer. `err` is the result of the output. Returns the exit status,
 * which is `status` unless the file is damaged or the output failed. */
int replay_leave(struct replay *r, int status, int err);

/* The waits of a session that was read. */
struct wait_report wait_report_of(struct replay *r);

/* Print "peaktop: LINE" to stderr. */
void verb_complain(const char *line);
/* Block the signals that end a measurement, and SIGUSR1. Returns a signalfd for them. */
int verb_signals(void);
/* Find the targets of -n and start the front. Returns 0, or an exit status after printing the
 * error. */
int verb_start(struct front **f, struct options *o, const struct front_options *fo);
/* The event loop of the verbs that measure. It handles signals and messages and calls `turn` after
 * each front_turn(). */
struct verb_loop {
	struct front *front;
	int signals; /* verb_signals() */
	void *ctx;
	/* Describe what is being done, for the line of progress: append it to `text` and set the
	 * other members of *p. */
	void (*describe)(void *ctx, uint64_t now_ns, struct buf *text, struct progress *p);
	/* SIGUSR1: print the present state to stderr. */
	void (*print_state)(void *ctx);
	/* `ticks` slices have ended since the last call. False: leave the loop. */
	bool (*turn)(void *ctx, int ticks, uint64_t now_ns);
	bool interrupted; /* a signal asked to end the measurement */
};
/* Run until `turn` returns false, or the stream is over. */
void verb_loop(struct verb_loop *l);
/* One turn of the front outside of the loop. If the stream is over, only the parser gets a turn. */
void verb_turn(struct front *f);

/* The number of the operation that the first --of names; 0: it is not armed yet. */
uint32_t verb_op_of(struct model *m, const struct options *o);
/* Print the front's messages. */
void verb_messages(struct front *f);
/* End a measurement in order and print its last messages. */
void verb_end(struct front *f);
/* Print why the measurement failed. Returns the exit status for that; 0: it did not fail. */
int verb_failure(struct front *f);
/* front_free(); says so if the collector still removes probes. */
void verb_free(struct front *f);
/* The deaths of processes that the user named: verb_death() appends the next one to an empty line,
 * and returns false if there is none; *next is 0 at first. verb_killed() prints all of them, and
 * returns the exit status: `status`, but not EXIT_ANSWERED if there are any. */
bool verb_death(const struct model *m, size_t *next, struct buf *line);
int verb_killed(const struct model *m, int status);
/* verb_free() after the answer: with -o close the recording first, and print deaths. `err` is the
 * result of the output. Returns the exit status, which is `status` unless that is 0. */
int verb_leave(struct front *f, const struct options *o, int status, int err);

/* How the options ask to print. */
struct output_options verb_output(const struct options *o);

/* The exit status for the result of an output function. Prints an error, e.g. of a full disk. A
 * closed pipe is no error. */
int output_status(int err);
