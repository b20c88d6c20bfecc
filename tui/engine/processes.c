// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/processes.h"

#include <dirent.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/process/clock.h"
#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"

enum { NAME = 64, COMMAND = 256 };
#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD in the flags of /proc/PID/stat */

struct process_entry {
	uint32_t pid, parent;
	uint64_t ticks; /* CPU time so far */
	char user[32], comm[NAME], command[COMMAND];
};

/* CPU time by pid in the previous list, to compute CPU shares. */
static struct {
	uint32_t pid;
	uint64_t ticks;
} * before;
static size_t nr_before, cap_before;
static uint64_t before_ns;

static void user_name(uid_t uid, char *out, size_t n)
{
	static uid_t last_uid = (uid_t)-1;
	static char last[32];
	struct passwd *pw;

	if (uid != last_uid) {
		pw = getpwuid(uid);
		if (pw)
			snprintf(last, sizeof(last), "%s", pw->pw_name);
		else
			snprintf(last, sizeof(last), "%u", uid);
		last_uid = uid;
	}
	snprintf(out, n, "%s", last);
}

pid_t process_of_thread(pid_t tid)
{
	return thread_process(tid);
}

pid_t process_number(pid_t pid)
{
	return proc_number(pid);
}

/* What /proc/PID/stat tells. */
struct process_stat {
	char comm[NAME], state;
	unsigned int parent, flags;
	uint64_t ticks; /* of CPU time */
	long threads;
};

static bool stat_read(const char *pid, struct process_stat *s)
{
	unsigned long long user, system;
	char buf[1024], *end, *name;

	if (small_file_read(buf, sizeof(buf), "/proc/%.20s/stat", pid) <= 0)
		return false;
	name = strchr(buf, '(');
	end = strrchr(buf, ')');
	if (!name || !end ||
	    sscanf(end + 1,
		   " %c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld",
		   &s->state, &s->parent, &s->flags, &user, &system, &s->threads) != 6)
		return false;
	*end = '\0';
	snprintf(s->comm, sizeof(s->comm), "%.63s", name + 1);
	s->ticks = user + system;
	return true;
}

uint64_t process_ticks(pid_t pid)
{
	struct process_stat s;
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	return stat_read(number, &s) ? s.ticks : 0;
}

static bool process_read(const char *pid, struct process_entry *e, struct picker_process *p)
{
	struct process_stat s;
	char path[32];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s", pid);
	if (!stat_read(pid, &s) || stat(path, &st))
		return false;
	memcpy(e->comm, s.comm, sizeof(e->comm));
	e->parent = s.parent;
	e->pid = p->pid = (uint32_t)strtoul(pid, NULL, 10);
	e->ticks = s.ticks;
	p->state = s.state;
	p->threads = (uint32_t)s.threads;
	e->command[0] = '\0';
	n = small_file_read(e->command, sizeof(e->command), "/proc/%d/cmdline",
			    p->state == 'Z' ? (int)proc_number((pid_t)p->pid) : (int)p->pid);
	for (ssize_t i = 0; i + 1 < n; i++) {
		if (!e->command[i])
			e->command[i] = ' ';
	}
	user_name(st.st_uid, e->user, sizeof(e->user));
	/* a kernel thread has neither a command line nor an executable */
	p->permitted = n > 0;
	p->kernel = s.flags & KERNEL_THREAD;
	return true;
}

static const struct process_entry *entry_of(const struct process_entry *list, size_t n,
					    uint32_t pid)
{
	return find_first(i, list, n, list[i].pid == pid);
}

/* True if the process was started by this peaktop: its collector, its parser or a helper. */
static bool process_is_own(const struct process_entry *list, size_t n,
			   const struct process_entry *e)
{
	while (e && !strncmp(e->comm, "peaktop", strlen("peaktop"))) {
		if (e->parent == (uint32_t)getpid())
			return true;
		e = e->parent < e->pid ? entry_of(list, n, e->parent) : NULL;
	}
	return false;
}

static double share(const struct process_entry *e, uint64_t elapsed)
{
	for (size_t i = 0; i < nr_before; i++) {
		if (before[i].pid == e->pid && elapsed)
			return (double)(e->ticks - before[i].ticks) * 1e11 /
			       (double)sysconf(_SC_CLK_TCK) / (double)elapsed;
	}
	return -1;
}

static void remember(const struct process_entry *list, size_t n)
{
	if (array_fit(before, n, cap_before, PROCESSES_MAX))
		return;
	nr_before = n;
	for (size_t i = 0; i < n; i++) {
		before[i].pid = list[i].pid;
		before[i].ticks = list[i].ticks;
	}
}

void processes_list(void (*take)(void *ctx, const struct picker_process *list, size_t nr),
		    void *ctx)
{
	uint64_t now = now_ns(), elapsed = before_ns ? now - before_ns : 0;
	struct process_entry *list = NULL;
	struct picker_process *out = NULL;
	size_t n = 0, shown = 0, cap_list = 0, cap_out = 0;
	struct dirent *d;
	DIR *proc = opendir("/proc");

	while (proc && (d = readdir(proc)) && n < PROCESSES_MAX) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9' ||
		    strtol(d->d_name, NULL, 10) == getpid())
			continue;
		if (array_grow(list, n, cap_list, PROCESSES_MAX) ||
		    array_grow(out, n, cap_out, PROCESSES_MAX))
			break;
		out[n] = (struct picker_process){0};
		if (process_read(d->d_name, &list[n], &out[n]))
			n++;
	}
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < n; i++) {
		if (process_is_own(list, n, &list[i]))
			continue;
		out[shown] = out[i];
		out[shown].user = list[i].user;
		out[shown].comm = list[i].comm;
		out[shown].cmdline = list[i].command;
		out[shown++].cpu_percent = share(&list[i], elapsed);
	}
	take(ctx, out, shown);
	remember(list, n);
	before_ns = now;
	free(list);
	free(out);
}
