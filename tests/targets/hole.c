// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hole: a thread calls waits_forever(), and sleeps in it. The pages of its stack that hold the
 * caller's frame and the return address of the call are then taken away, and a userfaultfd that
 * nobody serves covers them: whoever reads them sleeps for ever. The main thread calls goes_on()
 * once a millisecond until the last line on standard input.
 */
#include "target.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, STACK = 64 * PAGE, BELOW = 2 * PAGE };

static _Atomic(char *) frame; /* of the call that sleeps */
static _Atomic uint64_t done;

/* Sleeps two pages below its own return address, so that the system call's frame is not in the
 * hole. */
WATCHED uint64_t waits_forever(uint64_t n)
{
	volatile char room[BELOW];

	room[0] = (char)n;
	KEEP(&room);
	frame = __builtin_frame_address(0);
	for (;;)
		pause();
	return (uint64_t)room[0];
}

WATCHED uint64_t goes_on(uint64_t n)
{
	done++;
	return n ^ 0x55;
}

static void *wait_there(void *arg)
{
	KEEP(waits_forever(1));
	return arg;
}

/* From the page of the sleeping call's frame to the end of the stack. */
static void make_hole(char *stack)
{
	char *begin = (char *)((uintptr_t)frame & ~(uintptr_t)(PAGE - 1));
	size_t size = (size_t)(stack + STACK - begin);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range = {.start = (uintptr_t)begin, .len = size},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		printf("{\"skip\":\"no userfaultfd here: %s\"}\n", strerror(errno));
		exit(0);
	}
	if (madvise(begin, size, MADV_DONTNEED))
		die("madvise");
}

int main(int argc, char **argv)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	target_begin(&argc, &argv);
	target_go();
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	if (stack == MAP_FAILED || madvise(stack, STACK, MADV_NOHUGEPAGE) ||
	    pthread_create(&thread, &attr, wait_there, NULL))
		die("pthread_create");
	while (!frame)
		sleep_ns(1000000);
	sleep_ns(10000000);
	make_hole(stack);
	for (;;) {
		KEEP(goes_on(1));
		sleep_ns(1000000);
	}
}
