/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target process: pid and start time are its identity, a pidfd tells its
 * end. All that is read of it here comes from /proc; its files are opened only
 * as its own mappings. Whatever can wait for the target is done by the reader
 * (collect/reader.h); the rest is taken from the kernel's own memory:
 * /proc/PID/stat, status, comm, task, and the links exe, fd and ns.
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
	uint64_t cpu_ns;      /* CPU time when it was last asked for */
	bool requested;	      /* named by the user; if false, a followed child */
	uint64_t scanned_ns;  /* when its mappings were last read whole; 0: never */
	uint64_t cpu_seen_ns; /* CPU time as of the last turn of the budget; 0: not known */
};

/*
 * Open and confirm a process. -ESRCH no such process, -ECHILD a zombie,
 * -EISDIR a kernel thread, -EXDEV a 32-bit process, -EACCES not permitted for
 * the invoking user, -EINVAL a thread that is not a process.
 */
int target_open(struct target *t, pid_t pid);
/* Read name, program, user and threads anew (after exec). */
int target_refresh(struct target *t);
/*
 * Does it matter whether the invoking user may trace a process? Not for root, whom the kernel lets
 * trace everything. Where peaktop's rights come from its file (capabilities), the user must pass
 * ptrace's own check: 0, -EACCES, or -ETIMEDOUT if the kernel's answer has to wait.
 */
bool target_rights_matter(void);
int target_may_be_traced(pid_t pid);
/* Is it the process that the kernel says began then, ns since boot? */
bool target_started_at(const struct target *t, uint64_t since_boot_ns);
/* Is it still the process that was opened? */
void target_release(struct target *t);
/* CPU time used so far, ns; 0 when it ended. */
uint64_t target_cpu_ns(struct target *t);

struct mapping {
	uint64_t start, end, offset;
	uint64_t dev, inode; /* inode 0: code of no file */
	const char *path;    /* valid during the call */
};
/* Each executable mapping of a file, by address. Stops when `each` returns nonzero, and returns
 * that. */
typedef int (*mapping_fn)(void *ctx, const struct mapping *m);
int target_mappings(pid_t pid, mapping_fn each, void *ctx);
/*
 * The file behind one mapping; it must be a regular file. Where its file system can hang (network,
 * FUSE), `remote` is set and the descriptor is of O_PATH only: to read or close any other would
 * wait for that file system. Negative errno.
 */
struct map_file {
	uint64_t size;
	bool remote;
};
int target_map_file(pid_t pid, uint64_t start, uint64_t end, struct map_file *about);
/*
 * A copy in memory of the file behind a mapping, for one that is remote; its descriptor. -ETIMEDOUT
 * if the file system is too slow, -EFBIG if the file is too large to copy.
 */
int target_map_copy(pid_t pid, uint64_t start, uint64_t end);
/* Does its file system still answer for the page at this offset? 0 or a negative errno. */
int target_map_answers(pid_t pid, uint64_t start, uint64_t end, uint64_t offset);

/* Each thread of the process. */
typedef void (*thread_fn)(void *ctx, pid_t tid);
int target_threads(pid_t pid, thread_fn each, void *ctx);
void target_thread_comm(pid_t pid, pid_t tid, char *out, size_t n);

/* The contents of /proc/PID/task/TID/syscall. */
struct thread_now {
	pid_t pid, tid; /* asked about */
	bool known;	/* false: it is gone, or its process does not answer (see `error`) */
	int error;
	bool running;
	long nr; /* -1: not in a system call */
	uint64_t args[6];
	uint64_t sp, pc;
};
/* Fill in the state of `n` threads whose pid and tid are set. */
void target_threads_now(struct thread_now *threads, size_t n);
/* Read the target's memory: 0 or a negative errno. Pages that are not there are not made to appear.
 */
int target_read(pid_t pid, uint64_t address, void *out, size_t n);

#endif
