// SPDX-License-Identifier: GPL-2.0-or-later
/* digest() is chosen when the program is loaded: an IFUNC. */
#include "culprit.h"

static WATCHED void digest_plain(uint64_t rounds)
{
	volatile uint64_t k;

	for (k = 0; k < rounds; k++)
		;
}

typedef void (*digest_t)(uint64_t);

static digest_t digest_choose(void)
{
	return digest_plain;
}

void digest(uint64_t rounds) __attribute__((ifunc("digest_choose")));

WATCHED void check(uint64_t us)
{
	KEEP(bystander(us));
	digest(rounds_of_us(us));
	KEEP(bystander(us));
}

WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	check(i % 4 ? 30 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
