/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: what is known about a target, made from records alone. Views,
 * text and JSON show it; live, replay and tests feed it the same records and
 * get the same answers. No clock, no I/O.
 *
 * Counts of an operation that was watched in bursts are weighted: per slice,
 * counts times (slice length / armed_ns); `share_seen` says how much was seen.
 * Everything that a getter returns stays valid until the next model_feed().
 */
#ifndef PEAKTOP_MODEL_H
#define PEAKTOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/latency/profile.h"
#include "analysis/session/record.h"

enum {
	MODEL_MAX_OPS = 4096,
	MODEL_MAX_SLICES = 3600,  /* per operation; older ones are merged pairwise */
	MODEL_MAX_SAMPLES = 4096, /* per operation: a reservoir, deterministic */
	MODEL_MAX_OPEN = 64,	  /* per operation, oldest first */
	MODEL_MAX_PEAKS = 16,
	MODEL_MAX_NOTES = 64, /* equal notes are kept once */
};

/* One time-lapse slice of one operation. Sparse. */
struct slice {
	uint64_t start_ns, end_ns;
	uint64_t calls, sum_ns; /* weighted */
	uint64_t armed_ns;
	uint64_t open;
	unsigned int nr_buckets;
	const uint16_t *bucket; /* ascending, resolution 8 */
	const uint64_t *count;	/* weighted */
};

/* A value that distinguishes the calls of a peak from all other calls. */
struct peak_value {
	const char *name;  /* "return value", "on-CPU time", "argument 0 (fd)", ... */
	const char *text;  /* one phrase: "-11 (EAGAIN) in 98% of these, 2% of the others" */
	double separation; /* 0..1, on calls that were not used to choose the value; 1 separates
			      them perfectly */
};

/* A peak of another operation (or of this one) that goes with this one. */
struct peak_related {
	uint32_t op;
	int peak_id;
	const char *by; /* "count", "shape", "slices" or several: "count, slices" */
	double score;	/* 0..1 */
};

/* Why a peak is not listed. */
enum peak_fold {
	PEAK_LISTED = 0,
	PEAK_RARE,	  /* less than 0.5% of the calls and less than 1% of the time */
	PEAK_PREEMPTED,	  /* calls of another peak that the host made longer: a shadow */
	PEAK_RUNQUEUE,	  /* a shadow, too: the calls waited for a CPU after a sleep */
	PEAK_FAULTS,	  /* a shadow, too: the calls met a page fault */
	PEAK_INTERRUPTED, /* a shadow, too: the calls were interrupted */
	PEAK_SPEED,	  /* the same computation as its neighbour's at another speed of the CPU */
};

struct peak {
	int rank;		   /* 1 = lowest latency, now; 0: folded */
	int id;			   /* stays while it drifts from slice to slice */
	struct bucket_range range; /* at resolution 8 */
	uint64_t low_ns, high_ns, mode_ns;
	uint64_t calls, total_ns;  /* weighted; total_ns estimated from the buckets */
	double share_of_calls;	   /* 0..1 */
	double share_of_time;	   /* 0..1 */
	double rate_hz;		   /* over the time observed */
	double period_ns;	   /* 0 if not periodic */
	const char *period_near;   /* the known constant that equals the period, "" if none */
	double run_queue_share;	   /* 0..1 of its latency, -1 unknown */
	double expected_preempted; /* OSprof's expected number of preempted calls, -1 unknown */
	double seen_preempted;	   /* -1 unknown */
	const char *near;	   /* characteristic time it sits on, "" if none */
	unsigned int nr_values;
	const struct peak_value *values; /* best first */
	unsigned int nr_related;
	const struct peak_related *related; /* best first */
	enum peak_fold fold; /* other than PEAK_LISTED also in `peaks` if all are to be listed */
	uint64_t seen_calls; /* raw: the calls in `range` that were timed */
	int shadow_of;	     /* id of the peak whose calls these are, 0 if it is no shadow */
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
	uint64_t offset;
	uint32_t module_id;
	uint32_t syscall_nr;
	struct profile total;  /* weighted, over the whole run */
	struct profile recent; /* weighted, over the last complete slice */
	uint64_t seen_calls;   /* raw */
	/*
	 * 95% intervals of what is scaled up; where every call was seen, both ends are the figure
	 * itself. The mean's is that of calls drawn at random, the total's has the errors of both.
	 */
	uint64_t calls_low, calls_high;
	double mean_ns, mean_low_ns, mean_high_ns;
	double total_low_ns, total_high_ns;
	uint64_t abnormal, unseen, open, oldest_open_ns;
	double share_seen; /* 0..1 */
	/*
	 * The cost of the operation's own probes was subtracted from each latency, but this
	 * cost varies from call to call by error_ns. Latencies below measurable_ns cannot be
	 * distinguished from 0; measurable_ns is 0 if there is no such limit.
	 */
	uint64_t error_ns, measurable_ns;
	double sampled_share; /* of the target's CPU time, by samples; -1: not known. Only of those
				 that are below */
	uint64_t ticks;	      /* samples that it is from */
	uint64_t time_ns; /* total time, or what samples say of it where latencies are below what
			     can be measured */
	bool below_measurable; /* of most calls: their latencies, and times made of them, say
				  nothing */
	bool adds_up;	       /* OSprof's checksum held in every slice */
	unsigned int nr_slices;
	const struct slice *slices; /* oldest first */
	unsigned int nr_peaks;
	const struct peak *peaks; /* by rank */
	unsigned int nr_open_calls;
	const struct open_call *open_calls; /* oldest first */
	unsigned int nr_folded;
	const struct peak *folded; /* ascending latency; without values and relations */
	uint64_t
	    floor_ns; /* the latency floor: lowest latency that a real share of calls reaches */
};

struct model;
struct model *model_new(void);
void model_free(struct model *m);

/* List all peaks, also those that are folded (rare ones and shadows). */
void model_list_all_peaks(struct model *m, bool all);
bool model_lists_all_peaks(const struct model *m);

/* Take one record. Returns 0, -ENOMEM, or -EINVAL for a record that contradicts earlier ones
 * (ignored). */
int model_feed(struct model *m, const struct record *rec);

/* Peaks, relations and values are computed on demand for the operations asked; call after feeding.
 */
size_t model_nr_ops(const struct model *m);
const struct op *model_op(struct model *m, size_t i); /* in order of number */
const struct op *model_op_by_number(struct model *m, uint32_t op);
/* The full answer for one operation: peaks with values, relations, periods. */
const struct op *model_op_peaks(struct model *m, uint32_t op);

const struct rec_meta *model_meta(const struct model *m); /* NULL before it came */
size_t model_nr_targets(const struct model *m);
const struct rec_target *model_target(const struct model *m, size_t i);
bool model_target_ended(const struct model *m, size_t i);
const struct rec_cost *model_cost(const struct model *m);
const struct rec_loss *model_loss(const struct model *m);
/* The phases that alone were measured (--begin, --end); NULL: everything was. */
const struct rec_phases *model_phases(const struct model *m);
uint64_t model_elapsed_ns(const struct model *m);
uint64_t model_nr_slices(const struct model *m);
size_t model_nr_notes(const struct model *m);
const struct rec_note *model_note(const struct model *m, size_t i);
size_t model_nr_checks(const struct model *m);
const struct rec_check *model_check(const struct model *m, size_t i);
size_t model_nr_constants(const struct model *m);
const struct rec_constant *model_constant(const struct model *m, size_t i);

#endif
