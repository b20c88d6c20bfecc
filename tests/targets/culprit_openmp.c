// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of a parallel region (OpenMP): now and then one of its two threads, "straggler", has more
 * to do. */
#include <omp.h>

#include "culprit.h"

WATCHED void share(uint64_t us)
{
	sleep_ns(us * 1000);
	KEEP(bystander(us));
}

WATCHED void compute(uint64_t i)
{
#pragma omp parallel num_threads(2)
	share(omp_get_thread_num() && i % 4 == 0 ? 2000 : 10);
	KEEP(bystander(i));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	compute(i);
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (i == 0) {
#pragma omp parallel num_threads(2)
		if (omp_get_thread_num())
			name_thread("straggler");
	}
	serve(i);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, request, 300);
}
