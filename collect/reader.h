/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader: a helper process that does for the collector whatever can wait for a target.
 *
 * Reading the memory of a target waits for a page that a userfaultfd, FUSE or NFS provides; opening
 * or reading a file behind its mappings waits for its file system; several files of /proc/PID wait
 * for a lock of the target's memory (mmap_lock) or of its execve(). The collector itself never does
 * any of this. It asks the reader and waits for at most READER_WAIT_MS while the reader sleeps. A
 * reader that does not answer is killed and not waited for: what it waits for may be
 * uninterruptible. It holds no probe, no BPF map and no socket of the front. The next request
 * starts another one.
 *
 * After a request that was not answered, the same kind of request for the same process fails at
 * once for some seconds
 * (-ETIMEDOUT), so that a target that hangs costs the collector little time.
 *
 * The reader is started when it is needed and ended by reader_idle(). It has the collector's
 * privileges. Call these functions from the collector's main thread only.
 */
#ifndef PEAKTOP_READER_H
#define PEAKTOP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	READER_WAIT_MS = 200,	   /* the reader sleeps for as long without progress: it hangs */
	READER_MAX_WAIT_MS = 1500, /* the same, but it may merely not have got a CPU */
	READER_MAX_ARGUMENT = 2 << 20,
	READER_MAX_TEXT = 8 << 20,
	READER_MAX_PIECES = 512,
};

/* The kind of a request; each kind has its own list of hanging processes. */
enum reader_kind { READER_MEMORY = 0, READER_PROC, READER_FILES, READER_KINDS };

/*
 * Run `work(argument, fd)` in the reader. `argument` has `size` bytes, which are copied there and,
 * if the reader answers, back. If `work` sets *fd to a descriptor, it arrives in *fd here (`fd` may
 * be NULL). Returns what `work` returned (not negative, or a negative errno), -ETIMEDOUT if it did
 * not answer, or the error of starting it.
 */
typedef int64_t (*reader_work)(void *argument, int *fd);
int64_t reader_call(pid_t about, enum reader_kind kind, reader_work work, void *argument,
		    size_t size, int *fd);

/*
 * For use in `work`: declare which process is read from now on. It is blamed if the reader
 * does not respond.
 */
void reader_reads(pid_t pid);

/*
 * The content of a small file of /proc. Returns its length; *text is the caller's to free and ends
 * with '\0'. Negative errno: -ESRCH if the process is gone.
 */
ssize_t reader_text(pid_t about, const char *path, char **text);

/*
 * Read pieces of memory of processes. Only pages that are there are read: none is made to appear in
 * the target. `got` bytes are read of each piece, from its beginning; 0: nothing there or not
 * readable now.
 */
struct reader_piece {
	pid_t pid;
	uint32_t bytes, got;
	uint64_t address;
	void *to;
};
int reader_memory(struct reader_piece *pieces, size_t n);

/* End a reader that has not been used for `keep_ms`, and collect those that have ended. Call it now
 * and then. */
void reader_idle(uint64_t now_ns, unsigned int keep_ms);
/* Start it now: the next request does not wait for that. */
void reader_prepare(void);
/* End it now. */
void reader_end(void);
/* CPU time of all readers so far. */
uint64_t reader_cpu_ns(void);

/* A process that did not answer for the first time since the last call; 0: none. */
pid_t reader_next_hung(enum reader_kind *kind);

/*
 * For use in a child process: close every descriptor except `keep`, which becomes 3.
 * Standard input, output and error are opened on /dev/null.
 */
int reader_close_all_but(int keep);

#endif
