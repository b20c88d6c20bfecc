/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attach BPF programs to addresses of a mapped file in one process, to kernel functions,
 * breakpoints and timers, by raw system calls. Addresses are file offsets: no ELF is read here.
 * A link lasts until its descriptors are closed.
 */
#pragma once

/* BPF_TRACE_UPROBE_MULTI of kernel 6.6; the headers of Debian 12 lack it. */
enum { ATTACH_TRACE_UPROBE_MULTI = 48 };

/* Load a program that does nothing, for uprobe_multi links or for perf events. Returns its
 * descriptor or a negative errno. */
int attach_program(bool multi);

struct attach_point {
	uint64_t offset; /* offset in the file */
	uint64_t cookie;
};

struct attach_points {
	const struct attach_point *list;
	size_t nr;
	/* after a failure: the index of the point that the kernel refused, or nr if it refused all
	 */
	size_t refused;
};

/* The open perf events and links of one set of points. Release it with attachment_release(). */
struct attachment {
	int *fd;
	size_t nr;
	int probed; /* the target in whose code it has placed probes; 0: none */
	size_t nr_probes;
};

/* Attachments that are released together. */
struct attachments {
	struct attachment *list;
	unsigned int nr, cap;
};

/* True if this kernel has links for many uprobes (uprobe_multi). */
bool attach_has_multi(void);
/*
 * True if this process may open the perf events that attach uprobes without uprobe_multi. Since
 * 2025 (5.15.189, 6.1.146, 6.6.99, 6.12.39) kernels require CAP_SYS_ADMIN for them.
 */
bool attach_may_open_uprobes(void);
/* True if this process may open perf events of a whole CPU, such as sampling timers. Some
 * distributions' kernels require CAP_SYS_ADMIN for that (perf_event_paranoid 3 and 4). */
bool attach_may_open_clocks(void);

/*
 * Attach `prog` to the points of the file open at `file_fd`, in the process `pid` only (0: in every
 * process). Returns 0 or a negative errno (-EOPNOTSUPP for the kernel's ENOTSUPP, 524). On failure
 * nothing stays attached, and points->refused is set.
 */
int attach_points(struct attachment *a, int prog, bool multi, int file_fd, int pid,
		  struct attach_points *points);

/*
 * Run `prog` with this cookie whenever this thread executes `address`. Uses a hardware
 * breakpoint, of which a thread has four. Returns 0 or a negative errno.
 */
int attach_breakpoint(struct attachment *a, int prog, int tid, uint64_t address, uint64_t cookie);

enum { MAX_CLOCKS = 256 };

/* Sampling timers, at most one per CPU. */
struct clocks {
	struct attachment clock[MAX_CLOCKS];
	uint32_t nr;
};

/* Run `prog` on each CPU below `cpus` `hz` times per second. A CPU whose timer cannot be attached
 * is left out. */
void clocks_attach(struct clocks *c, int prog, uint32_t cpus, unsigned int hz);
/* Stop the timers or let them run again. They run from clocks_attach() on. */
void clocks_run(const struct clocks *c, bool run);
void clocks_release(struct clocks *c);

/*
 * Run `prog` with this cookie at the entry (or, with `at_return`, at the return) of a function of
 * the kernel, whoever calls it. Negative errno: -EOPNOTSUPP if the kernel has no kprobes, -ENOENT
 * if it has no such function.
 */
int attach_kernel(struct attachment *a, int prog, const char *function, bool at_return,
		  uint64_t cookie);

/*
 * The same at an instruction of a function of the kernel, or, if `function` is NULL, at the address
 * `offset`. Negative errno: -EILSEQ if none begins at the address,
 * -EINVAL or -EBUSY if the kernel lets nobody probe this code.
 */
int attach_kernel_place(struct attachment *a, int prog, const char *function, uint64_t offset,
			uint64_t cookie);

/*
 * Detach. The probes stop within microseconds, but the kernel blocks the caller for tens of
 * milliseconds. With `wait` false, a separate thread does the work.
 */
void attachment_release(struct attachment *a, bool wait);
/* Room for one more attachment; the caller counts it in all->nr once it is attached. NULL: there
 * are `max`, or out of memory. */
struct attachment *attachments_next(struct attachments *all, unsigned int max);
/* Release all, without waiting. */
void attachments_release(struct attachments *all);
/* Wait until all detaching threads are done. */
void attach_settle(void);
/* True if nothing is being detached: what was released before is out of the targets. */
bool attach_is_settled(void);
