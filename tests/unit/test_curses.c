// SPDX-License-Identifier: GPL-2.0-or-later
/* How the terminal is taken and given back: keys, the mouse, sizes, signals, crashes. */
#include <errno.h>
#include <fcntl.h>

#include "tests/unit/pty_terminal.h"

static void test_opens_and_gives_back(void **state)
{
	struct pty p;
	struct termios now;

	start_echo(&p);
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

	start_echo(&p);
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
	quit(&p);
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

	start_echo(&p);
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
	start_echo(&p);
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

	start_echo(&p);
	kill(p.child, SIGSTOP); /* all of the burst comes while it does not look */
	for (i = 0; i < 50; i++)
		set_size(&p, 40 + i, 10 + i % 5);
	set_size(&p, 33, 9);
	kill(p.child, SIGCONT);
	wait_for(&p, "[1] size 33x9."); /* the first that it sees is the last */
	set_size(&p, 20, 5);
	wait_for(&p, "20x5.");
	assert_false(saw(&p, "89x"));
	quit(&p);
}

static void test_same_size_is_no_resize(void **state)
{
	struct pty p;

	start_echo(&p);
	kill(p.child, SIGWINCH);
	send_text(&p, "a");
	wait_for(&p, "[1] key 61.");
	assert_false(saw(&p, "size"));
	quit(&p);
}

static void test_lost_terminal(void **state)
{
	struct pty p;
	int status = 0, ms;
	struct pollfd nothing = {.fd = -1};

	start_echo(&p);
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

	start_echo(&p);
	kill(p.child, SIGHUP);
	assert_int_equal(WEXITSTATUS(finish(&p)), 5);
	assert_restored(&p);
	end(&p);
}

static void test_termination(void **state)
{
	struct pty p;

	start_echo(&p);
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

	start_echo(&p);
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
	quit(&p);
}

static void test_suspend_and_resume(void **state)
{
	struct pty p;
	int status;

	start_echo(&p);
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
	    cmocka_unit_test(test_no_use_as_a_terminal),
	    cmocka_unit_test(test_similar_terminal),
	    cmocka_unit_test(test_not_a_terminal),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
