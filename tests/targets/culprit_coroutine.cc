// SPDX-License-Identifier: GPL-2.0-or-later
/* A coroutine: handle() only makes it, in no time; its body is slow in one of four calls. */
#include <coroutine>

#include "culprit.h"

struct task {
	struct promise_type {
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
		}
	};
	std::coroutine_handle<promise_type> made;
};

WATCHED void compute(uint64_t us)
{
	SPIN_US(us);
	KEEP(bystander(us));
}

WATCHED task handle(uint64_t i)
{
	compute(i % 4 ? 30 : 1000);
	KEEP(bystander(i));
	co_return;
}

extern "C" WATCHED void serve(uint64_t i)
{
	task t = handle(i);

	t.made.resume();
	t.made.destroy();
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
