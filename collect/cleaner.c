// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/cleaner.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/attach.h"
#include "collect/fd_message.h"
#include "collect/privileges.h"
#include "collect/process/small_file.h"

enum {
	MAX_SITES = 1 << 14, /* a power of two */
	MAX_PLACES = 64,     /* places of the table that are tried for a site */
	MAX_FILES = 512,
	DISMISS_MS = 500,
	SOCKET = 3,
	FRONT = 4,
	PARENT = 5,
};

/* With the number of a file: the descriptor is that of its lease. */
#define LEASE (1u << 31)

/* A place of the table of sites. */
struct noted {
	atomic_uint file; /* 0: the place is free. Stored last, because the writer may be killed. */
	uint64_t offset;
};

/* Memory that both processes see. */
struct cleaner_shared {
	atomic_bool dismissed;
	struct noted sites[MAX_SITES];
};

struct file_id {
	dev_t dev;
	ino_t inode;
};

static struct {
	struct cleaner_shared *shared;
	int socket; /* sends a descriptor of each new file, and its number */
	uint32_t nr_files;
	struct file_id files[MAX_FILES]; /* the file `i + 1` of the table of sites */
} cleaner = {.socket = -1};

/* ---- in the helper ---------------------------------------------------- */

/* Descriptors by the number of the file; -1: none. */
struct held {
	int files[MAX_FILES];
	/* nobody can write to these files until the helper ends */
	int leases[MAX_FILES];
};

/* Place uprobes at these points and remove them. They are limited to this process: the kernel
 * places no breakpoint in another, but removes those that nobody wants. */
static void touch(int program, bool multi, int file, struct attach_point *points, size_t n)
{
	struct attach_points set = {.list = points, .nr = n};
	struct attachment a;

	while (set.nr && attach_points(&a, program, multi, file, getpid(), &set) &&
	       set.refused < set.nr)
		points[set.refused] = points[--set.nr];
	if (set.nr)
		attachment_release(&a, true);
}

/*
 * Map a file, so that the kernel reads the instructions at its uprobes when this process places
 * them. Without that, a uprobe that is removed replaces the breakpoints that a debugger has set at
 * its address by a zero byte. Returns MAP_FAILED on failure.
 */
static void *map_file(int file, size_t *size)
{
	char path[64];
	struct stat st;
	void *at = MAP_FAILED;
	int fd;

	/* `file` may be an O_PATH descriptor */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return at;
	if (!fstat(fd, &st) && st.st_size > 0) {
		*size = (size_t)st.st_size;
		at = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return at;
}

static void clean_file(const struct cleaner_shared *s, uint32_t file, int fd, int program,
		       bool multi)
{
	struct attach_point *points = calloc(MAX_SITES, sizeof(*points));
	size_t n = 0, size = 0;
	void *mapped = map_file(fd, &size);

	for (size_t i = 0; points && mapped != MAP_FAILED && i < MAX_SITES; i++) {
		/* the file may have become shorter */
		if (atomic_load(&s->sites[i].file) == file && s->sites[i].offset < size)
			points[n++].offset = s->sites[i].offset;
	}
	if (n)
		touch(program, multi, fd, points, n);
	if (mapped != MAP_FAILED)
		munmap(mapped, size);
	free(points);
}

static void clean(const struct cleaner_shared *s, const int *files, int program, bool multi)
{
	for (uint32_t file = 1; file <= MAX_FILES; file++) {
		if (files[file - 1] >= 0)
			clean_file(s, file, files[file - 1], program, multi);
	}
	/* a thread that is killed while it removes a uprobe leaves it */
	attach_settle();
}

static bool receive_file(struct held *h)
{
	uint32_t number;
	int fd, *at;

	if (fd_message_receive(SOCKET, &number, sizeof(number), &fd, MSG_DONTWAIT))
		return false;
	at = number & LEASE ? h->leases : h->files;
	number &= ~LEASE;
	if (!number || number > MAX_FILES || fd < 0)
		return false;
	at += number - 1;
	if (*at >= 0)
		close(*at);
	*at = fd;
	return true;
}

/* Wait until the collector is dead. Its links are closed then, and their uprobes removed as far as
 * the kernel did it. */
static void wait_for_death(struct held *h, const struct cleaner_shared *s)
{
	struct pollfd p[2] = {{.fd = PARENT, .events = POLLIN}, {.fd = SOCKET, .events = POLLIN}};

	while (!atomic_load(&s->dismissed)) {
		bool dead;

		if (poll(p, 2, -1) < 0)
			continue;
		dead = p[0].revents;
		while (receive_file(h))
			;
		if (dead)
			return;
		if (p[1].revents & (POLLHUP | POLLERR))
			p[1].fd = -1;
	}
}

static bool keep_descriptors(int socket, int front, int parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* first above the numbers that they get in the end */
	int high[] = {fcntl(socket, F_DUPFD_CLOEXEC, 16), fcntl(front, F_DUPFD_CLOEXEC, 16),
		      fcntl(parent, F_DUPFD_CLOEXEC, 16)};

	for (int fd = 0; fd < SOCKET; fd++) {
		if (dup2(null, fd) < 0)
			return false;
	}
	for (int i = 0; i < 3; i++) {
		if (dup2(high[i], SOCKET + i) < 0)
			return false;
	}
	return !close_range(PARENT + 1, ~0U, 0);
}

/*
 * Take a name without "peaktop", also in the arguments that ps shows: whoever kills all processes
 * of that name (pkill -9 -f peaktop) shall not kill this one. It ends by itself.
 */
static void rename_process(void)
{
	static const char name[] = "probe-cleaner";
	char arguments[4096 + 1];
	ssize_t n = small_file_read(arguments, sizeof(arguments), "/proc/self/cmdline");

	prctl(PR_SET_NAME, name);
	/* the arguments follow each other in memory, the program's name first */
	if (n < (ssize_t)sizeof(name))
		return;
	memset(program_invocation_name, 0, (size_t)n);
	memcpy(program_invocation_name, name, sizeof(name));
}

static void helper_run(int socket, int front, int parent)
{
	const struct cleaner_shared *s = cleaner.shared;
	struct held held;
	int program;
	bool multi;

	cleaner.shared = NULL; /* what this process attaches needs no note */

	rename_process();
	/* a signal to the collector's process group shall not end it, either */
	if (setsid() < 0 || !keep_descriptors(socket, front, parent))
		_exit(1);
	/* later the system call filter forbids it */
	multi = attach_has_multi();
	program = attach_program(multi);
	if (program < 0 ||
	    privileges_limit_collector(&(struct privileges_use){.uprobe_events = !multi}))
		_exit(1);
	for (int i = 0; i < MAX_FILES; i++)
		held.files[i] = held.leases[i] = -1;
	wait_for_death(&held, s);
	if (!atomic_load(&s->dismissed))
		clean(s, held.files, program, multi);
	_exit(0);
}

/* ---- in the collector ------------------------------------------------- */

void cleaner_start(int front)
{
	int pair[2], self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	void *shared = mmap(NULL, sizeof(struct cleaner_shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t helper = -1;

	if (self >= 0 && shared != MAP_FAILED &&
	    !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		cleaner.shared = shared;
		helper = fork();
		if (helper == 0)
			helper_run(pair[1], front, self);
		close(pair[1]);
		cleaner.socket = pair[0];
	}
	if (self >= 0)
		close(self);
	if (helper < 0) {
		cleaner.shared = NULL;
		if (cleaner.socket >= 0)
			close(cleaner.socket);
		cleaner.socket = -1;
		if (shared != MAP_FAILED)
			munmap(shared, sizeof(struct cleaner_shared));
	}
}

/* The number of a file in the table of sites, which the helper gets with a descriptor of the file;
 * 0: the helper does not have it. */
static uint32_t file_number(int fd)
{
	struct stat st;
	uint32_t number;

	if (fstat(fd, &st))
		return 0;
	for (uint32_t i = cleaner.nr_files; i > 0; i--) {
		if (cleaner.files[i - 1].dev == st.st_dev &&
		    cleaner.files[i - 1].inode == st.st_ino)
			return i;
	}
	number = cleaner.nr_files + 1;
	if (number > MAX_FILES ||
	    fd_message_send(cleaner.socket, &number, sizeof(number), fd, MSG_DONTWAIT))
		return 0;
	cleaner.files[cleaner.nr_files++] = (struct file_id){st.st_dev, st.st_ino};
	return number;
}

static void note(uint32_t file, uint64_t offset)
{
	uint64_t hash = (offset + ((uint64_t)file << 48)) * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t i = 0; i < MAX_PLACES; i++) {
		struct noted *s = &cleaner.shared->sites[((hash >> 40) + i) & (MAX_SITES - 1)];
		unsigned int owner = atomic_load(&s->file);

		if (owner == file && s->offset == offset)
			return;
		if (owner)
			continue;
		s->offset = offset;
		atomic_store(&s->file, file);
		return;
	}
}

void cleaner_note(int file_fd, const struct attach_point *points, size_t n)
{
	uint32_t file = cleaner.shared ? file_number(file_fd) : 0;

	for (size_t i = 0; file && i < n; i++)
		note(file, points[i].offset);
}

void cleaner_hold(int lease)
{
	uint32_t number = cleaner.shared ? file_number(lease) : 0;

	if (!number)
		return;
	number |= LEASE;
	fd_message_send(cleaner.socket, &number, sizeof(number), lease, MSG_DONTWAIT);
}

void cleaner_dismiss(void)
{
	struct pollfd p = {.fd = cleaner.socket, .events = POLLIN};

	if (!cleaner.shared)
		return;
	atomic_store(&cleaner.shared->dismissed, true);
	/* the helper reads end of file, and its own end of the socket closes when it has ended */
	shutdown(cleaner.socket, SHUT_WR);
	poll(&p, 1, DISMISS_MS);
	close(cleaner.socket);
	cleaner.socket = -1;
	munmap(cleaner.shared, sizeof(*cleaner.shared));
	cleaner.shared = NULL;
}
