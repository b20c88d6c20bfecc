// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * modes SECONDS RATE THREADS KIND:US:SHARE...: calls of serve() whose latency has known modes.
 *
 * THREADS threads call serve() RATE times a second each (0: without a pause), at random moments,
 * four calls at once. Each call draws one of the modes with the chance SHARE over the sum of all
 * shares. KIND: c  computes for US of CPU time (the same work every time)      s  sleeps for US n
 * computes with a lognormal spread (sigma 0.35)               l  waits for a lock that is held for
 * US w  sleeps with a lognormal spread (sigma 0.35)                 p  asks another thread, which
 * sleeps for US t  sleeps for US and a Pareto tail (alpha 2)                   m  touches US fresh
 * pages f  writes a file of 4 kB and syncs it, US is for information The truth: the calls of every
 * mode.
 */
#include "target.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

enum { MODES = 8, THREADS = 16, BURST = 4 };

struct mode {
	char kind;
	double us;
	unsigned int share;
	pthread_mutex_t lock;
	sem_t idle, wanted, begun, done;
	pthread_mutex_t asking;
	_Atomic uint64_t calls;
};

static struct mode modes[MODES];
static unsigned int nr_modes, shares;
static double rounds_per_us;
static uint64_t rate, end_ns;
static int file = -1;

WATCHED uint64_t compute(uint64_t x, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9u;
		x += i;
	}
	return x;
}

static double uniform(uint64_t *seed)
{
	return ((double)(draw(seed) >> 11) + 0.5) / 9007199254740992.0;
}

static double lognormal(uint64_t *seed, double sigma)
{
	return exp(sigma * sqrt(-2 * log(uniform(seed))) * cos(6.283185307179586 * uniform(seed)));
}

/* Holds the lock or answers a question for US, each time it is asked. */
static void *assistant(void *arg)
{
	struct mode *m = arg;

	for (;;) {
		while (sem_wait(&m->wanted) < 0)
			;
		if (m->kind == 'l')
			pthread_mutex_lock(&m->lock);
		sem_post(&m->begun);
		sleep_ns((uint64_t)(m->us * 1e3));
		if (m->kind == 'l')
			pthread_mutex_unlock(&m->lock);
		sem_post(&m->done);
	}
	return NULL;
}

static void ask(struct mode *m)
{
	pthread_mutex_lock(&m->asking);
	sem_post(&m->wanted);
	sem_wait(&m->begun);
	if (m->kind == 'l') {
		pthread_mutex_lock(&m->lock);
		pthread_mutex_unlock(&m->lock);
	}
	sem_wait(&m->done);
	pthread_mutex_unlock(&m->asking);
}

static void touch(size_t pages)
{
	char *p =
	    mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("modes: mmap");
	for (size_t i = 0; i < pages; i++)
		p[i * 4096] = 1;
	munmap(p, pages * 4096);
}

static void sync_file(void)
{
	static const char data[4096];

	if (pwrite(file, data, sizeof(data), 0) != sizeof(data) || fsync(file) < 0)
		die("modes: file");
}

WATCHED uint64_t serve(unsigned int mode, uint64_t key, uint64_t *seed)
{
	struct mode *m = &modes[mode];

	m->calls++;
	switch (m->kind) {
	case 'c':
		return compute(key, (uint64_t)(m->us * rounds_per_us));
	case 'n':
		return compute(key, (uint64_t)(m->us * lognormal(seed, 0.35) * rounds_per_us));
	case 's':
		sleep_ns((uint64_t)(m->us * 1e3));
		break;
	case 'w':
		sleep_ns((uint64_t)(m->us * 1e3 * lognormal(seed, 0.35)));
		break;
	case 't':
		sleep_ns((uint64_t)(m->us * 1e3 / sqrt(uniform(seed))));
		break;
	case 'm':
		touch((size_t)m->us);
		break;
	case 'f':
		sync_file();
		break;
	default:
		ask(m);
	}
	return key;
}

static void *worker(void *arg)
{
	uint64_t seed = 88172645463325252u + (uint64_t)(uintptr_t)arg * 7919, next = now_ns();

	while (now_ns() < end_ns) {
		for (int i = 0; i < (rate ? BURST : 64); i++) {
			unsigned int n = (unsigned int)(draw(&seed) >> 33) % shares, mode = 0;

			while (n >= modes[mode].share)
				n -= modes[mode++].share;
			KEEP(serve(mode, draw(&seed), &seed));
		}
		if (!rate)
			continue;
		next += (uint64_t)(-log(uniform(&seed)) * BURST * 1e9 / (double)rate);
		if (next > now_ns())
			sleep_ns(next - now_ns());
		else
			next = now_ns();
	}
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void calibrate(void)
{
	uint64_t best = UINT64_MAX, from, took;

	for (int i = 0; i < 200; i++) {
		from = cpu_ns();
		KEEP(compute((uint64_t)i, 20000));
		took = cpu_ns() - from;
		best = took < best ? took : best;
	}
	rounds_per_us = 20000 / ((double)best / 1e3);
}

static void add_mode(const char *spec)
{
	struct mode *m = &modes[nr_modes++];
	char name[] = "/var/tmp/peaktop-modes.XXXXXX";
	pthread_t thread;

	if (sscanf(spec, "%c:%lf:%u", &m->kind, &m->us, &m->share) != 3)
		die("modes: KIND:US:SHARE");
	shares += m->share;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->asking, NULL);
	sem_init(&m->wanted, 0, 0);
	sem_init(&m->begun, 0, 0);
	sem_init(&m->done, 0, 0);
	if ((m->kind == 'l' || m->kind == 'p') && pthread_create(&thread, NULL, assistant, m))
		die("modes: thread");
	if (m->kind != 'f')
		return;
	file = mkostemp(name, O_CLOEXEC);
	if (file < 0)
		die("modes: file");
	unlink(name);
}

int main(int argc, char **argv)
{
	unsigned int nr_threads;
	pthread_t thread[THREADS];

	target_begin(&argc, &argv);
	rate = target_arg(argc, argv, 2, 200);
	nr_threads = (unsigned int)target_arg(argc, argv, 3, 2);
	if (argc < 5 || argc > 4 + MODES || nr_threads > THREADS)
		die("modes SECONDS RATE THREADS KIND:US:SHARE...");
	calibrate();
	for (int i = 4; i < argc; i++)
		add_mode(argv[i]);
	target_go();
	end_ns = now_ns() + target_arg(argc, argv, 1, 5) * 1000000000u;
	for (unsigned int i = 0; i < nr_threads; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)i))
			die("modes: thread");
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	printf("{\"modes\":[");
	for (unsigned int i = 0; i < nr_modes; i++)
		printf("%s%llu", i ? "," : "", (unsigned long long)modes[i].calls);
	target_truth("]}");
	return 0;
}
