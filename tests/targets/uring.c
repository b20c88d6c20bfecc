// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uring [READS [NAPS]]: requests of an io_uring, one at a time: READS reads of a file, and NAPS
 * timeouts of 20 ms.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "target.h"

enum { NAP_NS = 20000000 };

static struct {
	int fd;
	unsigned int *head, *tail, *mask, *array, *done;
	struct io_uring_sqe *sqes;
} ring;

static char *ring_map(size_t size, off_t at)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, at);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* False: this host allows none. */
static int ring_begin(void)
{
	struct io_uring_params p = {0};
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring.fd < 0)
		return 0;
	sq = ring_map(p.sq_off.array + p.sq_entries * sizeof(unsigned int), IORING_OFF_SQ_RING);
	cq = ring_map(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring.sqes = (void *)ring_map(p.sq_entries * sizeof(*ring.sqes), IORING_OFF_SQES);
	ring.tail = (unsigned int *)(sq + p.sq_off.tail);
	ring.mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	ring.array = (unsigned int *)(sq + p.sq_off.array);
	ring.head = (unsigned int *)(cq + p.cq_off.head);
	ring.done = (unsigned int *)(cq + p.cq_off.tail);
	return 1;
}

WATCHED void ring_execute(const struct io_uring_sqe *request)
{
	unsigned int at = *ring.tail & *ring.mask;

	ring.sqes[at] = *request;
	ring.array[at] = at;
	__atomic_store_n(ring.tail, *ring.tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter");
	if (__atomic_load_n(ring.done, __ATOMIC_ACQUIRE) == *ring.head)
		die("no completion");
	__atomic_store_n(ring.head, *ring.head + 1, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	struct __kernel_timespec nap = {.tv_nsec = NAP_NS};
	uint64_t reads, naps, i;
	char buffer[64];
	int file;

	target_begin(&argc, &argv);
	reads = target_arg(argc, argv, 1, 2000);
	naps = target_arg(argc, argv, 2, 5);
	file = open(argv[0], O_RDONLY | O_CLOEXEC);
	if (file < 0)
		die(argv[0]);
	if (!ring_begin()) {
		printf("{\"skip\":\"no io_uring\"}\n");
		return 0;
	}
	target_go();
	for (i = 0; i < reads; i++)
		ring_execute(&(struct io_uring_sqe){.opcode = IORING_OP_READ,
						    .fd = file,
						    .addr = (uintptr_t)buffer,
						    .len = sizeof(buffer)});
	for (i = 0; i < naps; i++)
		ring_execute(&(struct io_uring_sqe){
		    .opcode = IORING_OP_TIMEOUT, .addr = (uintptr_t)&nap, .len = 1});
	target_truth("{\"read\":%llu,\"timeout\":%llu,\"ok\":true}", (unsigned long long)reads,
		     (unsigned long long)naps);
	return 0;
}
