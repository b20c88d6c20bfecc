// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/curses.h"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <curses.h>
#include <panel.h>

#include "tui/report/sanitise.h"
#include "tui/screen/grid.h"
#include "tui/screen/screen.h"
#include "tui/screen/term_signals.h"
#include "tui/screen/term_types.h"
#include "tui/screen/theme.h"

#include <term.h> /* last: it defines common words as macros */

enum { ESCAPE_MS = 25 };
/* If several events are waiting, curses joins them to clicks and double clicks. */
#define CLICKS (BUTTON1_PRESSED | BUTTON1_CLICKED)
#define DOUBLE_CLICKS (BUTTON1_DOUBLE_CLICKED | BUTTON1_TRIPLE_CLICKED)
#define MOUSE_EVENTS (CLICKS | DOUBLE_CLICKS | BUTTON4_PRESSED | BUTTON5_PRESSED)

/* The one terminal. */
static struct {
	bool open, away; /* away: between suspend and resume */
	bool lost, ascii, mouse;
	int in_fd, out_fd;
	FILE *in, *out;
	char notice[160]; /* one line for the user about the terminal; "" none */
	SCREEN *screen;
	WINDOW *window,
	    *keys; /* `keys` is a pad: reading keys from it does not refresh the screen */
	PANEL *panel;
	struct termios settings; /* before peaktop changed them */
	enum theme theme;
	struct screen_mouse event; /* valid after SCREEN_KEY_MOUSE was returned */
	struct grid *last;	   /* the grid on the terminal; NULL: unknown */
	bool moved;		   /* the size may have changed without a signal */
} term = {.in_fd = -1, .out_fd = -1};

static int open_streams(const struct term_options *o)
{
	int in = fcntl(o->in_fd, F_DUPFD_CLOEXEC, 3), out = fcntl(o->out_fd, F_DUPFD_CLOEXEC, 3);

	term.in = in >= 0 ? fdopen(in, "r") : NULL;
	term.out = out >= 0 ? fdopen(out, "w") : NULL;
	if (term.in && term.out)
		return 0;
	if (!term.in && in >= 0)
		close(in);
	if (!term.out && out >= 0)
		close(out);
	return -ENOMEM;
}

static void close_streams(void)
{
	if (term.in)
		fclose(term.in);
	if (term.out)
		fclose(term.out);
	term.in = term.out = NULL;
}

/* A terminal with direct colour takes red, green and blue, not numbers of a palette. */
static int color_of(int color)
{
	return COLORS > 256 ? theme_rgb(color) : color;
}

static void set_colors(const struct term_options *o)
{
	const char *wish = getenv("NO_COLOR");

	if (o->no_color || (wish && *wish) || !has_colors() || start_color() == ERR ||
	    use_default_colors() == ERR) {
		term.theme = THEME_MONO;
		return;
	}
	term.theme = theme_for((enum theme_wish)o->theme, COLORS, COLOR_PAIRS <= ROLE_MAX);
	for (int role = 0; role < ROLE_MAX && term.theme != THEME_MONO; role++) {
		struct style s = theme_style(term.theme, (enum role)role);

		/* a blank needs no foreground colour, which would cost bytes */
		init_extended_pair(role + 1, s.blank && !term.ascii ? -1 : color_of(s.fg),
				   color_of(s.bg));
	}
}

/* The output of tputs(), stored for the crash handler. */
static char crash_text[512];
static size_t crash_used;

static int crash_put(int c)
{
	if (crash_used < sizeof(crash_text))
		crash_text[crash_used++] = (char)c;
	return c;
}

static void arm_crash_handler(void)
{
	static const char *const names[] = {"sgr0", "op", "rmkx", "cnorm", "rmcup"};
	const char *s;

	crash_used = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		s = tigetstr(names[i]);

		if (s && s != (char *)-1)
			tputs(s, 1, crash_put);
	}
	for (s = term.mouse ? "\033[?1006l\033[?1000l" : ""; *s; s++)
		crash_put(*s);
	crash_put('\r');
	crash_put('\n');
	term_crash_arm(term.out_fd, &term.settings, crash_text, crash_used);
}

static int make_windows(void)
{
	raw();
	noecho();
	nonl();
	set_escdelay(ESCAPE_MS);
	term.window = newwin(0, 0, 0, 0);
	term.keys = newpad(1, 1);
	term.panel = term.window ? new_panel(term.window) : NULL;
	if (!term.panel || !term.keys)
		return -ENOMEM;
	keypad(term.keys, TRUE);
	nodelay(term.keys, TRUE);
	intrflush(term.keys, FALSE);
	if (term.mouse) {
		mouseinterval(0); /* waiting for a second click would delay the first one */
		mousemask(MOUSE_EVENTS, NULL);
	}
	return 0;
}

/* Open a terminal whose type this host does not know as one that is like it; NULL: none is known.
 */
static SCREEN *open_similar(const char *type)
{
	const char *const *like = term_types_like(type);
	SCREEN *screen = NULL;

	for (; like && *like && !screen; like++) {
		screen = newterm(*like, term.out, term.in);
		if (screen)
			snprintf(term.notice, sizeof(term.notice),
				 "TERM=%.64s is unknown on this host; using %s", type, *like);
	}
	return screen;
}

const char *term_notice(void)
{
	return term.notice[0] ? term.notice : NULL;
}

int term_open(const struct term_options *o, char *error, size_t error_size)
{
	const char *type = o->type ? o->type : getenv("TERM");
	int err = term_check(o, type, &term.settings, error, error_size);
	const char *kmous;

	if (err || term.open)
		return err ? err : -EBUSY;
	term.ascii = o->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	term.in_fd = o->in_fd;
	term.out_fd = o->out_fd;
	term.lost = term.away = term.moved = false;
	err = open_streams(o);
	if (!err)
		err = term_signals_install();
	if (!err) {
		use_env(FALSE); /* use the size of the terminal, not LINES and COLUMNS */
		use_tioctl(TRUE);
		term.notice[0] = '\0';
		term.screen = newterm(type, term.out, term.in);
		if (!term.screen)
			term.screen = open_similar(type);
		err = term.screen ? 0 : -ENOENT;
	}
	if (err == -ENOENT)
		snprintf(error, error_size,
			 "the terminal type TERM=%.64s is unknown on this host or cannot move its "
			 "cursor: " TERM_INSTEAD,
			 type);
	else if (err)
		snprintf(error, error_size, "cannot open the screen: %s", strerror(-err));
	term.open = true; /* from here on term_close() must restore the terminal */
	if (!err) {
		kmous = tigetstr("kmous");
		term.mouse = !o->no_mouse && kmous && kmous != (char *)-1;
		arm_crash_handler();
		set_colors(o);
		err = make_windows();
		if (err)
			snprintf(error, error_size, "cannot open the screen: %s", strerror(-err));
	}
	if (err)
		term_close();
	return err;
}

static void close_windows(void)
{
	if (term.panel)
		del_panel(term.panel);
	if (term.window)
		delwin(term.window);
	if (term.keys)
		delwin(term.keys);
	term.panel = NULL;
	term.window = term.keys = NULL;
}

void term_close(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;

	if (!term.open)
		return;
	/* SIGTTOU would stop a background process that sets the terminal */
	sigaction(SIGTTOU, &ignore, &old);
	if (term.screen) {
		if (!term.away)
			endwin();
		close_windows();
		delscreen(term.screen);
		tcsetattr(term.out_fd, TCSADRAIN, &term.settings);
	}
	term.screen = NULL;
	term_crash_disarm();
	term_signals_restore();
	close_streams();
	grid_free(term.last);
	term.last = NULL;
	term.open = false;
	sigaction(SIGTTOU, &old, NULL);
}

void term_suspend(void)
{
	if (!term.screen || term.away)
		return;
	endwin();
	tcsetattr(term.out_fd, TCSADRAIN, &term.settings);
	term_crash_disarm();
	term.away = true;
}

void term_resume(void)
{
	if (!term.screen || !term.away)
		return;
	term.away = false;
	term.moved = true;
	term_repaint();
	arm_crash_handler();
}

bool term_ascii(void)
{
	return term.ascii;
}

void term_size(int *cols, int *rows)
{
	*cols = 80;
	*rows = 24;
	if (term.screen)
		getmaxyx(stdscr, *rows, *cols);
}

/* Adopt the present size of the terminal. True: the size has changed. */
static bool follow_size(void)
{
	struct winsize size;
	int cols, rows;

	term_size(&cols, &rows);
	if (ioctl(term.out_fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		return false;
	if (size.ws_row == rows && size.ws_col == cols)
		return false;
	resize_term(size.ws_row, size.ws_col);
	wresize(term.window, size.ws_row, size.ws_col);
	replace_panel(term.panel, term.window);
	term_repaint();
	return true;
}

/* Take an event of the mouse. False: one that has no meaning here, e.g. the release of a button. */
static bool take_mouse(void)
{
	MEVENT m;

	if (getmouse(&m) == ERR)
		return false;
	term.event = (struct screen_mouse){.x = m.x, .y = m.y};
	if (m.bstate & BUTTON4_PRESSED)
		term.event.what = MOUSE_WHEEL_UP;
	else if (m.bstate & BUTTON5_PRESSED)
		term.event.what = MOUSE_WHEEL_DOWN;
	else if (m.bstate & DOUBLE_CLICKS)
		term.event.what = MOUSE_DOUBLE_CLICK;
	else if (m.bstate & CLICKS)
		term.event.what = MOUSE_CLICK;
	else
		return false;
	return true;
}

void term_mouse(struct screen_mouse *mouse)
{
	*mouse = term.event;
}

/* True at end of file: the descriptor is readable, but has no bytes. */
static bool hung_up(void)
{
	struct pollfd p = {.fd = term.in_fd, .events = POLLIN};
	int bytes = 0;

	if (poll(&p, 1, 0) <= 0)
		return false;
	if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
		return true;
	return (p.revents & POLLIN) && (ioctl(term.in_fd, FIONREAD, &bytes) < 0 || !bytes);
}

int term_getkey(void)
{
	wint_t code;
	int got, key;

	if (term.lost || !term.screen)
		return TERM_LOST;
	if (term.away)
		return TERM_NOTHING;
	if (term_signals_resized() || term.moved) {
		term.moved = false;
		if (follow_size())
			return SCREEN_KEY_RESIZE;
	}
	for (;;) {
		got = wget_wch(term.keys, &code);
		if (got == ERR)
			break;
		if (got == OK)
			return (int)code;
		if (code == KEY_MOUSE && take_mouse())
			return SCREEN_KEY_MOUSE;
		key = term_key_of(code);
		if (key != TERM_NOTHING)
			return key;
	}
	if (hung_up()) {
		term.lost = true;
		return TERM_LOST;
	}
	return TERM_NOTHING;
}

int term_signal_fd(void)
{
	return term_signals_fd();
}

unsigned int term_take_signals(void)
{
	unsigned int bits = term_signals_take();

	if (bits & TERM_SIGNAL_HUP)
		term.lost = true;
	return bits;
}

/* --- putting a grid on it -------------------------------------------------------------------- */

static attr_t attributes(struct style s)
{
	return (s.bold ? WA_BOLD : 0) | (s.dim ? WA_DIM : 0) | (s.reverse ? WA_REVERSE : 0) |
	       (s.underline ? WA_UNDERLINE : 0);
}

static void make_cell(const struct cell *cell, cchar_t *out)
{
	struct style s = theme_style(term.theme, (enum role)cell->role);
	const char *text = s.blank && term.theme != THEME_MONO && !term.ascii ? " " : cell->text;
	wchar_t wide[CCHARW_MAX + 1];
	size_t n = 0, len;
	uint32_t cp;

	for (; *text && n < CCHARW_MAX; text += len) {
		len = utf8_decode(text, strlen(text), &cp);
		if (!len)
			break;
		wide[n++] = (wchar_t)cp;
	}
	if (!n)
		wide[n++] = L' ';
	wide[n] = L'\0';
	setcchar(out, wide, attributes(s), (short)(term.theme == THEME_MONO ? 0 : cell->role + 1),
		 NULL);
}

static void put_row(const struct grid *g, int y, int cols)
{
	static cchar_t row[GRID_MAX_COLS + 1];
	int n = 0;

	for (int x = 0; x < cols; x++) {
		const struct cell *cell = grid_at(g, x, y);

		if (cell->width) /* the second half of a wide character was put with the first */
			make_cell(cell, &row[n++]);
	}
	mvwadd_wchnstr(term.window, y, 0, row, n);
}

static bool row_equal(const struct grid *a, const struct grid *b, int y)
{
	return !memcmp(grid_at(a, 0, y), grid_at(b, 0, y), (size_t)a->cols * sizeof(struct cell));
}

static bool same_size(const struct grid *a, const struct grid *b)
{
	return a && a->cols == b->cols && a->rows == b->rows;
}

static void remember(const struct grid *g)
{
	if (!same_size(term.last, g)) {
		grid_free(term.last);
		term.last = grid_new(g->cols, g->rows, g->ascii);
	}
	if (term.last)
		memcpy(term.last->cells, g->cells,
		       (size_t)g->cols * (size_t)g->rows * sizeof(struct cell));
}

int term_put(const struct grid *g)
{
	int cols, rows;
	struct pollfd p = {.fd = term.out_fd, .events = POLLOUT};

	if (!term.screen || term.lost)
		return -EIO;
	if (term.away)
		return 0;
	if (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL)) {
		term.lost = true;
		return -EIO;
	}
	term_size(&cols, &rows);
	for (int y = 0; y < g->rows && y < rows; y++)
		if (!same_size(term.last, g) || !row_equal(term.last, g, y))
			put_row(g, y, g->cols < cols ? g->cols : cols);
	remember(g);
	if (g->cursor_x >= 0 && g->cursor_x < cols && g->cursor_y < rows)
		wmove(term.window, g->cursor_y, g->cursor_x);
	update_panels();
	doupdate();
	return 0;
}

void term_repaint(void)
{
	if (!term.screen)
		return;
	grid_free(term.last);
	term.last = NULL;
	clearok(term.window, TRUE);
}
