// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collect/process/chances.h"
#include "collect/process/clock.h"

#define MS 1000000ull

enum {
	LOOK_MS = 250,
	LOOK_MAX_MS = 1000, /* a longer turn counts as this: this thread waited for a CPU, too */
	MAX_DESCRIPTORS = 1 << 16,
	CLOSERS = 8, /* removing a probe takes tens of milliseconds */
};

static struct {
	/* held only briefly: no code under the lock waits for a probe to be removed */
	pthread_mutex_t lock;
	uint32_t owned[MAX_DESCRIPTORS / 32];
	uint32_t leases[MAX_DESCRIPTORS / 32];
	bool fired, done, on;
	int front, null;
	atomic_ullong turns, beats; /* of the loop, and of the front */
	int closing[MAX_DESCRIPTORS];
	atomic_int nr_closing;
	atomic_int removing; /* threads that are in the kernel to remove a probe */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .front = -1, .null = -1};

/* The caller holds the lock. */
static bool is_owned(int fd)
{
	return fd >= 0 && fd < MAX_DESCRIPTORS && guard.owned[fd / 32] & 1u << fd % 32;
}

/*
 * Replace a probe's descriptor by one of /dev/null. Returns a copy of the probe's descriptor,
 * or -1. The caller closes the copy without the lock, because closing waits for the kernel to
 * remove the probe. The caller holds the lock.
 */
static int take_away(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	dup3(guard.null, fd, O_CLOEXEC);
	guard.owned[fd / 32] &= ~(1u << fd % 32);
	return copy;
}

static void close_probe(int fd)
{
	atomic_fetch_add(&guard.removing, 1);
	close(fd);
	atomic_fetch_sub(&guard.removing, 1);
}

static void *close_some(void *arg)
{
	int i;

	/* counted before a descriptor is taken, so that is_removing() is true until it is closed */
	atomic_fetch_add(&guard.removing, 1);
	while ((i = atomic_fetch_sub(&guard.nr_closing, 1)) > 0)
		close(guard.closing[i - 1]);
	atomic_fetch_sub(&guard.removing, 1);
	return arg;
}

/*
 * True while a thread removes a probe, or is about to. The process must not end then: the kernel
 * gives up the removal in a thread that is killed (uprobe_unregister_nosync() of
 * kernel/events/uprobes.c), and the breakpoint stays in the target.
 */
static bool is_removing(void)
{
	return atomic_load(&guard.nr_closing) > 0 || atomic_load(&guard.removing);
}

static void fire(void)
{
	int n = 0;

	for (int fd = 0; fd < MAX_DESCRIPTORS; fd++) {
		if (is_owned(fd)) {
			int copy = take_away(fd);

			if (copy >= 0)
				guard.closing[n++] = copy;
		}
	}
	atomic_store(&guard.nr_closing, n);
	guard.fired = true;
	guard.done = false;
}

static void close_all(void)
{
	for (int i = 0; i < CLOSERS && atomic_load(&guard.nr_closing) > 0; i++) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, close_some, NULL))
			pthread_detach(thread);
	}
	close_some(NULL);
}

/* Release the leases once no probe is left: the files may change then. */
static void release_leases(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	while (is_removing())
		nanosleep(&nap, NULL);
	pthread_mutex_lock(&guard.lock);
	for (int fd = 0; fd < MAX_DESCRIPTORS; fd++) {
		if (guard.leases[fd / 32] & 1u << fd % 32)
			fcntl(fd, F_SETLEASE, F_UNLCK);
	}
	guard.done = true;
	pthread_mutex_unlock(&guard.lock);
}

static bool front_is_gone(void)
{
	struct pollfd p = {.fd = guard.front, .events = POLLRDHUP};

	return poll(&p, 1, LOOK_MS) > 0 && p.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

/* What the guard waits for: that a count rises. */
struct awaited {
	atomic_ullong *count;
	unsigned long long seen;
	struct chances silent;
};

static void awaited_turn(struct awaited *a, uint64_t turn_ns)
{
	unsigned long long now = atomic_load(a->count);

	if (now == a->seen)
		chances_turn(&a->silent, getpid(), turn_ns);
	else
		chances_begin(&a->silent);
	a->seen = now;
}

static bool is_late(const struct awaited *a, uint64_t ms)
{
	return a->silent.counted_ns > ms * MS;
}

static void *watch(void *arg)
{
	struct awaited turn = {.count = &guard.turns}, beat = {.count = &guard.beats};
	uint64_t last = now_ns();

	prctl(PR_SET_NAME, "peaktop-guard");
	for (;;) {
		bool gone = front_is_gone(), fires = false;
		uint64_t now, turn_ns;

		if (gone) {
			const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000l};

			nanosleep(&nap, NULL);
		}
		now = now_ns();
		turn_ns = now - last < LOOK_MAX_MS * MS ? now - last : LOOK_MAX_MS * MS;
		last = now;
		awaited_turn(&turn, turn_ns);
		awaited_turn(&beat, turn_ns);
		pthread_mutex_lock(&guard.lock);
		if (!guard.on) {
			pthread_mutex_unlock(&guard.lock);
			continue;
		}
		if (!guard.fired && (is_late(&turn, GUARD_MS) || is_late(&beat, GUARD_MS))) {
			fire();
			fires = true;
		}
		pthread_mutex_unlock(&guard.lock);
		if (fires) {
			close_all();
			release_leases();
		}
		if (gone && is_late(&turn, GUARD_END_MS) && !is_removing())
			kill(getpid(), SIGKILL);
	}
	return arg;
}

int guard_start(int front)
{
	pthread_t thread;
	int err;

	guard_turn();
	guard_beat();
	guard.front = front;
	guard.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (guard.null < 0)
		return -errno;
	err = pthread_create(&thread, NULL, watch, NULL);
	if (err)
		return -err;
	pthread_detach(thread);
	pthread_mutex_lock(&guard.lock);
	guard.on = true;
	pthread_mutex_unlock(&guard.lock);
	return 0;
}

void guard_stop(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	pthread_mutex_lock(&guard.lock);
	guard.on = false;
	pthread_mutex_unlock(&guard.lock);
	while (is_removing())
		nanosleep(&nap, NULL);
}

void guard_turn(void)
{
	atomic_fetch_add(&guard.turns, 1);
}

void guard_beat(void)
{
	atomic_fetch_add(&guard.beats, 1);
}

bool guard_has_fired(void)
{
	bool fired;

	pthread_mutex_lock(&guard.lock);
	fired = guard.fired;
	pthread_mutex_unlock(&guard.lock);
	return fired;
}

bool guard_is_done(void)
{
	bool done;

	pthread_mutex_lock(&guard.lock);
	done = guard.fired && guard.done;
	pthread_mutex_unlock(&guard.lock);
	return done;
}

void guard_reset(void)
{
	pthread_mutex_lock(&guard.lock);
	guard.fired = false;
	pthread_mutex_unlock(&guard.lock);
}

void guard_own(int fd)
{
	int copy = -1;

	if (fd < 0 || fd >= MAX_DESCRIPTORS)
		return;
	pthread_mutex_lock(&guard.lock);
	guard.owned[fd / 32] |= 1u << fd % 32;
	/* the loop hung and attached this after the guard removed everything */
	if (guard.fired)
		copy = take_away(fd);
	pthread_mutex_unlock(&guard.lock);
	if (copy >= 0)
		close_probe(copy);
}

void guard_forget(int fd)
{
	if (fd < 0 || fd >= MAX_DESCRIPTORS)
		return;
	pthread_mutex_lock(&guard.lock);
	guard.owned[fd / 32] &= ~(1u << fd % 32);
	pthread_mutex_unlock(&guard.lock);
}

void guard_close(int fd)
{
	guard_forget(fd);
	close_probe(fd);
}

void guard_own_lease(int fd)
{
	if (fd < 0 || fd >= MAX_DESCRIPTORS)
		return;
	pthread_mutex_lock(&guard.lock);
	guard.leases[fd / 32] |= 1u << fd % 32;
	pthread_mutex_unlock(&guard.lock);
}

void guard_forget_lease(int fd)
{
	if (fd < 0 || fd >= MAX_DESCRIPTORS)
		return;
	pthread_mutex_lock(&guard.lock);
	guard.leases[fd / 32] &= ~(1u << fd % 32);
	pthread_mutex_unlock(&guard.lock);
}
