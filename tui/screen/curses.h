/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal: the one file that puts a grid on ncursesw.
 *
 * One terminal a process. term_open() installs handlers for INT, TERM, HUP,
 * TSTP, CONT and WINCH that only set a flag and wake term_signal_fd(), and for
 * SEGV, BUS, ILL, FPE and ABRT that restore the terminal with
 * async-signal-safe calls and raise the signal again.
 *
 * Keys are raw: Ctrl-C and Ctrl-Z arrive as keys 3 and 26, so that they reach
 * this process alone and not a target or the collector of the same terminal.
 */
#ifndef PEAKTOP_CURSES_H
#define PEAKTOP_CURSES_H

#include <stdbool.h>
#include <stddef.h>

struct grid;

struct term_options {
	bool ascii;	  /* --ascii */
	bool no_color;	  /* NO_COLOR in the environment is honoured besides */
	int in_fd;	  /* usually 0 */
	int out_fd;	  /* usually 1 */
	const char *type; /* NULL: $TERM */
};

/*
 * Take the terminal. setlocale(LC_ALL, "") first. Returns 0; -ENOTTY (no
 * terminal), -ENODEV (TERM unset or dumb), -ENOENT (unknown TERM), -ENOMEM;
 * then `error` holds one line for a person that names the batch verbs.
 */
int term_open(const struct term_options *options, char *error, size_t error_size);
/* Give it back as it was. Safe to call twice, and after the terminal was lost. */
void term_close(void);
/* Whether cells must be ASCII: asked for, or the locale is not UTF-8. */
bool term_ascii(void);
void term_size(int *cols, int *rows);

enum { TERM_NOTHING = -1, TERM_LOST = -2 };
/*
 * The next key (see enum screen_key) without waiting, TERM_NOTHING, or
 * TERM_LOST at end of file or hang-up: then close and exit. A burst of
 * resizes gives one SCREEN_KEY_RESIZE. Call until TERM_NOTHING when in_fd or
 * term_signal_fd() is readable.
 */
int term_getkey(void);

/* Readable when a signal came. */
int term_signal_fd(void);
enum term_signal {
	TERM_SIGNAL_INT = 1 << 0,
	TERM_SIGNAL_TERM = 1 << 1,
	TERM_SIGNAL_HUP = 1 << 2, /* the terminal is lost */
	TERM_SIGNAL_TSTP = 1 << 3,
	TERM_SIGNAL_CONT = 1 << 4,
	TERM_SIGNAL_USR1 = 1 << 5,
};
/* The signals since the last call: mask. */
unsigned int term_take_signals(void);

/* Show the grid; only what changed is sent. Returns 0 or -EIO (terminal lost). */
int term_put(const struct grid *grid);
/* Send everything again with the next term_put(). */
void term_repaint(void);

/* Give the terminal back for a while; after it stop with raise(SIGSTOP). */
void term_suspend(void);
/* Take it again after SIGCONT; everything is sent again. The size may have changed. */
void term_resume(void);

#endif
