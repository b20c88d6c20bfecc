// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen [CALLS [ROUNDS]]: opens plugin.so beside itself only after `go`, waits until a test had
 * time to see it (a line on standard input after "opened"), calls plugin_work() CALLS times, closes
 * it; ROUNDS times.
 */
#include "target.h"
#include <dlfcn.h>
#include <libgen.h>

int main(int argc, char **argv)
{
	uint64_t calls, rounds, i, r, done = 0;
	char self[4096], path[4200];
	ssize_t n;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 10000);
	rounds = target_arg(argc, argv, 2, 1);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		die("readlink");
	self[n] = 0;
	snprintf(path, sizeof(path), "%s/plugin.so", dirname(self));
	target_go();
	for (r = 0; r < rounds; r++) {
		void *handle = dlopen(path, RTLD_NOW);
		uint64_t (*work)(uint64_t), (*count)(void);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 3;
		}
		work = (uint64_t(*)(uint64_t))dlsym(handle, "plugin_work");
		count = (uint64_t(*)(void))dlsym(handle, "plugin_done");
		if (!work || !count)
			return 3;
		if (target_waits) {
			printf("opened\n");
			fflush(stdout);
			target_wait_line();
		}
		for (i = 0; i < calls; i++)
			KEEP(work(i));
		done += count();
		dlclose(handle);
	}
	target_truth(
	    "{\"plugin_work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
	    (unsigned long long)(calls * rounds), (unsigned long long)done,
	    done == calls * rounds ? "true" : "false");
	return 0;
}
