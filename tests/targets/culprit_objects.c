// SPDX-License-Identifier: GPL-2.0-or-later
/* culprit_objects SECONDS KIND [FILE]: what a slow call waits for is one KIND of thing that needs
 * to be looked up. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "culprit_kinds.h"

enum { WAIT_NS = 2000000, BYTES = 4 << 20, CLIENTS = 4 };

static const char *path = "culprit_objects.data";
static int ask[2], answer[2], file, other, sock, event;
static char *memory;

/* ---- files that are read by a call which has another descriptor too */

static void file_begin(void)
{
	char *zeros = calloc(1, BYTES);

	file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || !zeros || write(file, zeros, BYTES) != BYTES || fsync(file))
		die(path);
	free(zeros);
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
}

static void forget_pages(void)
{
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

/* A socket whose other end reads all that comes. */
static void sink_begin(void)
{
	int pair[2];
	char buffer[65536];

	file_begin();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	if (!child_run("sink")) {
		while (read(pair[1], buffer, sizeof(buffer)) > 0)
			;
		exit(0);
	}
	sock = pair[0];
}

WATCHED void sendfile_serve(uint64_t i)
{
	off_t at;
	int k;

	for (k = 0; k < 16; k++) {
		at = k * (BYTES / 16);
		if (sendfile(sock, file, &at, 4096) != 4096)
			die("sendfile");
	}
	KEEP(bystander(i));
}

static void splice_begin(void)
{
	file_begin();
	if (pipe(answer))
		die("pipe");
}

WATCHED void splice_serve(uint64_t i)
{
	char buffer[4096];
	loff_t at;
	int k;

	for (k = 0; k < 16; k++) {
		at = k * (BYTES / 16);
		if (splice(file, &at, answer[1], NULL, 4096, 0) != 4096 ||
		    read(answer[0], buffer, 4096) != 4096)
			die("splice");
	}
	KEEP(bystander(i));
}

static void copy_begin(void)
{
	char name[200];

	file_begin();
	snprintf(name, sizeof(name), "%s.copy", path);
	other = open(name, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (other < 0)
		die(name);
}

WATCHED void copy_serve(uint64_t i)
{
	loff_t from, to;
	int k;

	for (k = 0; k < 16; k++) {
		from = k * (BYTES / 16);
		to = 0;
		if (copy_file_range(file, &from, other, &to, 4096, 0) != 4096)
			die("copy_file_range");
	}
	KEEP(bystander(i));
}

/* ---- io_uring, by hand */

static struct {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail;
	struct io_uring_sqe *sqes;
} ring;

static void uring_begin(void)
{
	struct io_uring_params p = {0};
	char *sq, *cq;

	file_begin();
	memory = aligned_alloc(4096, 4096);
	ring.fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring.fd < 0) {
		printf("{\"skip\":\"no io_uring\"}\n");
		fflush(stdout);
		exit(0);
	}
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
		  ring.fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
	ring.sqes = mmap(NULL, p.sq_entries * sizeof(*ring.sqes), PROT_READ | PROT_WRITE,
			 MAP_SHARED, ring.fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqes == MAP_FAILED)
		die("mmap");
	ring.sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	ring.sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (unsigned int *)(sq + p.sq_off.array);
	ring.cq_head = (unsigned int *)(cq + p.cq_off.head);
	ring.cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	if (fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_DIRECT))
		die("O_DIRECT");
}

WATCHED void uring_serve(uint64_t i)
{
	unsigned int tail, at;
	int k;

	for (k = 0; k < 8; k++) {
		tail = *ring.sq_tail;
		at = tail & *ring.sq_mask;
		ring.sqes[at] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
						      .fd = file,
						      .addr = (uintptr_t)memory,
						      .len = 4096,
						      .off = (uint64_t)k * 65536};
		ring.sq_array[at] = at;
		__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			die("io_uring_enter");
		__atomic_store_n(ring.cq_head, __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
	KEEP(bystander(i));
}

/* ---- another process on this host */

/* A server, "librarian", on a Unix socket with a path. */
static void unix_begin(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int listening = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s.sock", path);
	unlink(a.sun_path);
	if (bind(listening, (struct sockaddr *)&a, sizeof(a)))
		die(a.sun_path);
	if (!child_run("librarian")) {
		if (listen(listening, 1))
			exit(1);
		byte_send(answer[1]);
		fd = accept(listening, NULL, NULL);
		for (;;) {
			byte_take(fd);
			sleep_ns(WAIT_NS);
			byte_send(fd);
		}
	}
	byte_take(answer[0]);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
}

WATCHED void unix_serve(uint64_t i)
{
	char c;

	byte_send(sock);
	if (recv(sock, &c, 1, 0) != 1)
		exit(0);
	KEEP(bystander(i));
}

/* A pipe that is full; "drainer" makes room. */
static void full_begin(void)
{
	char buffer[4096];

	if (fcntl(answer[1], F_SETPIPE_SZ, 4096) < 0)
		die("F_SETPIPE_SZ");
	if (!child_run("drainer")) {
		for (;;) {
			byte_take(ask[0]);
			sleep_ns(WAIT_NS);
			if (read(answer[0], buffer, sizeof(buffer)) <= 0)
				exit(0);
		}
	}
	memset(buffer, 'x', sizeof(buffer));
	if (write(answer[1], buffer, sizeof(buffer)) != sizeof(buffer))
		die("write");
}

WATCHED void full_serve(uint64_t i)
{
	static char buffer[4096];

	byte_send(ask[1]);
	if (write(answer[1], buffer, sizeof(buffer)) != sizeof(buffer))
		exit(0);
	KEEP(bystander(i));
}

/* A FIFO with a path; "feeder" writes. */
static void fifo_begin(void)
{
	char name[200];

	snprintf(name, sizeof(name), "%s.fifo", path);
	unlink(name);
	if (mkfifo(name, 0600))
		die(name);
	sock = open(name, O_RDWR | O_CLOEXEC);
	if (!child_run("feeder")) {
		for (;;) {
			byte_take(ask[0]);
			sleep_ns(WAIT_NS);
			byte_send(sock);
		}
	}
}

WATCHED void fifo_serve(uint64_t i)
{
	byte_send(ask[1]);
	byte_take(sock);
	KEEP(bystander(i));
}

/* An eventfd; "notifier" counts it up. */
static void event_begin(void)
{
	uint64_t one = 1;

	event = eventfd(0, 0);
	if (!child_run("notifier")) {
		for (;;) {
			byte_take(ask[0]);
			sleep_ns(WAIT_NS);
			if (write(event, &one, sizeof(one)) != sizeof(one))
				exit(0);
		}
	}
}

WATCHED void event_serve(uint64_t i)
{
	uint64_t count;

	byte_send(ask[1]);
	if (read(event, &count, sizeof(count)) != sizeof(count))
		exit(0);
	KEEP(bystander(i));
}

/* ---- the network */

static struct sockaddr_in address;

static void listen_at(int type, int *listening, int port)
{
	socklen_t n = sizeof(address);

	address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	inet_pton(AF_INET, "127.0.0.77", &address.sin_addr);
	*listening = socket(AF_INET, type, 0);
	if (bind(*listening, (struct sockaddr *)&address, sizeof(address)) ||
	    (type == SOCK_STREAM && listen(*listening, CLIENTS)) ||
	    getsockname(*listening, (struct sockaddr *)&address, &n)) {
		printf("{\"skip\":\"port %d of 127.0.0.77 is taken\"}\n", port);
		fflush(stdout);
		exit(0);
	}
}

static void peer_begin(void)
{
	int listening, fd;

	listen_at(SOCK_STREAM, &listening, 0);
	if (!child_run("server")) {
		fd = accept(listening, NULL, NULL);
		for (;;) {
			byte_take(fd);
			sleep_ns(WAIT_NS);
			byte_send(fd);
		}
	}
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
}

WATCHED void peer_serve(uint64_t i)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	byte_send(sock);
	if (poll(&p, 1, 5000) != 1)
		exit(0);
	byte_take(sock);
	KEEP(bystander(i));
}

/* A DNS server that does not answer. */
static void dns_begin(void)
{
	int listening;

	listen_at(SOCK_DGRAM, &listening, 53);
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
}

WATCHED void dns_serve(uint64_t i)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	byte_send(sock);
	poll(&p, 1, 3);
	KEEP(bystander(i));
}

/* A server that loses what comes first: the kernel sends it again. */
static void lossy_server(int listening)
{
	struct sock_filter drop = {.code = BPF_RET | BPF_K};
	struct sock_fprog all = {1, &drop};
	int fd = accept(listening, NULL, NULL), yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	for (;;) {
		byte_take(ask[0]);
		if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof(all)))
			exit(1);
		byte_send(answer[1]);
		sleep_ns(WAIT_NS);
		setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &all, sizeof(all));
		byte_take(fd);
		byte_take(fd);
		byte_send(fd);
	}
}

static void loss_begin(void)
{
	int listening, yes = 1;

	listen_at(SOCK_STREAM, &listening, 0);
	if (!child_run("server"))
		lossy_server(listening);
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)))
		die("connect");
}

static void loss_before(void)
{
	byte_send(ask[1]);
	byte_take(answer[0]);
}

WATCHED void loss_serve(uint64_t i)
{
	char c;

	byte_send(sock);
	byte_send(sock);
	if (recv(sock, &c, 1, 0) != 1)
		exit(0);
	KEEP(bystander(i));
}

/* ---- timers */

static void slack_begin(void)
{
	prctl(PR_SET_TIMERSLACK, 10000000, 0, 0, 0);
}

WATCHED void slack_serve(uint64_t i)
{
	sleep_ns(100000);
	KEEP(bystander(i));
}

WATCHED void purpose_serve(uint64_t i)
{
	sleep_ns(WAIT_NS);
	KEEP(bystander(i));
}

/* ---- who holds a lock, and what it does meanwhile */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *what)
{
	const char *does = what;

	name_thread("holder");
	for (;;) {
		byte_take(ask[0]);
		pthread_mutex_lock(&lock);
		byte_send(answer[1]);
		if (!strcmp(does, "held_asleep"))
			sleep_ns(WAIT_NS);
		else
			SPIN_US(3000);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static const char *kind_name;

static void held_begin(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, hold, (void *)(uintptr_t)kind_name))
		die("pthread_create");
}

static void held_before(void)
{
	byte_send(ask[1]);
	byte_take(answer[0]);
}

WATCHED void held_serve(uint64_t i)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	KEEP(bystander(i));
}

static const struct kind kinds[] = {
    {"sendfile", sink_begin, forget_pages, sendfile_serve},
    {"splice", splice_begin, forget_pages, splice_serve},
    {"copy", copy_begin, forget_pages, copy_serve},
    {"uring", uring_begin, NULL, uring_serve},
    {"unix", unix_begin, NULL, unix_serve},
    {"full", full_begin, NULL, full_serve},
    {"fifo", fifo_begin, NULL, fifo_serve},
    {"event", event_begin, NULL, event_serve},
    {"peer", peer_begin, NULL, peer_serve},
    {"dns", dns_begin, NULL, dns_serve},
    {"loss", loss_begin, loss_before, loss_serve},
    {"slack", slack_begin, NULL, slack_serve},
    {"purpose", NULL, NULL, purpose_serve},
    {"held_asleep", held_begin, held_before, held_serve},
    {"held_running", held_begin, held_before, held_serve},
};

int main(int argc, char **argv)
{
	int status = kind_choose(&argc, &argv, kinds, sizeof(kinds) / sizeof(kinds[0]), &path);

	if (status)
		return status;
	if (pipe(ask) || pipe(answer))
		die("pipe");
	kind_name = kind->name;
	return culprit_run(argc, argv, request, 300);
}
