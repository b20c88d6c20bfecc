/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the screen on a terminal: live with a collector, or as a replay of a saved session. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/engine/options.h"

struct live_options {
	/* of the screen of a saved session: the socket over which the number of a chosen process
	 * is sent; it closes when the parent ends. 0: none */
	int parent;
	int saved_fd; /* with `parent`: the file to which the descent of the session is written */
	/* the saved descent that goes on (verb_resume.h); NULL: none */
	const struct buf *saved;
};

/* Run until the user quits. Returns the exit status. */
int live_screen(struct options *o, const struct live_options *more);
/* The same for the command line: with a saved session it runs in a process of its own. */
int live_run(struct options *o);
