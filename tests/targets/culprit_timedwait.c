// SPDX-License-Identifier: GPL-2.0-or-later
/* A condition that nobody signals, waited for until its time is over. */
#include "culprit.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

WATCHED void wait_for_news(uint64_t us)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)us * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&news, &lock, &until);
	pthread_mutex_unlock(&lock);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		wait_for_news(2000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 300);
}
