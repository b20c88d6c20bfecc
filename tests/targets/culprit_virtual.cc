// SPDX-License-Identifier: GPL-2.0-or-later
/* A virtual call: what the call site does not say is to be learnt, or the call is named by its
 * site. */
#include "culprit.h"

struct shape {
	virtual ~shape()
	{
	}
	virtual WATCHED void draw(uint64_t us) = 0;
};

struct square : shape {
	WATCHED void draw(uint64_t us) override
	{
		SPIN_US(us);
		KEEP(bystander(us));
	}
};

struct circle : shape {
	WATCHED void draw(uint64_t us) override
	{
		SPIN_US(us / 30.);
		KEEP(bystander(us));
	}
};

static square a_square;
static circle a_circle;

WATCHED void paint(shape *s)
{
	KEEP(bystander(1));
	s->draw(1000);
	KEEP(bystander(2));
}

extern "C" WATCHED void serve(uint64_t i)
{
	KEEP(bystander(i));
	paint(i % 4 ? (shape *)&a_circle : &a_square);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
