// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the screen sends a terminal: the bytes of each frame of the views, one
 * frame a tick, drawn by ncurses to a pseudo-terminal. UI budget: at most
 * 1 KB a tick on average at 200x50 for the heatmap.
 *
 *   screen_bytes [TERM]      (xterm-256color)
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/synthetic.h"
#include "tui/screen/curses.h"
#include "tui/screen/grid.h"
#include "tui/screen/screen.h"
#include "tui/views/views.h"

enum { TICKS = 240 };

static int master;
static uint64_t received; /* only read after drained() */
static int marks[2];	  /* a byte here asks the reader for what has come so far */

/* Reads the terminal's side until nothing is left, then answers. */
static void *reader(void *arg)
{
	struct pollfd p[2] = {{.fd = master, .events = POLLIN}, {.fd = marks[1], .events = POLLIN}};
	char bytes[65536];
	ssize_t n;

	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents & POLLIN) {
			n = read(master, bytes, sizeof(bytes));
			if (n > 0)
				received += (uint64_t)n;
			continue; /* the mark only when the terminal is empty */
		}
		if (p[1].revents & (POLLIN | POLLHUP)) {
			if (read(marks[1], bytes, 1) != 1)
				return NULL;
			if (write(marks[1], "", 1) != 1)
				return NULL;
		}
	}
}

static uint64_t sent_so_far(void)
{
	char byte;

	if (write(marks[0], "", 1) != 1 || read(marks[0], &byte, 1) != 1)
		exit(1);
	return received;
}

static void resize(int fd, int cols, int rows)
{
	struct winsize size = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

	ioctl(fd, TIOCSWINSZ, &size);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Bytes of TICKS frames after the first; keys open the view. */
static void measure(const char *type, int cols, int rows, const char *keys, const char *what)
{
	struct model *model = synth_model(3);
	struct screen *s =
	    screen_new(model, &(struct screen_options){.root = SCREEN_OPERATIONS}, &all_views);
	struct grid *g = grid_new(cols, rows, false);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY), i;
	uint64_t frame[TICKS], first, before, sum = 0;
	char error[256];

	resize(master, cols, rows);
	if (!model || !s || !g || slave < 0 ||
	    term_open(&(struct term_options){.in_fd = slave, .out_fd = slave, .type = type}, error,
		      sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	screen_resize(s, cols, rows);
	before = sent_so_far();
	for (; *keys; keys++)
		screen_key(s, *keys);
	screen_draw(s, g);
	term_put(g);
	first = sent_so_far() - before;
	for (i = 0; i < TICKS; i++) {
		before = sent_so_far();
		synth_slice(model, (uint64_t)i + 3);
		screen_tick(s, (uint64_t)(i + 4) * SYNTH_SECOND);
		screen_draw(s, g);
		term_put(g);
		frame[i] = sent_so_far() - before;
		sum += frame[i];
	}
	term_close();
	close(slave);
	qsort(frame, TICKS, sizeof(frame[0]), compare);
	printf("| %s | %dx%d | %llu | %llu | %llu | %llu |\n", what, cols, rows,
	       (unsigned long long)first, (unsigned long long)(sum / TICKS),
	       (unsigned long long)frame[TICKS / 2], (unsigned long long)frame[TICKS - 1]);
	grid_free(g);
	screen_free(s);
	model_free(model);
}

int main(int argc, char **argv)
{
	const char *type = argc > 1 ? argv[1] : "xterm-256color";
	pthread_t thread;

	setlocale(LC_ALL, "C.UTF-8");
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, marks) ||
	    pthread_create(&thread, NULL, reader, NULL)) {
		perror("screen_bytes");
		return 1;
	}
	printf("TERM=%s, %d ticks\n\n| view | size | first frame | average | median | largest |\n"
	       "|---|---|---|---|---|---|\n",
	       type, TICKS);
	measure(type, 80, 24, "", "operations");
	measure(type, 80, 24, "/read\r\r", "heatmap");
	measure(type, 200, 50, "", "operations");
	measure(type, 200, 50, "/read\r\r", "heatmap");
	close(marks[0]);
	return 0;
}
