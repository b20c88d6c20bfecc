/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to model*.c. */
#ifndef PEAKTOP_MODEL_IMPL_H
#define PEAKTOP_MODEL_IMPL_H

#include "analysis/latency/constants.h"
#include "analysis/latency/model.h"
#include "analysis/latency/peaks.h"
#include "analysis/latency/related.h"
#include "analysis/latency/samples.h"
#include "analysis/latency/scale.h"
#include "analysis/latency/shadows.h"
#include "analysis/latency/slices.h"
#include "analysis/latency/values.h"
#include "analysis/latency/weight.h"

enum {
	MODEL_MAX_TARGETS = 4096,
	MODEL_MAX_CHECKS = 256,
	MODEL_MAX_CONSTANTS = 256,
	MODEL_TEXT = 4096,	      /* longer text is cut */
	MODEL_TICKS = 256,	      /* slices in which related peaks are looked for */
	MODEL_SLICE_BYTES = 96 << 20, /* of all operations; beyond it the largest is coarsened */
	MODEL_KEEP_SLICES = 8,	      /* fewer are not coarsened for that */
	MODEL_ALL_SAMPLES = 1 << 18,  /* of all operations; beyond it none grows */
	MODEL_KEEP_SAMPLES = 32,      /* except to this many */
};

/* Activations open at the end of a slice. */
struct open_list {
	unsigned int nr;
	struct open_call call[MODEL_MAX_OPEN];
	char comm[MODEL_MAX_OPEN][32];
};

/* The costly part of the answer for one operation. */
struct op_answer {
	bool made;
	uint64_t version, revision; /* of the operation and the model for which it was made */
	struct values values[MODEL_MAX_PEAKS];
	struct peak_related related[MODEL_MAX_PEAKS][RELATED_MAX];
};

/* Calls per peak and slice, for the last MODEL_TICKS slices, prepared for comparison. */
struct op_series {
	uint64_t version, revision; /* of the operation and the model for which it was made */
	unsigned int room;	    /* peaks that there is memory for */
	unsigned int known_from;    /* first slice of which anything is known */
	double calls[][MODEL_TICKS];
};

struct op_state {
	struct op pub;	  /* what the getters give */
	uint64_t version; /* grows with every change */
	uint64_t born;	  /* slices that had ended when it was first heard of */

	struct slices slices;
	struct samples samples;
	struct weight weight;	    /* of the last slice that was armed at all */
	struct scale scale;	    /* the calls in gaps and their error */
	uint64_t correction_ns;	    /* of the last record */
	uint64_t ticks, ticks_in;   /* samples of the target; in this function */
	struct weight_carry *carry; /* made when a weight is not 1 */
	uint64_t carry_sum, carry_abnormal, carry_unseen;
	uint64_t slices_ns, armed_ns; /* lengths added up */

	/* The slice that has not ended yet. */
	bool pending; /* a PROFILE came */
	uint64_t pending_min_ns, pending_max_ns, pending_open, pending_oldest_ns;
	struct open_list *opening, *open; /* of this slice, of the last one; made when needed */

	/* Peaks as of the last tick, and as shown. */
	bool changed; /* `total` changed since the last tick */
	struct profile
	    seen; /* calls as they were counted: not scaled up, so that noise is Poisson */
	struct peak_tracker tracker;
	unsigned int nr_spans;
	struct peak_span span[MODEL_MAX_PEAKS];
	int id[MODEL_MAX_PEAKS];
	bool listed[MODEL_MAX_PEAKS];
	struct shadow_verdict shadow[MODEL_MAX_PEAKS];
	struct peak peak[MODEL_MAX_PEAKS];
	uint64_t shown_version,
	    shown_revision;	  /* of the operation and the model for which it was made */
	struct op_answer *answer; /* made when asked */
	struct op_series *series; /* likewise */
};

struct model_target {
	struct rec_target rec;
	bool ended;
};

struct model {
	struct op_state **op; /* in order of number */
	size_t nr_ops, cap_ops;
	size_t slice_bytes, nr_samples; /* of all operations */

	bool has_meta;
	struct rec_meta meta;
	struct model_target *target;
	size_t nr_targets;
	struct rec_cost cost;
	struct rec_loss loss;
	bool has_phases;
	struct rec_phases phases; /* its texts are owned */
	struct rec_note note[MODEL_MAX_NOTES];
	size_t nr_notes;
	struct rec_check *check;
	size_t nr_checks;
	struct rec_constant *constant;
	size_t nr_constants;
	struct constants constants; /* with the well-known ones */

	bool all_peaks;
	uint64_t revision; /* grows with all that changes the answers of every operation */
	bool ticked;
	struct rec_tick last_tick;
	uint64_t nr_slices, elapsed_ns;
	uint64_t tick_end[MODEL_TICKS]; /* of the last slices; slice n at n % MODEL_TICKS */
};

/* Replace *to by a copy of text. Returns 0 or -ENOMEM (unchanged). */
int model_set_text(const char **to, const char *text);

/* model_host.c: everything that is not about an operation */
int model_feed_meta(struct model *m, const struct rec_meta *rec);
int model_feed_target(struct model *m, const struct rec_target *rec);
int model_feed_target_end(struct model *m, const struct rec_target_end *rec);
int model_feed_note(struct model *m, uint32_t level, const char *text);
int model_feed_phases(struct model *m, const struct rec_phases *rec);
int model_feed_check(struct model *m, const struct rec_check *rec);
int model_feed_constant(struct model *m, const struct rec_constant *rec);
void model_host_release(struct model *m);

/* model_op.c: operations and what they did */
struct op_state *model_find_op(const struct model *m, uint32_t number);
int model_feed_op(struct model *m, const struct rec_op *rec);
int model_feed_profile(struct model *m, const struct rec_profile *rec);
int model_feed_sample(struct model *m, const struct rec_sample *rec);
int model_feed_open(struct model *m, const struct rec_open *rec);
/* The slice ended: what was pending becomes the last complete slice. */
void model_op_tick(struct op_state *op, const struct rec_tick *tick);
void model_op_free(struct op_state *op);

/* model_peaks.c: peaks and what is said of them */
/* The slice ended: look for peaks and give them their ids. */
void model_peaks_tick(struct op_state *op);
/* Bring op->pub and its peaks up to date, without values, relations, periods. */
void model_refresh(const struct model *m, struct op_state *op);
/* The full answer. Returns 0 or -ENOMEM (less is shown). */
int model_answer(struct model *m, struct op_state *op);

/* model_related.c */
/* Fill op->answer->related for all peaks and their numbers nr[]. Returns 0 or -ENOMEM. */
int model_related(struct model *m, struct op_state *op, unsigned int *nr);

/* model_preempt.c */
/* Fill run_queue_share, expected_preempted and seen_preempted of all peaks. */
void model_preemption(const struct model *m, struct op_state *op,
		      const struct call_sample *const *call, const double *weight, unsigned int n);

#endif
