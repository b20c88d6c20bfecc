/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target process, identified by its pid and start time; a pidfd shows its end. All
 * information comes from /proc, and files are opened only through its own mappings. Reads that
 * may wait for the target are done by the reader (collect/reader.h). Other files come from the
 * kernel's memory and never wait: /proc/PID/stat, status, comm, task, and the links exe, fd and
 * ns.
 */
#pragma once

enum { TARGET_COMM = 64, TARGET_PATH = 4096, TARGET_MAX_MAPPINGS = 65536 };

struct target {
	pid_t pid;	     /* 0: all processes, and the kernel's own threads */
	pid_t ns_pid;	     /* pid in its own pid namespace */
	int pidfd;	     /* -1: ended or never opened */
	uint64_t started_ns; /* ns since boot */
	uid_t uid;
	unsigned int threads;
	char comm[TARGET_COMM];
	char exe[TARGET_PATH];
	char link[TARGET_COMM]; /* target_link(): the name by which it was started; "": that of exe
				 */
	uint64_t cpu_ns;	/* CPU time at the last query, ns */
	bool main_ended;	/* its main thread has ended, others live */
	bool probed_everywhere; /* a note says that its probes act in other processes, too */
	bool requested;		/* named by the user; if false, a followed child */
	uint64_t scanned_ns;	/* when its mappings were last read whole; 0: never */
	uint64_t scanned_pages; /* size of its memory just before that; 0: not known */
	uint64_t checks_since_ns; /* modules_check(): begin of the second of `checks` */
	unsigned int checks;
	uint64_t mapped_ns;   /* when it mapped code of which no scan knows; 0: it did not */
	bool over;	      /* it has ended, and its end is about to be sent */
	uint64_t exit_ns;     /* when it began to end; 0: it lives, or that was not seen */
	uint32_t exit_status; /* as waitpid() gives it */
	bool has_clock;
	clockid_t clock;      /* of its CPU time */
	uint64_t cpu_seen_ns; /* CPU time as of the last turn of the budget; 0: not known */
};

/* What forbade to trace a process, with a remedy: rights that this process lacks, its user
 * namespace, or a security module. For an error -EACCES or -EPERM of target_open(). */
const char *target_forbidden_by(void);
/*
 * Open a process and check that it can be a target. Returns 0, or: -ESRCH no such process,
 * -ECHILD a zombie, -EISDIR a kernel thread, -EXDEV a 32-bit process, -EACCES not permitted for
 * the invoking user, -EINVAL a thread that is not a process.
 */
int target_open(struct target *t, pid_t pid);
/* Make `t` stand for all processes. Only root may measure them: 0 or -EACCES. */
int target_open_host(struct target *t);
/* The same check without opening it. */
int target_check(pid_t pid);
/* Read name, program, user and number of threads again (after exec). Returns 0 or a negative
 * errno. */
int target_refresh(struct target *t);
struct opener;
/*
 * Set `link` to the command's name if that is another link to `exe` in the same folder: the
 * executable of redis-server may be redis-check-rdb.
 */
void target_link(struct target *t, struct opener *opener);
/*
 * target_rights_matter(): false for root, who may trace every process. If peaktop has its
 * rights from file capabilities, the user must pass the kernel's ptrace check:
 * target_may_be_traced() returns 0, -EACCES, or -ETIMEDOUT if the check hangs.
 */
bool target_rights_matter(void);
int target_may_be_traced(pid_t pid);
/* True if the process started at this time, ns since boot. */
bool target_started_at(const struct target *t, uint64_t since_boot_ns);
/* Close the pidfd. */
void target_release(struct target *t);
/* CPU time used so far, ns. After the process has ended, the last known value. */
uint64_t target_cpu_ns(struct target *t);
/* Size of its virtual memory in pages; 0: not known. Waits for no lock of the target. */
uint64_t target_pages(pid_t pid);

struct mapping {
	uint64_t start, end, offset;
	uint64_t dev, inode; /* inode 0: code without a file */
	const char *path;    /* valid only during the callback */
	/*
	 * Not NULL: this is anonymous memory in the place of a part of the file, to which the
	 * program has copied that part. `dev`, `inode`, `path` and `offset` are those of the file,
	 * and `copied_beside` is the mapping of the file before it. The kernel cannot probe a copy.
	 */
	const struct mapping *copied_beside; /* valid only during the callback */
};
/* True for the code that the kernel maps into each process. A process cannot choose this name. */
bool mapping_is_vdso(const struct mapping *m);
/*
 * Call `each` for each executable mapping, in the order of addresses: target_mappings() for those
 * that may have functions of the program, target_code() for all. Stops if `each` returns nonzero,
 * and returns that value.
 */
typedef int (*mapping_fn)(void *ctx, const struct mapping *m);
int target_mappings(pid_t pid, mapping_fn each, void *ctx);
int target_code(pid_t pid, mapping_fn each, void *ctx);
/*
 * Open the regular file behind a mapping. If its file system can hang (network, FUSE), `remote`
 * is set and the descriptor is O_PATH only, because reading or closing another descriptor could
 * wait for that file system. Returns a descriptor, which the caller closes, or a negative
 * errno.
 */
struct map_file {
	uint64_t size;
	bool remote;
	bool made; /* in memory and no ELF file: code that a compiler made at run time */
};
int target_map_file(pid_t pid, uint64_t start, uint64_t end, struct map_file *about);
/*
 * Copy the remote file behind a mapping into memory. Returns a descriptor, which the caller
 * closes; -ETIMEDOUT if the file system is too slow; -EFBIG if the file is too large.
 */
int target_map_copy(pid_t pid, uint64_t start, uint64_t end);
/* Check that the file system can provide the page at this offset. Returns 0 or a negative
 * errno. */
int target_map_answers(pid_t pid, uint64_t start, uint64_t end, uint64_t offset);

/* Call `each` for each thread of the process. Returns 0 or a negative errno. */
typedef void (*thread_fn)(void *ctx, pid_t tid);
int target_threads(pid_t pid, thread_fn each, void *ctx);
void target_thread_comm(pid_t pid, pid_t tid, char *out, size_t n);

/* The contents of /proc/PID/task/TID/syscall. */
struct thread_now {
	pid_t pid, tid; /* set by the caller */
	bool known; /* false: the thread has ended or the process does not respond (see `error`) */
	int error;
	bool running;
	long nr; /* -1: not in a system call */
	uint64_t args[6];
	uint64_t sp, pc;
};
/* Fill in the state of `n` threads whose pid and tid are set. */
void target_threads_now(struct thread_now *threads, size_t n);
/* Read the target's memory. Returns 0 or a negative errno. Pages that do not exist are not
 * created. */
int target_read(pid_t pid, uint64_t address, void *out, size_t n);
