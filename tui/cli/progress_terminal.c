// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/progress_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tui/engine/front.h"
#include "tui/report/sanitise.h"

enum {
	DEFAULT_COLUMNS = 80,
	PERIOD_MS = 500,
	MAX_BYTES = 1 << 16,
	ECHO_COLUMNS = 2 /* the terminal echoes Ctrl-C as ^C behind the line */
};

/* There is one standard error. */
static struct {
	bool allowed;
	unsigned int columns; /* that the line on the terminal takes; 0: there is none */
	uint64_t shown_ns;
} line;

void progress_begin(const struct options *o)
{
	line.allowed = isatty(STDERR_FILENO) && !o->quiet && !o->command &&
		       !(o->json_lines && isatty(STDOUT_FILENO));
	line.shown_ns = now_ns(); /* what is over at once needs no line */
}

/* True if a write would not wait, and this process may use the terminal. */
static bool is_writable(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
	pid_t group = tcgetpgrp(STDERR_FILENO);

	/* a terminal that controls no process has no foreground group */
	return (group < 0 || group == getpgrp()) && poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

bool progress_due(uint64_t now_ns)
{
	return line.allowed && now_ns - line.shown_ns >= PERIOD_MS * 1000000ull;
}

static unsigned int columns_of_terminal(void)
{
	struct winsize size;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col
								       : DEFAULT_COLUMNS;
}

static void put(const struct buf *b)
{
	if (b->len && !b->err && write(STDERR_FILENO, b->data, b->len) < 0)
		line.allowed = false;
}

void progress_show(const struct progress *p, uint64_t now_ns)
{
	unsigned int columns, before = line.columns;
	SCOPED_BUF(out, MAX_BYTES);

	if (!line.allowed || !is_writable())
		return;
	buf_putc(&out, '\r');
	progress_line(&out, p, columns_of_terminal() - ECHO_COLUMNS);
	columns = out.data ? text_columns(out.data + 1) : 0;
	/* overwrite the rest of a longer line with spaces */
	if (columns < before && before < columns_of_terminal())
		buf_printf(&out, "%*s", (int)(before - columns), "");
	put(&out);
	line.columns = columns;
	line.shown_ns = now_ns;
}

void progress_erase(void)
{
	SCOPED_BUF(out, MAX_BYTES);

	if (!line.columns || !is_writable())
		return;
	buf_printf(&out, "\r%*s\r", (int)line.columns + ECHO_COLUMNS, "");
	put(&out);
	line.columns = 0;
}
