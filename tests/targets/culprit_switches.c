// SPDX-License-Identifier: GPL-2.0-or-later
/* Asleep on purpose, beside two threads that switch as often as they can: recording every context
 * switch would cost more than a descent may spend. */
#include "culprit.h"

#ifdef SERVED
void SERVED(uint64_t i);
#else
#define SERVED serve
#endif

static int ball[2][2];

WATCHED void back_off(uint64_t us)
{
	usleep((useconds_t)us);
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		back_off(2000);
	KEEP(bystander(i));
}

static void *player(void *side)
{
	int mine = side != NULL;
	char c = 0;

	while (write(ball[!mine][1], &c, 1) == 1 && read(ball[mine][0], &c, 1) == 1)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (pipe(ball[0]) || pipe(ball[1]) || pthread_create(&thread, NULL, player, NULL) ||
	    pthread_create(&thread, NULL, player, ball))
		return 1;
	return culprit_run(argc, argv, SERVED, 300);
}
