// SPDX-License-Identifier: GPL-2.0-or-later
/* culprit_waits SECONDS KIND [FILE]: what a slow call waits for is one KIND of thing after the
 * other. */
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>

#include "culprit_kinds.h"

enum { WAIT_NS = 2000000, TOUCHED = 24, STRIDE = 1 << 20, BIG = 128 << 20 };

static int ask[2], held[2], epoll, file;
static sem_t posted;
static mtx_t c11_lock;
static char *pages;
static const char *path = "culprit_waits.data";

/* A semaphore that another thread, "poster", raises. */
static void *post(void *nothing)
{
	name_thread("poster");
	for (;;) {
		byte_take(ask[0]);
		sleep_ns(WAIT_NS);
		sem_post(&posted);
	}
	return nothing;
}

static void semaphore_begin(void)
{
	sem_init(&posted, 0, 0);
	thread_run(post);
}

WATCHED void semaphore_serve(uint64_t i)
{
	byte_send(ask[1]);
	sem_wait(&posted);
	KEEP(bystander(i));
}

/* The end of a thread, "laggard". */
static void *lag(void *nothing)
{
	name_thread("laggard");
	sleep_ns(WAIT_NS);
	return nothing;
}

static pthread_t laggard;

static void join_before(void)
{
	laggard = thread_run(lag);
}

WATCHED void join_serve(uint64_t i)
{
	pthread_join(laggard, NULL);
	KEEP(bystander(i));
}

/* epoll_wait() for a pipe into which another process, "feeder", writes. */
static void epoll_begin(void)
{
	struct epoll_event e = {.events = EPOLLIN};

	if (!child_run("feeder")) {
		for (;;) {
			byte_take(ask[0]);
			sleep_ns(WAIT_NS);
			byte_send(held[1]);
		}
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, held[0], &e))
		die("epoll");
}

WATCHED void epoll_serve(uint64_t i)
{
	struct epoll_event e;

	byte_send(ask[1]);
	if (epoll_wait(epoll, &e, 1, 5000) != 1)
		exit(0);
	byte_take(held[0]);
	KEEP(bystander(i));
}

/* A lock on a file that another process, "keeper", has taken; by flock() or by fcntl(). */
static int file_lock(int fd, int type, bool posix)
{
	struct flock l = {.l_type = (short)type, .l_whence = SEEK_SET, .l_len = 1};

	if (posix)
		return fcntl(fd, F_SETLKW, &l);
	return flock(fd, type == F_UNLCK ? LOCK_UN : LOCK_EX);
}

static void keep(bool posix)
{
	int fd;

	if (child_run("keeper"))
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (;;) {
		byte_take(ask[0]);
		if (fd < 0 || file_lock(fd, F_WRLCK, posix))
			exit(1);
		byte_send(held[1]);
		sleep_ns(WAIT_NS);
		file_lock(fd, F_UNLCK, posix);
	}
}

static void file_open(void)
{
	file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0)
		die(path);
}

static void flock_begin(void)
{
	file_open();
	keep(false);
}

static void fcntl_begin(void)
{
	file_open();
	keep(true);
}

static void hold_before(void)
{
	byte_send(ask[1]);
	byte_take(held[0]);
}

WATCHED void flock_serve(uint64_t i)
{
	if (file_lock(file, F_WRLCK, false) || file_lock(file, F_UNLCK, false))
		die("flock");
	KEEP(bystander(i));
}

WATCHED void fcntl_serve(uint64_t i)
{
	if (file_lock(file, F_WRLCK, true) || file_lock(file, F_UNLCK, true))
		die("fcntl");
	KEEP(bystander(i));
}

/* The end of a child, "slow-child". */
WATCHED void child_serve(uint64_t i)
{
	pid_t pid = child_run("slow-child");

	if (!pid) {
		sleep_ns(WAIT_NS);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	KEEP(bystander(i));
}

/* A futex that nobody wakes. */
WATCHED void futex_serve(uint64_t i)
{
	static int word;
	struct timespec t = {.tv_nsec = WAIT_NS};

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	KEEP(bystander(i));
}

/* A mutex of C11 that another thread, "hoarder", holds. */
static int hoard(void *nothing)
{
	name_thread("hoarder");
	for (;;) {
		byte_take(ask[0]);
		mtx_lock(&c11_lock);
		byte_send(held[1]);
		sleep_ns(WAIT_NS);
		mtx_unlock(&c11_lock);
	}
	return nothing != NULL;
}

static void c11_begin(void)
{
	thrd_t t;

	mtx_init(&c11_lock, mtx_plain);
	if (thrd_create(&t, hoard, NULL) != thrd_success)
		die("thrd_create");
}

WATCHED void c11_serve(uint64_t i)
{
	mtx_lock(&c11_lock);
	mtx_unlock(&c11_lock);
	KEEP(bystander(i));
}

/* A mutex with priority inheritance that a thread, "runner", holds while it runs. */
static pthread_mutex_t inherits;

static void *run_with_mutex(void *nothing)
{
	name_thread("runner");
	for (;;) {
		byte_take(ask[0]);
		pthread_mutex_lock(&inherits);
		byte_send(held[1]);
		SPIN_US(WAIT_NS / 1000);
		pthread_mutex_unlock(&inherits);
	}
	return nothing;
}

static void inherit_begin(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &a);
	thread_run(run_with_mutex);
}

WATCHED void inherit_serve(uint64_t i)
{
	pthread_mutex_lock(&inherits);
	pthread_mutex_unlock(&inherits);
	KEEP(bystander(i));
}

/* Pages of a file that are not in memory. */
static void paged_begin(void)
{
	int k;

	file_open();
	pages = malloc(STRIDE);
	if (!pages)
		die("malloc");
	memset(pages, 'x', STRIDE);
	for (k = 0; k < TOUCHED; k++)
		if (write(file, pages, STRIDE) != STRIDE)
			die(path);
	free(pages);
	if (fsync(file))
		die(path);
	pages = mmap(NULL, (size_t)TOUCHED * STRIDE, PROT_READ, MAP_SHARED, file, 0);
	if (pages == MAP_FAILED || madvise(pages, (size_t)TOUCHED * STRIDE, MADV_RANDOM))
		die("mmap");
}

static void paged_before(void)
{
	madvise(pages, (size_t)TOUCHED * STRIDE, MADV_DONTNEED);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

WATCHED void paged_serve(uint64_t i)
{
	uint64_t sum = 0;
	int k;

	for (k = 0; k < TOUCHED; k++)
		sum += (uint64_t)((volatile char *)pages)[k * STRIDE];
	KEEP(sum);
	KEEP(bystander(i));
}

/* A mapped file that is written to the disk: only the address leads to the file. */
static void synced_begin(void)
{
	file_open();
	if (ftruncate(file, (off_t)TOUCHED * STRIDE))
		die(path);
	pages = mmap(NULL, (size_t)TOUCHED * STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (pages == MAP_FAILED)
		die("mmap");
}

WATCHED void synced_serve(uint64_t i)
{
	for (int k = 0; k < TOUCHED; k++)
		pages[k * STRIDE] = (char)i;
	if (msync(pages, (size_t)TOUCHED * STRIDE, MS_SYNC))
		die("msync");
	KEEP(bystander(i));
}

/*
 * The lock of the address space: "walker" has it while it goes through all of a large mapping. It
 * has the same CPU, and is interrupted in the middle: whoever waits for the lock sleeps and does
 * not spin.
 */
static char *big;

static void *walk(void *nothing)
{
	name_thread("walker");
	scheduled(SCHED_OTHER, 0);
	for (;;) {
		byte_take(ask[0]);
		if (madvise(big, BIG, MADV_POPULATE_READ))
			die("madvise");
	}
	return nothing;
}

static void space_begin(void)
{
	size_t k;

	big = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (big == MAP_FAILED || madvise(big, BIG, MADV_NOHUGEPAGE))
		die("mmap");
	for (k = 0; k < BIG; k += 4096)
		big[k] = 1;
	pin_to(sched_getcpu());
	thread_run(walk);
}

static void space_before(void)
{
	byte_send(ask[1]);
	sleep_ns(200000);
}

WATCHED void space_serve(uint64_t i)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 4096);
	KEEP(bystander(i));
}

/* The end of vfork(): the child goes on in the parent's memory for a while. */
WATCHED void vfork_serve(uint64_t i)
{
	pid_t child = vfork();

	if (child < 0)
		die("vfork");
	if (!child) {
		sleep_ns(WAIT_NS);
		_exit(0);
	}
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	KEEP(bystander(i));
}

/*
 * The thread "rival" takes the CPU from whoever wakes it, works there, sleeps, and answers: a third
 * of the time its client could run, else it sleeps, and all of it waits for the rival.
 */
static void *rival(void *nothing)
{
	name_thread("rival");
	scheduled(SCHED_FIFO, 2);
	for (;;) {
		byte_take(ask[0]);
		burn_ns(WAIT_NS / 2);
		sleep_ns(WAIT_NS);
		byte_send(held[1]);
	}
	return nothing;
}

static void rival_begin(void)
{
	scheduled(SCHED_OTHER, 0);
	pin_to(sched_getcpu());
	thread_run(rival);
}

WATCHED void rival_serve(uint64_t i)
{
	byte_send(ask[1]);
	byte_take(held[0]);
	KEEP(bystander(i));
}

static const struct kind kinds[] = {
    {"semaphore", semaphore_begin, NULL, semaphore_serve},
    {"join", NULL, join_before, join_serve},
    {"epoll", epoll_begin, NULL, epoll_serve},
    {"flock", flock_begin, hold_before, flock_serve},
    {"fcntl", fcntl_begin, hold_before, fcntl_serve},
    {"child", NULL, NULL, child_serve},
    {"futex", NULL, NULL, futex_serve},
    {"inherit", inherit_begin, hold_before, inherit_serve},
    {"c11", c11_begin, hold_before, c11_serve},
    {"paged", paged_begin, paged_before, paged_serve},
    {"synced", synced_begin, NULL, synced_serve},
    {"space", space_begin, space_before, space_serve},
    {"vfork", NULL, NULL, vfork_serve},
    {"rival", rival_begin, NULL, rival_serve},
};

int main(int argc, char **argv)
{
	int status = kind_choose(&argc, &argv, kinds, sizeof(kinds) / sizeof(kinds[0]), &path);

	if (status)
		return status;
	if (pipe(ask) || pipe(held))
		die("pipe");
	return culprit_run(argc, argv, request, 300);
}
