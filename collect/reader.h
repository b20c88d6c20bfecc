/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader: a helper process that does all work of the collector that may wait for a target.
 *
 * Reading a target's memory may wait for a page from userfaultfd, FUSE or NFS. Opening or
 * reading a mapped file may wait for its file system. Some files of /proc/PID wait for a lock
 * of the target's memory (mmap_lock) or of its execve(). The collector itself does none of
 * this. It sends a request to the reader and waits at most READER_WAIT_MS (READER_FILES_WAIT_MS)
 * while the reader sleeps. A reader that does not answer is killed, and its end is not awaited,
 * because it may be in an uninterruptible wait. The reader holds no probe, no BPF map and no socket
 * of the front. The next request starts another reader.
 *
 * After a request without an answer, the same kind of request for the same process fails at
 * once with -ETIMEDOUT for some seconds, so that a hanging target costs the collector little
 * time.
 *
 * A request starts the reader if necessary, and reader_idle() ends it. The reader has the
 * collector's privileges. Call these functions from the collector's main thread only.
 */
#pragma once

enum {
	/*
	 * A reader that sleeps so long without progress hangs. While a thread of the target waits
	 * for a CPU, only a tenth of the time counts (see chances_turn_behind()): it may have the
	 * lock that the reader waits for.
	 */
	READER_WAIT_MS = 200,
	/*
	 * the same for files: opening one waits for mmap_lock, which a thread that maps or
	 * populates much memory holds for some hundred milliseconds
	 */
	READER_FILES_WAIT_MS = 600,
	READER_MAX_WAIT_MS = 1500, /* longest wait without progress in any case */
	READER_MAX_ARGUMENT = 2 << 20,
	READER_MAX_TEXT = 8 << 20,
	READER_MAX_PIECES = 512,
};

/* The kind of a request; each kind has its own list of hanging processes. */
enum reader_kind { READER_MEMORY = 0, READER_PROC, READER_FILES, READER_CODE, READER_KINDS };

/*
 * Run `work(argument, fd)` in the reader. `argument` has `size` bytes, which are copied to the
 * reader and, if it answers, back. If `work` sets *fd to a descriptor, the caller receives it
 * in *fd and must close it (`fd` may be NULL). Returns the result of `work` (not negative, or a
 * negative errno), -ETIMEDOUT if the reader did not answer, or the error of starting the
 * reader.
 */
typedef int64_t (*reader_work)(void *argument, int *fd);
int64_t reader_call(pid_t about, enum reader_kind kind, reader_work work, void *argument,
		    size_t size, int *fd);

/* True while requests of this kind for this process fail at once, because one was not answered. */
bool reader_hangs(pid_t pid, enum reader_kind kind);

/*
 * For use in `work`: declare which process is read from now on. It is blamed if the reader
 * does not respond.
 */
void reader_reads(pid_t pid);

/*
 * Read a small file of /proc. Returns its length; *text ends with '\0', and the caller frees
 * it. Negative errno: -ESRCH if the process has ended.
 */
ssize_t reader_text(pid_t about, const char *path, char **text);

/*
 * Read pieces of memory of processes. Only pages that are in memory or in swap are read: no
 * page is created in the target. `got` is the number of bytes read from the start of each
 * piece; 0 if nothing could be read. With `holes` it goes on behind a few pages that do not exist,
 * which are filled with READER_HOLE: a stack has such pages in buffers that were never used, and
 * no return address begins with this byte.
 */
enum { READER_HOLE = 0xfd };
struct reader_piece {
	pid_t pid;
	uint32_t bytes, got;
	uint64_t address;
	void *to;
	bool holes;
};
int reader_memory(struct reader_piece *pieces, size_t n);

/* End a reader that was not used for `keep_ms`, and reap ended readers. Call this regularly. */
void reader_idle(uint64_t now, unsigned int keep_ms);
/* Start the reader now, so that the next request need not wait for it. */
void reader_prepare(void);
/* End the reader now. */
void reader_end(void);
/* CPU time of all readers so far. */
uint64_t reader_cpu_ns(void);

/* Returns the next process with a request that timed out and that was not returned before; 0:
 * none. */
pid_t reader_next_hung(enum reader_kind *kind);

/*
 * For use in a child process: close every descriptor except `keep`, which becomes 3.
 * Standard input, output and error are opened on /dev/null.
 */
int reader_close_all_but(int keep);
