// SPDX-License-Identifier: GPL-2.0-or-later
/* A callee at depth 6. */
#include "culprit.h"

#define LINK(name, next)                                                                           \
	WATCHED void name(uint64_t us)                                                             \
	{                                                                                          \
		KEEP(bystander(us));                                                               \
		next;                                                                              \
		KEEP(bystander(us));                                                               \
	}
LINK(culprit, SPIN_US(us))
LINK(fifth, culprit(us))
LINK(fourth, fifth(us))
LINK(third, fourth(us))
LINK(second, third(us))
LINK(first, second(us))

WATCHED void serve(uint64_t i)
{
	first(i % 4 ? 40 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
