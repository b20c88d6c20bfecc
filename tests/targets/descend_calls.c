// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls with a known cause each, made over and over by one known way down, and by another
 * that is fast.
 *
 * descend_calls [-w] KIND ROUNDS
 *
 * KIND: sleep (nanosleep), file (pread with O_DIRECT of ./descend_calls.data), tcp (a local server
 * answers late), pipe (another thread writes late), cpu (reads of /dev/zero), lock (a mutex held by
 * another thread), fault (a file's pages, dropped before each round), closed (fsync of a file that
 * is closed at once)
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "target.h"

enum { FILE_BYTES = 8 << 20, CHUNK = 1 << 20, LATE_NS = 6000000, ZERO_BYTES = 1 << 20 };

static const char data_path[] = "descend_calls.data";
static char *buffer;
static int in_fd, out_fd;
static uint64_t offset;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t take_it, taken;
static const volatile char *pages;

WATCHED static void slow_sleep(void)
{
	struct timespec t = {.tv_nsec = LATE_NS};

	syscall(SYS_nanosleep, &t, NULL);
	KEEP(t.tv_nsec);
}

WATCHED static void fast_sleep(void)
{
	struct timespec t = {.tv_nsec = 1000};

	syscall(SYS_nanosleep, &t, NULL);
	KEEP(t.tv_nsec);
}

WATCHED static void do_read(void)
{
	if (pread(in_fd, buffer, CHUNK, (off_t)offset) != CHUNK)
		die("pread");
	offset = (offset + CHUNK) % FILE_BYTES;
}

WATCHED static void do_ask(void)
{
	char c = 'q';

	if (write(out_fd, &c, 1) != 1 || read(in_fd, &c, 1) != 1)
		die("answer");
	KEEP(c);
}

WATCHED static void do_zero(void)
{
	if (read(in_fd, buffer, ZERO_BYTES) != ZERO_BYTES)
		die("read");
	KEEP(buffer[0]);
}

WATCHED static void do_lock(void)
{
	pthread_mutex_lock(&mutex);
	KEEP(mutex);
	pthread_mutex_unlock(&mutex);
}

WATCHED static void do_touch(void)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < FILE_BYTES; i += 1 << 20)
		sum += (unsigned char)pages[i];
	KEEP(sum);
}

/* Frames between main and the call, to be told from the others. */
WATCHED static void slow_way(void (*what)(void))
{
	what();
	KEEP(what);
}

WATCHED static void fast_way(void (*what)(void))
{
	what();
	KEEP(what);
}

static void *late_writer(void *fds)
{
	int *fd = fds;
	char c;

	pthread_setname_np(pthread_self(), "late-writer");
	while (read(fd[0], &c, 1) == 1) {
		sleep_ns(LATE_NS);
		if (write(fd[1], &c, 1) != 1)
			break;
	}
	return NULL;
}

static void *lock_holder(void *unused)
{
	pthread_setname_np(pthread_self(), "lock-holder");
	for (;;) {
		sem_wait(&take_it);
		pthread_mutex_lock(&mutex);
		sem_post(&taken);
		sleep_ns(LATE_NS);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void let_it_be_held(void)
{
	sem_post(&take_it);
	sem_wait(&taken);
}

static void thread(void *(*what)(void *), void *argument)
{
	pthread_t t;

	if (pthread_create(&t, NULL, what, argument))
		die("pthread_create");
}

static void make_file(void)
{
	int fd = open(data_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(buffer, 'x', CHUNK);
	for (uint64_t i = 0; fd >= 0 && i < FILE_BYTES; i += CHUNK) {
		if (write(fd, buffer, CHUNK) != CHUNK)
			die(data_path);
	}
	if (fd < 0 || fsync(fd))
		die(data_path);
	close(fd);
}

/* Its descriptor is another file's as soon as it is written. */
static void do_save(void)
{
	int fd = open(data_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), other;

	if (fd < 0 || pwrite(fd, buffer, ZERO_BYTES, 0) < 0 || fsync(fd))
		die(data_path);
	other = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	if (other < 0 || dup2(other, fd) < 0)
		die("another file");
	close(other);
	if (in_fd >= 0)
		close(in_fd);
	in_fd = fd;
}

static void open_file(int flags)
{
	make_file();
	in_fd = open(data_path, O_RDONLY | O_CLOEXEC | flags);
	if (in_fd < 0) {
		printf("{\"skip\": \"O_DIRECT cannot be used here\"}\n");
		exit(0);
	}
}

static void open_pipe(void)
{
	static int ask[2], answer[2], theirs[2];

	if (pipe(ask) || pipe(answer))
		die("pipe");
	theirs[0] = ask[0];
	theirs[1] = answer[1];
	out_fd = ask[1];
	in_fd = answer[0];
	thread(late_writer, theirs);
}

static unsigned int open_tcp(void)
{
	static int theirs[2];
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&a, sizeof(a)) || listen(server, 1) ||
	    getsockname(server, (struct sockaddr *)&a, &n))
		die("listen");
	in_fd = out_fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(in_fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	theirs[0] = theirs[1] = accept(server, NULL, NULL);
	thread(late_writer, theirs);
	return ntohs(a.sin_port);
}

static void drop_pages(void)
{
	if (madvise((void *)(uintptr_t)pages, FILE_BYTES, MADV_DONTNEED))
		die("madvise");
	posix_fadvise(in_fd, 0, 0, POSIX_FADV_DONTNEED);
}

int main(int argc, char **argv)
{
	void (*slow)(void) = NULL, (*fast)(void) = NULL, (*before)(void) = NULL;
	unsigned int port = 0;
	const char *kind;
	uint64_t rounds;

	target_begin(&argc, &argv);
	kind = argc > 1 ? argv[1] : "sleep";
	rounds = target_arg(argc, argv, 2, 1000);
	if (posix_memalign((void **)&buffer, 4096, ZERO_BYTES))
		die("memory");
	if (!strcmp(kind, "sleep")) {
		slow = slow_sleep;
		fast = fast_sleep;
	} else if (!strcmp(kind, "file")) {
		open_file(O_DIRECT);
		slow = do_read;
	} else if (!strcmp(kind, "closed")) {
		in_fd = -1;
		slow = do_save;
	} else if (!strcmp(kind, "tcp")) {
		port = open_tcp();
		slow = do_ask;
	} else if (!strcmp(kind, "pipe")) {
		open_pipe();
		slow = do_ask;
	} else if (!strcmp(kind, "cpu")) {
		in_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		slow = do_zero;
	} else if (!strcmp(kind, "lock")) {
		sem_init(&take_it, 0, 0);
		sem_init(&taken, 0, 0);
		thread(lock_holder, NULL);
		slow = do_lock;
		before = let_it_be_held;
	} else if (!strcmp(kind, "fault")) {
		open_file(0);
		pages = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, in_fd, 0);
		if (pages == MAP_FAILED)
			die("mmap");
		madvise((void *)(uintptr_t)pages, FILE_BYTES, MADV_RANDOM);
		slow = do_touch;
		before = drop_pages;
	} else {
		fprintf(stderr, "descend_calls: %s?\n", kind);
		return 2;
	}
	target_go();
	for (uint64_t i = 0; i < rounds; i++) {
		if (before)
			before();
		slow_way(slow);
		for (int k = 0; fast && k < 3; k++)
			fast_way(fast);
	}
	target_truth("{\"ok\": true, \"rounds\": %llu, \"port\": %u}", (unsigned long long)rounds,
		     port);
	return 0;
}
