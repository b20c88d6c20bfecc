// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal layer on real pseudo-terminals: a child takes the terminal and
 * plays a part, the parent is the terminal. Nothing sleeps: both wait for
 * bytes, with a deadline.
 */
#include <errno.h>
#include <fcntl.h>
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

#include "tests/unit/synthetic.h"
#include "tui/screen/curses.h"
#include "tui/screen/grid.h"
#include "tui/screen/screen.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

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

/* --- the terminal's side ---------------------------------------------------------------------- */

static void start(struct pty *p, const char *type, void (*part)(void))
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
static bool more(struct pty *p, int timeout)
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

static void wait_for(struct pty *p, const char *text)
{
	while (!memmem(p->seen, p->n, text, strlen(text)))
		if (!more(p, DEADLINE_MS))
			fail_msg("never saw '%s' in %zu bytes", text, p->n);
}

static void forget(struct pty *p)
{
	p->n = 0;
	p->seen[0] = '\0';
}

static void send_text(struct pty *p, const char *text)
{
	assert_int_equal(write(p->master, text, strlen(text)), strlen(text));
}

static void set_size(struct pty *p, int cols, int rows)
{
	struct winsize size = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

	assert_int_equal(ioctl(p->master, TIOCSWINSZ, &size), 0); /* sends SIGWINCH */
}

/* The child's status; what it still writes is read meanwhile. */
static int finish(struct pty *p)
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

static void end(struct pty *p)
{
	close(p->master);
	close(p->slave);
}

static void assert_restored(struct pty *p)
{
	struct termios now;

	assert_int_equal(tcgetattr(p->slave, &now), 0);
	assert_int_equal(now.c_lflag, p->before.c_lflag);
	assert_int_equal(now.c_iflag, p->before.c_iflag);
	assert_int_equal(now.c_oflag, p->before.c_oflag);
}

static bool saw(const struct pty *p, const char *text)
{
	return memmem(p->seen, p->n, text, strlen(text)) != NULL;
}

/* --- the parts of the child ---------------------------------------------------------------------
 */

static void open_or_die(bool ascii)
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

static void show(const char *text)
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
static int wait_key(unsigned int *signals)
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
static void echo_keys(void)
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

/* Shows a line that changes in its last character; R repaints it. */
static void count_keys(void)
{
	unsigned int signals, n = 1;
	char text[64];
	int key;

	open_or_die(false);
	for (;;) {
		snprintf(text, sizeof(text), "a line of text that stays, and a digit: %u", n++);
		show(text);
		do
			key = wait_key(&signals);
		while (key == TERM_NOTHING);
		if (key == 'q') {
			term_close();
			_exit(0);
		}
		if (key == 'R')
			term_repaint();
	}
}

static void show_roles(void)
{
	unsigned int role, signals;
	struct grid *g;

	open_or_die(false);
	g = grid_new(80, 24, term_ascii());
	for (role = 0; role < ROLE_MAX; role++)
		grid_put(g, (int)role, 1, 1, role, "x");
	grid_put(g, 0, 2, 80, ROLE_TEXT, "█é世.");
	grid_cursor(g, 3, 5);
	if (term_put(g) < 0)
		_exit(3);
	while (wait_key(&signals) != 'q')
		;
	term_close();
	_exit(0);
}

static void show_ascii(void)
{
	struct grid *g;

	setlocale(LC_ALL, "C");
	unsetenv("LC_ALL");
	open_or_die(true);
	g = grid_new(80, 24, term_ascii());
	/* the levels of the heat map are characters, too, where they have colours */
	for (unsigned int level = 1; level <= HEAT_LEVELS; level++)
		grid_put(g, (int)level, 1, 1, ROLE_HEAT_1 + level - 1, level == 8 ? "%" : "&");
	grid_put(g, 0, 2, 80, ROLE_TEXT, "plain █.");
	if (term_put(g) < 0)
		_exit(3);
	term_close();
	_exit(term_ascii() ? 0 : 4);
}

/* --- tests
 * ------------------------------------------------------------------------------------------ */

static void test_opens_and_gives_back(void **state)
{
	struct pty p;
	struct termios now;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	assert_true(saw(&p, "\x1b[?1049h"));
	assert_false(saw(&p, "\x1b[?1000h")); /* the mouse is the terminal's */
	assert_false(saw(&p, "\x1b]4;"));     /* the palette too */
	tcgetattr(p.slave, &now);
	assert_int_equal(now.c_lflag & (ICANON | ECHO | ISIG), 0);
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	assert_true(saw(&p, "\x1b[?1049l"));
	assert_restored(&p);
	end(&p);
}

static void press(struct pty *p, const char *bytes, int key)
{
	char text[64];

	forget(p);
	send_text(p, bytes);
	snprintf(text, sizeof(text), " %x.", (unsigned int)key);
	wait_for(p, text);
}

static void test_keys(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	press(&p, "a", 'a');
	press(&p, "\x1bOA", SCREEN_KEY_UP);
	press(&p, "\x1bOB", SCREEN_KEY_DOWN);
	press(&p, "\x1bOP", SCREEN_KEY_F1);
	press(&p, "\x1b[5~", SCREEN_KEY_PAGE_UP);
	press(&p, "\x1b[Z", SCREEN_KEY_BACKTAB);
	press(&p, "\x1b[3~", SCREEN_KEY_DELETE);
	press(&p, "\x1b", 27);
	press(&p, "\r", '\r');
	press(&p, "\t", '\t');
	press(&p, "\x03", 3);  /* Ctrl-C is a key: it must not reach others on this terminal */
	press(&p, "\x1a", 26); /* and so is Ctrl-Z */
	press(&p, "\xe4\xb8\x96", 0x4e16);
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

static void send_mouse(struct pty *p, const char *bytes, const char *wanted)
{
	forget(p);
	send_text(p, bytes);
	wait_for(p, wanted);
}

static void test_mouse(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	assert_true(saw(&p, "\x1b[?1006;1000h"));
	/* press and release; the release is no event of its own */
	send_mouse(&p, "\x1b[<0;11;4M\x1b[<0;11;4m", "[1] mouse 0 at 10,3.");
	send_mouse(&p, "\x1b[<64;1;1M", "[2] mouse 2 at 0,0.");
	send_mouse(&p, "\x1b[<65;70;20M", "[3] mouse 3 at 69,19.");
	/* the right button has no meaning, and is no Escape */
	send_mouse(&p, "\x1b[<2;5;5M\x1b[<2;5;5mk", "[4] key 6b.");
	forget(&p);
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	assert_true(saw(&p, "\x1b[?1006;1000l"));
	end(&p);
}

static void test_no_mouse(void **state)
{
	struct pty p;

	no_mouse = true;
	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	assert_false(saw(&p, "1000h"));
	end(&p);
	no_mouse = false;
}

static void test_resizes_are_drained(void **state)
{
	struct pty p;
	int i;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	kill(p.child, SIGSTOP); /* all of the burst comes while it does not look */
	for (i = 0; i < 50; i++)
		set_size(&p, 40 + i, 10 + i % 5);
	set_size(&p, 33, 9);
	kill(p.child, SIGCONT);
	wait_for(&p, "[1] size 33x9."); /* the first that it sees is the last */
	set_size(&p, 20, 5);
	wait_for(&p, "20x5.");
	assert_false(saw(&p, "89x"));
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

static void test_same_size_is_no_resize(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	kill(p.child, SIGWINCH);
	send_text(&p, "a");
	wait_for(&p, "[1] key 61.");
	assert_false(saw(&p, "size"));
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

static void test_lost_terminal(void **state)
{
	struct pty p;
	int status = 0, ms;
	struct pollfd nothing = {.fd = -1};

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	close(p.slave);
	close(p.master); /* hang-up */
	for (ms = 0; ms < 1000 && !waitpid(p.child, &status, WNOHANG); ms += 10)
		poll(&nothing, 1, 10);
	if (ms >= 1000) {
		kill(p.child, SIGKILL);
		waitpid(p.child, &status, 0);
		fail_msg("it did not notice within a second");
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
}

static void test_end_of_file(void **state)
{
	no_control = true;
	test_lost_terminal(state);
	no_control = false;
}

static void test_hangup_signal(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	kill(p.child, SIGHUP);
	assert_int_equal(WEXITSTATUS(finish(&p)), 5);
	assert_restored(&p);
	end(&p);
}

static void test_termination(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	kill(p.child, SIGTERM);
	assert_int_equal(WEXITSTATUS(finish(&p)), 6);
	assert_true(saw(&p, "\x1b[?1049l"));
	assert_restored(&p);
	end(&p);
}

static void crash(const char *key, int signal)
{
	struct pty p;
	int status;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	forget(&p);
	send_text(&p, key);
	status = finish(&p);
	assert_true(WIFSIGNALED(status)); /* raised again: the shell and core dumps see it */
	assert_int_equal(WTERMSIG(status), signal);
	assert_true(saw(&p, "\x1b[?1049l"));
	assert_true(saw(&p, "\x1b[?1000l"));
	assert_restored(&p);
	end(&p);
}

static void test_crashes_restore_the_terminal(void **state)
{
	crash("X", SIGSEGV);
	crash("A", SIGABRT);
}

/* Forks once the terminal is ours: the child's end is its own affair. */
static void fork_and_crash(void)
{
	static const int signals[] = {SIGSEGV, SIGTERM, SIGHUP};
	unsigned int i, ignored;
	int status;
	pid_t pid;

	open_or_die(false);
	show("ready");
	for (i = 0; i < 3; i++) {
		pid = fork();
		if (!pid) {
			raise(signals[i]);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != signals[i])
			_exit(10 + (int)i);
	}
	if (term_take_signals())
		_exit(20);
	show("still ours.");
	while (wait_key(&ignored) != 'q')
		;
	term_close();
	_exit(0);
}

static void test_forked_processes_have_their_own_signals(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", fork_and_crash);
	wait_for(&p, "still ours.");
	assert_false(saw(&p, "\x1b[?1049l"));
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

static void test_suspend_and_resume(void **state)
{
	struct pty p;
	int status;

	start(&p, "xterm-256color", echo_keys);
	wait_for(&p, "ready");
	send_text(&p, "Z");
	wait_for(&p, "\x1b[?1049l");
	assert_int_equal(waitpid(p.child, &status, WUNTRACED), p.child);
	assert_true(WIFSTOPPED(status));
	while (more(&p, 0))
		;
	assert_restored(&p);
	forget(&p);
	set_size(&p, 60, 20);
	kill(p.child, SIGCONT);
	wait_for(&p, "back again");
	wait_for(&p, "60x20.");
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	assert_restored(&p);
	end(&p);
}

static void test_only_changes_are_sent(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", count_keys);
	wait_for(&p, "digit: 1");
	forget(&p);
	send_text(&p, "b");
	wait_for(&p, "2");
	assert_true(p.n < 40);
	assert_false(saw(&p, "line"));
	forget(&p);
	send_text(&p, "R"); /* repaint: all of it again */
	wait_for(&p, "digit: 3");
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

/* Whether some `ESC [ ... m` chose a colour (30-38, 40-48, 90-107). */
static bool chose_colour(const struct pty *p)
{
	const char *at = p->seen, *end;
	long n;

	while ((at = strstr(at, "\x1b["))) {
		at += 2;
		end = at + strspn(at, "0123456789;");
		for (; *end == 'm' && at < end; at += strspn(at, ";")) {
			char *after;

			n = strtol(at, &after, 10);
			if (after == at)
				break;
			at = after;
			if ((n >= 30 && n <= 38) || (n >= 40 && n <= 48) || (n >= 90 && n <= 107))
				return true;
		}
	}
	return false;
}

static void test_colours(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", show_roles);
	wait_for(&p, "█é世.");
	assert_true(saw(&p, "48;5;226m"));
	assert_true(saw(&p, "48;5;53m"));
	assert_true(chose_colour(&p));
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
	start(&p, "xterm", show_roles); /* 8 colours */
	wait_for(&p, "█é世.");
	assert_false(saw(&p, "48;5;"));
	assert_true(chose_colour(&p));
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

static void no_color(struct pty *p, const char *type)
{
	start(p, type, show_roles);
	wait_for(p, "█é世.");
	assert_false(chose_colour(p));
	send_text(p, "q");
	assert_int_equal(finish(p), 0);
	end(p);
}

static void test_no_color(void **state)
{
	struct pty p;

	no_color(&p, "vt100");
	setenv("NO_COLOR", "1", 1);
	no_color(&p, "xterm-256color");
	unsetenv("NO_COLOR");
}

static void test_ascii(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", show_ascii);
	wait_for(&p, "plain ?.");
	assert_true(saw(&p, "48;5;226m"));
	assert_true(saw(&p, "&"));
	assert_true(saw(&p, "%"));
	assert_int_equal(finish(&p), 0);
	end(&p);
}

static void refused(const char *type, const char *why)
{
	struct pty p;

	start(&p, type, echo_keys);
	wait_for(&p, why);
	wait_for(&p, "peaktop watch");
	assert_int_equal(WEXITSTATUS(finish(&p)), 1);
	assert_false(saw(&p, "\x1b"));
	assert_restored(&p);
	end(&p);
}

static void test_no_use_as_a_terminal(void **state)
{
	refused(NULL, "TERM is not set");
	refused("", "TERM is not set");
	refused("dumb", "TERM is dumb");
	refused("no-such-terminal", "TERM=no-such-terminal is unknown");
}

static void show_notice(void)
{
	open_or_die(false);
	show(term_notice() ? term_notice() : "no notice");
	term_close();
	_exit(0);
}

/* A terminal whose type is unknown here is opened as one that is like it, and that is said. */
static void test_similar_terminal(void **state)
{
	static const struct {
		const char *type, *says;
	} types[] = {{"xterm-no-such", "TERM=xterm-no-such is unknown on this host; using xterm"},
		     {"kitty-no-such", "TERM=kitty-no-such is unknown on this host; using xterm"},
		     {"tmux-no-such", "TERM=tmux-no-such is unknown on this host; using screen"},
		     {"xterm", "no notice"}};
	struct pty p;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		start(&p, types[i].type, show_notice);
		wait_for(&p, types[i].says);
		assert_int_equal(finish(&p), 0);
		assert_restored(&p);
		end(&p);
	}
}

static void test_not_a_terminal(void **state)
{
	char error[256] = "";
	int null = open("/dev/null", O_RDWR);
	struct term_options o = {.in_fd = null, .out_fd = null, .type = "xterm"};

	assert_int_equal(term_open(&o, error, sizeof(error)), -ENOTTY);
	assert_non_null(strstr(error, "peaktop watch"));
	assert_int_equal(term_getkey(), TERM_LOST);
	term_close();
	close(null);
}

/* UI: at most 1 KB a tick on average for the heatmap at 200x50. */
static void play_heatmap(void)
{
	struct model *m = synth_model(3);
	struct screen *s =
	    screen_new(m, &(struct screen_options){.root = SCREEN_OPERATIONS}, &all_views);
	struct grid *g = grid_new(200, 50, false);
	const char *keys;
	unsigned int i, signals;

	open_or_die(false);
	screen_resize(s, 200, 50);
	for (keys = "/read\r\r"; *keys; keys++)
		screen_key(s, *keys);
	for (i = 3; i < 203; i++) {
		screen_draw(s, g);
		term_put(g);
		synth_slice(m, i);
		screen_tick(s, i * SYNTH_SECOND);
	}
	screen_message(s, NOTE_INFO, "all of it was drawn.");
	screen_draw(s, g);
	term_put(g);
	while (wait_key(&signals) != 'q')
		;
	term_close();
	_exit(0);
}

static void test_byte_budget(void **state)
{
	static struct pty p;

	start(&p, "xterm-256color", play_heatmap);
	set_size(&p, 200, 50);
	wait_for(&p, "all of it was drawn.");
	print_message("%zu bytes in 200 ticks\n", p.n);
	assert_true(p.n < 200 * 1024);
	assert_true(p.n > 200 * 50); /* it was drawn at all */
	send_text(&p, "q");
	assert_int_equal(finish(&p), 0);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_opens_and_gives_back),
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_mouse),
	    cmocka_unit_test(test_no_mouse),
	    cmocka_unit_test(test_resizes_are_drained),
	    cmocka_unit_test(test_same_size_is_no_resize),
	    cmocka_unit_test(test_lost_terminal),
	    cmocka_unit_test(test_end_of_file),
	    cmocka_unit_test(test_hangup_signal),
	    cmocka_unit_test(test_termination),
	    cmocka_unit_test(test_crashes_restore_the_terminal),
	    cmocka_unit_test(test_forked_processes_have_their_own_signals),
	    cmocka_unit_test(test_suspend_and_resume),
	    cmocka_unit_test(test_only_changes_are_sent),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_no_color),
	    cmocka_unit_test(test_ascii),
	    cmocka_unit_test(test_no_use_as_a_terminal),
	    cmocka_unit_test(test_similar_terminal),
	    cmocka_unit_test(test_not_a_terminal),
	    cmocka_unit_test(test_byte_budget),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
