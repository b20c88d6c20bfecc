/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line about work that takes long, for a terminal: what is being done, a bar, and the time
 * left. The line has no control characters; tui/cli/progress_terminal.h puts it on the terminal. */
#pragma once

#include "analysis/base/buf.h"

struct progress {
	const char *text;  /* what is being done; need not be sanitised */
	double done;	   /* 0..1; negative: not known */
	uint64_t left_ns;  /* 0: not known */
	bool left_at_most; /* the work may end earlier than `left_ns` says */
};

/* Set `done` and the time left of work that takes `all_ns`, of which `gone_ns` are over. */
void progress_of_time(struct progress *p, uint64_t gone_ns, uint64_t all_ns);
/* Append the line, without newline. It takes less than `columns` columns, so that the cursor stays
 * on it. In a narrow window the bar is left out first, then the time, then the end of the text. */
void progress_line(struct buf *out, const struct progress *p, unsigned int columns);
