/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signal handlers of the process that owns the terminal. Ordinary signals set a flag and write a
 * byte to a pipe. Crash signals restore the terminal first. Used by curses.c. */
#pragma once

/* Save the present handlers, install all handlers and create the pipe. Call this before ncurses
 * starts: ncurses then does not install its own handlers. Returns 0 or a negative errno. */
int term_signals_install(void);
/* Restore the saved handlers. Safe to call twice. */
void term_signals_restore(void);
/* True if a SIGWINCH arrived since the last call. */
bool term_signals_resized(void);
/* This descriptor is readable after a signal; -1 before install. */
int term_signals_fd(void);
/* Bits of enum term_signal since the last call. */
unsigned int term_signals_take(void);

/* Set what a crash does to the terminal: write `bytes` (copied; at most 512) to `fd`, then apply
 * `settings`. */
void term_crash_arm(int fd, const void *settings, const char *bytes, size_t n);
void term_crash_disarm(void);
