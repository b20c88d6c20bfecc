// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/term_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "tui/screen/curses.h"

enum { CRASH_BYTES = 512, CRASH_STACK = 64 << 10 };

static const struct {
	int signal;
	unsigned int bit; /* 0: SIGWINCH, which has no bit */
} flagged[] = {
    {SIGINT, TERM_SIGNAL_INT},
    {SIGTERM, TERM_SIGNAL_TERM},
    {SIGHUP, TERM_SIGNAL_HUP},
    {SIGTSTP, TERM_SIGNAL_TSTP},
    {SIGCONT, TERM_SIGNAL_CONT},
    {SIGUSR1, TERM_SIGNAL_USR1},
    {SIGWINCH, 0},
};
static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

static struct sigaction old_flagged[ARRAY_SIZE(flagged)], old_crash[ARRAY_SIZE(crashes)];
static bool installed;
static pid_t owner; /* a forked process inherits the handlers, but must not use the terminal */
static int pipe_fd[2] = {-1, -1};
static volatile sig_atomic_t pending[ARRAY_SIZE(flagged)];

/* Data of the crash handler, prepared in advance because the handler must not allocate. */
static volatile sig_atomic_t crash_armed;
static int crash_fd;
static struct termios crash_settings;
static char crash_bytes[CRASH_BYTES];
static size_t crash_len;
static char crash_stack[CRASH_STACK];

/* In a forked process: let the signal have its default action. */
static void default_action(int signal)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	sigaction(signal, &plain, NULL);
	raise(signal);
}

static void on_flagged(int signal)
{
	int saved = errno;
	ssize_t n;

	if (getpid() != owner) {
		default_action(signal);
		errno = saved;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(flagged); i++)
		if (flagged[i].signal == signal)
			pending[i] = 1;
	n = write(pipe_fd[1], "", 1); /* a full pipe wakes the reader, too */
	(void)n;
	errno = saved;
}

/* Restore the terminal, then raise the signal again. write() and tcsetattr() are async-signal-safe.
 */
static void on_crash(int signal)
{
	size_t done = 0;
	ssize_t n;

	if (crash_armed && getpid() == owner) {
		crash_armed = 0;
		while (done < crash_len) {
			n = write(crash_fd, crash_bytes + done, crash_len - done);
			if (n <= 0)
				break;
			done += (size_t)n;
		}
		tcsetattr(crash_fd, TCSANOW, &crash_settings);
	}
	/* SA_RESETHAND has restored the default action */
	raise(signal);
}

int term_signals_install(void)
{
	struct sigaction flag = {.sa_handler = on_flagged, .sa_flags = SA_RESTART};
	struct sigaction crash = {.sa_handler = on_crash,
				  .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
	stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};

	if (installed)
		return 0;
	if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	owner = getpid();
	sigemptyset(&flag.sa_mask);
	sigemptyset(&crash.sa_mask);
	sigaltstack(&stack, NULL); /* needed to handle a stack overflow */
	for (size_t i = 0; i < ARRAY_SIZE(flagged); i++)
		sigaction(flagged[i].signal, &flag, &old_flagged[i]);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &crash, &old_crash[i]);
	installed = true;
	return 0;
}

void term_signals_restore(void)
{
	if (!installed)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(flagged); i++)
		sigaction(flagged[i].signal, &old_flagged[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &old_crash[i], NULL);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	pipe_fd[0] = pipe_fd[1] = -1;
	installed = false;
}

int term_signals_fd(void)
{
	return pipe_fd[0];
}

static void drain(void)
{
	char bytes[64];

	while (read(pipe_fd[0], bytes, sizeof(bytes)) > 0)
		;
}

bool term_signals_resized(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(flagged); i++) {
		if (!flagged[i].bit && pending[i]) {
			pending[i] = 0;
			return true;
		}
	}
	return false;
}

unsigned int term_signals_take(void)
{
	unsigned int bits = 0;

	if (!installed)
		return 0;
	drain(); /* before reading the flags, so that no later signal is missed */
	for (size_t i = 0; i < ARRAY_SIZE(flagged); i++) {
		if (flagged[i].bit && pending[i]) {
			pending[i] = 0;
			bits |= flagged[i].bit;
		}
	}
	return bits;
}

void term_crash_arm(int fd, const void *settings, const char *bytes, size_t n)
{
	crash_armed = 0;
	crash_fd = fd;
	memcpy(&crash_settings, settings, sizeof(crash_settings));
	crash_len = n < sizeof(crash_bytes) ? n : sizeof(crash_bytes);
	memcpy(crash_bytes, bytes, crash_len);
	crash_armed = 1;
}

void term_crash_disarm(void)
{
	crash_armed = 0;
}
