// SPDX-License-Identifier: GPL-2.0-or-later
/* culprit_waits_cc SECONDS KIND: a std::future that "answerer" fulfils, a std::condition_variable
 * that "maker" notifies. */
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "culprit.h"

enum { WAIT_NS = 2000000 };

static char kind;
static std::mutex lock;
static std::condition_variable wanted, made;
static bool want, have;

static void make()
{
	name_thread("maker");
	for (;;) {
		{
			std::unique_lock<std::mutex> l(lock);
			wanted.wait(l, [] { return want; });
			want = false;
		}
		sleep_ns(WAIT_NS);
		std::lock_guard<std::mutex> l(lock);
		have = true;
		made.notify_one();
	}
}

WATCHED void consume()
{
	std::unique_lock<std::mutex> l(lock);

	want = true;
	wanted.notify_one();
	while (!have)
		made.wait(l);
	have = false;
	KEEP(bystander(1));
}

static void answer(std::promise<uint64_t> p)
{
	name_thread("answerer");
	sleep_ns(WAIT_NS);
	p.set_value(1);
}

WATCHED void result(std::future<uint64_t> &f)
{
	KEEP(f.get());
	KEEP(bystander(1));
}

static std::future<uint64_t> promised;

extern "C" WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0) {
		if (kind == 'f')
			result(promised);
		else
			consume();
	}
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (i == 0 && kind == 'c')
		std::thread(make).detach();
	if (i % 4 == 0 && kind == 'f') {
		std::promise<uint64_t> p;

		promised = p.get_future();
		std::thread(answer, std::move(p)).detach();
	}
	serve(i);
}

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	kind = argc > 2 ? argv[2][0] : 'f';
	return culprit_run(argc, argv, request, 300);
}
