/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `--script FILE`: keys replayed over a recorded session with a fake clock.
 *
 * One command a line, `#` begins a comment line. No command reads a clock:
 * time moves only by `tick` and `until`.
 *
 *   size COLS ROWS      resize (80 24 at the beginning)
 *   key NAME...         press keys: one character, or Enter, Esc, Tab, Up, Ctrl-L, F1, Space, ...
 *   type TEXT           press the characters of the rest of the line
 *   tick [N]            N slices (1) pass; their records are fed
 *   until SECONDS       time passes until then, since the start of the session
 *   end                 all that is left of the session passes
 *   wait MS             time passes on the screen alone (messages end)
 *   expect TEXT         some row of the screen contains it, else the script fails
 *   reject TEXT         no row contains it, else the script fails
 *   dump                write the screen as text
 *   dump-roles          the same, then the role of each cell as a letter
 *   view                write the whole view as text (what `P` saves)
 *
 * A script does no I/O: the caller reads the file and prints the output. Everything that needs the
 * session or the host goes through struct script_host.
 */
#pragma once

#include "analysis/base/buf.h"
#include "tui/screen/screen.h"

enum { SCRIPT_MAX_BYTES = 1 << 20, SCRIPT_MAX_TICKS = 1000000 };

struct script_host {
	void *ctx;
	/* Feed the records up to this time of the session (UINT64_MAX: all). Returns
	 * the time reached, in ns since its start, which is less at the end of the
	 * session; a negative errno for a damaged one. */
	int64_t (*advance)(void *ctx, uint64_t until_ns);
	/* Length of a slice. */
	uint64_t interval_ns;
	/* Optional: carry out an action. SCREEN_QUIT ends the script without calling this. */
	void (*action)(void *ctx, const struct screen_action *action);
};

/* Run the script text[0..n) on the screen and append its output to `out`. Returns 0; 1 if an
 * `expect` or `reject` failed (the line and the screen are in `out`); -EINVAL for an invalid
 * command (with one line in `out`); -ENOMEM, -E2BIG, or the error of advance(). */
int script_run(const char *text, size_t n, struct screen *s, const struct script_host *host,
	       struct buf *out);
