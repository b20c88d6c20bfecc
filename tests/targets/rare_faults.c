// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rare_faults KIND [FOLDER [MS]]: calls serve() about 3,000 times a second. For each line on
 * standard input one call of it meets the fault KIND, one of `kinds`, and takes some 80 ms instead
 * of 200 us; then the target prints {"planted":N,"ns":LATENCY}. FOLDER: of the cgroup, or where
 * files may lie. Runs until standard input ends.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "culprit.h"

enum { FAULT_US = 80000, CALL_US = 200, REST_US = 80, CONVOY = 4, PAGE = 4096 };
enum { FILE_BYTES = 256 << 20, DIRTY_BYTES = 256 << 20 };

extern char **environ;
static uint64_t fault_ns = FAULT_US * 1000ull; /* MS: of a sleep */
/* what the helper is asked by, and answers */
static int ask[2], answer[2];
static int file = -1, sockets[2];
static char *map;
static const char *folder = "/tmp";
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER,
		       condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool done;

/* Let the helper begin, and wait until it has. */
static void helper_begins(void)
{
	byte_send(ask[1]);
	byte_take(answer[0]);
}

static void file_open(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		skip(path);
}

static void file_fill(size_t bytes)
{
	static char block[1 << 20];

	for (size_t at = 0; at < bytes; at += sizeof(block)) {
		memset(block, (int)(at >> 20), sizeof(block));
		if (pwrite(file, block, sizeof(block), (off_t)at) != sizeof(block))
			die("pwrite");
	}
}

/* ---- a lock that another thread holds; four threads that queue for it; a lock of another process
 */

static void *holder(void *arg)
{
	name_thread("holder");
	for (;;) {
		byte_take(ask[0]);
		pthread_mutex_lock(&mutex);
		byte_send(answer[1]);
		sleep_ns(fault_ns);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void *queuer(void *arg)
{
	name_thread("queuer");
	for (;;) {
		byte_take(ask[0]);
		byte_send(answer[1]);
		pthread_mutex_lock(&mutex);
		sleep_ns(fault_ns / CONVOY);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void convoy_begin(void)
{
	for (int i = 1; i < CONVOY; i++)
		thread_run(queuer);
}

static void convoy_prepare(void)
{
	for (int i = 0; i < CONVOY; i++)
		helper_begins();
	sleep_ns(fault_ns / CONVOY / 2);
}

static WATCHED void take_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	KEEP(bystander(1));
}

static void flock_begin(void)
{
	file_open("rare.lock");
}

static void flock_other(void)
{
	flock_begin();
	for (;;) {
		byte_take(ask[0]);
		flock(file, LOCK_EX);
		byte_send(answer[1]);
		sleep_ns(fault_ns);
		flock(file, LOCK_UN);
	}
}

static WATCHED void lock_file(void)
{
	if (flock(file, LOCK_EX) || flock(file, LOCK_UN))
		die("flock");
}

/* ---- the disk */

static void fsync_begin(void)
{
	file_open("rare.wal");
}

static void fsync_prepare(void)
{
	file_fill(DIRTY_BYTES);
}

static WATCHED void commit(void)
{
	if (fsync(file))
		die("fsync");
}

static void pagein_begin(void)
{
	file_open("rare.index");
	file_fill(FILE_BYTES);
	if (fsync(file))
		die("fsync");
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		die("mmap");
	madvise(map, FILE_BYTES, MADV_RANDOM);
}

static void pagein_prepare(void)
{
	madvise(map, FILE_BYTES, MADV_DONTNEED);
	posix_fadvise(file, 0, FILE_BYTES, POSIX_FADV_DONTNEED);
}

static WATCHED void read_index(void)
{
	uint64_t end = now_ns() + fault_ns;

	for (uint64_t i = 1; now_ns() < end; i++)
		(void)*(volatile char *)&map[i * 7919 % (FILE_BYTES / PAGE) * PAGE];
}

/* ---- the processor */

static void preempt_other(void)
{
	scheduled(SCHED_FIFO, 50);
	for (;;) {
		byte_take(ask[0]);
		SPIN_US(FAULT_US);
	}
}

static WATCHED void wake_helper(void)
{
	byte_send(ask[1]);
	SPIN_US(3000);
	KEEP(bystander(1));
}

static void group_write(const char *name, const char *value)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		skip(path);
	close(fd);
}

/* The quota of the cgroup is 2 ms each 100 ms for a while. */
static void quota_other(void)
{
	char path[512];
	bool second;

	snprintf(path, sizeof(path), "%s/cpu.max", folder);
	second = !access(path, F_OK);
	for (;;) {
		byte_take(ask[0]);
		group_write(second ? "cpu.max" : "cpu.cfs_quota_us",
			    second ? "2000 100000" : "2000");
		byte_send(answer[1]);
		sleep_ns(3 * fault_ns);
		group_write(second ? "cpu.max" : "cpu.cfs_quota_us", second ? "max 100000" : "-1");
	}
}

/* A task is throttled at a tick of the clock. */
static WATCHED void compute(void)
{
	SPIN_US(8000);
	KEEP(bystander(1));
}

static WATCHED void recount(void)
{
	SPIN_US(FAULT_US);
	KEEP(bystander(1));
}

static void stop_other(void)
{
	for (;;) {
		byte_take(ask[0]);
		kill(getppid(), SIGSTOP);
		sleep_ns(fault_ns);
		kill(getppid(), SIGCONT);
	}
}

WATCHED void on_signal(int signal)
{
	SPIN_US(FAULT_US);
	KEEP(bystander((uint64_t)signal));
}

static void signal_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(how, &set, NULL);
}

static void handler_begin(void)
{
	signal(SIGUSR1, on_signal);
	signal_mask(SIG_BLOCK);
}

static void handler_other(void)
{
	for (;;) {
		byte_take(ask[0]);
		kill(getppid(), SIGUSR1);
		byte_send(answer[1]);
	}
}

static WATCHED void take_signal(void)
{
	signal_mask(SIG_UNBLOCK);
	signal_mask(SIG_BLOCK);
	KEEP(bystander(1));
}

/* ---- memory: the test has set a limit of 32 MiB for the cgroup */

static void reclaim_begin(void)
{
	file_open("rare.big");
	if (ftruncate(file, 1 << 30))
		die("ftruncate");
}

static WATCHED void read_through(void)
{
	static char buffer[1 << 16];
	static off_t at;
	uint64_t end = now_ns() + fault_ns;

	for (; now_ns() < end; at = (at + (off_t)sizeof(buffer)) % (1 << 30))
		if (pread(file, buffer, sizeof(buffer), at) < 0)
			die("pread");
}

/* ---- sleeps on purpose */

static WATCHED void back_off(void)
{
	sleep_ns(fault_ns);
	KEEP(bystander(1));
}

static WATCHED void poll_nobody(void)
{
	struct pollfd p = {.fd = answer[0], .events = POLLIN};

	poll(&p, 1, FAULT_US / 1000);
	KEEP(bystander(1));
}

/* ---- others that answer late */

static void *worker(void *arg)
{
	name_thread("worker");
	for (;;) {
		byte_take(ask[0]);
		sleep_ns(fault_ns);
		pthread_mutex_lock(&condition_mutex);
		done = true;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&condition_mutex);
	}
	return arg;
}

static WATCHED void await_worker(void)
{
	byte_send(ask[1]);
	pthread_mutex_lock(&condition_mutex);
	while (!done)
		pthread_cond_wait(&condition, &condition_mutex);
	done = false;
	pthread_mutex_unlock(&condition_mutex);
	KEEP(bystander(1));
}

static void pipe_other(void)
{
	for (;;) {
		byte_take(ask[0]);
		sleep_ns(fault_ns);
		byte_send(answer[1]);
	}
}

static WATCHED void ask_backend(void)
{
	byte_send(ask[1]);
	byte_take(answer[0]);
	KEEP(bystander(1));
}

static void sockets_begin(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("socketpair");
}

/* The backend answers at once, and is stopped for a while by its child. */
static void peerstop_other(void)
{
	if (!child_run("warden")) {
		for (;;) {
			byte_take(ask[0]);
			kill(getppid(), SIGSTOP);
			byte_send(answer[1]);
			sleep_ns(fault_ns);
			kill(getppid(), SIGCONT);
		}
	}
	for (;;) {
		byte_take(sockets[1]);
		byte_send(sockets[1]);
	}
}

static WATCHED void ask_stopped(void)
{
	byte_send(sockets[0]);
	byte_take(sockets[0]);
	KEEP(bystander(1));
}

static void fullpipe_begin(void)
{
	if (pipe2(sockets, O_CLOEXEC))
		die("pipe2");
}

static void fullpipe_prepare(void)
{
	static const char block[PAGE];

	fcntl(sockets[1], F_SETFL, O_NONBLOCK);
	while (write(sockets[1], block, sizeof(block)) > 0)
		;
	fcntl(sockets[1], F_SETFL, 0);
	byte_send(ask[1]);
}

static void fullpipe_other(void)
{
	static char block[1 << 16];

	for (;;) {
		byte_take(ask[0]);
		sleep_ns(fault_ns);
		if (read(sockets[0], block, sizeof(block)) <= 0)
			exit(0);
	}
}

static WATCHED void put_out(void)
{
	static const char block[PAGE];

	if (write(sockets[1], block, sizeof(block)) != sizeof(block))
		die("write");
}

static struct sockaddr_in address;

static void udp_begin(void)
{
	socklen_t n = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 2; i++) {
		sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (sockets[i] < 0)
			die("socket");
	}
	if (bind(sockets[1], (struct sockaddr *)&address, n) ||
	    getsockname(sockets[1], (struct sockaddr *)&address, &n))
		die("bind");
	if (connect(sockets[0], (struct sockaddr *)&address, n))
		die("connect");
}

static void udp_other(void)
{
	struct sockaddr_in from;
	char c;

	for (;;) {
		socklen_t n = sizeof(from);

		if (recvfrom(sockets[1], &c, 1, 0, (struct sockaddr *)&from, &n) != 1)
			exit(0);
		sleep_ns(fault_ns);
		sendto(sockets[1], &c, 1, 0, (struct sockaddr *)&from, n);
	}
}

static void connect_begin(void)
{
	socklen_t n = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sockets[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sockets[1] < 0 || bind(sockets[1], (struct sockaddr *)&address, n) ||
	    getsockname(sockets[1], (struct sockaddr *)&address, &n) || listen(sockets[1], 0))
		die("listen");
}

/* Fill the backlog of the listener: the next connection has to ask again. */
static void connect_prepare(void)
{
	static int filling[2];

	for (int i = 0; i < 2; i++) {
		if (filling[i])
			close(filling[i]);
		filling[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (connect(filling[i], (struct sockaddr *)&address, sizeof(address)) &&
		    errno != EINPROGRESS)
			die("connect");
	}
	byte_send(ask[1]);
}

static void connect_other(void)
{
	fcntl(sockets[1], F_SETFL, O_NONBLOCK);
	for (;;) {
		byte_take(ask[0]);
		for (uint64_t end = now_ns() + 40 * fault_ns; now_ns() < end;) {
			int fd;

			sleep_ns(fault_ns);
			fd = accept(sockets[1], NULL, NULL);
			if (fd >= 0)
				close(fd);
		}
	}
}

static WATCHED void dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	close(fd);
	KEEP(bystander(1));
}

static WATCHED void run_command(void)
{
	char *const arguments[] = {"sleep", "0.08", NULL};
	pid_t pid;

	if (posix_spawnp(&pid, "sleep", NULL, NULL, arguments, environ))
		die("posix_spawnp");
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- */

static const struct kind {
	const char *name;
	void (*fault)(void); /* within the call */
	void (*begin)(void);
	void (*prepare)(void); /* before the call */
	void (*other)(void);   /* of a child, "helper" */
	void *(*thread)(void *);
	bool pinned;
} kinds[] = {
    {"lock", take_lock, NULL, helper_begins, NULL, holder, false},
    {"convoy", take_lock, convoy_begin, convoy_prepare, NULL, queuer, false},
    {"flock", lock_file, flock_begin, helper_begins, flock_other, NULL, false},
    {"fsync", commit, fsync_begin, fsync_prepare, NULL, NULL, false},
    {"pagein", read_index, pagein_begin, pagein_prepare, NULL, NULL, false},
    {"preempt", wake_helper, NULL, NULL, preempt_other, NULL, true},
    {"quota", compute, NULL, helper_begins, quota_other, NULL, false},
    {"loop", recount, NULL, NULL, NULL, NULL, false},
    {"stop", wake_helper, NULL, NULL, stop_other, NULL, false},
    {"handler", take_signal, handler_begin, helper_begins, handler_other, NULL, false},
    {"reclaim", read_through, reclaim_begin, NULL, NULL, NULL, false},
    {"sleep", back_off, NULL, NULL, NULL, NULL, false},
    {"timeout", poll_nobody, NULL, NULL, NULL, NULL, false},
    {"condition", await_worker, NULL, NULL, NULL, worker, false},
    {"pipe", ask_backend, NULL, NULL, pipe_other, NULL, false},
    {"peerstop", ask_stopped, sockets_begin, helper_begins, peerstop_other, NULL, false},
    {"fullpipe", put_out, fullpipe_begin, fullpipe_prepare, fullpipe_other, NULL, false},
    {"udp", ask_stopped, udp_begin, NULL, udp_other, NULL, false},
    {"connect", dial, connect_begin, connect_prepare, connect_other, NULL, false},
    {"child", run_command, NULL, NULL, NULL, NULL, false},
};

WATCHED uint64_t serve(const struct kind *fault)
{
	uint64_t from = now_ns();

	SPIN_US(CALL_US);
	if (fault)
		fault->fault();
	KEEP(bystander(from));
	return now_ns() - from;
}

/* A line on standard input; *over: there will be none any more. */
static bool is_asked(bool *over)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	if (poll(&p, 1, 0) <= 0)
		return false;
	*over = read(STDIN_FILENO, &c, 1) != 1;
	return !*over && c == '\n';
}

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	errno = EINVAL;
	die(name);
	return NULL;
}

static void set_up(const struct kind *k)
{
	if (pipe2(ask, O_CLOEXEC) || pipe2(answer, O_CLOEXEC))
		die("pipe2");
	culprit_calibrate();
	if (k->begin)
		k->begin();
	if (k->pinned)
		pin_to(sched_getcpu());
	if (k->other && !child_run("helper"))
		k->other();
	if (k->thread)
		thread_run(k->thread);
}

int main(int argc, char **argv)
{
	unsigned long long planted = 0;
	const struct kind *k;
	bool over = false;

	target_begin(&argc, &argv);
	k = kind_of(argc > 1 ? argv[1] : "sleep");
	folder = argc > 2 ? argv[2] : folder;
	fault_ns = argc > 3 ? strtoull(argv[3], NULL, 10) * 1000000 : fault_ns;
	set_up(k);
	target_go();
	while (!over) {
		bool now = is_asked(&over);
		uint64_t ns;

		if (now && k->prepare)
			k->prepare();
		ns = serve(now ? k : NULL);
		if (now) {
			printf("{\"planted\":%llu,\"ns\":%llu}\n", ++planted,
			       (unsigned long long)ns);
			fflush(stdout);
		}
		sleep_ns(REST_US * 1000);
	}
	return 0;
}
