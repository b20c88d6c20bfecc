// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reload MODE FILE [ROUNDS [MS [CALLS]]]: a host that loads another version of its plug-in again
 * and again. Each round puts reload_plugin-a.so or reload_plugin-b.so (beside this program, in
 * turn) into FILE, opens it, calls plugin_work() CALLS times within MS milliseconds, checks each
 * result and closes it. MODE is `write` (the same file is overwritten) or `rename` (another file
 * takes its name).
 */
#include "target.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

static char *image[2];
static size_t length[2];

static void image_read(const char *folder, int which)
{
	char path[4200];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/reload_plugin-%c.so", folder, 'a' + which);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die(path);
	length[which] = (size_t)st.st_size;
	image[which] = malloc(length[which]);
	if (!image[which] || read(fd, image[which], length[which]) != (ssize_t)length[which])
		die(path);
	close(fd);
}

static void image_put(const char *file, int which, bool renames)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s%s", file, renames ? ".new" : "");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, image[which], length[which]) != (ssize_t)length[which])
		die(path);
	close(fd);
	if (renames && rename(path, file))
		die("rename");
}

int main(int argc, char **argv)
{
	uint64_t rounds, ms, calls, done = 0, wrong = 0;
	char self[4096], *folder;
	bool renames;
	ssize_t n;

	target_begin(&argc, &argv);
	if (argc < 3)
		return 2;
	renames = !strcmp(argv[1], "rename");
	rounds = target_arg(argc, argv, 3, 20);
	ms = target_arg(argc, argv, 4, 100);
	calls = target_arg(argc, argv, 5, 100);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		die("readlink");
	self[n] = 0;
	folder = dirname(self);
	image_read(folder, 0);
	image_read(folder, 1);
	for (uint64_t r = 0; r < rounds; r++) {
		uint64_t (*work)(uint64_t);
		void *handle;

		image_put(argv[2], r & 1, renames);
		handle = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
		work = handle ? (uint64_t(*)(uint64_t))dlsym(handle, "plugin_work") : NULL;
		if (!work) {
			fprintf(stderr, "%s\n", dlerror());
			return 3;
		}
		/* the first version is there when a test attaches */
		if (!r)
			target_go();
		for (uint64_t i = 0; i < calls; i++) {
			wrong += work(i) != (r & 1 ? i * 7 + 5 : i * 5 + 3);
			done++;
			sleep_ns(ms * 1000000 / calls);
		}
		dlclose(handle);
	}
	target_truth("{\"plugin_work\":{\"calls\":%llu,\"wrong\":%llu},\"ok\":%s}",
		     (unsigned long long)done, (unsigned long long)wrong, wrong ? "false" : "true");
	return 0;
}
