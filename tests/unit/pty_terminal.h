/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal layer on real pseudo-terminals: a child takes the terminal and
 * plays a part, the parent is the terminal. Nothing sleeps: both wait for
 * bytes, with a deadline.
 */
#ifndef TESTS_PTY_TERMINAL_H
#define TESTS_PTY_TERMINAL_H

#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <cmocka.h>

#include "tui/screen/curses.h"
#include "tui/screen/grid.h"
#include "tui/screen/screen.h"
#include "tui/screen/theme.h"

enum { DEADLINE_MS = 20000 };

struct pty {
	pid_t child;
	int master, slave; /* the slave stays open here, so that its settings can be read */
	struct termios before;
	char seen[1 << 18]; /* all that the child wrote */
	size_t n;
};

static bool no_mouse;	/* --no-mouse */
static bool no_control; /* start() does not make it the child's controlling terminal */

/* --- the terminal's side */

static inline void start(struct pty *p, const char *type, void (*part)(void))
{
	struct winsize size = {.ws_col = 80, .ws_row = 24};

	memset(p, 0, sizeof(*p));
	assert_int_equal(openpty(&p->master, &p->slave, NULL, NULL, &size), 0);
	assert_int_equal(tcgetattr(p->slave, &p->before), 0);
	fflush(NULL);
	p->child = fork();
	assert_true(p->child >= 0);
	if (!p->child) {
		close(p->master);
		if (no_control) { /* a hang-up then sends no signal: end of file is all there is */
			setsid();
			dup2(p->slave, 0);
			dup2(p->slave, 1);
			close(p->slave);
		} else if (login_tty(p->slave) < 0) {
			_exit(99);
		}
		if (type)
			setenv("TERM", type, 1);
		else
			unsetenv("TERM");
		part();
		_exit(98);
	}
}

/* Take what has come; false at the deadline or when the child's side is closed. */
static inline bool more(struct pty *p, int timeout)
{
	struct pollfd f = {.fd = p->master, .events = POLLIN};
	ssize_t n;

	if (p->n + 1 >= sizeof(p->seen) || poll(&f, 1, timeout) <= 0)
		return false;
	n = read(p->master, p->seen + p->n, sizeof(p->seen) - 1 - p->n);
	if (n <= 0)
		return false;
	p->n += (size_t)n;
	p->seen[p->n] = '\0';
	return true;
}

static inline void wait_for(struct pty *p, const char *text)
{
	while (!memmem(p->seen, p->n, text, strlen(text)))
		if (!more(p, DEADLINE_MS))
			fail_msg("never saw '%s' in %zu bytes", text, p->n);
}

static inline void forget(struct pty *p)
{
	p->n = 0;
	p->seen[0] = '\0';
}

static inline void send_text(struct pty *p, const char *text)
{
	assert_int_equal(write(p->master, text, strlen(text)), strlen(text));
}

static inline void set_size(struct pty *p, int cols, int rows)
{
	struct winsize size = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

	assert_int_equal(ioctl(p->master, TIOCSWINSZ, &size), 0); /* sends SIGWINCH */
}

/* The child's status; what it still writes is read meanwhile. */
static inline int finish(struct pty *p)
{
	int status = 0, ms;
	pid_t got = 0;

	for (ms = 0; ms < DEADLINE_MS && !got; ms += 10) {
		more(p, 10);
		got = waitpid(p->child, &status, WNOHANG);
	}
	if (!got) {
		kill(p->child, SIGKILL);
		waitpid(p->child, &status, 0);
		fail_msg("the child did not end");
	}
	while (more(p, 0))
		;
	return status;
}

static inline void end(struct pty *p)
{
	close(p->master);
	close(p->slave);
}

/* The part ends when it reads this key. */
static inline void quit(struct pty *p)
{
	send_text(p, "q");
	assert_int_equal(finish(p), 0);
	end(p);
}

static inline void assert_restored(struct pty *p)
{
	struct termios now;

	assert_int_equal(tcgetattr(p->slave, &now), 0);
	assert_int_equal(now.c_lflag, p->before.c_lflag);
	assert_int_equal(now.c_iflag, p->before.c_iflag);
	assert_int_equal(now.c_oflag, p->before.c_oflag);
}

static inline bool saw(const struct pty *p, const char *text)
{
	return memmem(p->seen, p->n, text, strlen(text)) != NULL;
}

/* --- the parts of the child */

static inline void open_or_die(bool ascii)
{
	char error[256];

	setlocale(LC_ALL, "C.UTF-8");
	if (term_open(
		&(struct term_options){
		    .in_fd = 0, .out_fd = 1, .ascii = ascii, .no_mouse = no_mouse},
		error, sizeof(error)) < 0) {
		printf("%s\n", error);
		fflush(stdout);
		_exit(1);
	}
}

static inline void show(const char *text)
{
	int cols, rows;
	struct grid *g;

	term_size(&cols, &rows);
	g = grid_new(cols, rows, term_ascii());
	grid_put(g, 0, 0, cols, ROLE_TEXT, text);
	if (term_put(g) < 0)
		_exit(3);
	grid_free(g);
}

/* Wait until a key or a signal comes; returns the key or TERM_NOTHING. */
static inline int wait_key(unsigned int *signals)
{
	struct pollfd p[2] = {{.fd = 0, .events = POLLIN},
			      {.fd = term_signal_fd(), .events = POLLIN}};
	int key = term_getkey();

	*signals = 0;
	if (key != TERM_NOTHING)
		return key;
	if (poll(p, 2, DEADLINE_MS) == 0)
		_exit(97);
	*signals = term_take_signals();
	return term_getkey();
}

/* Shows the name of each key; q ends, X and A crash, Z suspends. */
static inline void echo_keys(void)
{
	unsigned int signals, serial = 0;
	char text[64];
	int key;

	open_or_die(false);
	show("ready");
	for (;;) {
		key = wait_key(&signals);
		if (key == TERM_LOST) {
			term_close();
			_exit(5);
		}
		if (signals & (TERM_SIGNAL_TERM | TERM_SIGNAL_INT)) {
			term_close();
			_exit(6);
		}
		if (key == TERM_NOTHING)
			continue;
		if (key == 'q') {
			term_close();
			term_close(); /* twice does no harm */
			_exit(0);
		}
		if (key == 'X')
			raise(SIGSEGV);
		if (key == 'A')
			abort();
		if (key == 'Z') {
			term_suspend();
			raise(SIGSTOP);
			term_resume();
			show("back again");
			continue;
		}
		term_repaint(); /* all of the text, not only what differs */
		if (key == SCREEN_KEY_RESIZE) {
			int cols, rows;

			term_size(&cols, &rows);
			snprintf(text, sizeof(text), "[%u] size %dx%d.", ++serial, cols, rows);
		} else if (key == SCREEN_KEY_MOUSE) {
			struct screen_mouse m;

			term_mouse(&m);
			snprintf(text, sizeof(text), "[%u] mouse %d at %d,%d.", ++serial, m.what,
				 m.x, m.y);
		} else {
			snprintf(text, sizeof(text), "[%u] key %x.", ++serial, (unsigned int)key);
		}
		show(text);
	}
}

static inline void start_echo(struct pty *p)
{
	start(p, "xterm-256color", echo_keys);
	wait_for(p, "ready");
}

#endif
