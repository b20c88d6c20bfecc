/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main thread of a process may end before the others (pthread_exit() in main()). From then on
 * /proc/PID has neither memory nor files nor namespaces, but /proc/TID has them for each thread
 * that lives, although it is not listed.
 */
#pragma once

/* The state of a thread as a letter, as in /proc/PID/stat; 0: there is no such thread. */
char thread_state(pid_t pid, pid_t tid);
/* Returns the pid, or, if the main thread has ended, the id of the first thread that has not. 0: no
 * thread lives. Waits for no process. */
pid_t live_thread(pid_t pid);
/* How many of the first `max` threads of a process run or wait for a CPU. */
unsigned int threads_ready(pid_t pid, unsigned int max);
/* The process that a thread belongs to; 0: there is no such thread. */
pid_t thread_process(pid_t tid);
/* The number under which /proc has the memory and the files of a process: that thread, or the pid
 * if there is none. */
pid_t proc_number(pid_t pid);
