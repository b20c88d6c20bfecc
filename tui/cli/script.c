// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/script.h"

#include "tui/report/sanitise.h"
#include "tui/screen/grid.h"
#include "tui/screen/keys.h"

enum { LINE_MAX_BYTES = 1024 };

struct script {
	struct screen *screen;
	const struct script_host *host;
	struct buf *out;
	struct grid *grid;
	uint64_t session_ns; /* present time of the session */
	uint64_t clock_ns;   /* present time of the screen */
	int line;
	bool quit;
};

static int bad(struct script *s, const char *what, const char *arg)
{
	buf_printf(s->out, "line %d: %s: %s\n", s->line, what, arg);
	return -EINVAL;
}

static void do_actions(struct script *s)
{
	struct screen_action action;

	while (screen_next_action(s->screen, &action)) {
		if (action.type == SCREEN_QUIT)
			s->quit = true;
		else if (s->host->action)
			s->host->action(s->host->ctx, &action);
	}
	screen_tick(s->screen, s->clock_ns);
}

static void press(struct script *s, int key)
{
	screen_key(s->screen, key);
	do_actions(s);
}

static int advance(struct script *s, uint64_t until_ns)
{
	int64_t at = s->host->advance(s->host->ctx, until_ns);

	if (at < 0)
		return (int)at;
	if ((uint64_t)at > s->session_ns) {
		s->clock_ns += (uint64_t)at - s->session_ns;
		s->session_ns = (uint64_t)at;
	}
	do_actions(s);
	return 0;
}

static int draw(struct script *s)
{
	screen_draw(s->screen, s->grid);
	return 0;
}

/* --- commands: each takes the rest of its line --------------------------------------------- */

_Static_assert(GRID_MAX_COLS == 1024 && GRID_MAX_ROWS == 4096, "the message of do_size()");

static int do_size(struct script *s, char *arg)
{
	char *end, *rows_end;
	long cols = strtol(arg, &end, 10), rows = strtol(end, &rows_end, 10);

	if (end == arg || rows_end == end || *rows_end || cols < 1 || rows < 1 ||
	    cols > GRID_MAX_COLS || rows > GRID_MAX_ROWS)
		return bad(s, "'size' needs columns (1 to 1024) and rows (1 to 4096)", arg);
	screen_resize(s->screen, (int)cols, (int)rows);
	return grid_resize(s->grid, (int)cols, (int)rows);
}

static int do_key(struct script *s, char *arg)
{
	char *save = NULL, *name;
	int key;

	for (name = strtok_r(arg, " \t", &save); name && !s->quit;
	     name = strtok_r(NULL, " \t", &save)) {
		key = key_parse(name);
		if (key < 0)
			return bad(s, "unknown key", name);
		press(s, key);
	}
	return 0;
}

static int mouse(struct script *s, struct screen_mouse m)
{
	m.at_ns = s->clock_ns + 1; /* 0 would be no time */
	screen_mouse(s->screen, &m);
	do_actions(s);
	return 0;
}

static int do_click(struct script *s, char *arg)
{
	int x, y, end = 0;

	if (sscanf(arg, "%d %d%n", &x, &y, &end) != 2 || arg[end])
		return bad(s, "click needs a column and a row, counted from 0", arg);
	return mouse(s, (struct screen_mouse){.what = MOUSE_CLICK, .x = x, .y = y});
}

static int do_double_click(struct script *s, char *arg)
{
	int err = do_click(s, arg);

	return err ? err : do_click(s, arg);
}

static int do_wheel(struct script *s, char *arg)
{
	bool up = !strcmp(arg, "up");

	if (!up && strcmp(arg, "down"))
		return bad(s, "wheel needs up or down", arg);
	return mouse(s, (struct screen_mouse){.what = up ? MOUSE_WHEEL_UP : MOUSE_WHEEL_DOWN});
}

static int do_type(struct script *s, char *arg)
{
	unsigned int n;
	uint32_t cp;

	for (; *arg && !s->quit; arg += n) {
		n = utf8_decode(arg, strlen(arg), &cp);
		if (!n)
			return bad(s, "text is not valid UTF-8", "type");
		press(s, (int)cp);
	}
	return 0;
}

static int do_tick(struct script *s, char *arg)
{
	char *end;
	unsigned long n = *arg ? strtoul(arg, &end, 10) : 1, i;
	int err = 0;

	if (n > SCRIPT_MAX_TICKS || (*arg && *end))
		return bad(s, "'tick' needs a number of slices", arg);
	for (i = 0; i < n && !err; i++)
		err = advance(s, s->session_ns + s->host->interval_ns);
	return err;
}

static int do_until(struct script *s, char *arg)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (end == arg || *end || !(seconds >= 0) || seconds > 1e9)
		return bad(s, "'until' needs a number of seconds", arg);
	return advance(s, (uint64_t)(seconds * 1e9));
}

static int do_end(struct script *s, char *arg)
{
	return advance(s, UINT64_MAX);
}

static int do_wait(struct script *s, char *arg)
{
	char *end;
	unsigned long ms = strtoul(arg, &end, 10);

	if (end == arg || *end || ms > 1000000000)
		return bad(s, "wait needs a number of milliseconds", arg);
	s->clock_ns += ms * 1000000ULL;
	do_actions(s);
	return 0;
}

/* Whether a row of the screen contains the text. */
static int on_screen(struct script *s, const char *text, bool *found)
{
	SCOPED_BUF(rows, (size_t)GRID_MAX_COLS * GRID_MAX_ROWS * GRID_CELL_BYTES);
	int err;

	*found = false;
	draw(s);
	err = grid_text(s->grid, &rows);
	if (!err)
		*found = rows.data && strstr(rows.data, text);
	return err;
}

static int do_dump(struct script *s, char *arg)
{
	draw(s);
	return grid_text(s->grid, s->out);
}

static int expect(struct script *s, const char *text, bool wanted)
{
	bool found;
	int err = on_screen(s, text, &found);

	if (err || found == wanted)
		return err;
	buf_printf(s->out, "line %d: the screen %s: %s\n", s->line,
		   wanted ? "does not contain" : "contains", text);
	err = do_dump(s, NULL);
	return err ? err : 1;
}

static int do_expect(struct script *s, char *arg)
{
	return expect(s, arg, true);
}

static int do_reject(struct script *s, char *arg)
{
	return expect(s, arg, false);
}

static int do_dump_roles(struct script *s, char *arg)
{
	static const char letters[] = ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	int x, y, err = do_dump(s, NULL);

	for (y = 0; y < s->grid->rows && !err; y++) {
		for (x = 0; x < s->grid->cols; x++) {
			unsigned int role = grid_at(s->grid, x, y)->role;

			buf_putc(s->out, role < sizeof(letters) - 1 ? letters[role] : '?');
		}
		err = buf_putc(s->out, '\n');
	}
	return err;
}

static int do_view(struct script *s, char *arg)
{
	return screen_text(s->screen, s->out);
}

static const struct {
	const char *name;
	int (*run)(struct script *s, char *arg);
} commands[] = {
    {"size", do_size},
    {"key", do_key},
    {"click", do_click},
    {"double-click", do_double_click},
    {"wheel", do_wheel},
    {"type", do_type},
    {"tick", do_tick},
    {"until", do_until},
    {"end", do_end},
    {"wait", do_wait},
    {"expect", do_expect},
    {"reject", do_reject},
    {"dump", do_dump},
    {"view", do_view},
    {"dump-roles", do_dump_roles},
};

static int run_line(struct script *s, char *line)
{
	char *arg = line + strcspn(line, " \t");

	if (*arg)
		*arg++ = '\0';
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(line, commands[i].name))
			return commands[i].run(s, arg);
	return bad(s, "unknown command", line);
}

/* Copy the next line of the text without its newline. Returns the start of the line after. */
static const char *take_line(const char *at, const char *end, char *line, size_t *length)
{
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	size_t n = (size_t)((stop ? stop : end) - at);

	*length = n;
	if (n < LINE_MAX_BYTES) {
		memcpy(line, at, n);
		if (n && line[n - 1] == '\r')
			n--;
		line[n] = '\0';
	}
	return stop ? stop + 1 : end;
}

int script_run(const char *text, size_t n, struct screen *screen, const struct script_host *host,
	       struct buf *out)
{
	struct script s = {.screen = screen, .host = host, .out = out};
	int64_t now =
	    host->advance(host->ctx, 0); /* the time up to which records were already fed */
	const char *at = text, *end = text + n;
	char line[LINE_MAX_BYTES];
	size_t length;
	int err = 0;

	if (now < 0)
		return (int)now;
	s.session_ns = s.clock_ns = (uint64_t)now;
	s.grid = grid_new(80, 24, screen_ascii(screen));
	if (!s.grid)
		return -ENOMEM;
	screen_resize(screen, 80, 24);
	screen_tick(screen, s.clock_ns);
	if (n > SCRIPT_MAX_BYTES)
		err = -E2BIG;
	while (!err && !s.quit && at < end) {
		s.line++;
		at = take_line(at, end, line, &length);
		if (length >= LINE_MAX_BYTES || memchr(line, '\0', length < 1 ? 0 : length - 1))
			err = bad(&s, "the line is too long or contains a NUL byte", "");
		else if (line[0] && line[0] != '#')
			err = run_line(&s, line);
	}
	grid_free(s.grid);
	return err ? err : out->err;
}
