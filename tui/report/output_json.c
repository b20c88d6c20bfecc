// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Documents are written operation by operation and slice by slice, so that a
 * session of hours needs no more memory than its largest operation.
 */
#include "tui/report/output.h"

#include <jansson.h>
#include <math.h>

#include "analysis/base/buf.h"
#include "analysis/latency/target_end.h"
#include "tui/report/json_put.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { JSON_VERSION = 1, MAX_TEXT = (64 << 10) / SANITISE_MAX_GROWTH };

/* Add a figure that may not be known: a number that is not finite is left out. */
static void put_real(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		json_put(o, key, json_real(v));
}

/* Add a share, unless it is negative (not known). */
static void put_share(json_t *o, const char *key, double v)
{
	if (isfinite(v) && v >= 0)
		json_put(o, key, json_real(fmin(v, 1)));
}

static json_t *text(const char *s)
{
	return json_text(s, MAX_TEXT);
}

/* --- the fields that every document has */

static json_t *killed_by_json(const struct rec_target_end *end)
{
	json_t *o = json_object();

	json_put_u64(o, "signal", target_end_signal(end));
	json_put_text(o, "name", target_end_signal_name(target_end_signal(end)).s);
	json_put(o, "core_dumped", json_boolean(target_end_has_core(end)));
	if (end->has_probes)
		json_put_u64(o, "probes", end->probes);
	if (end->unprobed_ns)
		json_put_u64(o, "unprobed_ns", end->unprobed_ns);
	return o;
}

static json_t *target_json(const struct model *m, size_t i)
{
	const struct rec_target_end *end = model_target_end(m, i);
	const struct rec_target *t = model_target(m, i);
	json_t *o = json_object();

	json_put_u64(o, "pid", t->pid);
	if (t->ns_pid && t->ns_pid != t->pid)
		json_put_u64(o, "ns_pid", t->ns_pid);
	json_put(o, "comm", text(t->comm));
	json_put_text(o, "exe", t->exe);
	json_put_u64(o, "started_ns", t->started_ns);
	if (model_target_ended(m, i))
		json_put(o, "ended", json_true());
	if (end && target_end_signal(end))
		json_put(o, "killed_by", killed_by_json(end));
	else if (end && end->has_status)
		json_put_u64(o, "exit_status", end->status >> 8 & 0xff);
	return o;
}

static void put_targets(json_t *o, const struct model *m)
{
	size_t nr = model_nr_targets(m), i, first = 0;
	json_t *all;

	if (!nr)
		return;
	while (first + 1 < nr && !model_target(m, first)->requested)
		first++;
	if (!model_target(m, first)->requested)
		first = 0;
	json_put(o, "target", target_json(m, first));
	if (nr == 1)
		return;
	all = json_array();
	for (i = 0; i < nr; i++)
		json_append(all, target_json(m, i));
	json_put(o, "targets", all);
}

static json_t *cost_json(const struct rec_cost *c)
{
	json_t *o = json_object();
	double target = output_cost_target_percent(c), host = output_cost_host_percent(c),
	       one = output_cost_one_cpu_percent(c);

	json_put_u64(o, "hits", c->hits);
	json_put_u64(o, "ns", c->ns);
	if (target >= 0)
		put_real(o, "percent_of_target_cpu", target);
	if (host >= 0)
		put_real(o, "percent_of_host_cpu", host);
	if (one >= 0)
		put_real(o, "percent_of_one_cpu", one);
	json_put_u64(o, "target_ns", output_cost_target_ns(c));
	if (c->allowed_ns)
		json_put_u64(o, "allowed_ns", c->allowed_ns);
	json_put_u64(o, "attach_ns", c->attach_ns);
	json_put_u64(o, "own_cpu_ns", c->own_cpu_ns);
	json_put_u64(o, "start_cpu_ns", c->start_cpu_ns);
	return o;
}

static json_t *lost_json(const struct rec_loss *l)
{
	json_t *o = json_object();

	json_put_u64(o, "records", l->records);
	json_put_u64(o, "samples", l->samples);
	json_put_u64(o, "stacks", l->stacks);
	json_put_u64(o, "tainted_ns", l->tainted_ns);
	json_put_u64(o, "activations", l->activations);
	return o;
}

static json_t *phases_note(const struct rec_phases *p)
{
	SCOPED_BUF(b, 1 << 16);

	words_phases(&b, p);
	return text(b.data && !b.err ? b.data : "only phases are counted");
}

static json_t *phases_json(const struct rec_phases *p)
{
	json_t *o = json_object();

	json_put(o, "begin", text(p->begin));
	json_put(o, "end", text(p->end));
	json_put_u64(o, "seen", p->seen);
	json_put_u64(o, "ns", p->ns);
	json_put_u64(o, "blind", p->blind);
	return o;
}

json_t *output_json_head(struct model *m, const char *kind, const struct output_options *opt)
{
	static const struct rec_cost no_cost;
	static const struct rec_loss no_loss;
	const struct rec_cost *cost = model_cost(m);
	const struct rec_loss *loss = model_loss(m);
	json_t *o = json_object();
	json_t *notes = json_array();

	json_put(o, "peaktop", json_string(PEAKTOP_VERSION));
	json_put(o, "version", json_integer(JSON_VERSION));
	json_put(o, "kind", json_string(kind));
	put_targets(o, m);
	json_put_u64(o, "elapsed_ns", opt->elapsed_ns ? opt->elapsed_ns : model_elapsed_ns(m));
	json_put(o, "cost", cost_json(cost ? cost : &no_cost));
	json_put(o, "lost", lost_json(loss ? loss : &no_loss));
	for (size_t i = 0; i < model_nr_notes(m); i++)
		json_append(notes, text(model_note(m, i)->text));
	if (model_phases(m))
		json_append(notes, phases_note(model_phases(m)));
	json_put(o, "notes", notes);
	if (model_phases(m))
		json_put(o, "phases", phases_json(model_phases(m)));
	return o;
}

static json_t *bucket_json(unsigned int bucket, unsigned int resolution, uint64_t count)
{
	json_t *o = json_object();

	json_put_u64(o, "low_ns", bucket_low_ns(bucket, resolution));
	json_put_u64(o, "high_ns", bucket_high_ns(bucket, resolution));
	json_put_u64(o, "count", count);
	return o;
}

/* The non-empty buckets; the sum of their counts is stored in *calls. */
static json_t *profile_json(const struct profile *p, unsigned int resolution, uint64_t *calls)
{
	json_t *all = json_array();
	uint64_t count;

	*calls = 0;
	for (unsigned int i = 0; i < bucket_total(resolution); i++) {
		count = profile_count(p, i, resolution);
		if (!count)
			continue;
		*calls += count;
		json_append(all, bucket_json(i, resolution, count));
	}
	return all;
}

static json_t *slice_json(const struct slice *s, unsigned int resolution)
{
	unsigned int step = PT_RESOLUTION / resolution, bucket;
	json_t *buckets = json_array();
	json_t *o = json_object();
	uint64_t count;

	json_put_u64(o, "start_ns", s->start_ns);
	json_put_u64(o, "end_ns", s->end_ns);
	for (unsigned int i = 0; i < s->nr_buckets;) {
		bucket = s->bucket[i] / step;
		for (count = 0; i < s->nr_buckets && s->bucket[i] / step == bucket; i++)
			count += s->count[i];
		json_append(buckets, bucket_json(bucket, resolution, count));
	}
	json_put(o, "buckets", buckets);
	return o;
}

static json_t *values_json(const struct peak *p)
{
	json_t *all = json_array(), *o;

	for (unsigned int i = 0; i < p->nr_values; i++) {
		o = json_object();
		json_put(o, "name", text(p->values[i].name));
		json_put(o, "text", text(p->values[i].text));
		put_share(o, "separation", p->values[i].separation);
		json_append(all, o);
	}
	return all;
}

static json_t *related_json(struct model *m, const struct peak *p)
{
	json_t *all = json_array(), *o;
	const struct op *other;

	for (unsigned int i = 0; i < p->nr_related; i++) {
		other = model_op_by_number(m, p->related[i].op);
		if (!other)
			continue;
		o = json_object();
		json_put(o, "name", text(other->name));
		if (other->layer == LAYER_FUNCTION)
			json_put_text(o, "function", other->label);
		for (unsigned int j = 0; j < other->nr_peaks; j++) {
			if (other->peaks[j].id == p->related[i].peak_id)
				json_put_u64(o, "peak", (uint64_t)other->peaks[j].rank);
		}
		json_put(o, "by", text(p->related[i].by));
		put_share(o, "score", p->related[i].score);
		json_append(all, o);
	}
	return all;
}

/* The percentiles of the calls in `range`. */
static void put_quantiles(json_t *o, const struct profile *p, struct bucket_range range)
{
	for (size_t i = 0; i < OUTPUT_QUANTILES && profile_range_calls(p, range); i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", output_quantiles[i].name);
		json_put_u64(o, key, profile_range_quantile(p, range, output_quantiles[i].q));
	}
}

/* The fields of every peak, listed or folded. */
static void put_peak_figures(json_t *o, const struct op *op, const struct peak *p)
{
	json_put_u64(o, "low_ns", p->low_ns);
	json_put_u64(o, "high_ns", p->high_ns);
	json_put_u64(o, "mode_ns", p->mode_ns);
	put_quantiles(o, &op->total, p->range);
	json_put_u64(o, "calls", p->calls);
	json_put_u64(o, "total_ns", p->total_ns);
	put_share(o, "share_of_calls", p->share_of_calls);
	put_share(o, "share_of_time", p->share_of_time);
}

json_t *output_json_peak(struct model *m, const struct op *op, const struct peak *p)
{
	json_t *o = json_object();

	json_put(o, "peak", json_integer(p->rank));
	json_put(o, "id", json_integer(p->id));
	put_peak_figures(o, op, p);
	put_real(o, "rate_hz", p->rate_hz);
	if (p->period_ns > 0)
		json_put_u64(o, "period_ns", (uint64_t)p->period_ns);
	json_put_text(o, "period_near", p->period_near);
	json_put_text(o, "near", p->near);
	put_share(o, "share_in_run_queue", p->run_queue_share);
	if (p->expected_preempted >= 0)
		put_real(o, "expected_preempted", p->expected_preempted);
	if (p->seen_preempted >= 0)
		put_real(o, "seen_preempted", p->seen_preempted);
	json_put_text(o, "folded_as", words_fold(p->fold));
	if (p->shadow_of)
		json_put(o, "shadow_of", json_integer(p->shadow_of));
	json_put(o, "values", values_json(p));
	json_put(o, "related", related_json(m, p));
	return o;
}

/* A peak that is not listed. */
static json_t *folded_json(const struct op *op, const struct peak *p)
{
	json_t *o = json_object();

	json_put(o, "id", json_integer(p->id));
	json_put_text(o, "folded_as", words_fold(p->fold));
	if (p->shadow_of)
		json_put(o, "shadow_of", json_integer(p->shadow_of));
	put_peak_figures(o, op, p);
	return o;
}

static json_t *open_call_json(const struct open_call *c)
{
	json_t *o = json_object();

	json_put_u64(o, "pid", c->pid);
	json_put_u64(o, "tid", c->tid);
	json_put_text(o, "comm", c->comm);
	json_put_u64(o, "age_ns", c->age_ns);
	return o;
}

static uint64_t whole(double x)
{
	return x < 0x1p62 ? (uint64_t)(x + 0.5) : 1ull << 62;
}

static json_t *op_json(struct model *m, const struct op *op, unsigned int resolution)
{
	json_t *o = json_object();
	json_t *buckets, *peaks = json_array(), *folded = json_array(), *open = json_array();
	uint64_t calls;

	buckets = profile_json(&op->total, resolution, &calls);
	json_put(o, "name", text(op->name));
	if (op->layer == LAYER_FUNCTION)
		json_put_text(o, "function", op->label);
	json_put_text(o, "requested", op->requested);
	json_put_text(o, "layer", output_layer(op->layer));
	json_put_text(o, "module", op->module);
	json_put_text(o, "placement", op->placement);
	json_put_u64(o, "calls", calls);
	json_put_u64(o, "calls_low", op->calls_low);
	json_put_u64(o, "calls_high", op->calls_high);
	json_put_u64(o, "calls_seen", op->seen_calls);
	json_put_u64(o, "total_ns", model_total_ns(op));
	json_put_u64(o, "total_low_ns", whole(op->total_low_ns));
	json_put_u64(o, "total_high_ns", whole(op->total_high_ns));
	if (calls) {
		json_put_u64(o, "mean_ns", whole(op->mean_ns));
		json_put_u64(o, "mean_low_ns", whole(op->mean_low_ns));
		json_put_u64(o, "mean_high_ns", whole(op->mean_high_ns));
		json_put_u64(o, "min_ns", op->total.min_ns);
		json_put_u64(o, "max_ns", op->total.max_ns);
		put_quantiles(o, &op->total, (struct bucket_range){0, PT_BUCKETS});
	}
	if (op->floor_ns)
		json_put_u64(o, "floor_ns", op->floor_ns);
	json_put_u64(o, "open", op->open);
	if (op->open)
		json_put_u64(o, "oldest_open_ns", op->oldest_open_ns);
	for (unsigned int i = 0; i < op->nr_open_calls; i++)
		json_append(open, open_call_json(&op->open_calls[i]));
	json_put(o, "open_calls", open);
	json_put_u64(o, "abnormal", op->abnormal);
	if (op->unseen)
		json_put_u64(o, "untimed", op->unseen);
	put_share(o, "share_of_calls_seen", op->share_seen);
	if (op->error_ns)
		json_put_u64(o, "latency_error_ns", op->error_ns);
	if (op->measurable_ns)
		json_put_u64(o, "measurable_ns", op->measurable_ns);
	json_put(o, "below_measurable", json_boolean(op->below_measurable));
	if (op->below_measurable && op->sampled_share >= 0) {
		put_share(o, "sampled_share_of_cpu", op->sampled_share);
		json_put_u64(o, "samples_of_cpu", op->ticks);
	}
	json_put(o, "buckets_add_up", json_boolean(op->adds_up));
	json_put(o, "buckets", buckets);
	for (unsigned int i = 0; i < op->nr_peaks; i++)
		json_append(peaks, output_json_peak(m, op, &op->peaks[i]));
	json_put(o, "peaks", peaks);
	for (unsigned int i = 0; i < op->nr_folded; i++)
		json_append(folded, folded_json(op, &op->folded[i]));
	json_put(o, "folded", folded);
	return o;
}

json_t *output_json_operation(struct model *m, const struct op *op, unsigned int resolution)
{
	json_t *o, *slices = json_array();

	resolution = resolution ? resolution : 4;
	o = op_json(m, op, resolution);
	for (unsigned int i = 0; i < op->nr_slices; i++)
		json_append(slices, slice_json(&op->slices[i], resolution));
	json_put(o, "slices", slices);
	return o;
}

static int write_op(struct model *m, const struct op *op, const struct output_options *o,
		    unsigned int resolution, FILE *f)
{
	const char *separator = o->json_lines ? "" : "\n  ";
	json_t *json = op_json(m, op, resolution);
	int err = json_write(json, JSON_OPEN, f);

	if (!err)
		err = json_write_text(f, ",\"slices\":[");
	for (unsigned int i = 0; i < op->nr_slices && !err; i++) {
		/* Compare the end of each slice: slices of bursts may be longer and arrive late. */
		if (o->json_lines && op->slices[i].end_ns <= o->since_ns)
			continue;
		err = json_write_text(f, separator);
		json = err ? NULL : slice_json(&op->slices[i], resolution);
		if (!err)
			err = json_write(json, JSON_NESTED, f);
		separator = o->json_lines ? "," : ",\n  ";
	}
	return err ? err : json_write_text(f, "]}");
}

int output_watch_json(struct model *m, const struct output_options *o, FILE *f)
{
	unsigned int resolution = o->resolution ? o->resolution : 4;
	const char *separator = o->json_lines ? "" : "\n ";
	struct output_ops ops;
	const struct op *full;
	json_t *head;
	int err = output_ops(m, o, OPS_BY_TIME, &ops);

	if (err)
		return err;
	head = output_json_head(m, "watch", o);
	if (o->json_lines && model_nr_slices(m))
		json_put_u64(head, "slice", model_nr_slices(m) - 1);
	if (ops.left_out)
		json_put_u64(head, "operations_left_out", ops.left_out);
	err = json_write(head, JSON_OPEN, f);
	if (!err)
		err = json_write_text(f, ",\"operations\":[");
	for (size_t i = 0; i < ops.nr && !err; i++) {
		full = model_op_peaks(m, ops.list[i]->op);
		err = json_write_text(f, separator);
		if (!err)
			err = full ? write_op(m, full, o, resolution, f) : -ENOMEM;
		separator = o->json_lines ? "," : ",\n ";
	}
	free(ops.list);
	if (!err)
		err = json_write_text(f, "]}");
	return err ? err : json_write_end(f);
}

json_t *output_checks_json(const struct model *m)
{
	json_t *checks = json_array(), *o;
	const struct rec_check *c;

	for (size_t i = 0; i < model_nr_checks(m); i++) {
		c = model_check(m, i);
		o = json_object();
		json_put(o, "name", text(c->name));
		json_put(o, "ok", json_boolean(c->ok != 0));
		json_put_text(o, "needed_for", c->needed_for);
		if (!c->ok)
			json_put_text(o, "remedy", c->remedy);
		json_append(checks, o);
	}
	return checks;
}

int output_doctor_json(struct model *m, const struct output_options *opt, FILE *f)
{
	const struct rec_meta *meta = model_meta(m);
	json_t *head = output_json_head(m, "doctor", opt);

	json_put(head, "kernel", text(meta ? meta->kernel : ""));
	json_put(head, "checks", output_checks_json(m));
	return json_write(head, JSON_LINE, f);
}
