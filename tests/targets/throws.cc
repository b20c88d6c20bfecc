// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * throws [CALLS [THREADS]]: exceptions through watched functions, mixed with returns.
 *
 * through() is called CALLS times per thread; in two of three calls risky() throws, and the
 * exception leaves through() by way of its cleanup (the destructor of Guard). nested() catches
 * inside and returns.
 */
#include "target.h"
#include <pthread.h>
#include <vector>

static thread_local uint64_t destroyed;

struct Guard {
	~Guard()
	{
		destroyed++;
	}
};

struct Problem {
	uint64_t value;
};

WATCHED uint64_t risky(uint64_t i)
{
	if (i % 3)
		throw Problem{i};
	return i;
}

WATCHED uint64_t through(uint64_t i)
{
	Guard guard;

	return risky(i) + 1;
}

WATCHED uint64_t nested(uint64_t i)
{
	try {
		return through(i);
	} catch (const Problem &) {
		return 0;
	}
}

struct Job {
	uint64_t calls = 0, returned = 0, threw = 0, nested_returned = 0, destroyed = 0;
};

static void *run(void *arg)
{
	Job *job = static_cast<Job *>(arg);

	for (uint64_t i = 0; i < job->calls; i++) {
		if (i % 4 == 3) {
			nested(i);
			job->nested_returned++;
			continue;
		}
		try {
			through(i);
			job->returned++;
		} catch (const Problem &problem) {
			if (problem.value != i)
				abort();
			job->threw++;
		}
	}
	job->destroyed = destroyed;
	return nullptr;
}

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	uint64_t calls = target_arg(argc, argv, 1, 100000), threads = target_arg(argc, argv, 2, 1);
	std::vector<Job> jobs(threads);
	std::vector<pthread_t> ids(threads);
	Job sum;

	target_go();
	for (uint64_t i = 0; i < threads; i++) {
		jobs[i].calls = calls;
		pthread_create(&ids[i], nullptr, run, &jobs[i]);
	}
	for (uint64_t i = 0; i < threads; i++) {
		pthread_join(ids[i], nullptr);
		sum.returned += jobs[i].returned;
		sum.threw += jobs[i].threw;
		sum.nested_returned += jobs[i].nested_returned;
		sum.destroyed += jobs[i].destroyed;
	}
	/* Of the calls i with i % 4 == 3 every third returns from through(), the others leave it by
	 * exception. */
	uint64_t inner_returned = 0;
	for (uint64_t i = 3; i < calls; i += 4)
		inner_returned += i % 3 == 0;
	inner_returned *= threads;
	uint64_t through_calls = calls * threads, returned = sum.returned + inner_returned;
	target_truth("{\"through\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":%llu},"
		     "\"nested\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"destroyed\":%"
		     "llu,\"ok\":%s}",
		     (unsigned long long)through_calls, (unsigned long long)returned,
		     (unsigned long long)(through_calls - returned),
		     (unsigned long long)sum.nested_returned,
		     (unsigned long long)sum.nested_returned, (unsigned long long)sum.destroyed,
		     sum.destroyed == through_calls ? "true" : "false");
	return sum.destroyed == through_calls ? 0 : 1;
}
