// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/file_lease.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collect/cleaner.h"
#include "collect/guard.h"

/* The kernel tells by a signal that a lease is broken. Only the thread that waits for it gets it.
 */
static struct {
	int wake;
	pid_t tid;
	bool started;
	sem_t ready;
} leases = {.wake = -1};

static void *wait_for_signals(void *arg)
{
	const uint64_t one = 1;
	sigset_t set;

	prctl(PR_SET_NAME, "peaktop-leases");
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	/* sent instead if the queue of real-time signals is full */
	sigaddset(&set, SIGIO);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	leases.tid = gettid();
	sem_post(&leases.ready);
	for (;;) {
		if (sigwaitinfo(&set, NULL) > 0 && write(leases.wake, &one, sizeof(one)) < 0)
			continue;
	}
	return arg;
}

static int thread_start(void)
{
	pthread_t thread;
	int err;

	if (leases.started)
		return 0;
	leases.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (leases.wake < 0)
		return -errno;
	sem_init(&leases.ready, 0, 0);
	err = pthread_create(&thread, NULL, wait_for_signals, NULL);
	if (err) {
		close(leases.wake);
		leases.wake = -1;
		return -err;
	}
	pthread_detach(thread);
	while (sem_wait(&leases.ready) && errno == EINTR)
		;
	leases.started = true;
	return 0;
}

int lease_take(int fd)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID};
	char path[64];
	int err = thread_start(), lease;

	if (err)
		return err;
	/* a lease belongs to an open file: of this one only the cleaner has a descriptor, too */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	lease = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (lease < 0)
		return -errno;
	owner.pid = leases.tid;
	if (fcntl(lease, F_SETSIG, SIGRTMIN) || fcntl(lease, F_SETOWN_EX, &owner) ||
	    fcntl(lease, F_SETLEASE, F_RDLCK)) {
		err = errno == EAGAIN ? -ETXTBSY : -errno;
		close(lease);
		return err;
	}
	guard_own_lease(lease);
	cleaner_hold(lease);
	return lease;
}

bool lease_is_broken(int lease)
{
	return fcntl(lease, F_GETLEASE) != F_RDLCK;
}

void lease_release(int lease)
{
	guard_forget_lease(lease);
	fcntl(lease, F_SETLEASE, F_UNLCK);
	close(lease);
}

int lease_wake_fd(void)
{
	return leases.wake;
}

void lease_woken(void)
{
	uint64_t count;

	if (leases.wake >= 0 && read(leases.wake, &count, sizeof(count)) < 0)
		return;
}
