// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_blame SECONDS KIND [FILE]: slow calls that wait for one thing and seem to wait for
 * another one: who ends the wait is not who is to blame. Each KIND has a control with the same
 * calls and without the cause.
 */
#include <linux/fs.h>
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "culprit_kinds.h"

enum {
	WAIT_NS = 3000000,
	DATAGRAMS = 12, /* the kernel lets 10 wait (net.unix.max_dgram_qlen) */
	FEW_DATAGRAMS = 8,
	PART = 200
};

static int ask[2], answer[2], sock = -1, file = -1;
static const char *path = "/tmp/culprit_blame.data";

/* ---- SCHED_DEADLINE: 3 of 30 ms are used up in a call of 6 ms */

struct deadline {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void deadline_set(uint64_t runtime_ms)
{
	struct deadline d = {.size = sizeof(d),
			     .policy = 6, /* SCHED_DEADLINE */
			     .runtime = runtime_ms * 1000000,
			     .deadline = 30000000,
			     .period = 30000000};

	if (syscall(SYS_sched_setattr, 0, &d, 0)) {
		printf("{\"skip\":\"no deadline: %s\"}\n", strerror(errno));
		fflush(stdout);
		exit(0);
	}
}

static void deadline_begin(void)
{
	deadline_set(3);
}

static void deadline_room_begin(void)
{
	deadline_set(15);
}

WATCHED void deadline_serve(uint64_t i)
{
	SPIN_US(6000);
	KEEP(bystander(i));
}

/* ---- a datagram socket, whose reader, "reader", sleeps before it takes what waits */

static struct sockaddr_un unix_address(socklen_t *length)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	/* its first byte stays 0: it needs no file */
	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "culprit_blame.%d", (int)getpid());
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1));
	return a;
}

static int reader_stops = -1, datagrams = DATAGRAMS;

static void dgram_reader(int fd, uint64_t pause)
{
	char c;

	if (child_run("reader"))
		return;
	if (reader_stops >= 0) {
		byte_send(reader_stops);
		raise(SIGSTOP);
	}
	for (;;) {
		byte_take(ask[0]);
		sleep_ns(pause);
		for (int i = 0; i < datagrams; i++)
			if (recv(fd, &c, 1, 0) != 1)
				exit(0);
		byte_send(answer[1]);
	}
}

static void dgram_open(uint64_t pause)
{
	socklen_t length;
	struct sockaddr_un a = unix_address(&length);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, length))
		die("bind");
	dgram_reader(fd, pause);
	close(fd);
	sock = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, length))
		die("connect");
}

static void dgram_begin(void)
{
	dgram_open(WAIT_NS);
}

static void dgram_room_begin(void)
{
	datagrams = FEW_DATAGRAMS;
	dgram_open(0);
}

/* The reader stops itself: it never wakes anybody. */
static void dgram_stopped_begin(void)
{
	int stopped[2];

	if (pipe(stopped))
		die("pipe");
	reader_stops = stopped[1];
	dgram_open(0);
	byte_take(stopped[0]);
}

WATCHED void dgram_serve(uint64_t i)
{
	byte_send(ask[1]);
	for (int k = 0; k < datagrams; k++)
		byte_send(sock);
	byte_take(answer[0]);
	KEEP(bystander(i));
}

/* ---- a lock that is tried again and again, with a pause between; "keeper" has it */

static bool lock_try(int fd, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

	return !fcntl(fd, F_SETLK, &l);
}

static void polled_keeper(bool keeps)
{
	int fd;

	file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0)
		die(path);
	if (child_run("keeper"))
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (;;) {
		byte_take(ask[0]);
		if (fd < 0 || !lock_try(fd, F_WRLCK))
			exit(1);
		if (!keeps)
			lock_try(fd, F_UNLCK);
		byte_send(answer[1]);
		sleep_ns(2 * WAIT_NS);
		lock_try(fd, F_UNLCK);
	}
}

static void polled_begin(void)
{
	polled_keeper(true);
}

static void polled_free_begin(void)
{
	polled_keeper(false);
}

static void ask_before(void)
{
	byte_send(ask[1]);
	byte_take(answer[0]);
}

WATCHED void lock_wait(void)
{
	while (!lock_try(file, F_WRLCK))
		sleep_ns(1000000);
	lock_try(file, F_UNLCK);
}

WATCHED void polled_serve(uint64_t i)
{
	lock_wait();
	KEEP(bystander(i));
}

/* ---- TCP on the loopback network */

static struct sockaddr_in address = {.sin_family = AF_INET};

static int listen_here(int backlog)
{
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(0x7f00004d); /* 127.0.0.77 */
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, backlog) || getsockname(fd, (struct sockaddr *)&address, &length))
		die("listen");
	return fd;
}

/*
 * A request in two small writes: the second one waits until the peer, "backend", acknowledges the
 * first one, which it delays (by 40 ms), as it has nothing to answer yet.
 */
static void nagle_backend(int listening)
{
	char part[2 * PART];
	int fd;

	if (child_run("backend"))
		return;
	fd = accept(listening, NULL, NULL);
	for (;;) {
		if (recv(fd, part, sizeof(part), MSG_WAITALL) != sizeof(part))
			exit(0);
		byte_send(fd);
	}
}

static void nagle_open(int no_delay)
{
	int listening = listen_here(8);

	nagle_backend(listening);
	close(listening);
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay)))
		die("connect");
}

static void nagle_begin(void)
{
	nagle_open(0);
}

static void nodelay_begin(void)
{
	nagle_open(1);
}

WATCHED void nagle_serve(uint64_t i)
{
	static const char part[PART];

	if (write(sock, part, PART) != PART || write(sock, part, PART) != PART)
		exit(0);
	byte_take(sock);
	KEEP(bystander(i));
}

/*
 * A listener, "acceptor", that accepts late. Its queue has room for `backlog` + 1 connections; one
 * more has to send its SYN again, a second later.
 */
static void backlog_open(int backlog)
{
	int listening = listen_here(backlog);

	if (child_run("acceptor")) {
		close(listening);
		return;
	}
	for (;;) {
		byte_take(ask[0]);
		sleep_ns(100 * WAIT_NS);
		for (int i = 0; i < 2; i++)
			close(accept(listening, NULL, NULL));
	}
}

static void backlog_begin(void)
{
	backlog_open(0);
}

static void backlog_room_begin(void)
{
	backlog_open(64);
}

static int connected(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		exit(0);
	return fd;
}

static void backlog_before(void)
{
	if (sock >= 0)
		close(sock);
	sock = connected();
	byte_send(ask[1]);
}

WATCHED void backlog_serve(uint64_t i)
{
	close(connected());
	KEEP(bystander(i));
}

/* ---- who reads smaps holds the lock of the address space */

static bool reads_smaps;

static void smaps_reader(void)
{
	static char text[1 << 16];
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/smaps_rollup", (int)getpid());
	if (child_run("inspector"))
		return;
	for (;;) {
		byte_take(ask[0]);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		byte_send(answer[1]);
		while (reads_smaps && read(fd, text, sizeof(text)) > 0)
			;
		close(fd);
	}
}

static void smaps_not_begin(void)
{
	char *pages =
	    mmap(NULL, 512 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		die("mmap");
	madvise(pages, 512 << 20, MADV_NOHUGEPAGE);
	for (size_t k = 0; k < 512 << 20; k += 4096)
		pages[k] = 1;
	smaps_reader();
}

static void smaps_begin(void)
{
	reads_smaps = true;
	smaps_not_begin();
}

WATCHED void smaps_serve(uint64_t i)
{
	for (int k = 0; k < 20; k++) {
		void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p != MAP_FAILED)
			munmap(p, 4096);
		SPIN_US(10);
	}
	KEEP(bystander(i));
}

/* ---- a file system that "freezer" has frozen and "thawer" thaws */

static int folder = -1;
static bool freezes;

static void frozen_not_begin(void)
{
	char name[512];
	int handed[2];

	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof(name), "%s/data", path);
	file = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (folder < 0 || file < 0 || pipe(handed))
		die(path);
	if (!child_run("freezer")) {
		for (;;) {
			byte_take(ask[0]);
			if (freezes && ioctl(folder, FIFREEZE, 0))
				exit(1);
			byte_send(answer[1]);
			byte_send(handed[1]);
		}
	}
	if (!child_run("thawer")) {
		for (;;) {
			byte_take(handed[0]);
			sleep_ns(2 * WAIT_NS);
			if (freezes)
				ioctl(folder, FITHAW, 0);
		}
	}
}

static void frozen_begin(void)
{
	freezes = true;
	frozen_not_begin();
}

WATCHED void frozen_serve(uint64_t i)
{
	if (pwrite(file, "x", 1, 0) != 1)
		exit(0);
	KEEP(bystander(i));
}

/* ---- a grace period of RCU */

static int barrier;

static void rcu_begin(void)
{
	barrier = MEMBARRIER_CMD_GLOBAL;
}

static void rcu_not_begin(void)
{
	barrier = MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	/* slow all the same, by its own code */
	SPIN_US(2000);
}

static void *rcu_other(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static void rcu_before(void)
{
	static bool runs;

	/* with one thread there is nothing to wait for */
	if (!runs)
		thread_run(rcu_other);
	runs = true;
}

WATCHED void rcu_serve(uint64_t i)
{
	if (syscall(SYS_membarrier, barrier, 0, 0))
		exit(1);
	KEEP(bystander(i));
}

static const struct kind kinds[] = {
    {"deadline", deadline_begin, NULL, deadline_serve},
    {"deadline_room", deadline_room_begin, NULL, deadline_serve},
    {"dgram", dgram_begin, NULL, dgram_serve},
    {"dgram_stopped", dgram_stopped_begin, NULL, dgram_serve},
    {"dgram_room", dgram_room_begin, NULL, dgram_serve},
    {"polled", polled_begin, ask_before, polled_serve},
    {"polled_free", polled_free_begin, ask_before, polled_serve},
    {"nagle", nagle_begin, NULL, nagle_serve},
    {"nagle_not", nodelay_begin, NULL, nagle_serve},
    {"backlog", backlog_begin, backlog_before, backlog_serve},
    {"backlog_room", backlog_room_begin, backlog_before, backlog_serve},
    {"smaps", smaps_begin, ask_before, smaps_serve},
    {"smaps_not", smaps_not_begin, ask_before, smaps_serve},
    {"frozen", frozen_begin, ask_before, frozen_serve},
    {"frozen_not", frozen_not_begin, ask_before, frozen_serve},
    {"rcu", rcu_begin, rcu_before, rcu_serve},
    {"rcu_not", rcu_not_begin, rcu_before, rcu_serve},
};

int main(int argc, char **argv)
{
	int status = kind_choose(&argc, &argv, kinds, sizeof(kinds) / sizeof(kinds[0]), &path);

	if (status)
		return status;
	if (pipe(ask) || pipe(answer))
		die("pipe");
	return culprit_run(argc, argv, request, 300);
}
