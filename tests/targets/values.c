// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * values [N]: by_argument(kind, size) takes 40 us of CPU, or sleeps 5 ms where kind is 7 (one call
 * in ten); by_return(i) returns -1 after 4 ms and a number after 30 us; by_member(req, path) takes
 * 30 us, or sleeps 3 ms where req->cmd is PUT and the path is /slow. Nothing else differs between
 * the peaks.
 */
#include "target.h"

WATCHED int by_argument(int kind, size_t size)
{
	if (kind == 7)
		sleep_ns(5000000);
	else
		burn_ns(40000);
	return (int)size;
}

WATCHED int by_return(uint64_t i)
{
	if (i % 10 == 3) {
		sleep_ns(4000000);
		return -1;
	}
	burn_ns(30000);
	return (int)(i % 1000) + 1;
}

enum command { GET, PUT, LIST };

struct request {
	uint64_t number; /* of no use to tell the calls apart */
	enum command cmd;
	const char *path;
};

WATCHED int by_member(const struct request *req, const char *path)
{
	if (req->cmd == PUT && path[1] == 's')
		sleep_ns(3000000);
	else
		burn_ns(30000);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t n, i, seed = 11, slow = 0, failed = 0;
	struct request req;
	bool put;

	target_begin(&argc, &argv);
	n = target_arg(argc, argv, 1, 2000);
	target_go();
	for (i = 0; i < n; i++) {
		int kind = draw(&seed) % 10 ? (int)(draw(&seed) % 6) : 7;

		slow += kind == 7;
		KEEP(by_argument(kind, draw(&seed) % 4096));
		failed += by_return(draw(&seed) % 1000) < 0;
		put = draw(&seed) % 10 == 0;
		req.number = draw(&seed);
		req.cmd = put ? PUT : draw(&seed) % 2 ? GET : LIST;
		req.path = put ? "/slow" : draw(&seed) % 2 ? "/fast" : "/";
		KEEP(by_member(&req, req.path));
	}
	target_truth("{\"by_argument\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"by_return\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"by_member\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"slow\":%"
		     "llu,\"failed\":%llu,\"ok\":true}",
		     (unsigned long long)n, (unsigned long long)n, (unsigned long long)n,
		     (unsigned long long)n, (unsigned long long)n, (unsigned long long)n,
		     (unsigned long long)slow, (unsigned long long)failed);
	return 0;
}
