// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_escape SECONDS KIND: one of two slow calls leaves serve() by an exception that its caller
 * takes (thrown), by one that comes through three functions below and is thrown on (rethrown), or
 * by longjmp (jump); the other one returns. Calls that are left have no latency: the peak is of
 * those that return. With KIND! all calls are left.
 */
#include <csetjmp>
#include <stdexcept>

#include "culprit.h"

static int kind;
static bool always;
static jmp_buf back;

struct guard {
	uint64_t i;
	~guard()
	{
		KEEP(bystander(i));
	}
};

WATCHED void reject(uint64_t i)
{
	SPIN_US(1000);
	KEEP(bystander(i));
	if (i % 8 && !always)
		return;
	if (kind == 'j')
		longjmp(back, 1);
	throw std::runtime_error("rejected");
}

WATCHED void third(uint64_t i)
{
	guard g{i};

	reject(i);
	KEEP(bystander(i));
}

WATCHED void second(uint64_t i)
{
	try {
		third(i);
	} catch (const std::exception &) {
		KEEP(bystander(i));
		throw;
	}
	KEEP(bystander(i));
}

WATCHED void first(uint64_t i)
{
	guard g{i};

	second(i);
	KEEP(bystander(i));
}

extern "C" WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0 || always) {
		if (kind == 'r')
			first(i);
		else
			reject(i);
	}
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (kind == 'j') {
		if (!setjmp(back))
			serve(i);
	} else {
		try {
			serve(i);
		} catch (const std::exception &e) {
			KEEP(e.what());
		}
	}
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	kind = argc > 2 ? argv[2][0] : 't';
	always = argc > 2 && strchr(argv[2], '!');
	return culprit_run(argc, argv, request, 150);
}
