/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to model*.c. */
#pragma once

#include "analysis/latency/constants.h"
#include "analysis/latency/event_log.h"
#include "analysis/latency/model.h"
#include "analysis/latency/peak_events.h"
#include "analysis/latency/peaks.h"
#include "analysis/latency/related.h"
#include "analysis/latency/samples.h"
#include "analysis/latency/scale.h"
#include "analysis/latency/shadows.h"
#include "analysis/latency/slices.h"
#include "analysis/latency/threads.h"
#include "analysis/latency/values.h"
#include "analysis/latency/weight.h"

enum {
	MODEL_MAX_TARGETS = 4096,
	MODEL_MAX_CHECKS = 256,
	MODEL_MAX_CONSTANTS = 256,
	MODEL_TEXT = 4096,	/* longer text is cut */
	MODEL_TICKS = 256,	/* number of last slices in which related peaks are looked for */
	MODEL_TICK_ENDS = 4096, /* number of last slices whose ends are known */
	/* slices of all operations; beyond it those of the largest operation are merged */
	MODEL_SLICE_BYTES = 96 << 20,
	MODEL_KEEP_SLICES = 8, /* an operation with fewer slices is not merged for that */
	/* samples of all operations; beyond it no operation gets more ... */
	MODEL_ALL_SAMPLES = 1 << 18,
	MODEL_KEEP_SAMPLES = 32, /* ... than this many */
};

/* Calls that were open at the end of a slice. */
struct open_list {
	unsigned int nr;
	struct open_call call[MODEL_MAX_OPEN];
	char comm[MODEL_MAX_OPEN][32];
};

/* The expensive part of the answer for one operation, computed on demand. */
struct op_answer {
	bool made;
	/* version of the operation and revision of the model at that time */
	uint64_t version, revision;
	struct values values[MODEL_MAX_PEAKS];
	struct peak_related related[MODEL_MAX_PEAKS][RELATED_MAX];
};

/* Calls per peak and slice, for the last MODEL_TICKS slices, prepared for comparison. */
struct op_series {
	/* version of the operation and revision of the model at that time */
	uint64_t version, revision;
	unsigned int room;	 /* number of peaks that `calls` has room for */
	unsigned int known_from; /* first slice in which the operation was known */
	double all[MODEL_TICKS]; /* calls of the operation, as they are */
	double calls[][MODEL_TICKS];
};

/* Whether an operation, or a layer, is sampled in bursts. */
struct burst_state {
	bool on;
	unsigned int full_slices; /* in a row, in which all calls were timed */
};

/* What the event log needs to see changes. */
struct model_events {
	struct event_log log;
	struct burst_state layer[LAYER_MAX]; /* of layers whose operations are sampled together */
	struct rec_loss loss_last, loss_begin;
	uint64_t loss_begin_ns;
	bool losing;
	unsigned int loss_quiet; /* slices in a row without losses */
	uint32_t descent_op;	 /* operation of the latest descent */
};

struct op_state {
	struct op pub;	  /* the part that the getters return */
	uint64_t version; /* grows with every change */
	uint64_t born;	  /* number of slices that had ended when the operation was added */

	struct slices slices;
	struct samples samples;
	struct weight weight;	    /* weight of the last slice with armed time */
	struct scale scale;	    /* estimate of the calls in gaps, and its error */
	uint64_t correction_ns;	    /* from the last record */
	uint64_t callers;	    /* threads that called; 0: not known */
	uint64_t ticks, ticks_in;   /* CPU samples of the target, and those in this function */
	struct weight_carry *carry; /* NULL until a weight other than 1 occurs */
	uint64_t carry_sum, carry_abnormal, carry_unseen;
	uint64_t slices_ns, armed_ns;		/* sums over all slices */
	uint64_t told_slices_ns, told_armed_ns; /* the same at the last tick, for events */
	struct burst_state bursts;
	struct peak_history *history; /* of its listed peaks, for events; NULL until needed */

	/* The slice that has not ended yet. */
	bool pending; /* a profile record came since the last tick */
	uint64_t pending_min_ns, pending_max_ns, pending_open, pending_oldest_ns;
	/* open calls of this slice and of the last one; NULL until needed */
	struct open_list *opening, *open;

	/* Peaks as of the last tick, and as shown. */
	bool changed; /* `total` changed since the last tick */
	struct profile
	    seen; /* calls as they were counted, not scaled up, so that their noise is Poisson */
	struct peak_tracker tracker;
	/* somebody saw the numbers of the peaks; until then they are given anew, by latency */
	bool numbers_fixed;
	unsigned int nr_spans;
	struct peak_span span[MODEL_MAX_PEAKS];
	int id[MODEL_MAX_PEAKS];
	bool listed[MODEL_MAX_PEAKS];
	struct shadow_verdict shadow[MODEL_MAX_PEAKS];
	struct peak peak[MODEL_MAX_PEAKS];
	uint64_t shown_version,
	    shown_revision; /* version of the operation and revision of the model at that time */
	struct op_answer *answer; /* NULL until needed */
	struct op_series *series; /* NULL until needed */
};

struct model_target {
	struct record *rec;
	bool ended;
	struct rec_target_end end; /* if it has ended; pid 0: nothing tells how */
};

struct model {
	struct op_state **op; /* in order of number */
	size_t nr_ops, cap_ops;
	size_t slice_bytes, nr_samples; /* sums over all operations */
	size_t max_slice_bytes, max_samples;

	/* Copies of records. */
	struct record *meta, *phases; /* NULL: none came */
	struct model_target *target;
	size_t nr_targets, cap_targets;
	struct record *note[MODEL_MAX_NOTES];
	size_t nr_notes;
	struct record *check[MODEL_MAX_CHECKS];
	size_t nr_checks;
	struct record *constant[MODEL_MAX_CONSTANTS];
	size_t nr_constants;

	struct rec_cost cost;
	struct rec_loss loss;
	struct constants constants; /* includes the well-known ones */
	struct model_events events;
	struct threads threads;
	struct thread_choice choice;
	uint64_t since_ns;     /* when the choice was made: the profiles began */
	uint64_t since_cpu_ns; /* CPU time of the targets until then */

	bool all_peaks;
	uint64_t revision; /* grows with each change that affects all operations */
	bool ticked;
	struct rec_tick last_tick;
	uint64_t nr_slices, elapsed_ns;
	uint64_t events_ns; /* end of the slice after which events were looked for last */
	/* end of the last slices; slice n is at n % MODEL_TICK_ENDS */
	uint64_t tick_end[MODEL_TICK_ENDS];
	struct layer_off off[LAYER_MAX];
};

/* Replaces *to by a copy of text. Returns 0, or -ENOMEM with *to unchanged. */
int model_set_text(const char **to, const char *text);
/* The same for the name under which an operation is shown (struct op.shown). */
int model_set_shown(const char **to, const struct rec_op *rec);

/* model_host.c: everything except operations */
int model_feed_meta(struct model *m, const struct record *rec);
int model_feed_target(struct model *m, const struct record *rec);
int model_feed_target_end(struct model *m, const struct rec_target_end *rec);
int model_feed_note(struct model *m, uint32_t level, const char *text);
int model_feed_phases(struct model *m, const struct record *rec);
int model_feed_check(struct model *m, const struct record *rec);
int model_feed_constant(struct model *m, const struct record *rec);
void model_host_release(struct model *m);

/* model_events.c: the event log */
/* `known`: the process was a target before, so that it executed a program. */
void model_events_target(struct model *m, const struct rec_target *rec, bool known);
void model_events_target_end(struct model *m, const struct rec_target *t,
			     const struct rec_target_end *rec);
/* Adds a note or a refusal, if its level is a warning or an error. */
void model_events_warning(struct model *m, uint32_t level, uint32_t op, const char *text);
/* Takes records that only the event log uses. */
void model_events_record(struct model *m, const struct record *rec);
/* Other threads were chosen. */
void model_events_choice(struct model *m);
/* Ends the slice, after the peaks of all operations were found. */
void model_events_tick(struct model *m, const struct rec_tick *tick);
void model_events_release(struct model *m);

/* model_op.c: operations and their data */
struct op_state *model_find_op(const struct model *m, uint32_t number);
int model_feed_op(struct model *m, const struct rec_op *rec);
int model_feed_profile(struct model *m, const struct rec_profile *rec);
int model_feed_sample(struct model *m, const struct rec_sample *rec);
/* Deletes all data of the operations: counting begins anew. Returns 0, or -ENOMEM if some are left.
 */
int model_ops_restart(struct model *m);
/* Adds an operation with the identity of `like`, without its data. NULL: out of memory. */
struct op_state *model_op_like(struct model *m, const struct op_state *like);
/* Takes what debug information says of the parameters of a function. Returns 0 or -ENOMEM. */
int model_feed_parameters(struct model *m, const struct rec_symbol *rec);
int model_feed_open(struct model *m, const struct rec_open *rec);
/* Adds calls to the totals of the run; the fastest took min_ns, the slowest max_ns. */
void model_add_slice(struct profile *total, const struct slice *slice, uint64_t min_ns,
		     uint64_t max_ns);
/* Ends the slice: pending data becomes the last complete slice. */
void model_op_tick(struct op_state *op, const struct rec_tick *tick);
void model_op_free(struct op_state *op);

/* model_peaks.c: peaks and their properties */
/* Brings the figures in op->pub that do not depend on peaks up to date: model_figures.c. */
void model_set_figures(const struct model *m, struct op_state *op);
/* Returns the latency below which calls cannot be told from empty ones; 0: no such limit. */
uint64_t model_blur_ns(const struct op_state *op);
/* Returns the figure for op->pub.lock_share: model_futex.c. */
double model_lock_share(const struct op_state *op);
/* From now on the peaks keep their numbers, which somebody sees. */
void model_fix_numbers(struct op_state *op);
/* Ends the slice: finds the peaks and their ids. */
void model_peaks_tick(const struct model *m, struct op_state *op);
/* Brings op->pub and its peaks up to date, without values, related peaks and periods. */
void model_refresh(const struct model *m, struct op_state *op);
/* Computes the full answer, with values, related peaks and periods. Returns 0, or -ENOMEM with an
 * incomplete answer. */
int model_answer(struct model *m, struct op_state *op);

/* model_related.c */
/* Fills op->answer->related for all peaks, and nr[] with their numbers. Returns 0 or -ENOMEM. */
int model_related(struct model *m, struct op_state *op, unsigned int *nr);

/* model_preempt.c */
/* Fills run_queue_share, expected_preempted and seen_preempted of all peaks. */
void model_preemption(const struct model *m, struct op_state *op,
		      const struct weighted_calls *calls);

/* `part` of `whole`; 0 if there is nothing of it. */
static inline double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}
