// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations and their data, slice by slice. */
#include "analysis/latency/model_impl.h"

#include "analysis/latency/armed.h"

/* Bound for the calls of one operation, so that no sum of them overflows. */
static const uint64_t max_calls = 1ULL << 62;

/* Checks the buckets, and computes the sum of their counts. */
static bool buckets_valid(const struct rec_profile *rec, uint64_t *sum)
{
	*sum = 0;
	if (rec->nr_buckets > PT_BUCKETS || (rec->nr_buckets && (!rec->bucket || !rec->count)))
		return false;
	for (uint32_t i = 0; i < rec->nr_buckets; i++) {
		if (rec->bucket[i] >= PT_BUCKETS || (i && rec->bucket[i] <= rec->bucket[i - 1]))
			return false;
		if (rec->count[i] > max_calls - *sum)
			return false;
		*sum += rec->count[i];
	}
	return true;
}

/* A record is spread over at most this many slices; a longer one is one slice. */
enum { MAX_SPREAD = 256 };

enum { WEIGHT_PARTS = 1024 };

/* Older sessions have no clocks of the target: scale by the wall clock. */
static bool has_clocks(const struct rec_profile *rec)
{
	return rec->cpu_ns || rec->run_calls || rec->switch_calls;
}

static struct weight slice_weight(struct op_state *op, const struct rec_profile *rec, uint64_t seen)
{
	uint64_t length = rec->end_ns - rec->start_ns;
	double gap;

	if (rec->armed_ns >= length) {
		op->weight = weight_make(1, 1);
		if (has_clocks(rec))
			scale_gap(&op->scale, rec, seen);
		else
			op->scale.seen += (double)seen;
	} else if (rec->armed_ns && !has_clocks(rec)) {
		op->weight = weight_make(length, rec->armed_ns);
		op->scale.seen += (double)seen;
		scale_guess(&op->scale, (uint64_t)((double)seen * (double)(length - rec->armed_ns) /
						   (double)rec->armed_ns));
	} else if (seen && rec->armed_ns >= ARMED_MIN_NS) {
		gap = scale_gap(&op->scale, rec, seen);
		op->weight = weight_make((uint64_t)(WEIGHT_PARTS * ((double)seen + gap)),
					 WEIGHT_PARTS * seen);
	} else {
		/* too little armed time: use the weight of the previous burst */
		op->scale.seen += (double)seen;
		gap = (double)seen * ((double)op->weight.num / (double)op->weight.den - 1);
		scale_guess(&op->scale, gap > 0 ? (uint64_t)gap : 0);
		if (seen && gap <= 0)
			scale_unknown(&op->scale, length - rec->armed_ns);
	}
	return op->weight;
}

static int need_carry(struct op_state *op, struct weight w)
{
	if (w.num == w.den || op->carry)
		return 0;
	op->carry = malloc(sizeof(*op->carry));
	if (!op->carry)
		return -ENOMEM;
	weight_carry_init(op->carry);
	return 0;
}

void model_add_slice(struct profile *total, const struct slice *slice, uint64_t min_ns,
		     uint64_t max_ns)
{
	if (!slice->calls)
		return;
	if (!total->calls || min_ns < total->min_ns)
		total->min_ns = min_ns;
	if (!total->calls || max_ns > total->max_ns)
		total->max_ns = max_ns;
	total->calls += slice->calls;
	total->sum_ns = add_saturating(total->sum_ns, slice->sum_ns);
	for (unsigned int i = 0; i < slice->nr_buckets; i++)
		total->count[slice->bucket[i]] += slice->count[i];
}

/* Fills the slice with scaled-up counts; drops buckets that round to 0. */
static void weigh(struct op_state *op, const struct rec_profile *rec, struct weight w,
		  struct slice *slice, uint16_t *bucket, uint64_t *count)
{
	unsigned int n = 0;

	weight_counts(w, op->carry, rec->nr_buckets, rec->bucket, rec->count, count);
	for (unsigned int i = 0; i < rec->nr_buckets; i++) {
		if (!count[i])
			continue;
		bucket[n] = (uint16_t)rec->bucket[i];
		count[n++] = count[i];
		slice->calls = add_saturating(slice->calls, count[i]);
	}
	slice->nr_buckets = n;
	slice->bucket = bucket;
	slice->count = count;
	slice->sum_ns = weight_figure(w, &op->carry_sum, rec->sum_ns);
}

static void note_pending(struct op_state *op, const struct rec_profile *rec, bool calls)
{
	if (!op->pending) {
		op->pending_min_ns = UINT64_MAX;
		op->pending_max_ns = 0;
	}
	if (calls && rec->min_ns < op->pending_min_ns)
		op->pending_min_ns = rec->min_ns;
	if (calls && rec->max_ns > op->pending_max_ns)
		op->pending_max_ns = rec->max_ns;
	op->pending_open = rec->open;
	op->pending_oldest_ns = rec->oldest_open_ns;
	op->pending = true;
}

static void add_seen(struct profile *seen, const struct rec_profile *rec)
{
	for (unsigned int i = 0; i < rec->nr_buckets; i++) {
		seen->count[rec->bucket[i]] += rec->count[i];
		seen->calls += rec->count[i];
	}
}

/* Keeps the slices of all operations within their limit. */
static void bound_slices(struct model *m)
{
	while (m->slice_bytes > m->max_slice_bytes) {
		struct op_state *largest = m->op[0];
		size_t before;
		int err;

		for (size_t i = 1; i < m->nr_ops; i++)
			if (m->op[i]->slices.bytes > largest->slices.bytes)
				largest = m->op[i];
		if (largest->slices.nr < MODEL_KEEP_SLICES)
			return;
		before = largest->slices.bytes;
		err = slices_coarsen(&largest->slices);
		m->slice_bytes += largest->slices.bytes - before;
		largest->version++;
		if (err)
			return;
	}
}

/* Adds to the slices and updates the sum of their memory. */
static int add_slice(struct model *m, struct op_state *op, const struct slice *slice)
{
	size_t before = op->slices.bytes;
	const struct rec_meta *meta = model_meta(m);
	int err = slices_add(&op->slices, slice, meta ? meta->interval_ns : 0);

	m->slice_bytes += op->slices.bytes - before;
	if (!err)
		bound_slices(m);
	return err;
}

static int feed_slice(struct model *m, const struct rec_profile *rec, struct weight w)
{
	struct op_state *op = model_find_op(m, rec->op);
	uint64_t count[PT_BUCKETS], sum, length;
	uint16_t bucket[PT_BUCKETS];
	struct slice slice = {.start_ns = rec->start_ns, .end_ns = rec->end_ns, .open = rec->open};
	int err;

	if (!op || rec->end_ns < rec->start_ns || !buckets_valid(rec, &sum))
		return -EINVAL;
	length = rec->end_ns - rec->start_ns;
	slice.armed_ns = rec->armed_ns < length ? rec->armed_ns : length;
	err = need_carry(op, w);
	if (err)
		return err;
	weigh(op, rec, w, &slice, bucket, count);
	slice.seen = sum;
	if (slice.calls > max_calls - op->pub.total.calls)
		return -EINVAL;
	err = add_slice(m, op, &slice);
	if (err)
		return err;
	if (rec->calls != sum)
		op->pub.adds_up = false;
	model_add_slice(&op->pub.total, &slice, rec->min_ns, rec->max_ns);
	op->pub.seen_calls += sum;
	add_seen(&op->seen, rec);
	op->pub.abnormal =
	    add_saturating(op->pub.abnormal, weight_figure(w, &op->carry_abnormal, rec->abnormal));
	op->pub.unseen =
	    add_saturating(op->pub.unseen, weight_figure(w, &op->carry_unseen, rec->unseen));
	op->correction_ns = rec->correction_ns;
	op->callers += rec->callers;
	op->ticks += rec->ticks;
	op->ticks_in += rec->ticks_in;
	op->pub.error_ns = rec->error_ns;
	op->slices_ns = add_saturating(op->slices_ns, length);
	op->armed_ns = add_saturating(op->armed_ns, slice.armed_ns);
	note_pending(op, rec, sum != 0);
	if (rec->end_ns > m->elapsed_ns)
		m->elapsed_ns = rec->end_ns;
	op->changed |= sum != 0;
	op->version++;
	return 0;
}

/* Returns share number `part` of `parts`; all shares add up to the figure. */
static uint64_t part_of(uint64_t figure, unsigned int part, unsigned int parts)
{
	return figure / parts * (part + 1) + figure % parts * (part + 1) / parts -
	       (figure / parts * part + figure % parts * part / parts);
}

/* Spreads a record evenly over the slices that it covers, because an operation that is sampled in
 * bursts has one record per burst. In a single slice it would look like a burst of activity. */
static int feed_spread(struct model *m, const struct rec_profile *rec, struct weight w,
		       unsigned int parts)
{
	uint64_t length = rec->end_ns - rec->start_ns, count[PT_BUCKETS];
	uint32_t bucket[PT_BUCKETS];
	int err = 0;

	for (unsigned int k = 0; k < parts && !err; k++) {
		struct rec_profile one = *rec;

		one.start_ns = rec->start_ns + length / parts * k;
		one.end_ns = k + 1 == parts ? rec->end_ns : one.start_ns + length / parts;
		one.armed_ns = part_of(rec->armed_ns, k, parts);
		one.callers = part_of(rec->callers, k, parts);
		one.ticks = part_of(rec->ticks, k, parts);
		one.ticks_in = part_of(rec->ticks_in, k, parts);
		one.sum_ns = part_of(rec->sum_ns, k, parts);
		one.abnormal = part_of(rec->abnormal, k, parts);
		one.unseen = part_of(rec->unseen, k, parts);
		one.calls = 0;
		one.nr_buckets = 0;
		one.bucket = bucket;
		one.count = count;
		for (uint32_t i = 0; i < rec->nr_buckets; i++) {
			/* begin with another slice for each bucket, so that single calls do not all
			 * fall into the first slice */
			uint64_t n = part_of(rec->count[i], (k + i) % parts, parts);

			if (!n)
				continue;
			bucket[one.nr_buckets] = rec->bucket[i];
			count[one.nr_buckets++] = n;
			one.calls += n;
		}
		err = feed_slice(m, &one, w);
	}
	return err;
}

/* Returns figure * num / den without overflow; den is not 0. */
static uint64_t scaled(uint64_t figure, uint64_t num, uint64_t den)
{
	return (uint64_t)((unsigned __int128)figure * num / den);
}

/* Fills the time after the last burst with calls like those before; otherwise the totals of the run
 * would be too small. */
static int feed_unseen(struct model *m, struct op_state *op, const struct rec_profile *rec)
{
	uint64_t length = rec->end_ns - rec->start_ns, num = length, before = op->slices_ns,
		 count[PT_BUCKETS], armed = op->armed_ns;
	uint64_t seen = op->pub.seen_calls;
	double tail = scale_tail(&op->scale, length, rec->cpu_ns);
	struct rec_profile like = *rec;
	struct profile seen_profile = op->seen;
	uint32_t bucket[PT_BUCKETS];
	int err;

	like.armed_ns = length;
	like.nr_buckets = 0;
	like.calls = like.sum_ns = 0;
	like.bucket = bucket;
	like.count = count;
	if (tail >= 0 && op->pub.total.calls) {
		num = (uint64_t)(tail + 0.5);
		before = op->pub.total.calls;
	}
	like.min_ns = op->pub.total.min_ns;
	like.max_ns = op->pub.total.max_ns;
	for (uint32_t i = 0; i < PT_BUCKETS; i++) {
		uint64_t n = scaled(op->pub.total.count[i], num, before);

		if (!n)
			continue;
		bucket[like.nr_buckets] = i;
		count[like.nr_buckets++] = n;
		like.calls += n;
	}
	/* the buckets are rounded down: scale the sum by what is left, so that the mean stays */
	if (op->pub.total.calls)
		like.sum_ns = scaled(op->pub.total.sum_ns, like.calls, op->pub.total.calls);
	err = feed_slice(m, &like, weight_make(1, 1));
	/* an estimate: do not count it as seen */
	if (!err)
		op->slices.slice[op->slices.nr - 1].seen -= like.calls;
	op->armed_ns = armed;
	op->pub.seen_calls = seen;
	op->seen = seen_profile;
	if (tail < 0)
		scale_guess(&op->scale, like.calls);
	if (tail < 0 && has_clocks(rec))
		scale_unknown(&op->scale, length);
	return err;
}

/* True if an earlier burst tells more about the calls of the record than its own: nothing was
 * armed, or too short a time to scale by. */
static bool is_unseen(const struct op_state *op, const struct rec_profile *rec)
{
	if (rec->end_ns <= rec->start_ns || !op->armed_ns || !op->slices_ns)
		return false;
	return rec->armed_ns ? rec->armed_ns < ARMED_MIN_NS && has_clocks(rec) &&
				   rec->end_ns - rec->start_ns > 2 * ARMED_MIN_NS
			     : !rec->nr_buckets;
}

/* Fills the time that was not armed with calls like those before, then feeds the calls seen. */
static int feed_nearly_unseen(struct model *m, struct op_state *op, const struct rec_profile *rec)
{
	struct rec_profile unseen = *rec, seen = *rec;
	int err;

	unseen.end_ns = seen.start_ns = rec->end_ns - rec->armed_ns;
	unseen.callers = unseen.armed_ns = unseen.ticks = unseen.ticks_in = unseen.abnormal =
	    unseen.unseen = 0;
	unseen.cpu_ns -= rec->armed_cpu_ns < rec->cpu_ns ? rec->armed_cpu_ns : rec->cpu_ns;
	err = feed_unseen(m, op, &unseen);
	return err || !rec->armed_ns ? err
				     : feed_slice(m, &seen, slice_weight(op, &seen, rec->calls));
}

int model_feed_profile(struct model *m, const struct rec_profile *rec)
{
	const struct rec_meta *meta = model_meta(m);
	struct op_state *op = model_find_op(m, rec->op);
	uint64_t interval = meta ? meta->interval_ns : 0, sum;
	bool bursts = rec->end_ns > rec->start_ns && rec->armed_ns &&
		      rec->armed_ns < rec->end_ns - rec->start_ns;
	struct weight w;
	uint64_t parts =
	    bursts && interval ? (rec->end_ns - rec->start_ns + interval / 2) / interval : 1;

	if (!op || rec->end_ns < rec->start_ns || !buckets_valid(rec, &sum))
		return -EINVAL;
	if (is_unseen(op, rec))
		return feed_nearly_unseen(m, op, rec);
	w = slice_weight(op, rec, sum);
	if (parts < 2 || parts > MAX_SPREAD || rec->calls != sum)
		return feed_slice(m, rec, w);
	return feed_spread(m, rec, w, (unsigned int)parts);
}

int model_feed_sample(struct model *m, const struct rec_sample *rec)
{
	struct op_state *op = model_find_op(m, rec->op);
	unsigned int before;
	int err;

	if (!op)
		return -EINVAL;
	before = op->samples.nr;
	err = samples_add(&op->samples, rec,
			  m->nr_samples < m->max_samples || before < MODEL_KEEP_SAMPLES
			      ? MODEL_MAX_SAMPLES
			      : before);
	m->nr_samples += op->samples.nr - before;
	if (!err)
		op->version++;
	return err;
}

/* Keeps the oldest open calls, oldest first; of equal ages the first to arrive. */
int model_feed_open(struct model *m, const struct rec_open *rec)
{
	struct op_state *op = model_find_op(m, rec->op);
	struct open_call call = {
	    .pid = rec->pid, .tid = rec->tid, .age_ns = rec->age_ns, .known = rec->known};
	struct open_list *list;
	unsigned int at;

	if (!op)
		return -EINVAL;
	if (!op->opening)
		op->opening = calloc(1, sizeof(*op->opening));
	list = op->opening;
	if (!list)
		return -ENOMEM;
	for (at = list->nr; at > 0 && list->call[at - 1].age_ns < rec->age_ns; at--)
		;
	if (at == MODEL_MAX_OPEN)
		return 0;
	if (list->nr < MODEL_MAX_OPEN)
		list->nr++;
	memmove(&list->call[at + 1], &list->call[at], (list->nr - 1 - at) * sizeof(call));
	memmove(list->comm[at + 1], list->comm[at], (list->nr - 1 - at) * sizeof(list->comm[0]));
	memcpy(call.args, rec->args, sizeof(call.args));
	list->call[at] = call;
	snprintf(list->comm[at], sizeof(list->comm[at]), "%s", rec->comm ? rec->comm : "");
	return 0;
}

/* Sets `recent` to the last complete slice. An operation that is sampled in bursts has records only
 * every few ticks: keep the previous slice until it is too old. Otherwise use the calls until this
 * tick, if there are any. */
static void set_recent(struct op_state *op, uint64_t tick_start_ns, uint64_t tick_end_ns)
{
	const struct slice *last = op->slices.nr ? &op->slices.slice[op->slices.nr - 1] : NULL;
	struct profile *recent = &op->pub.recent;
	uint64_t tick = tick_end_ns - tick_start_ns, length;

	if (last && !op->pending) {
		length = last->end_ns - last->start_ns;
		if (length > tick + tick / 2 && last->end_ns <= tick_end_ns &&
		    tick_end_ns - last->end_ns <= length)
			return;
	}
	if (recent->calls) {
		profile_init(recent);
		op->version++;
	}
	if (last && op->pending)
		model_add_slice(recent, last, op->pending_min_ns, op->pending_max_ns);
}

/* Swaps the lists: the calls collected so far are now shown. */
static void set_open(struct op_state *op)
{
	struct open_list *list = op->opening;
	uint64_t open = op->pending ? op->pending_open : 0;
	uint64_t oldest = op->pending ? op->pending_oldest_ns : 0;

	op->opening = op->open;
	op->open = list;
	if (op->opening)
		op->opening->nr = 0;
	if (list && list->nr) {
		for (unsigned int i = 0; i < list->nr; i++)
			list->call[i].comm = list->comm[i];
		if (open < list->nr)
			open = list->nr;
		if (oldest < list->call[0].age_ns)
			oldest = list->call[0].age_ns;
	}
	op->version += op->pub.open != open || op->pub.oldest_open_ns != oldest;
	op->pub.open = open;
	op->pub.oldest_open_ns = oldest;
}

void model_op_tick(struct op_state *op, const struct rec_tick *tick)
{
	set_recent(op, tick->start_ns, tick->end_ns);
	set_open(op);
	op->pending = false;
}
