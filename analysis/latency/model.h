/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: what is known about a target, computed from records alone. Views, text and JSON output
 * show it. Live runs, replays and tests feed it the same records and get the same answers. No
 * clock, no I/O.
 *
 * If an operation was watched in bursts, its counts are scaled up, per slice, to the calls of the
 * whole slice (scale.h); `share_seen` is the share of the calls that was seen. Everything that a
 * getter returns stays valid until the next model_feed().
 */
#pragma once

#include "analysis/latency/profile.h"
#include "analysis/session/record.h"

enum {
	MODEL_MAX_OPS = 4096,
	MODEL_MAX_SLICES = 3600,  /* per operation; older ones are merged pairwise */
	MODEL_MAX_SAMPLES = 4096, /* per operation: a deterministic reservoir */
	MODEL_MAX_OPEN = 64,	  /* per operation, oldest first */
	MODEL_MAX_PEAKS = 16,
	MODEL_MAX_NOTES = 64, /* equal notes are kept once */
};

/* One time-lapse slice of one operation; only buckets with calls are stored. */
struct slice {
	uint64_t start_ns, end_ns;
	uint64_t calls, sum_ns; /* scaled up */
	uint64_t seen;		/* calls that were really timed */
	uint64_t armed_ns;
	uint64_t open;
	unsigned int nr_buckets;
	const uint16_t *bucket; /* ascending, resolution 8 */
	const uint64_t *count;	/* scaled up */
};

/* A property that distinguishes the calls of a peak from all other calls. */
struct peak_value {
	const char *name; /* "return value", "on-CPU time", "argument 0 (fd)", ... */
	const char *text; /* a phrase: "-11 (EAGAIN) in 98% of these, 2% of the others" */
	/* 0..1, measured on calls that were not used to choose the rule; 1: perfect separation */
	double separation;
	bool in_program; /* `name` is a name of the program: a parameter */
};

/* A peak of another operation that is related to this peak. */
struct peak_related {
	uint32_t op;
	int peak_id;
	/* what agrees: "count", "shape", "slices" or several: "count, slices" */
	const char *by;
	double score; /* 0..1 */
};

/* If a larger share of the calls was seen, all were: the rest is rounding. */
#define ALL_SEEN 0.9995

/* Why a peak is not listed. */
enum peak_fold {
	PEAK_LISTED = 0,
	PEAK_RARE,	/* less than 0.5% of the calls and less than 1% of the time */
	PEAK_PREEMPTED, /* a shadow: calls of another peak that were preempted */
	/* a shadow: calls of another peak that waited for a CPU after a sleep */
	PEAK_RUNQUEUE,
	PEAK_FAULTS,	  /* a shadow: calls of another peak with a page fault */
	PEAK_INTERRUPTED, /* a shadow: calls of another peak that were interrupted */
	/* the same computation as a neighbouring peak, at another CPU speed */
	PEAK_SPEED,
	/* a shadow: calls of another peak that something delayed without a trace */
	PEAK_UNTRACED,
};

struct peak {
	int rank; /* rank by latency among the listed peaks, from 1; 0: folded */
	int id;	  /* stays the same while the peak drifts from slice to slice */
	/* number on the live screen, 0: folded. By latency, until model_op_peaks() was called for
	 * the operation or for one with a related peak; from then on it is as constant as the
	 * id. */
	int number;
	struct bucket_range range; /* at resolution 8 */
	uint64_t low_ns, high_ns, mode_ns;
	uint64_t calls, total_ns; /* scaled up; total_ns is estimated from the buckets */
	double share_of_calls;	  /* 0..1 */
	double share_of_time;	  /* 0..1 */
	double rate_hz;		  /* calls per second of the time that the operation was watched */
	double period_ns;	  /* 0 if not periodic */
	/* name of the characteristic time that equals the period, "" if none */
	const char *period_near;
	/* share of the latency spent waiting for a CPU, 0..1; -1: not known */
	double run_queue_share;
	/* expected number of preempted calls (OSprof, section 3.3); -1: not known */
	double expected_preempted;
	double seen_preempted; /* number of preempted calls by the samples; -1: not known */
	const char *near;      /* name of the characteristic time at its mode, "" if none */
	unsigned int nr_values;
	const struct peak_value *values; /* best first */
	unsigned int nr_related;
	const struct peak_related *related; /* best first */
	/* why it is folded; may be set for a listed peak if all peaks are listed */
	enum peak_fold fold;
	uint64_t seen_calls; /* calls in `range` that were really timed, not scaled up */
	int shadow_of;	     /* id of the peak whose calls these are; 0: not a shadow */
};

struct open_call {
	uint32_t pid, tid;
	const char *comm;
	uint64_t age_ns;
	uint32_t known;
	uint64_t args[SAMPLE_ARGS];
};

struct op {
	uint32_t op;
	enum layer layer;
	const char *name, *label, *requested, *module, *placement;
	const char *parameters; /* of a function: analysis/base/parameters.h; or NULL */
	const char *shown; /* of a function: its label without parameters; else label or name */
	uint64_t offset;
	uint32_t module_id;
	uint32_t syscall_nr;
	struct profile total;  /* scaled up, over the whole run */
	struct profile recent; /* scaled up, over the last complete slice */
	uint64_t seen_calls;   /* calls that were really timed, not scaled up */
	/* 95% intervals of scaled-up figures. If every call was seen, both ends are the figure
	 * itself. The interval of the mean is that of calls drawn at random; the interval of the
	 * total includes the errors of both calls and mean. */
	uint64_t calls_low, calls_high;
	double mean_ns, mean_low_ns, mean_high_ns;
	double total_low_ns, total_high_ns;
	uint64_t abnormal, unseen, open, oldest_open_ns;
	double share_seen; /* 0..1 */
	/* The cost of the operation's own probes was subtracted from each latency, but this
	 * cost varies from call to call by error_ns. Latencies below measurable_ns cannot be
	 * distinguished from 0; measurable_ns is 0 if there is no such limit. */
	uint64_t error_ns, measurable_ns;
	uint64_t correction_ns; /* that cost, on average, in the last slice */
	/* share of the target's CPU time in this operation, by samples; -1: not known */
	double sampled_share;
	uint64_t ticks; /* number of these samples */
	/* system call futex: share of the time of its calls, finished (by samples) and open, that
	 * waited for a lock and not for a condition; -1: not known, or another operation */
	double lock_share;
	/* total time; by samples if most latencies are below measurable_ns; if the calls are
	 * sampled, at most the wall time of the threads that call */
	uint64_t time_ns;
	/* so many threads call, each in one call at a time: its time has a limit; 0: not known */
	uint64_t most_callers;
	/* most latencies are below measurable_ns: latencies, and times computed from them, are
	 * meaningless */
	bool below_measurable;
	/* in every slice, the buckets added up to the number of calls (OSprof's checksum) */
	bool adds_up;
	unsigned int nr_slices;
	const struct slice *slices; /* oldest first */
	unsigned int nr_peaks;
	const struct peak *peaks; /* by rank */
	unsigned int nr_open_calls;
	const struct open_call *open_calls; /* oldest first */
	unsigned int nr_folded;
	const struct peak
	    *folded; /* ascending latency; without values, related peaks and periods */
	/* when its counting began, or began anew because other threads were chosen; 0: with the
	 * session, or when it was armed */
	uint64_t since_ns;
	uint64_t
	    floor_ns; /* lower bound of the bucket in which the fastest 0.1% of the calls end */
};

struct model;
struct model *model_new(void);
void model_free(struct model *m);

/* Sets whether getters list all peaks, including rare ones and shadows. */
void model_list_all_peaks(struct model *m, bool all);
/* Keeps less than usual, for a recorder that runs for weeks: slices that take more than so many
 * bytes are merged, and after so many samples of all operations no operation gets more. */
void model_limit(struct model *m, size_t slice_bytes, size_t samples);
bool model_lists_all_peaks(const struct model *m);

/* Takes one record. Returns 0, -ENOMEM, or -EINVAL if the record contradicts earlier ones; then it
 * has no effect. */
int model_feed(struct model *m, const struct record *rec);

/*
 * Makes a model of a part of the time: what the slices of `m` from start_ns to end_ns tell of its
 * operations and their peaks, the samples and the events of that time, and all of the host. Peaks
 * have the ids and numbers that they have in `m`, as far as they are the same. Open calls are not
 * known of the past, nor is the CPU time of the targets.
 *
 * The span is moved to the ends of slices, and is made longer where older slices were merged:
 * model_since_ns() and model_elapsed_ns() tell which time the result covers. The caller frees it.
 * NULL: out of memory.
 */
struct model *model_span(const struct model *m, uint64_t start_ns, uint64_t end_ns);

/* Getters. Peaks, related peaks and values are computed on demand; call these after feeding. */
size_t model_nr_ops(const struct model *m);
const struct op *model_op(struct model *m, size_t i); /* in order of their numbers */
const struct op *model_op_by_number(struct model *m, uint32_t op);
/* Returns an operation with all that is known of its peaks: values, related peaks, periods. */
const struct op *model_op_peaks(struct model *m, uint32_t op);

const struct rec_meta *model_meta(const struct model *m); /* NULL: REC_META was not fed yet */
size_t model_nr_targets(const struct model *m);
const struct rec_target *model_target(const struct model *m, size_t i);
bool model_target_ended(const struct model *m, size_t i);
/* Returns how it ended (target_end.h); NULL: it lives, or nothing tells how. */
const struct rec_target_end *model_target_end(const struct model *m, size_t i);
const struct rec_cost *model_cost(const struct model *m);
const struct rec_loss *model_loss(const struct model *m);
/* Returns the phases to which the measurement was limited (--begin, --end); NULL: everything was
 * measured. */
const struct rec_phases *model_phases(const struct model *m);
uint64_t model_elapsed_ns(const struct model *m);
/* Returns the length of a slice, ns. */
uint64_t model_interval_ns(const struct model *m);
/* Returns when the profiles began: 0, or when other threads were chosen, or the span begins. */
uint64_t model_since_ns(const struct model *m);
/* The time that the figures of an operation cover: a function may be armed later than the start,
 * and a burst is reported after its end. `elapsed_ns`: of the measurement. */
double model_covered_ns(const struct op *op, double elapsed_ns);
/* Returns the sum of the latencies, at most what the threads that call can spend. */
uint64_t model_total_ns(const struct op *op);
uint64_t model_nr_slices(const struct model *m);
/* Returns the layers that were switched on in the last slice: 1 << enum layer; 0: not known. */
uint32_t model_layers(const struct model *m);
size_t model_nr_notes(const struct model *m);
const struct rec_note *model_note(const struct model *m, size_t i);
size_t model_nr_checks(const struct model *m);
const struct rec_check *model_check(const struct model *m, size_t i);
size_t model_nr_constants(const struct model *m);
const struct rec_constant *model_constant(const struct model *m, size_t i);
/* Returns the time of this host with this name, ns; 0: not measured. */
uint64_t model_constant_ns(const struct model *m, const char *name);
/* The times in which a layer was switched off, oldest first, since the start of the session. If
 * there are too many, the oldest are left out. */
enum { LAYER_GAPS = 16 };
struct layer_off {
	unsigned int nr;
	struct layer_gap {
		uint64_t start_ns, end_ns;
	} gap[LAYER_GAPS];
};
/* Returns those of one layer (enum layer); none if a session does not tell. */
const struct layer_off *model_layer_off(const struct model *m, uint32_t layer);
/* Returns what happened so far (event_log.h). */
struct event_log;
const struct event_log *model_event_log(const struct model *m);
/* Returns the threads of the targets, as far as records told of them (threads.h). */
struct threads;
const struct threads *model_threads(const struct model *m);
/* Returns the threads whose calls are counted; none: all. */
struct thread_choice;
const struct thread_choice *model_choice(const struct model *m);
