// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_contended SECONDS KIND: serve() waits for a lock for which six threads of the same name,
 * "worker", contend as well. They hold it for some microseconds each. "hoarder" holds it for
 * about 3 ms at a time. In the kinds "NAME_even" there is no hoarder, in "token" there are no
 * workers.
 */
#include <malloc.h>

#include "culprit_kinds.h"

enum { WORKERS = 6, HOLD_US = 100, HOARD_NS = 3000000, FREE_BYTES = 8192, FREE_MAX = 1 << 17 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *journal;
static int ask[2];

/* ---- a mutex of the program */

static void mutex_hold(void)
{
	pthread_mutex_lock(&table_lock);
	SPIN_US(HOLD_US);
	pthread_mutex_unlock(&table_lock);
}

static void mutex_hoard(void)
{
	pthread_mutex_lock(&table_lock);
	sleep_ns(HOARD_NS);
	pthread_mutex_unlock(&table_lock);
}

WATCHED void mutex_serve(uint64_t i)
{
	mutex_hold();
	KEEP(bystander(i));
}

/* ---- the lock of a stream */

static void stream_hold(void)
{
	flockfile(journal);
	SPIN_US(HOLD_US);
	funlockfile(journal);
}

static void stream_hoard(void)
{
	flockfile(journal);
	sleep_ns(HOARD_NS);
	funlockfile(journal);
}

WATCHED void stream_serve(uint64_t i)
{
	fputc('x', journal);
	KEEP(bystander(i));
}

/* ---- the lock of malloc()'s arena: malloc_trim() has it while it visits all free memory */

static void arena_hold(void)
{
	for (int i = 0; i < 4; i++) {
		void *p = malloc(3000); /* too large for the memory that each thread keeps */

		KEEP(p);
		free(p);
	}
}

static void arena_hoard(void)
{
	malloc_trim(0);
}

WATCHED void arena_serve(uint64_t i)
{
	arena_hold();
	KEEP(bystander(i));
}

/* Frees `nr` pieces of memory that cannot be joined. Returns how long malloc_trim() takes then. */
static uint64_t arena_free(uint64_t nr)
{
	static void *piece[FREE_MAX];
	uint64_t from, took = UINT64_MAX;

	for (uint64_t i = 0; i < nr; i++) {
		piece[i] = malloc(FREE_BYTES);
		KEEP(malloc(32));
	}
	for (uint64_t i = 0; i < nr; i++)
		free(piece[i]);
	for (int i = 0; i < 5; i++) {
		from = thread_cpu_ns();
		malloc_trim(0);
		/* the first one returns the memory, the next ones only look */
		if (i && thread_cpu_ns() - from < took)
			took = thread_cpu_ns() - from;
	}
	return took;
}

static void arena_fill(void)
{
	uint64_t nr = 1024, took;

	mallopt(M_ARENA_MAX, 1);
	took = arena_free(nr);
	nr = took < HOARD_NS ? nr * HOARD_NS / took : nr;
	arena_free(nr < FREE_MAX ? nr : FREE_MAX);
}

/*
 * ---- the right to run of an interpreter: whoever wants it waits for 1 ms, again and again, until
 * the collector of garbage has let it go
 */

static pthread_cond_t let_go = PTHREAD_COND_INITIALIZER;
static bool taken;
static uint64_t nr_taken;

WATCHED void sweep(void)
{
	SPIN_US(HOARD_NS / 1000);
	KEEP(bystander(4));
}

WATCHED void collect_garbage(void)
{
	sweep();
	KEEP(bystander(3));
}

static void token_hoard(void)
{
	pthread_mutex_lock(&table_lock);
	taken = true;
	nr_taken++;
	pthread_mutex_unlock(&table_lock);
	collect_garbage();
	pthread_mutex_lock(&table_lock);
	taken = false;
	pthread_cond_signal(&let_go);
	pthread_mutex_unlock(&table_lock);
}

WATCHED void take_token(void)
{
	struct timespec until;

	pthread_mutex_lock(&table_lock);
	while (taken) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&let_go, &table_lock, &until);
	}
	pthread_mutex_unlock(&table_lock);
}

WATCHED void token_serve(uint64_t i)
{
	take_token();
	KEEP(bystander(i));
}

/* ---- */

static void (*hold)(void), (*hoard)(void);

static void *work(void *nothing)
{
	name_thread("worker");
	for (;;) {
		hold();
		sleep_ns(1000000);
	}
	return nothing;
}

static void *hoarder(void *nothing)
{
	name_thread("hoarder");
	for (;;) {
		byte_take(ask[0]);
		hoard();
	}
	return nothing;
}

static void run(void (*holds)(void), void (*hoards)(void))
{
	hold = holds;
	hoard = hoards;
	if (pipe(ask))
		die("pipe");
	for (int i = 0; hold && i < WORKERS; i++)
		thread_run(work);
	if (hoard)
		thread_run(hoarder);
}

static void mutex_begin(void)
{
	run(mutex_hold, mutex_hoard);
}

static void mutex_even(void)
{
	run(mutex_hold, NULL);
}

static void stream_begin(void)
{
	journal = fopen("/dev/null", "w");
	if (!journal)
		die("/dev/null");
	run(stream_hold, stream_hoard);
}

static void arena_begin(void)
{
	arena_fill();
	run(arena_hold, arena_hoard);
}

static void token_begin(void)
{
	run(NULL, token_hoard);
}

/* Gives the hoarder, and those that queue behind it, time to get there first. */
static void before(void)
{
	if (!hoard)
		return;
	byte_send(ask[1]);
	sleep_ns(HOARD_NS / 3);
}

/* Waits until the collector has it, or has had it already. */
static void before_token(void)
{
	static uint64_t asked;
	uint64_t now = 0;

	byte_send(ask[1]);
	asked++;
	while (now < asked) {
		sleep_ns(100000);
		pthread_mutex_lock(&table_lock);
		now = nr_taken;
		pthread_mutex_unlock(&table_lock);
	}
}

static const struct kind kinds[] = {{"mutex", mutex_begin, before, mutex_serve},
				    {"mutex_even", mutex_even, before, mutex_serve},
				    {"stream", stream_begin, before, stream_serve},
				    {"arena", arena_begin, before, arena_serve},
				    {"token", token_begin, before_token, token_serve}};

int main(int argc, char **argv)
{
	const char *path = "";
	int err = kind_choose(&argc, &argv, kinds, sizeof(kinds) / sizeof(kinds[0]), &path);

	return err ?: culprit_run(argc, argv, request, 2000);
}
