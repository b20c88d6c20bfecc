// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wait_kinds MODE ROUNDS [ARGUMENT [ARGUMENT2]]: the cases of who waits for whom that waits.c does
 * not have. All burn CPU time of their thread, not wall time.
 *
 *   triangle  A runs 1 ms and wakes B, which runs 2 ms and wakes C, which runs 3 ms and wakes A
 *   vfork     waits in vfork() for a child that runs for 3 ms
 *   unix      asks a server at a Unix socket that runs for 3 ms; tcp: the same over loopback
 *   poll      asks by poll() with a timeout whether a thread has finished, which wakes nobody
 *   pool      wakes four threads of which one finds work
 *   convoy    four threads take turns at a mutex, 2 ms each
 *   accept    waits for a connection that comes after ROUNDS ms
 *   stop      is stopped for ROUNDS ms by another process
 *   direct    reads the file ARGUMENT with O_DIRECT; cold: after it was dropped from the cache
 *   uring     the same by an io_uring; exit status 3: not possible on this host
 *   submit    asks a process that runs for 3 ms and lets a worker of its io_uring answer
 *   reuse     waits for a child, then for another one with the same thread id
 *   signal    waits in pause() for a signal of a process that runs for 3 ms
 *   remote    asks a server at host ARGUMENT, port ARGUMENT2; listen: that server
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tasks.h"

static int rounds;
static const char *argument = "", *argument2 = "";

static void must(int ok)
{
	if (!ok)
		exit(1);
}

static void doze_ms(int ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

/* A child that ends with this process. */
static pid_t child(const char *comm)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		name(comm);
	}
	return pid;
}

/* ---- pipes, vfork, signals */

static void pass_on(const char *comm, int in, int out, int ms)
{
	if (child(comm))
		return;
	for (;;) {
		byte_take(in);
		burn_ms(ms);
		byte_send(out);
	}
}

static void triangle(void)
{
	int ab[2], bc[2], ca[2];

	must(!pipe(ab) && !pipe(bc) && !pipe(ca));
	/* on a CPU of their own, the others do not begin before this one waits for them */
	pin(LAST_CPU);
	pass_on("kinds-b", ab[0], bc[1], 2);
	pass_on("kinds-c", bc[0], ca[1], 3);
	pin(FIRST_CPU);
	for (int i = 0; i < rounds; i++) {
		burn_ms(1);
		byte_send(ab[1]);
		byte_take(ca[0]);
	}
}

__attribute__((noinline)) static pid_t vfork_one(void)
{
	pid_t pid = vfork();

	if (!pid) {
		name("kinds-job");
		burn_ms(3);
		_exit(0);
	}
	return pid;
}

static void spawn(void)
{
	for (int i = 0; i < rounds; i++) {
		waitpid(vfork_one(), NULL, 0);
		burn_ms(1);
	}
}

static void rings(int signal)
{
	(void)signal;
}

static void signalled(void)
{
	sigset_t set;
	int to[2], got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, rings);
	must(!pipe(to));
	if (!child("kinds-sender")) {
		for (;;) {
			byte_take(to[0]);
			burn_ms(3);
			kill(getppid(), SIGUSR1);
		}
	}
	for (int i = 0; i < rounds; i++) {
		byte_send(to[1]);
		sigwait(&set, &got);
		burn_ms(1);
	}
}

static void stopped(void)
{
	pid_t me = getpid();

	if (!child("kinds-stopper")) {
		doze_ms(50);
		kill(me, SIGSTOP);
		doze_ms(rounds);
		kill(me, SIGCONT);
		_exit(0);
	}
	for (int i = 0; i < 100; i++) {
		doze_ms(1);
		burn_ms(1);
	}
}

static void reuse(void)
{
	static const char *const comms[] = {"kinds-first", "kinds-second"};

	for (int i = 0; i < rounds; i++) {
		pid_t same = 0;

		for (int k = 0; k < 2; k++) {
			struct clone_args args = {.exit_signal = SIGCHLD,
						  .set_tid = k ? (uint64_t)(uintptr_t)&same : 0,
						  .set_tid_size = k};
			long pid = syscall(SYS_clone3, &args, sizeof(args));

			must(pid >= 0);
			if (!pid) {
				name(comms[k]);
				burn_ms(3 + k);
				_exit(0);
			}
			same = (pid_t)pid;
			waitpid(same, NULL, 0);
		}
	}
}

/* ---- sockets */

static void serve(int listener)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		char c;

		must(fd >= 0);
		while (read(fd, &c, 1) == 1) {
			burn_ms(3);
			byte_send(fd);
		}
		close(fd);
	}
}

static int listener_at(const char *host, uint16_t port, struct sockaddr_in *at)
{
	socklen_t n = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	must(inet_pton(AF_INET, host, &at->sin_addr) == 1);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(fd >= 0 && !bind(fd, (struct sockaddr *)at, n) && !listen(fd, 8));
	must(!getsockname(fd, (struct sockaddr *)at, &n));
	return fd;
}

static int connected(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0 && !connect(fd, (const struct sockaddr *)at, sizeof(*at)));
	return fd;
}

static void ask(int fd)
{
	for (int i = 0; i < rounds; i++) {
		burn_ms(1);
		byte_send(fd);
		byte_take(fd);
	}
}

static void ask_unix(void)
{
	int fd[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	if (!child("kinds-server")) {
		for (;;) {
			byte_take(fd[1]);
			burn_ms(3);
			byte_send(fd[1]);
		}
	}
	ask(fd[0]);
}

static void ask_tcp(void)
{
	struct sockaddr_in at;
	int listener = listener_at("127.0.0.1", 0, &at);

	if (!child("kinds-server"))
		serve(listener);
	ask(connected(&at));
}

static void remote(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(argument2))};

	must(inet_pton(AF_INET, argument, &at.sin_addr) == 1);
	ask(connected(&at));
}

static void listens(void)
{
	struct sockaddr_in at;
	int listener = listener_at(argument, (uint16_t)atoi(argument2), &at);

	name("kinds-server");
	puts("listening");
	fflush(stdout);
	serve(listener);
}

static void accepts(void)
{
	struct sockaddr_in at;
	int listener = listener_at("127.0.0.1", 0, &at);

	if (!child("kinds-client")) {
		doze_ms(rounds);
		connected(&at);
		_exit(0);
	}
	must(accept(listener, NULL, NULL) >= 0);
}

/* ---- threads */

static atomic_int done;

static void *helper(void *unused)
{
	(void)unused;
	name("kinds-helper");
	burn_ms(35);
	atomic_store(&done, 1);
	/* its end wakes nobody either, because it comes later */
	doze_ms(200);
	return NULL;
}

static void polls(void)
{
	int fd[2];

	must(!pipe(fd));
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;

		atomic_store(&done, 0);
		must(!pthread_create(&thread, NULL, helper, NULL));
		pthread_detach(thread);
		while (!atomic_load(&done)) {
			struct pollfd p = {.fd = fd[0], .events = POLLIN};

			poll(&p, 1, 10);
		}
		burn_ms(1);
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *worker(void *unused)
{
	(void)unused;
	name("kinds-worker");
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!jobs)
			pthread_cond_wait(&condition, &mutex);
		jobs--;
		pthread_mutex_unlock(&mutex);
		burn_ms(1);
		pthread_mutex_lock(&mutex);
	}
	return NULL;
}

static void pool(void)
{
	for (int i = 0; i < 4; i++) {
		pthread_t thread;

		must(!pthread_create(&thread, NULL, worker, NULL));
	}
	for (int i = 0; i < rounds; i++) {
		doze_ms(5);
		pthread_mutex_lock(&mutex);
		jobs++;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&mutex);
	}
}

static void *convoy_member(void *comm)
{
	name(comm);
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		burn_ms(2);
		pthread_mutex_unlock(&mutex);
		sched_yield();
	}
	return NULL;
}

static void convoy(void)
{
	static char comms[4][16] = {"kinds-1", "kinds-2", "kinds-3", "kinds-4"};
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		must(!pthread_create(&thread[i], NULL, convoy_member, comms[i]));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

/* ---- files */

enum { BLOCK = 65536, BLOCKS = 64 };
static char block[BLOCK] __attribute__((aligned(4096)));

/* A file whose pages are not in the cache. */
static int file_open(int flags)
{
	int fd = open(argument, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < BLOCKS; i++)
		must(write(fd, block, BLOCK) == BLOCK);
	must(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	close(fd);
	fd = open(argument, O_RDONLY | flags);
	must(fd >= 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static void reads(int flags)
{
	int fd = file_open(flags);

	for (int i = 0; i < rounds; i++)
		must(pread(fd, block, BLOCK, (off_t)(i % BLOCKS) * BLOCK) == BLOCK);
}

static void *ring_at(int ring, size_t size, uint64_t offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
			(off_t)offset);

	must(at != MAP_FAILED);
	return at;
}

/* An io_uring, by hand. */
struct ring {
	int fd;
	struct io_uring_params p;
	struct io_uring_sqe *sqe;
	unsigned int *sq, *cq;
};

static void ring_begin(struct ring *r)
{
	r->fd = (int)syscall(SYS_io_uring_setup, 4, &r->p);
	if (r->fd < 0)
		exit(3);
	r->sq = ring_at(r->fd, r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned int),
			IORING_OFF_SQ_RING);
	r->cq = ring_at(r->fd, r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe),
			IORING_OFF_CQ_RING);
	r->sqe = ring_at(r->fd, r->p.sq_entries * sizeof(*r->sqe), IORING_OFF_SQES);
}

/* Let a worker of the kernel execute this request, and wait until it has. */
static void ring_execute(struct ring *r, struct io_uring_sqe request)
{
	unsigned int tail = r->sq[r->p.sq_off.tail / 4],
		     at = tail & r->sq[r->p.sq_off.ring_mask / 4];

	request.flags = IOSQE_ASYNC;
	r->sqe[at] = request;
	r->sq[r->p.sq_off.array / 4 + at] = at;
	__atomic_store_n(&r->sq[r->p.sq_off.tail / 4], tail + 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	__atomic_store_n(&r->cq[r->p.cq_off.head / 4], r->cq[r->p.cq_off.head / 4] + 1,
			 __ATOMIC_RELEASE);
}

static void uring(void)
{
	struct ring ring = {0};
	int fd;

	ring_begin(&ring);
	fd = file_open(0);
	for (int i = 0; i < rounds; i++)
		ring_execute(&ring, (struct io_uring_sqe){.opcode = IORING_OP_READ,
							  .fd = fd,
							  .off = (uint64_t)(i % BLOCKS) * BLOCK,
							  .addr = (uint64_t)(uintptr_t)block,
							  .len = BLOCK});
}

static void submit(void)
{
	int to[2], from[2];
	struct ring ring = {0};

	must(!pipe(to) && !pipe(from));
	ring_begin(&ring);
	pin(LAST_CPU);
	if (!child("kinds-submits")) {
		struct ring own = {0};

		ring_begin(&own);
		for (;;) {
			byte_take(to[0]);
			burn_ms(3);
			ring_execute(&own, (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
								 .fd = from[1],
								 .addr = (uint64_t)(uintptr_t)block,
								 .len = 1});
		}
	}
	pin(FIRST_CPU);
	for (int i = 0; i < rounds; i++) {
		byte_send(to[1]);
		byte_take(from[0]);
		burn_ms(1);
	}
}

static void direct(void)
{
	reads(O_DIRECT);
}

static void cold(void)
{
	reads(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"triangle", triangle}, {"vfork", spawn},	   {"unix", ask_unix},
		     {"tcp", ask_tcp},	     {"poll", polls},	   {"pool", pool},
		     {"convoy", convoy},     {"accept", accepts},  {"stop", stopped},
		     {"direct", direct},     {"cold", cold},	   {"uring", uring},
		     {"submit", submit},     {"reuse", reuse},	   {"remote", remote},
		     {"listen", listens},    {"signal", signalled}};

	if (argc < 3)
		return 2;
	rounds = atoi(argv[2]);
	argument = argc > 3 ? argv[3] : "";
	argument2 = argc > 4 ? argv[4] : "";
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}
