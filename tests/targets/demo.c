// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demo [SECONDS]: a small server without a network, for `make demo`.
 *
 * Four threads serve some 2,000 requests a second, each by one call of serve_request(), which has
 * four latency peaks: an answer found in memory (a few microseconds), one that must be computed
 * (some 150 us of CPU), one that waits for the journal's lock (2.5 ms) and one that reaches the
 * disk (fsync, 30 ms and more). Runs until SIGTERM or SIGINT and says then how many of each there
 * were.
 */
#include "target.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/vfs.h>

enum { THREADS = 4, BURST = 4, CACHE_SLOTS = 1 << 18, CACHE_PROBES = 24 };
enum { DISK_LEAST = 4096, DISK_MOST = 1 << 18, SYNCS = 64 };
static const uint64_t PERIOD_NS = 7000000; /* between two bursts of requests of a thread */
static const uint64_t COMPUTE_NS = 150000;
static const uint64_t JOURNAL_NS = 2500000; /* for which a commit holds the lock */
static const uint64_t DISK_NS = 30000000;

enum kind { CACHED, COMPUTED, LOCK, DISK, KINDS };
/* Of a thousand requests; the rest is found in the cache. */
static const unsigned PER_MILLE[KINDS] = {[COMPUTED] = 250, [LOCK] = 20, [DISK] = 4};

struct worker {
	pthread_t thread;
	uint64_t seed;
};

static uint64_t cache[CACHE_SLOTS];
static unsigned compute_rounds;
static size_t disk_bytes = DISK_LEAST; /* of one write */
static char disk_data[DISK_MOST];
static int disk_fd = -1;
static _Atomic uint64_t served[KINDS];
static volatile sig_atomic_t stopping;

static struct {
	pthread_mutex_t lock;
	sem_t idle, wanted, begun;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

WATCHED uint64_t lookup_cached(uint64_t key)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < CACHE_PROBES; i++) {
		key = key * 6364136223846793005u + 1442695040888963407u;
		sum += cache[(key >> 40) % CACHE_SLOTS];
	}
	return sum;
}

WATCHED uint64_t mix(uint64_t x, unsigned rounds)
{
	unsigned i;

	for (i = 0; i < rounds; i++) {
		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9u;
		x += i;
	}
	return x;
}

WATCHED uint64_t compute_answer(uint64_t key)
{
	uint64_t answer = mix(key, compute_rounds);

	cache[answer % CACHE_SLOTS] = answer;
	return answer;
}

/* Asks for a commit, if none is going on, and waits until it is through: the journal's thread holds
 * the lock. */
WATCHED uint64_t wait_for_lock(uint64_t key)
{
	uint64_t answer;

	if (sem_trywait(&journal.idle) == 0) {
		sem_post(&journal.wanted);
		while (sem_wait(&journal.begun) < 0 && errno == EINTR)
			;
	}
	pthread_mutex_lock(&journal.lock);
	answer = cache[key % CACHE_SLOTS]++;
	pthread_mutex_unlock(&journal.lock);
	return answer;
}

static void sync_piece(void)
{
	if (pwrite(disk_fd, disk_data, disk_bytes, 0) != (ssize_t)disk_bytes || fsync(disk_fd) < 0)
		die("demo: disk");
}

/* Syncs small pieces until DISK_NS have passed: a slow disk needs one, a fast one many. */
WATCHED uint64_t read_from_disk(uint64_t key)
{
	uint64_t start = now_ns();
	char byte;

	do
		sync_piece();
	while (now_ns() - start < DISK_NS);
	if (pread(disk_fd, &byte, 1, (off_t)(key % disk_bytes)) != 1)
		die("demo: disk");
	return (uint64_t)byte;
}

WATCHED uint64_t serve_request(enum kind kind, uint64_t key)
{
	uint64_t answer;

	switch (kind) {
	case COMPUTED:
		answer = compute_answer(key);
		break;
	case LOCK:
		answer = wait_for_lock(key);
		break;
	case DISK:
		answer = read_from_disk(key);
		break;
	default:
		answer = lookup_cached(key);
	}
	served[kind]++;
	return answer;
}

static enum kind next_kind(uint64_t *seed)
{
	unsigned n = (unsigned)(draw(seed) >> 33) % 1000, kind;

	for (kind = COMPUTED; kind < KINDS; kind++) {
		if (n < PER_MILLE[kind])
			return kind;
		n -= PER_MILLE[kind];
	}
	return CACHED;
}

static void *serve(void *arg)
{
	struct worker *worker = arg;
	uint64_t next = now_ns();

	while (!stopping) {
		uint64_t now;
		int i;

		for (i = 0; i < BURST; i++) {
			enum kind kind = next_kind(&worker->seed);

			KEEP(serve_request(kind, draw(&worker->seed)));
		}
		now = now_ns();
		next += PERIOD_NS / 2 + draw(&worker->seed) % PERIOD_NS;
		if (next > now)
			sleep_ns(next - now);
		else
			next = now;
	}
	return NULL;
}

static void *commit_journal(void *arg)
{
	for (;;) {
		while (sem_wait(&journal.wanted) < 0 && errno == EINTR)
			;
		if (stopping > 1)
			return NULL;
		pthread_mutex_lock(&journal.lock);
		sem_post(&journal.begun);
		sleep_ns(JOURNAL_NS);
		pthread_mutex_unlock(&journal.lock);
		sem_post(&journal.idle);
	}
}

/* Whether a file in this directory reaches a device; the file has no name from the start. */
static bool open_in(const char *dir)
{
	char path[4096];
	struct statfs fs;

	if (!dir ||
	    snprintf(path, sizeof(path), "%s/peaktop-demo.XXXXXX", dir) >= (int)sizeof(path))
		return false;
	if (statfs(dir, &fs) < 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return false;
	disk_fd = mkostemp(path, O_CLOEXEC);
	if (disk_fd < 0)
		return false;
	unlink(path);
	return true;
}

static void open_disk(void)
{
	char path[] = "/dev/shm/peaktop-demo.XXXXXX";

	if (open_in(getenv("TMPDIR")) || open_in("/tmp") || open_in("/var/tmp") || open_in("."))
		return;
	fprintf(stderr, "demo: no directory on a disk (TMPDIR, /tmp, /var/tmp, .): the disk peak "
			"will be low\n");
	disk_fd = mkostemp(path, O_CLOEXEC);
	if (disk_fd < 0)
		die("demo: no temporary file");
	unlink(path);
}

/* The least time of a few syncs. */
static uint64_t sync_time(void)
{
	uint64_t best = UINT64_MAX, start;
	int i;

	for (i = 0; i < 8; i++) {
		start = now_ns();
		sync_piece();
		if (now_ns() - start < best)
			best = now_ns() - start;
	}
	return best;
}

/* So much work that the peaks stand apart, on a fast host and on a slow one. */
static void calibrate(void)
{
	uint64_t key = 1, best = UINT64_MAX, start;
	int i;

	for (i = 0; i < 20; i++) {
		start = now_ns();
		KEEP(mix(key++, 10000));
		if (now_ns() - start < best)
			best = now_ns() - start;
	}
	compute_rounds = (unsigned)(COMPUTE_NS * 10000 / (best ? best : 1));
	for (i = 0; i < CACHE_SLOTS; i++)
		cache[i] = draw(&key);

	open_disk();
	/* Where syncs are fast the pieces grow, so that a request is not thousands of them. */
	while (sync_time() * SYNCS < DISK_NS && disk_bytes < DISK_MOST)
		disk_bytes *= 2;
}

static void stop(int signal_number)
{
	stopping = 1;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS];
	struct sigaction action = {.sa_handler = stop};
	sigset_t signals, before;
	pthread_t committer;
	int i;

	target_begin(&argc, &argv);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGALRM);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	sem_init(&journal.idle, 0, 1);
	sem_init(&journal.wanted, 0, 0);
	sem_init(&journal.begun, 0, 0);
	calibrate();
	target_go();

	/* Signals go to the first thread only, which does nothing else. */
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	pthread_create(&committer, NULL, commit_journal, NULL);
	for (i = 0; i < THREADS; i++) {
		workers[i].seed = 88172645463325252u + (uint64_t)i * 7919;
		pthread_create(&workers[i].thread, NULL, serve, &workers[i]);
	}
	alarm((unsigned)target_arg(argc, argv, 1, 0));
	while (!stopping)
		sigsuspend(&before);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	stopping = 2;
	sem_post(&journal.wanted);
	pthread_join(committer, NULL);
	close(disk_fd);
	target_truth("{\"cached\":%llu,\"computed\":%llu,\"lock\":%llu,\"disk\":%llu}",
		     (unsigned long long)served[CACHED], (unsigned long long)served[COMPUTED],
		     (unsigned long long)served[LOCK], (unsigned long long)served[DISK]);
	return 0;
}
