// SPDX-License-Identifier: GPL-2.0-or-later
/* two_threads: the thread "reader" calls read_zero() and pread64 every 5 ms, the thread "writer"
 * write every 3 ms, for ever. */
#include "target.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static int zero, null;

WATCHED static int read_zero(void)
{
	char bytes[8];

	return pread(zero, bytes, sizeof(bytes), 0) == sizeof(bytes);
}

static void *reader(void *unused)
{
	for (;;) {
		if (!read_zero())
			die("pread");
		poll(NULL, 0, 5);
	}
	return unused;
}

static void *writer(void *unused)
{
	for (;;) {
		if (write(null, "x", 1) != 1)
			die("write");
		poll(NULL, 0, 3);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	target_begin(&argc, &argv);
	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	if (zero < 0 || null < 0)
		die("open");
	target_go();
	if (pthread_create(&thread[0], NULL, reader, NULL) ||
	    pthread_create(&thread[1], NULL, writer, NULL))
		die("pthread_create");
	pthread_setname_np(thread[0], "reader");
	pthread_setname_np(thread[1], "writer");
	for (;;)
		pause();
}
