/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target process: pid and start time are its identity, a pidfd tells its
 * end. All that is read of it here comes from /proc; its files are opened only
 * as its own mappings.
 */
#ifndef PEAKTOP_TARGET_H
#define PEAKTOP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TARGET_COMM = 64, TARGET_PATH = 4096, TARGET_MAX_MAPPINGS = 65536 };

struct target {
	pid_t pid;
	pid_t ns_pid;	     /* as it sees itself */
	int pidfd;	     /* -1: ended or never opened */
	uint64_t started_ns; /* since boot */
	uid_t uid;
	unsigned int threads;
	char comm[TARGET_COMM];
	char exe[TARGET_PATH];
	bool requested; /* by the user; else followed */
	bool reported;
};

/*
 * Open and confirm a process. -ESRCH no such process, -ECHILD a zombie,
 * -EISDIR a kernel thread, -EXDEV a 32-bit process, -EACCES not permitted for
 * the invoking user, -EINVAL a thread that is not a process.
 */
int target_open(struct target *t, pid_t pid);
/* Read name, program, user and threads anew (after exec). */
int target_refresh(struct target *t);
/* Is it still the process that was opened? */
bool target_alive(const struct target *t);
void target_release(struct target *t);
/* CPU time used so far, ns; 0 when it ended. */
uint64_t target_cpu_ns(const struct target *t);

struct mapping {
	uint64_t start, end, offset;
	uint64_t dev, inode;
	const char *path; /* valid during the call */
};
/* Each executable mapping of a file, by address. Stops when `each` returns nonzero, and returns that. */
typedef int (*mapping_fn)(void *ctx, const struct mapping *m);
int target_mappings(pid_t pid, mapping_fn each, void *ctx);
/* The file behind one mapping, read-only; it must be a regular file. Negative errno. */
int target_map_file(pid_t pid, uint64_t start, uint64_t end);

/* Each thread of the process. */
typedef void (*thread_fn)(void *ctx, pid_t tid);
int target_threads(pid_t pid, thread_fn each, void *ctx);
void target_thread_comm(pid_t pid, pid_t tid, char *out, size_t n);

/* What /proc/PID/task/TID/syscall says. */
struct thread_now {
	bool running;
	long nr; /* -1: not in a system call */
	uint64_t args[6];
	uint64_t sp, pc;
};
int target_thread_now(pid_t pid, pid_t tid, struct thread_now *now);
/* Read the target's memory: 0 or a negative errno. */
int target_read(pid_t pid, uint64_t address, void *out, size_t n);
/* As much of it as there is from this address on: bytes, or a negative errno. */
ssize_t target_read_some(pid_t pid, uint64_t address, void *out, size_t n);

#endif
