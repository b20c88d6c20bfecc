/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals of the process that owns the terminal: ordinary ones become flags
 * and a byte in a pipe, crashes give the terminal back first. For curses.c.
 */
#ifndef PEAKTOP_TERM_SIGNALS_H
#define PEAKTOP_TERM_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Install all handlers and make the pipe; what was installed before is kept.
 * Before ncurses starts, which then leaves these signals alone. Returns 0 or a
 * negative errno.
 */
int term_signals_install(void);
/* Put back what was there. Safe to call twice. */
void term_signals_restore(void);
/* Whether the size changed since the last call. */
bool term_signals_resized(void);
/* Readable when a signal came; -1 before install. */
int term_signals_fd(void);
/* Bits of enum term_signal since the last call. */
unsigned int term_signals_take(void);

/*
 * While the screen is ours: what a crash sends to `fd` (bytes are copied, at
 * most 512) after it has given `fd` the terminal settings that it has now.
 */
void term_crash_arm(int fd, const void *settings, const char *bytes, size_t n);
void term_crash_disarm(void);

#endif
