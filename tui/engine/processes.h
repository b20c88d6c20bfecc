/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of processes, read from /proc with the front's own rights. */
#pragma once

enum { PROCESSES_MAX = 32768 };

struct picker_process {
	uint32_t pid;
	const char *user;
	double cpu_percent; /* 100: one CPU; negative: not known yet */
	char state;	    /* as in /proc/PID/stat */
	uint32_t threads;
	const char *comm;
	const char *cmdline; /* arguments joined by spaces, "" for a kernel thread */
	bool permitted;	     /* this user may attach to it */
	bool kernel;	     /* a kernel thread */
};

/* The process that a thread belongs to; 0: there is no such thread. */
pid_t process_of_thread(pid_t tid);
/* The number under which /proc shows the memory of a process: its pid, or a thread if its main
 * thread has ended. */
pid_t process_number(pid_t pid);
/* CPU time of a process so far, in clock ticks; 0: there is no such process. */
uint64_t process_ticks(pid_t pid);
/* Read the list of processes and pass it to `take`; the list is valid only during that call. CPU
 * shares cover the time since the previous processes_list(). */
void processes_list(void (*take)(void *ctx, const struct picker_process *list, size_t nr),
		    void *ctx);
