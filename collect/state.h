/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the collector share. Private to collect/. */
#ifndef PEAKTOP_COLLECT_STATE_H
#define PEAKTOP_COLLECT_STATE_H

#include <time.h>

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "collect/attach.h"
#include "collect/budget.h"
#include "collect/collector.h"
#include "collect/kernel_side.h"
#include "collect/process/channel.h"
#include "collect/target.h"

enum {
	MAX_MODULES = 4096,
	MAX_MAPPINGS = 65536,
	MAX_FUNCTIONS = 64, /* watched at once */
	MAX_FUNCTION_SITES = 512,
	MAX_KERNEL_FUNCTIONS = 16,
};

/* A file of which a target maps code. */
struct file_module {
	uint64_t dev, inode, size;
	char *path;
	int fd; /* -1: not opened yet; if `remote`, of O_PATH only: no file system that can hang is
		   touched by using it */
	bool remote;
	int copy;  /* if `remote`: the content, in memory; -1: not copied yet */
	pid_t pid; /* whose mapping it was first seen in */
	uint64_t start, end;
};

struct file_mapping {
	pid_t pid;
	uint32_t module; /* from 1 */
	uint64_t start, end, offset;
	bool seen; /* in the scan going on */
};

/* What probes cost, ns; measured at start on this host. */
struct probe_cost {
	bool measured;
	uint32_t hit[SITE_CLASSES]; /* one hit, in all */
	uint32_t cold;		    /* ... and so much more, if other code ran since the last one */
	uint32_t
	    inside[SITE_CLASSES]; /* what an entry of this class adds to the latency measured */
	uint32_t inside_error[SITE_CLASSES]; /* what that differs by from call to call */
	uint32_t syscall, syscall_inside, syscall_other;
	uint32_t sched;
	uint32_t system_call, context_switch, minor_fault; /* of this host without probes */
};

enum function_state {
	FUNCTION_OFF = 0, /* nothing armed: waiting for credit */
	FUNCTION_ON,
	FUNCTION_DRAINING, /* entries removed, ends wait for open activations */
};

/* Tracepoints that the governor switches together. */
enum unit { UNIT_SYSCALLS = 0, UNIT_SCHED, UNITS };

struct governed_unit {
	enum function_state state;
	struct armed_time time;
	int64_t credit_ns;		  /* of the targets' time */
	int64_t host_ns;		  /* of the host's */
	uint64_t hits_target, hits_other; /* as of the last look */
	uint64_t spent_ns;		  /* estimated cost to the targets so far */
	uint64_t state_since;
	uint64_t open_calls; /* scratch of a walk */
};

struct function_site {
	struct rec_site site;
	uint32_t index;		/* in the site table */
	bool dead;		/* refused by the kernel, or not worth its price */
	uint64_t starts_before; /* of the function, when this one was added */
};

/* The links of one function in one process and one file. */
struct function_links {
	pid_t pid;
	uint32_t module;
	struct attachment starts, ends;
	bool exits; /* `ends` are in the function itself */
};

struct function {
	uint32_t op;   /* the front's number */
	uint32_t slot; /* of its histogram */
	struct rec_op meta;
	uint32_t error_ns; /* of the correction of its latencies */
	struct function_site *sites;
	unsigned int nr_sites;
	struct function_links *links;
	unsigned int nr_links;
	enum function_state state;
	int64_t credit_ns; /* what may still be spent */
	struct moment {
		uint64_t since, spent_ns, ran_ns; /* ran: the targets, probes included */
	} moment;
	struct armed_time time;
	uint64_t spent_ns; /* estimated cost so far */
	uint64_t burst_spent_ns,
	    burst_max_ns; /* in this burst, and what it may spend of a descent's account */
	uint64_t state_since;
	uint64_t hits_seen;
	struct attachment *breaks; /* draining: one for each call that is still open */
	unsigned int nr_breaks;
	bool ends_gone;	   /* draining: the ends are detached, the breakpoints wait */
	uint64_t censored; /* open calls given up at the end of a burst */
	bool hopeless;	   /* every site was refused */
	bool exits_dropped, keep_exits;
	bool exits_wait; /* stepped ones are not armed before it is known how often it is called */
	bool starts_going; /* draining: the starts are being detached, calls that begin still count
			    */
	uint32_t burst;	   /* number of the present one, or of the last */
	uint64_t burst_hits;  /* of the starts before the burst */
	uint64_t starts_hits; /* of the starts, as of the last look while that lasts */
	uint64_t changed_ns;  /* when sites were last added */
};

struct kernel_function {
	uint32_t op, slot, site; /* site: its entry of the site table, for the fuse */
	char *name;
	struct attachment entry, exit;
	enum function_state state;
	uint64_t state_since;
	bool bursts;		    /* there has been more than one */
	int64_t target_ns, host_ns; /* credit: of the targets' time, and of all CPUs' */
	uint64_t hits, looked_ns;   /* as of the governor's last look */
	uint64_t armed_ns, told_armed_ns, told_ns; /* in bursts that are over; as last told */
};

/* What a slot counts. */
struct slot_info {
	uint32_t op; /* 0: not announced yet */
	enum layer layer;
	struct function *function;
	struct pt_hist *last; /* as reported */
	struct pt_hist *cut;  /* as it was when the period that is over ended; used when its
				 armed_time has a cut */
	struct slot_spent {
		uint64_t ns, starts;  /* what the probes of its unit or function had cost; hits of
					 those that begin a call */
	} cut_spent, last_spent;      /* at the cut; as reported */
	uint64_t last_entries;	      /* as reported */
	uint32_t share;		      /* of `shares` of the control block: index + 1; 0: none */
	uint64_t last_ticks, last_in; /* of it, as reported */
	uint64_t extra_abnormal;      /* found by the collector itself, not yet reported */
	uint64_t abnormal_total;
	uint64_t open, oldest_ns;
	bool told;
};

struct collector {
	const struct collector_options *options;
	struct channel *front;
	struct kernel_side *kernel;
	struct opener *opener; /* NULL: no debug files, and no site can be checked */
	struct site_checks *checks;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	struct target *targets[COLLECTOR_MAX_TARGETS];
	unsigned int nr_targets;
	bool hurried; /* this process has a higher priority than the user gave it */
	pid_t child;  /* -- CMD */
	int keeper;   /* its end of the socket: closed, the command is ended */
	int child_status;
	bool child_ended;
	struct file_module modules[MAX_MODULES];
	unsigned int nr_modules;
	struct file_mapping *mappings;
	unsigned int nr_mappings, cap_mappings;
	bool maps_changed;
	struct function *functions[MAX_FUNCTIONS];
	unsigned int nr_functions;
	struct kernel_function kernel_functions[MAX_KERNEL_FUNCTIONS];
	unsigned int nr_kernel_functions;
	uint32_t site_used[PT_SITES / 32], site_last;
	struct governed_unit units[UNITS];
	struct budget budget;
	struct slot_info slots[PT_SLOTS];
	struct probe_cost cost;
	struct sharing *sharing;	/* NULL: no function is too short to be timed */
	struct descent_arming *descent; /* NULL: none going on */
	struct kernel_symbols *symbols; /* NULL: not needed yet */
	struct {
		struct req_phases asked;
		char *begin, *end; /* as the user gave them */
		uint64_t blind_times;
	} phases;
	struct looking *looking;   /* NULL: nobody asks where threads are */
	struct learning *learning; /* NULL: nothing is learnt */
	uint32_t layers; /* asked for and possible; the governor may have some off at the moment */
	uint64_t interval_ns, slice, slice_start, slice_end;
	uint64_t hits_before[PT_COUNTERS]; /* of the calibration */
	uint64_t own_before; /* CPU time of peaktop's processes before the measurement began */
	uint64_t cost_target_ns, cost_cpu_ns, cost_wall_ns; /* as last told */
	uint64_t heartbeat_ns;
	uint64_t target_cpu_gone_ns; /* of targets that ended */
	uint64_t samples_lost, front_lost;
	uint32_t exited[256]; /* threads that ended since the last sweep */
	unsigned int nr_exited;
	struct rec_sample *samples; /* of the slice now open */
	uint32_t *sample_slot;
	unsigned int nr_samples, cap_samples;
	bool held_up; /* asleep because this loop did not get on */
	bool asleep;  /* no heartbeat: everything is detached until one comes */
	bool stopping;
	int error; /* why it ends */
};

uint64_t now_ns(void);
/* Since the start of the session. */
uint64_t session_ns(const struct collector *c);

/* phases.c: only what begins between two operations counts. */
void phases_request(struct collector *c, const struct req_phases *req);
/* An edge was armed, or is not watched any more: is it known whether a phase is open? */
void phases_look(struct collector *c);
/* A call of this slot was left without being seen to end. */
void phases_left(struct collector *c, uint32_t slot);
bool phases_need_syscalls(const struct collector *c);
/* Does this function begin or end phases? */
bool phases_edge(const struct collector *c, const struct function *f);
/* The measurement begins: what was seen so far does not count. */
void phases_begin(struct collector *c);
void phases_tell(struct collector *c);

/* stream.c: records to the front. A full queue counts as loss, never blocks. */
int send_record(struct collector *c, const struct record *rec);
void send_note(struct collector *c, enum note_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void send_refused(struct collector *c, uint32_t epoch, uint32_t op, int error, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Say which processes do not let themselves be read, once each. */
void send_reader_notes(struct collector *c);
void send_meta(struct collector *c);
void send_target(struct collector *c, const struct target *t);
void send_constants(struct collector *c);

/* begin.c: priority, refusals, the command and the privileges; each step may take seconds on a busy
 * host. */
void begin_hurry(struct collector *c);
void begin_load_refused(struct collector *c, int err);
int begin_launch_and_limit(struct collector *c);
/* Did the front end in the meantime? */
bool begin_front_is_gone(const struct collector *c);

/* seed.c: tell the programs which threads a new target has, and which system calls these are in. */
void threads_seed(struct collector *c, pid_t pid);

/*
 * targets.c: add a process. `born_ns`: when the kernel says that it began, since boot; 0: not
 * known. Another process may have its pid by now. 0 or a negative errno, in words by
 * target_why_not().
 */
int target_add(struct collector *c, pid_t pid, bool requested, uint64_t born_ns);
const char *target_why_not(int err);
struct target *target_by_pid(struct collector *c, uint32_t pid);
/* The target at this index has ended. */
void target_ended(struct collector *c, unsigned int i);
void target_forked(struct collector *c, const struct pt_record_fork *r);
void target_executed(struct collector *c, uint32_t pid);
/* Drop the targets that the invoking user may not trace any more: rights change without exec, too.
 */
void targets_check(struct collector *c);

/* modules.c: files and mappings of the targets. */
int modules_scan(struct collector *c, struct target *t);
void modules_forget(struct collector *c, pid_t pid);
/* The process runs another program, or another process has its pid: the map of the code it made is
 * another file. */
void perf_map_forget(struct collector *c, pid_t pid);
/* Descriptor of a module's file, kept by the table. */
int module_file(struct collector *c, uint32_t module);
/* A descriptor of its content, for the parser; the caller's. */
int module_content(struct collector *c, uint32_t module);
/*
 * Does the file system answer for the instructions at these points? Ask before attaching to them:
 * the kernel reads them from the file, and nothing can interrupt it there. 0 or a negative errno.
 */
int module_answers(struct collector *c, uint32_t module, const struct attach_point *points,
		   size_t n);
/* Open a separate debug file under the fixed debug roots. */
int module_debug_file(struct collector *c, uint32_t module, const char *build_id, const char *name);
void modules_release(struct collector *c);

/* functions.c: sites armed for operations; govern.c: when. */
void function_arm(struct collector *c, const struct req_arm *arm);
void function_disarm(struct collector *c, uint32_t op);
/* Attach what is armed in a process that has just become a target or has mapped a file. */
void functions_new_mapping(struct collector *c);
/* A process has ended: its links go. */
void functions_forget(struct collector *c, pid_t pid);
/* Forget the open activations of a function: nothing would end them. */
void function_drop_open(struct collector *c, struct function *f);
/* A breakpoint saw a call of this slot return. */
void function_closed(struct collector *c, uint32_t slot);
/* Hits that a site of this class may take until its fuse blows. */
uint64_t function_allowance(const struct collector *c, const struct function *f, uint32_t class);
/* Calls that its probes saw begin; *last (may be NULL): when the last of them did. */
uint64_t function_starts(const struct collector *c, const struct function *f, uint64_t *last);
/* CPU time of all targets so far, of those that are gone, too. */
uint64_t targets_cpu_ns(const struct collector *c);
/* The time now and the CPU time of the targets. */
struct armed_clock clock_now(const struct collector *c);
/* Governor; returns the time of the next check. */
uint64_t functions_govern(struct collector *c, uint64_t now);
/* A breakpoint waits for an open call: its hit must be heard at once. */
bool functions_waiting(const struct collector *c);
void functions_release(struct collector *c);
void functions_sleep(struct collector *c);
void functions_wake(struct collector *c);
void function_exits_drop(struct collector *c, struct function *f);
/* Calls that return there are ended by the exits of the function from now on; the site goes with
 * the burst. */
void function_return_give_up(struct collector *c, struct function *f, struct function_site *s);
/* The opposite: arm the exits that wait or were dropped. 0 or the first errno. */
int function_exits_arm(struct collector *c, struct function *f);
/* The fuse of a site has blown at this instant: it begins nothing since. */
void function_blown(struct collector *c, uint32_t site_index, uint64_t at);
/* Frames of Go are not known by their address. */
bool function_is_go(const struct function *f);
struct function *function_by_slot(struct collector *c, uint32_t slot);
/* Let new activations be counted, or not: at once, whatever is attached. */
void function_gate(struct collector *c, struct function *f, bool open);
/* No call that begins from now on counts, and no time after now counts as armed. */
void function_gate_close(struct collector *c, struct function *f);
/* Attach and detach the links of a function as its state wants. */
void function_links_start(struct collector *c, struct function *f);
void function_links_stop(struct function *f, bool ends_too);

/* descend.c: the fnodes of a descent, inside calls of one function. */
void descend_request(struct collector *c, const struct req_descend *req);
void descend_attach(struct collector *c, struct function *f);
void descend_detach(struct collector *c, const struct function *f);
bool descend_is_of(const struct collector *c, const struct function *f);
/* The function of the descent; NULL: none goes on. */
struct function *descend_f0(const struct collector *c);
uint32_t descend_epoch(const struct collector *c);
/* Index + 1 of a node of the armed set; 0: it is not armed. */
uint32_t descend_node_index(const struct collector *c, uint32_t node);
/* Does a probe of the armed set stand there already? */
bool descend_site_is_armed(const struct collector *c, const struct rec_site *s);
uint64_t descend_spending(struct collector *c, const struct function *f);
/* What the armed fnodes took of each of these calls of f0, on average, since this was asked last.
 */
uint64_t descend_cost_of_call(struct collector *c, uint32_t slot, uint64_t calls);
/* A site's fuse has blown: true if it was one of the descent's. */
bool descend_blown(struct collector *c, uint32_t site_index);
/* The ring has been read: leave out the sites whose fuses have blown, all of them at once. */
void descend_settle(struct collector *c);
/* Are sites of fnodes armed? */
bool descend_is_armed(const struct collector *c);
void armed_call(struct collector *c, const struct pt_record_call *r, size_t size);
void armed_sleep(struct collector *c, const struct pt_record_sleep *r);
void armed_stack(struct collector *c, const struct pt_record_stack *r);
/* f0 is a system call. */
bool descend_needs_syscalls(const struct collector *c);

/* kernel_symbols.c: names of the kernel's functions, told as they are met. */
/* Once; without the right to (CAP_SYSLOG) that is noted and kernel stacks stay empty. */
void kernel_symbols_load(struct collector *c);
void kernel_symbols_free(struct collector *c);
/* The kernel's part of a stack, the system call first; at most PT_KERNEL_FRAMES + 1. */
uint32_t kernel_frames(struct collector *c, const struct pt_record_stack *r, struct rec_frame *out);
/* Whether a probe is why the thread is in the kernel. */
bool kernel_in_probe(const struct pt_record_stack *r);

/* Allow some more stacks to be copied. */
void descend_refill(struct collector *c);
/* The clocks that sample the CPUs: off while nobody looks, and on again. The sites go with those of
 * f0. */
void descend_sleep(struct collector *c);
void descend_wake(struct collector *c);
void descend_end(struct collector *c);

/* looks.c: where the threads of the targets are. */
void look_request(struct collector *c, const struct req_look *req);
void looked_running(struct collector *c, const struct pt_record_look *r, size_t size);
/* Allow some more stacks of running threads to be copied. */
void looks_refill(struct collector *c);
/* What is due now; the time of the next turn. */
uint64_t looks_turn(struct collector *c, uint64_t now);
void looks_end(struct collector *c);

/* learn.c: the callees of indirect calls, seen in short bursts. */
void learn_request(struct collector *c, const struct req_learn *req);
/* Another set is armed. */
void learn_rebind(struct collector *c);
/* Probes on and off with those of f0. */
void learn_detach(struct collector *c);
void learn_turn(struct collector *c, uint64_t now);
bool learn_blown(struct collector *c, uint32_t site_index);
void learn_callees(struct collector *c, const struct pt_record_callees *r);
uint64_t learn_spending(struct collector *c);
void learn_end(struct collector *c);
/* The place in a module of this address of a target; module 0: none is mapped there. */
struct rec_code code_at(const struct collector *c, uint32_t pid, uint64_t address);

/* Free entries of the site table. */
int site_index_take(struct collector *c);
void site_index_drop(struct collector *c, uint32_t i);
/* Is this offset of this file inside code that a target maps? */
bool site_is_mapped(const struct collector *c, const struct rec_site *s);
bool target_maps(const struct collector *c, pid_t pid, uint32_t module);
struct function *function_by_op(struct collector *c, uint32_t op);

/* kernel_functions.c */
void kernel_function_arm(struct collector *c, const struct req_arm *arm);
bool kernel_function_disarm(struct collector *c, uint32_t op);
/* Governor; returns the time of the next check. */
uint64_t kernel_functions_govern(struct collector *c, uint64_t now);
/* The fuse of a site has blown at this instant. False: the site is none of a kernel function. */
bool kernel_function_blown(struct collector *c, uint32_t site, uint64_t at);
/* The measurement begins. */
void kernel_functions_begin(struct collector *c, uint64_t now);
/* The period that a record of this slot covers, from *start to now, and how much of it was armed.
 * False: tell nothing yet. */
bool kernel_function_period(struct collector *c, uint32_t slot, uint64_t now, bool last,
			    uint64_t *start, uint64_t *armed);
void kernel_functions_sleep(struct collector *c);
void kernel_functions_wake(struct collector *c);
void kernel_functions_release(struct collector *c);

/* slices.c: what happened, once per slice. */
void slots_announce(struct collector *c);
/* "syscall:read"; of one without a name its number. */
void syscall_op_name(uint32_t nr, char *out, size_t n);
/* Remember what the slots of a layer, or of one function, have counted: their period is over. */
void slots_cut(struct collector *c, enum layer layer, const struct function *f);
/* Count from now on. */
void slots_begin(struct collector *c);
void slice_end(struct collector *c, bool last);
/* Say so when the budget was not held. */
void cost_note(struct collector *c);
void tokens_refill(struct collector *c);
void sample_take(struct collector *c, const struct pt_record_sample *s);

/* open_calls.c: look for calls that have not returned, count them in the slots, then send the
 * oldest (which frees them). */
struct open_calls;
struct open_calls *open_calls_look(struct collector *c, uint64_t now, bool last);
void open_calls_send(struct collector *c, struct open_calls *open);

/* units.c: bursts of the tracepoint layers. */
/* Into how many parts the budget of the target goes. */
unsigned int budget_parts(const struct collector *c);
void units_begin(struct collector *c);
void units_layers(struct collector *c);
uint64_t units_govern(struct collector *c, uint64_t now, uint64_t wall);
void units_sleep(struct collector *c);
/* No layer that is measured pauses at the moment. */
bool units_are_on(const struct collector *c);
void units_wake(struct collector *c);
/* Let calls that begin from now on count in every layer whose unit is armed. */
void gates_open(struct collector *c);
/* No call that begins from now on counts. */
void gates_close(struct collector *c);
/* The unit that a layer belongs to, NULL if the governor leaves it alone. */
struct governed_unit *unit_of(struct collector *c, enum layer layer);

/* share.c: the CPU time of functions that are too short to be timed. */
/* Look from now on at the share of this slot's function, if `h` says that its calls are too short.
 */
void share_look(struct collector *c, uint32_t slot, const struct pt_hist *h);
/* Only while nothing is armed: probes would be seen. */
void share_hold(struct collector *c);
void share_end(struct collector *c);

/* calibrate.c: what a probe costs on this host. */
int calibrate(struct collector *c);
/* What a tick of the clocks that run at `hz` takes of the code under it, ns. Takes 32 ticks. */
uint64_t calibrate_tick(unsigned int hz);

/* launch.c: -- CMD, stopped before its first instruction until launch_go(). */
int launch_start(struct collector *c);
int launch_go(struct collector *c);
/* At our end the command ends too: SIGTERM, or SIGKILL if it never ran. */
void launch_end(struct collector *c, bool ran);

#endif
