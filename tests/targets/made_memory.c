// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * made_memory [KIND]: threads that wait below code that was made at run time, each in memory of
 * another kind: serve() calls it, and it calls wait_here(). The map for perf, /tmp/perf-PID.map,
 * calls it made_KIND, and KIND is the name of its thread. One more thread, "file", waits below
 * callback_each() of libcallback.so, loaded from a memfd; the map for perf gives another name
 * there. Huge pages are left out if this host has none. With KIND there is only that thread. Ends
 * with a line on standard input.
 */
#include "target.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>

enum { ANONYMOUS, NAMED, MEMFD, SHM, SHARED, HUGE, IN_FILE, KINDS };
enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

static const char *const names[KINDS] = {"anonymous", "named", "memfd", "shm",
					 "shared",    "huge",  "file"};
static int ends[2];

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const unsigned char made[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

/* Code of this kind; NULL: this host has no memory for it. */
static void *make(int kind, int fd)
{
	size_t size = kind == HUGE ? HUGE_PAGE : PAGE;
	int flags = kind == SHARED ? MAP_SHARED | MAP_ANONYMOUS : MAP_PRIVATE | MAP_ANONYMOUS;
	void *at;

	if (fd >= 0) {
		if (pwrite(fd, made, sizeof(made), 0) != sizeof(made) || ftruncate(fd, PAGE))
			die("a file in memory");
		at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		close(fd);
		return at == MAP_FAILED ? NULL : at;
	}
	if (kind == HUGE)
		flags |= MAP_HUGETLB;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
#ifdef PR_SET_VMA
	if (kind == NAMED)
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, size, "made");
#endif
	memcpy(at, made, sizeof(made));
	return mprotect(at, size, PROT_READ | PROT_EXEC) ? NULL : at;
}

static int shm(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/made_memory-%d", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	unlink(path);
	return fd;
}

/* callback_each() of a library that lies in a memfd. */
static void *load(void)
{
	char path[PATH_MAX], library[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int to = memfd_create("library", 0), from;
	void *handle;

	if (n < 0 || to < 0)
		die("memfd");
	path[n] = '\0';
	snprintf(library, sizeof(library), "%s/libcallback.so", dirname(path));
	from = open(library, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		die(library);
	while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	close(from);
	snprintf(library, sizeof(library), "/proc/self/fd/%d", to);
	handle = n < 0 ? NULL : dlopen(library, RTLD_NOW);
	return handle ? dlsym(handle, "callback_each") : NULL;
}

WATCHED void wait_here(void)
{
	char byte;

	if (read(ends[0], &byte, 1) < 0)
		die("read");
	KEEP(byte);
}

static void called_back(uint64_t item, void *arg)
{
	(void)item;
	(void)arg;
	wait_here();
	KEEP(arg);
}

struct work {
	int kind;
	void *code;
};

WATCHED void *serve(void *arg)
{
	const struct work *w = arg;

	pthread_setname_np(pthread_self(), names[w->kind]);
	if (w->kind == IN_FILE)
		((void (*)(const uint64_t *, int, void (*)(uint64_t, void *), void *))w->code)(
		    (const uint64_t[]){1}, 1, called_back, NULL);
	else
		((void (*)(void (*)(void)))w->code)(wait_here);
	KEEP(w);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct work work[KINDS];
	pthread_t threads[KINDS];
	unsigned int nr = 0;
	char path[64];
	FILE *map;

	target_begin(&argc, &argv);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map || pipe(ends))
		die(path);
	for (int i = 0; i < KINDS; i++) {
		if (argc > 1 && strcmp(argv[1], names[i]) != 0)
			continue;
		void *code = i == IN_FILE ? load()
			     : i == MEMFD ? make(i, memfd_create("code", MFD_CLOEXEC))
			     : i == SHM	  ? make(i, shm())
					  : make(i, -1);

		if (!code && i != HUGE)
			die(names[i]);
		if (!code)
			continue;
		fprintf(map, "%lx %zx made_%s\n", (unsigned long)code, sizeof(made), names[i]);
		work[nr++] = (struct work){i, code};
	}
	fclose(map);
	for (unsigned int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, serve, &work[i]);
	target_go();
	target_wait_line();
	close(ends[1]);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	unlink(path);
	target_truth("{\"serve\":{\"calls\":%u},\"ok\":true}", nr);
	return 0;
}
