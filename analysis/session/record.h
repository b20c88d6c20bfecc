/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of the one stream (docs/architecture.md, "The one stream").
 *
 * Everything above the collector consumes one ordered stream of these and cannot tell whether it
 * comes from a live collector, a saved session or a test. Requests (front to collector) are records
 * too; they are never saved.
 *
 * Times are nanoseconds. `_ns` of an instant is time since the start of the session on
 * CLOCK_MONOTONIC; META says which instant that was. Text is whatever bytes the host gave (not
 * trusted, not sanitised); never NULL once decoded, "" where unknown. Arrays point into memory that
 * the decoder owns. New fields are appended to a record, never inserted: a reader takes what it
 * knows and gives 0 or "" to what an older writer left out.
 */
#pragma once

#include "analysis/session/record_code.h"

enum record_type {
	/* saved in a session */
	REC_META = 1,	      /* first record of every stream */
	REC_TARGET,	      /* one per target process; again at exec (same pid) */
	REC_TARGET_END,	      /* a target process ended */
	REC_MODULE,	      /* a file of which the target maps code */
	REC_MAPPING,	      /* one executable mapping of a module in a target */
	REC_OP,		      /* an operation and its number */
	REC_PROFILE,	      /* what one operation did in one slice */
	REC_SAMPLE,	      /* one call with its values */
	REC_OPEN,	      /* one call that is open at the end of a slice */
	REC_TICK,	      /* end of a slice; everything of the slice came before */
	REC_COST,	      /* what measuring cost so far */
	REC_LOSS,	      /* what was lost so far */
	REC_NOTE,	      /* a sentence for the user about anything that limits the result */
	REC_SITE,	      /* a site: planned, armed, blown, removed */
	REC_ACK,	      /* a request was carried out; no older activation counts after it */
	REC_REFUSED,	      /* a request was refused, with the reason */
	REC_CHECK,	      /* one finding of doctor */
	REC_CONSTANT,	      /* a characteristic time of this host */
	REC_MARK,	      /* the user saved the session at this time */
	REC_RESERVED_SCREEN,  /* never sent; the number stays reserved */
	REC_SYMBOL,	      /* a resolved code address, so that a replay needs no binaries */
	REC_DESCENT,	      /* a descent begins, or goes on with another peak: what was asked */
	REC_CALLEES,	      /* the call sites of a function, as the parser found them */
	REC_INDIRECT_CALLEES, /* what an indirect call site of a descent was seen to call */
	REC_CALL,	      /* one in-peak call of f0 with what its armed fnodes took */
	REC_RETIRED_WITNESS,  /* of earlier versions, whose collector decided what a sleep was */
	REC_FNODE, /* one fnode of a descent with its counts, for a descent that goes on later */
	REC_FNODE_LOST, /* an fnode that is not timed any more: fuse blown, site refused */
	REC_PHASES,	/* the phases of --begin and --end so far */
	REC_INLINES,	/* the calls that the compiler inlined at a place in code, and its loop */
	REC_WALK,	/* a walk by share of wall time begins: what was asked; or is over */
	REC_RETIRED_SNAPSHOT, /* as REC_RETIRED_WITNESS */
	REC_THREAD,	      /* how a thread spent its time since its last record */
	/* facts about waits: record_waits.h */
	REC_WINDOW, /* begin or end of a time in which all switches of followed tasks are sent */
	REC_TASK,   /* a task of interest: its identity and its state */
	REC_SWITCH, /* a CPU goes from one task to another */
	REC_ASLEEP, /* what the task that is switched out next sleeps in */
	REC_WAKING, /* a task is woken: by whom, in which interrupt */
	REC_LIFE,   /* fork, first wakeup, exec, exit, rename */
	REC_BLOCK,  /* a block request is submitted, issued, completed */
	REC_RESERVED_PACKET, /* never sent; the number stays reserved */
	REC_WORK,	     /* a work item or a request of an io_uring is queued, begins, ends */
	REC_RESERVED_CONTENTION, /* never sent, as the next one */
	REC_RESERVED_SIGNAL,
	REC_RUN_SAMPLE,	   /* where a task was on its CPU */
	REC_TRACE,	   /* a stack and the number that stands for it */
	REC_NAME,	   /* the name of a handler of interrupts, timers, work items */
	REC_OBJECT,	   /* what stands behind a descriptor or a request */
	REC_STEAL,	   /* time that the host took from a CPU */
	REC_RESERVED_PAST, /* never sent */
	REC_CHOICE, /* from here on only calls of these threads count, and profiles begin anew */
	/* facts that let a saved descent go on: record_resume.h */
	REC_BUILD_ID,	     /* which build of a program or library a module is */
	REC_SAVED_PROFILE,   /* a REC_PROFILE: the calls of f0 before the descent that goes on */
	REC_WITNESS,	     /* a stack inside a call of f0: where it slept or ran */
	REC_THREAD_SNAPSHOT, /* what a thread was doing at one moment, and what it waited for */
	REC_BOOKMARK,	     /* the user's note about a time of the session */
	REC_PARTS, /* the parts of the time of f0 that descents explain, one after the other */
	/* of a flight recorder */
	REC_CLOCK,     /* what the wall clock showed at an instant, after it was set */
	REC_SLOW_CALL, /* one call that was slower than usual, with what happened in it */
	REC_QUESTION,  /* what the user asked of a descent, before it begins */
	REC_FOLLOWED,  /* chains and critical are about these calls alone: --of, --peak */
	REC_OPEN_ASK,  /* descend --open is about the open calls of this operation */
	REC_SAVED_MAX,

	/* live only: never in a file */
	REC_NEW_RETURN = 0x80, /* an entry probe was hit with a new return address */
	REC_FILE,	       /* answer to REQ_FILE; the descriptor travels with the frame */
	REC_BYE,	       /* the last record in order; only REC_FILE may follow */
	REC_STACK,	       /* raw bytes of a stack inside f0, to be unwound: may hold secrets */
	REC_RAW_SNAPSHOT, /* a thread snapshot with the raw stack; becomes a REC_THREAD_SNAPSHOT */
	REC_ALIVE,	  /* the collector's loop goes round; several times a second */
	REC_RAW_TRACE,	  /* the raw user stack of a REC_TRACE, to be unwound: may hold secrets */
	REC_STACK_PIECE,  /* answer to REQ_STACK_PIECE: may hold secrets */

	/* requests */
	REQ_HEARTBEAT = 0x100, /* the front lives (at least every 500 ms) */
	REQ_LAYERS,	       /* which layers to measure */
	REQ_ARM,	       /* arm these sites for an operation (adds to those armed) */
	REQ_DISARM,	       /* remove all sites of an operation */
	REQ_FILE,	       /* give the file of a module */
	REQ_DEBUG_FILE,	       /* give a separate debug file, by build id or base name */
	REQ_RESERVED_INTERVAL, /* never sent; the number stays reserved */
	REQ_STOP,	       /* last slice, then BYE */
	REQ_GO,		       /* everything is armed: let -- CMD run */
	REQ_DESCEND,	       /* time these fnodes inside the in-peak calls of an armed function */
	/* measure this process: none was named, or others may replace it (collector_options) */
	REQ_TARGET,
	REQ_PHASES,	      /* which operations begin and end a phase */
	REQ_THREAD_SNAPSHOTS, /* take snapshots of all threads, once or repeatedly for a walk */
	REQ_LEARN,	      /* see in a short burst what an indirect call of a descent calls */
	REQ_WAITS,	      /* trace who waits for whom, from the targets on; or stop that */
	REQ_CHOICE,	      /* count only the calls of these threads */
	REQ_STACK_PIECE,      /* read more of the stack of a thread that is still asleep */
	REQ_KEEP,	      /* send calls of an operation that take longer, as REC_SLOW_CALL */
	REQ_MEMBERS,	      /* read values behind the arguments of an armed function */
};

enum layer {
	LAYER_SYSCALL = 0,
	LAYER_FUNCTION,
	LAYER_KERNEL,
	LAYER_BLOCK,
	LAYER_LOCK,
	LAYER_RUNQUEUE,
	LAYER_URING,
	LAYER_NET,
	LAYER_MAX
};

struct rec_meta {
	const char *version; /* of the writer */
	const char *host;
	const char *kernel, *boot_id;
	uint64_t realtime_ns, monotonic_ns; /* both clocks at the start of the session */
	uint32_t cpus;
	uint64_t interval_ns; /* length of a slice */
	const char *command;  /* what the user asked, as one line */
	uint32_t resolution;  /* asked for display: 1, 2, 4, 8 */
	uint32_t budget_ppm;  /* --max-overhead, parts per million of a CPU; 1000000: no governor */
	uint32_t shown;	      /* enum meta_shown: options that hold for a replay, too */
};

enum meta_shown { SHOWN_RSP_COMPAT = 1, SHOWN_PER_PROCESS = 2, SHOWN_ALL_PEAKS = 4 };

struct rec_target {
	uint32_t pid;	     /* as peaktop sees it; 0: all processes (--host) */
	uint32_t ns_pid;     /* as the target sees itself (containers) */
	uint64_t started_ns; /* start time since boot: with pid, the identity of the process */
	uint32_t uid;
	const char *comm;
	const char *exe;
	uint32_t threads;
	uint32_t requested; /* 1: named by the user; 0: followed */
};

struct rec_target_end {
	uint32_t pid;
	uint64_t at_ns;
	uint32_t has_status, status; /* has_status 1: `status` is as waitpid() gives it */
	uint32_t started;	     /* 1: peaktop started the process (-- CMD) */
	uint32_t has_probes, probes; /* has_probes 1: so many probes were in it as it ended */
	uint64_t unprobed_ns; /* if none was: the time since the last one was; 0: it had none */
};

struct rec_module {
	uint32_t module; /* number, from 1 */
	uint64_t dev;
	uint64_t inode;
	const char *path; /* as the target sees it; may end in " (deleted)" */
	uint64_t size;	  /* bytes */
	const char *name; /* as its program was started, if that was another link to it; else "" */
};

struct rec_mapping {
	uint32_t pid;
	uint32_t module;
	uint64_t start, end;   /* addresses */
	uint64_t offset;       /* in the file */
	uint32_t gone, copied; /* 1: it was unmapped; it is anonymous memory with a copy */
};

struct rec_op {
	uint32_t op;	   /* number, from 1, unique in the session */
	uint32_t layer;	   /* enum layer */
	const char *name;  /* canonical OP of the command line: syscall:read, FUNC@MODULE, ... */
	const char *label; /* short name for the screen */
	const char *requested; /* the OP that the user gave, "" if none */
	const char *module;    /* base name of the binary, "" if none */
	uint32_t module_id;    /* REC_MODULE, 0 if none */
	uint64_t offset;       /* of the function in the file */
	const char *placement; /* in words: how it is timed */
	uint32_t syscall_nr;   /* of a system call */
	uint64_t size;	       /* of a function, bytes; 0: not known */
};

/* Latencies are corrected for the cost of probing before they are counted. */
struct rec_profile {
	uint32_t op;
	uint64_t start_ns, end_ns; /* of the slice */
	uint64_t calls;		 /* timed calls that ended in this slice: the sum of the buckets, or
				    another number if the kernel's own count contradicts them */
	uint64_t sum_ns;	 /* of their latencies */
	uint64_t min_ns, max_ns; /* of the calls of this slice, 0 if none */
	uint64_t abnormal;	 /* activations that ended by exception, longjmp, thread exit */
	uint64_t open;		 /* activations open at end_ns */
	uint64_t oldest_open_ns; /* age of the oldest */
	uint64_t unseen;	 /* calls counted but not timed (the caller was not yet known) */
	uint64_t armed_ns; /* how much of the slice new calls were seen; = length without bursts */
	uint64_t correction_ns; /* what was subtracted from each latency, on average */
	/* What the counts are scaled by, see analysis/latency/scale.h; all 0 in older sessions. */
	uint64_t cpu_ns,
	    armed_cpu_ns;  /* CPU time of the targets: in the slice, and of it while armed */
	uint64_t probe_ns; /* of it what the probes took, estimated */
	/* From one call's begin to the next one's in the same thread, in a burst: */
	uint64_t run_calls, run_ns;	      /* it kept its CPU */
	uint64_t switch_calls, switch_cpu_ns; /* it lost its CPU; its CPU time in these intervals */
	uint64_t cycle_calls,
	    cycles; /* calls from one sleep of the thread to the next; sleeps that ended these */
	/* From the last call before a gap to the first one after it: */
	uint64_t gaps, gap_cpu_ns;
	uint64_t gap_sleeper_cpu_ns,
	    gap_sleeps; /* of threads that had slept in the burst before the gap */
	/* Where the calls are too short to be timed: samples of the program counter, and those in
	 * the function itself. */
	uint64_t ticks, ticks_in;
	uint64_t error_ns;   /* of correction_ns: what it differed by from call to call when it was
				measured; 0: not known */
	uint64_t program_ns; /* part of probe_ns that was timed in the target, not calibrated */
	uint64_t callers; /* threads that called for the first time in the session; 0: not known */
	uint32_t nr_buckets;
	const uint32_t *bucket; /* ascending bucket numbers at resolution 8 */
	const uint64_t *count;	/* never 0 */
};

#include "analysis/session/record_sample.h"

struct rec_open {
	uint32_t op;
	uint32_t pid, tid;
	const char *comm;
	uint64_t start_ns;
	uint64_t age_ns;
	uint32_t known; /* ARG bits of enum sample_known */
	uint64_t args[SAMPLE_ARGS];
};

struct rec_tick {
	uint64_t slice; /* number, from 0 */
	uint64_t start_ns, end_ns;
	uint32_t layers; /* 1 << enum layer: those switched on in the slice; 0: not known */
};

/* Since the start of the session. */
struct rec_cost {
	uint64_t at_ns;
	uint64_t hits;		/* of probes */
	uint64_t ns;		/* estimated: hits times calibrated cost */
	uint64_t target_cpu_ns; /* CPU time of the targets */
	uint64_t host_cpu_ns;	/* CPU time that the host has had: CPUs times elapsed */
	uint64_t other_ns;	/* part of `ns` that other processes paid */
	uint64_t own_cpu_ns;	/* of peaktop's processes */
	/* what one hit costs where the kernel single-steps, and in its own code; 0: not known */
	uint64_t step_ns, kernel_ns;
	uint64_t
	    allowed_ns; /* that the targets may lose by --max-overhead; 0: not known, or no limit */
	uint64_t attach_ns;    /* part of `ns`: attaching and removing probes */
	uint64_t wall_ns;      /* over which the targets were charged; 0: at_ns */
	uint64_t start_cpu_ns; /* of peaktop's processes before the measurement began */
};

struct rec_loss {
	uint64_t records; /* ring buffer full */
	uint64_t samples; /* call samples that the rate limit dropped */
	uint64_t stacks;
	uint64_t tainted_ns;  /* time in which something is known to be missing */
	uint64_t activations; /* table of open calls full */
};

enum note_level { NOTE_INFO = 0, NOTE_WARNING, NOTE_ERROR };

struct rec_note {
	uint32_t level;
	const char *text; /* one line */
};

enum site_role {
	SITE_ENTRY = 1 << 0,  /* starts an activation; the frame is the callee's */
	SITE_RETURN = 1 << 1, /* ends it, in the caller, after the call */
	SITE_EXIT = 1 << 2,   /* ends it, in the callee, on or before a ret */
	SITE_CALL = 1 << 3,   /* starts it, in the caller, on the call */
};
enum site_flags {
	SITE_REPEATS = 1 << 0, /* may be passed again in the same activation */
	SITE_GO = 1 << 1,      /* code of Go, whose stacks move while calls are open */
};
enum site_class {
	SITE_EMULATED = 0, /* the kernel emulates the instruction: cheap */
	SITE_STEPPED,	   /* single-stepped out of line */
	SITE_CLASSES
};
enum site_state { SITE_PLANNED = 0, SITE_ARMED, SITE_BLOWN, SITE_REMOVED, SITE_REFUSED };

/* One address with one role for one operation. */
struct rec_site {
	uint32_t op;
	uint32_t module;
	uint64_t offset; /* in the file */
	uint32_t role;	 /* one of enum site_role */
	uint32_t class;	 /* enum site_class */
	int64_t cfa;	 /* stack pointer at this address + cfa = CFA of the activation */
	uint64_t ret;	 /* SITE_RETURN: file offset of the return address that it stands for;
			    SITE_CALL: of the one it pushes */
	uint32_t state;
	uint64_t hits;
	uint32_t ret_valid; /* of an end: rax holds the return value here */
	uint32_t args;	    /* of a start: 1 << i: the register of argument i still holds it */
	uint32_t flags;	    /* enum site_flags */
};

struct rec_ack {
	uint32_t epoch;
	uint64_t at_ns;
};

/* Epoch of a REC_REFUSED of REQ_TARGET: another process may be named. It is not saved. */
#define REFUSED_TARGET UINT32_MAX

struct rec_refused {
	uint32_t epoch;
	uint32_t op;
	int32_t error; /* negative errno */
	const char *reason;
};

struct rec_check {
	const char *name;
	uint32_t ok;
	const char *needed_for;
	const char *remedy;
};

struct rec_constant {
	const char *name; /* in words: "context switch", "timer tick", ... */
	uint64_t low_ns, high_ns;
	uint32_t measured; /* 1: on this host in this session; 0: known */
};

struct rec_mark {
	uint64_t at_ns, end_ns; /* end_ns: of a bookmark, where its time ends */
	const char *label;
};

struct rec_symbol {
	uint32_t module;
	uint64_t offset;
	const char *symbol, *function; /* linkage name; demangled */
	const char *file;
	uint32_t line;
	const char *parameters; /* only if asked for: analysis/base/parameters.h; else "" */
};
#include "analysis/session/record_parts.h"
/* Records of a descent (analysis/descent/descent.h says how they are used). A
 * place in code is a module and an offset in its file, never an address; a function
 * is the place of its first byte; module 0 = not known. */
struct rec_descent {
	uint32_t op; /* f0 */
	struct rec_code function;
	uint64_t low_ns, high_ns; /* of the peak: low <= latency < high */
	uint32_t start_ops;
	uint32_t decision_ops;
	uint32_t maxcount_ppm; /* maxcount_percentage, in parts per million */
	uint32_t max_depth;
	uint32_t max_sites;
	uint32_t level_by_level;
	uint64_t minor_fault_ns, step_ns; /* of a fault here, 0: not known; as in rec_cost */
	/* enum descent_resumes; not 0: REC_FNODE and REC_SAVED_PROFILE records of it follow */
	uint32_t resumes;
	uint32_t choice;    /* of the calls: enum descent_choice */
	uint32_t sampled;   /* 1: calls are too short to time their callees; samples answer */
	uint32_t part;	    /* number of the part of the last REC_PARTS, from 1; 0: none */
	uint64_t mean_ns;   /* of these calls before probes were armed in them; 0: not known */
	uint64_t kernel_ns; /* as in rec_cost */
};

enum call_outcome {
	CALL_RETURNED = 0,
	CALL_ABNORMAL,
	CALL_OPEN,
	CALL_BLURRED, /* by samples: their stacks belong to the peak, its times say nothing */
};

/* A bit for each thing that the sender measures. */
enum call_known {
	CALL_KNOWN_ONCPU = 1 << 0,
	CALL_KNOWN_BLOCKED = 1 << 1, /* also per fnode */
	CALL_KNOWN_RUNQUEUE = 1 << 2,
	CALL_KNOWN_INTERRUPT = 1 << 3,
	CALL_KNOWN_FAULTS = 1 << 4,
	CALL_KNOWN_FAULT_NS = 1 << 5,
	CALL_KNOWN_NODE_RUNQUEUE = 1 << 6, /* also per fnode */
	CALL_KNOWN_NODE_INTERRUPT = 1 << 7,
	CALL_KNOWN_NODE_FAULT = 1 << 8,
};

/* What one armed fnode took in one call of f0: over all its timed calls that were
 * made along its path. No two calls of one fnode are open at once. */
struct rec_call_node {
	uint32_t node;
	uint64_t count;	 /* calls */
	uint64_t max_ns; /* of one; without the run-queue and interrupt time in it where known */
	uint64_t sum_ns; /* of all, with everything in it */
	uint64_t blocked_ns, runqueue_ns, interrupt_ns, fault_ns; /* parts of sum_ns */
};

/* Why a call of f0 did not run although it could have. */
enum host_wait {
	HOST_WAIT_QUEUE = 0, /* woken and waiting for a CPU; name: the task that had it */
	HOST_WAIT_PREEMPTED, /* name: the task that ran instead */
	HOST_WAIT_QUOTA,     /* name: the cgroup whose CPU quota was used up, detail: the quota */
	HOST_WAIT_STOPPED,   /* name: the sender, detail: the signal */
	HOST_WAIT_TRACED,    /* name: the debugger */
	HOST_WAIT_FROZEN,    /* name: the cgroup */
	HOST_WAIT_STEAL,     /* the hypervisor took the virtual CPU while the thread ran */
	HOST_WAITS
};

/* A part of `runqueue_ns` of a call. */
struct rec_host_wait {
	uint32_t kind; /* enum host_wait */
	uint64_t ns;
	uint32_t pid;	  /* of `name`, where that is a task; 0 */
	const char *name; /* "": not known */
	const char *detail;
	uint32_t tid; /* the thread of that process that ran; 0: several, or not known */
};

/* One activation of f0. When f0 calls itself, the outermost one: calls inside it
 * are fnodes. The times are disjoint parts of the latency, as far as `known`:
 * latency = on CPU + blocked + runqueue + interrupt, with fault_ns a part of on CPU. */
struct rec_call {
	uint32_t epoch; /* of the fnodes that were armed when it began */
	uint32_t op;
	uint32_t pid, tid;
	uint64_t start_ns;
	uint64_t latency_ns; /* corrected for the cost of probing */
	uint64_t raw_ns;     /* as measured */
	uint32_t outcome;    /* enum call_outcome */
	uint32_t known;	     /* enum call_known */
	uint64_t oncpu_ns;
	uint64_t blocked_ns;
	uint64_t runqueue_ns;  /* runnable and not running; stopped */
	uint64_t preempted_ns; /* that part of it that did not begin with a wakeup */
	uint64_t interrupt_ns;
	uint64_t preemptions;
	uint64_t minor_faults, major_faults;
	uint64_t fault_ns; /* in the handling of page faults; sleeps there count as blocked */
	uint32_t preempted_by_pid;
	const char *preempted_by; /* comm of the task that took the CPU for the longest time */
	uint32_t interrupt;	  /* number of the one that took the longest */
	const char *interrupt_name;
	uint64_t chance_ppm; /* chance that this call had of being seen; 0 = all */
	uint32_t nr_nodes;
	const struct rec_call_node *nodes; /* those with count > 0, in any order */
	uint32_t nr_waits;
	const struct rec_host_wait *waits; /* what runqueue_ns was for, as far as known */
	uint32_t handlers;		   /* handlers of signals that began inside it */
	uint32_t handler_signal;	   /* of the last one */
	struct rec_code handler;	   /* its function; module 0: not known */
};

#include "analysis/session/record_thread.h"
#include "analysis/session/record_waits.h"

/* A stack inside a call of f0, seen at the end of a sleep or by a sample of the CPU. */
struct rec_witness {
	uint32_t op;
	uint32_t tid;
	uint64_t at_ns;	    /* of the end */
	uint64_t weight_ns; /* slept, or the CPU time that the sample stands for */
	uint32_t kind;	    /* enum witness_kind */
	struct rec_sleep sleep;
	uint32_t nr_frames;
	const struct rec_frame *frames; /* from f0's down; may be none: then `node` says where */
	uint32_t epoch;			/* of `node` */
	uint32_t node;			/* the innermost armed fnode that was open; 0: f0 itself */
	uint32_t partial; /* no stack was read: below the last frame there may be more */
	uint32_t nr_kernel;
	const struct rec_frame *kernel; /* from the system call, or page fault, down */
	uint32_t nr_callers;
	const struct rec_frame *callers; /* if f0 is a system call: its callers, innermost first */
	const char *functions; /* of the kernel, outermost first, a semicolon between; "" */
};

#include "analysis/session/record_resume.h"
#include "analysis/session/record_slow.h"

/* With --begin and --end; since the start of the session. */
struct rec_phases {
	const char *begin, *end; /* as the user gave them */
	uint64_t seen;		 /* phases that were seen to begin */
	uint64_t ns;		 /* in those that were seen to end */
	uint32_t blind; /* times that their begin or end was not watched, to hold the budget */
};

struct rec_new_return {
	uint32_t op;
	uint32_t pid;
	uint64_t address; /* return address in the target */
};

struct rec_file {
	uint32_t module;
	int32_t error;	/* negative errno; 0: one descriptor travels with the frame */
	uint32_t debug; /* 1: a separate debug file */
};

/* The stack of a thread inside a call of f0. The front's parser makes a REC_WITNESS of it. */
struct rec_stack {
	uint32_t op, epoch;
	uint32_t pid, tid;
	uint64_t at_ns; /* of the end of the sleep, or of the sample */
	uint64_t weight_ns;
	uint32_t kind; /* enum witness_kind */
	struct rec_sleep sleep;
	uint32_t node; /* innermost armed fnode that was open; 0: f0 itself */
	uint64_t cfa;  /* of f0's frame */
	/* start_ns of the REC_SLOW_CALL that was found open by this stack; 0: none. This stack
	 * alone tells whether it was, if the call has SLOW_UNCHECKED. */
	uint64_t found_start_ns;
	uint32_t nr_regs;
	const uint64_t *regs; /* in the order of struct pt_regs of x86-64: r15 ... ss */
	uint32_t nr_words;
	const uint64_t *words; /* of the stack, from its pointer up */
	uint32_t nr_kernel;
	const struct rec_frame *kernel; /* as in rec_witness */
	const char *functions;		/* as in rec_witness */
};

struct rec_bye {
	int32_t error;
};

#include "analysis/session/record_request.h"

struct record {
	enum record_type type;
	union {
		struct rec_meta meta;
		struct rec_target target;
		struct rec_target_end target_end;
		struct rec_module module;
		struct rec_mapping mapping;
		struct rec_op op;
		struct rec_profile profile; /* REC_PROFILE and REC_SAVED_PROFILE */
		struct rec_sample sample;
		struct rec_open open;
		struct rec_tick tick;
		struct rec_cost cost;
		struct rec_loss loss;
		struct rec_note note;
		struct rec_site site;
		struct rec_ack ack;
		struct rec_refused refused;
		struct rec_check check;
		struct rec_constant constant;
		struct rec_mark mark;
		struct rec_symbol symbol;
		struct rec_descent descent;
		struct rec_parts parts;
		struct rec_callees callees;
		struct rec_indirect_callees discovered;
		struct rec_call call;
		struct rec_witness witness;
		struct rec_fnode fnode;
		struct rec_fnode_lost fnode_lost;
		struct rec_build_id build_id;
		struct rec_question question;
		struct rec_clock clock;
		struct rec_slow_call slow_call;
		struct rec_phases phases;
		struct rec_inlines inlines;
		struct rec_walk walk;
		struct rec_thread_snapshot snapshot;
		struct rec_open_ask open_ask;
		struct rec_thread thread;
		struct rec_waits_head waits_head; /* of each event of record_waits.h */
		struct rec_window window;
		struct rec_task task;
		struct rec_switch switched;
		struct rec_asleep asleep;
		struct rec_waking waking;
		struct rec_life life;
		struct rec_block block;
		struct rec_work work;
		struct rec_run_sample run_sample;
		struct rec_trace trace;
		struct rec_name name;
		struct rec_object object;
		struct rec_steal steal;
		struct rec_followed followed;
		struct rec_raw_trace raw_trace;
		struct rec_raw_snapshot raw_snapshot;
		struct rec_stack_piece stack_piece;
		struct req_stack_piece req_stack_piece;
		struct req_keep req_keep;
		struct req_members req_members;
		struct rec_new_return new_return;
		struct rec_file file;
		struct rec_bye bye;
		struct rec_stack stack;
		struct req_layers layers;
		struct req_phases phases_wanted;
		struct req_arm arm;
		struct req_disarm disarm;
		struct req_file req_file; /* REQ_FILE and REQ_DEBUG_FILE */
		struct req_target req_target;
		struct req_thread_snapshots req_thread_snapshots;
		struct req_descend descend;
		struct req_learn learn;
		struct req_waits req_waits;
		struct rec_choice choice; /* REC_CHOICE and REQ_CHOICE */
	};
};
