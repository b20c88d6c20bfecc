// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/snapshot_children.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "collect/process/clock.h"
#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"

enum { FILES_MAX = 256, SOCKETS_MAX = 64, LINES_MAX = 4096, KNOWN_SECONDS = 2 };

void children_find(uint32_t pid, uint32_t tid, struct children *out)
{
	FILE *f = small_file_open("/proc/%u/task/%u/children", pid, tid);
	uint32_t child;

	out->nr = 0;
	out->more = false;
	if (!f)
		return;
	while (!out->more && fscanf(f, "%" SCNu32, &child) == 1) {
		out->more = out->nr == CHILDREN_MAX;
		if (!out->more)
			out->pids[out->nr++] = child;
	}
	fclose(f);
}

/* Returns the inode of a file of a thread that is of this type, by its link; 0: it is none. */
static uint64_t inode_of(pid_t tid, const char *fd, const char *type)
{
	uint64_t inode;
	char link[64];

	small_file_link(link, sizeof(link), "/proc/%d/fd/%.16s", tid, fd);
	if (strncmp(link, type, strlen(type)) != 0 ||
	    sscanf(link + strlen(type), ":[%" SCNu64, &inode) != 1)
		return 0;
	return inode;
}

/* The sockets of a process. */
struct sockets {
	uint64_t inodes[SOCKETS_MAX];
	uint32_t nr;
};

static void sockets_find(uint32_t pid, struct sockets *out)
{
	const pid_t tid = proc_number((pid_t)pid);
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	out->nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	dir = opendir(path);
	if (!dir)
		return;
	for (int i = 0; i < FILES_MAX && out->nr < SOCKETS_MAX && (entry = readdir(dir)); i++) {
		uint64_t inode = inode_of(tid, entry->d_name, "socket");

		if (inode)
			out->inodes[out->nr++] = inode;
	}
	closedir(dir);
}

/* Returns the inode of the socket in this line of /proc/PID/net/TABLE if it listens, else 0. */
static uint64_t listening(const char *line, bool local)
{
	enum { LISTENS = 10, ACCEPTS = 1 << 16 /* __SO_ACCEPTCON */ };
	unsigned int state;
	uint64_t inode;

	if (local)
		return sscanf(line, "%*x: %*x %*x %x %*x %*x %" SCNu64, &state, &inode) == 2 &&
			       state & ACCEPTS
			   ? inode
			   : 0;
	return sscanf(line, "%*u: %*s %*s %x %*s %*s %*s %*u %*u %" SCNu64, &state, &inode) == 2 &&
		       state == LISTENS
		   ? inode
		   : 0;
}

static bool any_listens(uint32_t pid, const struct sockets *own, const char *table)
{
	bool local = !strcmp(table, "unix"), found = false;
	FILE *f = small_file_open("/proc/%d/net/%s", proc_number((pid_t)pid), table);
	char line[512];

	if (!f)
		return false;
	for (int i = 0; i < LINES_MAX && !found && fgets(line, sizeof(line), f); i++) {
		uint64_t inode = listening(line, local);

		/* the kernel lists the sockets of TCP that listen first */
		if (!inode && !local && i)
			break;
		for (uint32_t k = 0; inode && k < own->nr; k++)
			found |= own->inodes[k] == inode;
	}
	fclose(f);
	return found;
}

/* True for a server, by a socket on which it listens. What it does is for its clients. */
static bool is_server(uint32_t pid)
{
	static struct {
		uint32_t pid;
		uint64_t at_s;
		bool serves;
	} known[CHILDREN_MAX];
	uint32_t i = pid % CHILDREN_MAX;
	uint64_t now_s = now_ms() / 1000;
	struct sockets own;

	if (known[i].pid == pid && now_s - known[i].at_s < KNOWN_SECONDS)
		return known[i].serves;
	sockets_find(pid, &own);
	known[i].pid = pid;
	known[i].at_s = now_s;
	known[i].serves =
	    own.nr && (any_listens(pid, &own, "tcp") || any_listens(pid, &own, "tcp6") ||
		       any_listens(pid, &own, "unix"));
	return known[i].serves;
}

enum awaits children_write(uint32_t pid, uint32_t fd, struct children *children)
{
	char number[16];
	uint64_t inode;

	snprintf(number, sizeof(number), "%u", fd);
	inode = inode_of(proc_number((pid_t)pid), number, "pipe");
	for (uint32_t i = 0; inode && i < children->nr; i++) {
		uint32_t child = children->pids[i];
		pid_t tid = proc_number((pid_t)child);

		if (inode_of(tid, "1", "pipe") != inode && inode_of(tid, "2", "pipe") != inode)
			continue;
		*children = (struct children){.pids = {child}, .nr = 1};
		return is_server(child) ? AWAITS_CHILDREN : AWAITS_CHILD;
	}
	return AWAITS_UNKNOWN;
}

bool has_threads(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return !stat(path, &st) && st.st_nlink > 3; /* beside ".", ".." and the first thread */
}

enum awaits children_awaits(uint32_t pid, struct children *children, bool for_signal)
{
	uint32_t commands = 0, forks = 0, servers = 0, nr = 0;
	char own[PATH_MAX], other[PATH_MAX];
	bool known;

	known = children->nr &&
		small_file_link(own, sizeof(own), "/proc/%d/exe", proc_number((pid_t)pid)) >= 0;
	for (uint32_t i = 0; i < children->nr; i++) {
		ssize_t n = small_file_link(other, sizeof(other), "/proc/%d/exe",
					    proc_number((pid_t)children->pids[i]));

		if (n == -ENOENT) /* it has ended */
			continue;
		children->pids[nr++] = children->pids[i];
		servers += is_server(children->pids[i]);
		if (n < 0 || !known)
			continue;
		if (strcmp(own, other) != 0)
			commands++;
		else
			forks++;
	}
	children->nr = nr;
	if (!nr || (for_signal && forks == nr))
		return AWAITS_UNKNOWN;
	if (servers)
		return AWAITS_CHILDREN;
	if (!for_signal && nr == 1)
		return AWAITS_CHILD;
	/* a signal may be for any of several threads, whoever has started the commands */
	return commands == nr && !(for_signal && has_threads(pid)) ? AWAITS_CHILD : AWAITS_CHILDREN;
}
