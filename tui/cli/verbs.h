/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of the command line. Each runs to its end and returns the exit status. */
#ifndef PEAKTOP_VERBS_H
#define PEAKTOP_VERBS_H

#include "tui/engine/front.h"
#include "tui/engine/options.h"
#include "tui/engine/replay.h"

int verb_watch(struct options *o);
int verb_record(struct options *o);
int verb_descend(struct options *o);
int verb_doctor(struct options *o);
/* doctor with a target: the share of its functions that can be watched. */
int verb_coverage(struct options *o);
int verb_watch_file(struct options *o);
int verb_export(struct options *o);
int verb_script(struct options *o);

/* Open a session and read all of it; an exit status, with the line printed. */
int replay_whole(struct replay **r, const char *path);

/* "peaktop: LINE" on stderr. */
void verb_complain(const char *line);
/* Block the signals that end a measurement, and SIGUSR1; a signalfd of them. */
int verb_signals(void);
/* Find the targets of -n and start the front: 0 or an exit status, with the line printed. */
int verb_start(struct front **f, struct options *o, const struct front_options *fo);
/*
 * The event loop of the verbs that measure: signals and messages, then `turn` once for each time
 * that the front was turned.
 */
struct verb_loop {
	struct front *front;
	int signals; /* verb_signals() */
	void *ctx;
	/* SIGUSR1: print the present state to stderr. */
	void (*print_state)(void *ctx);
	/* `ticks` slices have ended since the last call. False: leave the loop. */
	bool (*turn)(void *ctx, int ticks, uint64_t now_ns);
	bool interrupted; /* a signal has asked for the end */
};
/* Until `turn` says so, or the stream is over. */
void verb_loop(struct verb_loop *l);
/* One turn outside of the loop; when the stream is over, of the parser alone. */
void verb_turn(struct front *f);

/* Print what the front has to say. */
void verb_messages(struct front *f);
/* The ordered end of a measurement, with its last messages. */
void verb_end(struct front *f);

/* The exit status for what an output function returned, with a line for a full disk. */
int output_status(int err);

/* Find the processes called -n NAME and put them into o->pids: 0 or an exit status, with the line
 * printed. */
int target_by_name(struct options *o);

#endif
