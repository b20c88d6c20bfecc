/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line of progress on standard error (tui/report/progress.h), updated in place and erased at
 * the end. It is shown only if standard error is a terminal of which peaktop is the foreground
 * process, and not with --quiet, with -- CMD (the terminal is the command's), or if --json-lines go
 * to a terminal.
 *
 * It never waits for the terminal: if the user has stopped it with Ctrl-S, the line stays as it is.
 */
#pragma once

#include "tui/engine/options.h"
#include "tui/report/progress.h"

/* Decide whether these options and this terminal allow the line. Without this call it is not shown.
 */
void progress_begin(const struct options *o);
/* True if the line is shown and old enough to be replaced (half a second). */
bool progress_due(uint64_t now_ns);
void progress_show(const struct progress *p, uint64_t now_ns);
/* Erase the line before anything else is written to the terminal. The next progress_show() draws it
 * again. */
void progress_erase(void);
