/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal. Only curses.c and term_types.c use ncursesw, to show a grid.
 *
 * There is one terminal per process. term_open() installs handlers for INT, TERM, HUP,
 * TSTP, CONT and WINCH that only set a flag and wake term_signal_fd(), and for
 * SEGV, BUS, ILL, FPE and ABRT that restore the terminal with
 * async-signal-safe calls and raise the signal again.
 *
 * Keys are raw: Ctrl-C and Ctrl-Z arrive as keys 3 and 26, so that they reach
 * this process alone and not a target or the collector of the same terminal.
 */
#pragma once

struct grid;

struct term_options {
	bool ascii;	  /* --ascii */
	int theme;	  /* enum theme_wish */
	bool no_mouse;	  /* leave the mouse to the terminal */
	bool no_color;	  /* NO_COLOR in the environment has the same effect */
	int in_fd;	  /* usually 0 */
	int out_fd;	  /* usually 1 */
	const char *type; /* NULL: $TERM */
};

/* Take over the terminal. Call setlocale(LC_CTYPE, "") before. Returns 0, or -ENOTTY (no terminal),
 * -ENODEV (TERM unset or dumb), -ENOENT (unknown TERM) or -ENOMEM, with one line for the user in
 * `error` that names the batch verbs. */
int term_open(const struct term_options *options, char *error, size_t error_size);
/* One line for the user, if the terminal was opened as another type because its own is unknown on
 * this host; NULL: it was not. */
const char *term_notice(void);
/* Restore the terminal. Safe to call twice, and after the terminal was lost. */
void term_close(void);
/* True if cells must be ASCII: --ascii was given, or the locale is not UTF-8. */
bool term_ascii(void);
void term_size(int *cols, int *rows);

enum { TERM_NOTHING = -1, TERM_LOST = -2 };
/* Return the next key (see enum screen_key) without waiting; TERM_NOTHING if there is none;
 * TERM_LOST at end of file or hang-up (then close and exit). Several resizes give one
 * SCREEN_KEY_RESIZE. If in_fd or term_signal_fd() is readable, call this until TERM_NOTHING. */
int term_getkey(void);

struct screen_mouse;
/* After SCREEN_KEY_MOUSE: what was done with the mouse, and where. Does not set the time. */
void term_mouse(struct screen_mouse *mouse);

/* This descriptor is readable after a signal. */
int term_signal_fd(void);
enum term_signal {
	TERM_SIGNAL_INT = 1 << 0,
	TERM_SIGNAL_TERM = 1 << 1,
	TERM_SIGNAL_HUP = 1 << 2, /* the terminal is lost */
	TERM_SIGNAL_TSTP = 1 << 3,
	TERM_SIGNAL_CONT = 1 << 4,
	TERM_SIGNAL_USR1 = 1 << 5,
};
/* A mask of the signals since the last call. */
unsigned int term_take_signals(void);

/* Show the grid; send only changed cells. Returns 0 or -EIO (terminal lost). */
int term_put(const struct grid *grid);
/* Make the next term_put() send all cells. */
void term_repaint(void);

/* Restore the terminal before the process stops itself with raise(SIGSTOP). */
void term_suspend(void);
/* Take over the terminal again after SIGCONT and send all cells. The size may have changed. */
void term_resume(void);
