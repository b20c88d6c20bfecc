// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/process/live_thread.h"

#include <dirent.h>

#include "collect/process/small_file.h"

char thread_state(pid_t pid, pid_t tid)
{
	char buf[512], *p;

	if (small_file_read(buf, sizeof(buf), "/proc/%d/task/%d/stat", pid, tid) <= 0)
		return 0;
	/* the name may contain any characters: search the last parenthesis */
	p = strrchr(buf, ')');
	return p && p[1] == ' ' ? p[2] : 0;
}

static bool is_alive(pid_t pid, pid_t tid)
{
	char state = thread_state(pid, tid);

	return state && !strchr("ZXx", state);
}

pid_t live_thread(pid_t pid)
{
	char path[64];
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	if (is_alive(pid, pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && tid != pid && is_alive(pid, tid))
			found = tid;
	}
	if (d)
		closedir(d);
	return found;
}

unsigned int threads_ready(pid_t pid, unsigned int max)
{
	unsigned int nr = 0, ready = 0;
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && nr < max && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		nr += tid > 0;
		ready += tid > 0 && thread_state(pid, tid) == 'R';
	}
	if (d)
		closedir(d);
	return ready;
}

pid_t thread_process(pid_t tid)
{
	char buf[1024], *line;

	if (small_file_read(buf, sizeof(buf), "/proc/%d/status", tid) <= 0)
		return 0;
	line = strstr(buf, "\nTgid:");
	return line ? (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10) : 0;
}

pid_t proc_number(pid_t pid)
{
	pid_t tid = live_thread(pid);

	return tid ? tid : pid;
}
