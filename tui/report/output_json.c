// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents are written operation by operation and slice by slice, so that a
 * session of hours needs no more memory than its largest operation. */
#include "tui/report/output.h"

#include <jansson.h>
#include <math.h>

#include "analysis/base/buf.h"
#include "analysis/latency/target_end.h"
#include "tui/report/json_put.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { JSON_VERSION = 1 };

/* A number, unless it is negative (not known). */
static json_t *percent(double v)
{
	return json_if(v >= 0, json_finite(v));
}

static json_t *share(double v)
{
	return json_if(v >= 0 && isfinite(v), json_real(fmin(v, 1)));
}

static json_t *text(const char *s)
{
	return json_text(s, JSON_MAX_TEXT);
}

static json_t *function_of(const struct op *op)
{
	return json_if(op->layer == LAYER_FUNCTION, json_given(op->label));
}

/* --- the fields that every document has */

static json_t *killed_by_json(const struct rec_target_end *end)
{
	unsigned int signal = target_end_signal(end);

	return json_new({"signal", json_u64(signal)},
			{"name", json_given(target_end_signal_name(signal).s)},
			{"core_dumped", json_boolean(target_end_has_core(end))},
			{"probes", json_if(end->has_probes, json_u64(end->probes))},
			{"unprobed_ns", json_known(end->unprobed_ns)});
}

static json_t *target_json(const struct model *m, size_t i)
{
	const struct rec_target_end *end = model_target_end(m, i);
	const struct rec_target *t = model_target(m, i);
	bool killed = end && target_end_signal(end);

	return json_new(
	    {"pid", json_u64(t->pid)}, {"ns_pid", json_known(t->ns_pid != t->pid ? t->ns_pid : 0)},
	    {"comm", text(t->comm)}, {"exe", json_given(t->exe)},
	    {"started_ns", json_u64(t->started_ns)}, {"ended", json_flag(model_target_ended(m, i))},
	    {"killed_by", json_if(killed, killed_by_json(end))},
	    {"exit_status",
	     json_if(end && !killed && end->has_status, json_u64(end->status >> 8 & 0xff))});
}

static void put_targets(json_t *o, const struct model *m)
{
	size_t nr = model_nr_targets(m), first = 0;

	if (!nr)
		return;
	while (first + 1 < nr && !model_target(m, first)->requested)
		first++;
	if (!model_target(m, first)->requested)
		first = 0;
	json_add(o, {"target", target_json(m, first)},
		 {"targets", json_if(nr > 1, json_list(i, nr, target_json(m, i)))});
}

static json_t *cost_json(const struct rec_cost *c)
{
	return json_new(
	    {"hits", json_u64(c->hits)}, {"ns", json_u64(c->ns)},
	    {"percent_of_target_cpu", percent(output_cost_target_percent(c))},
	    {"percent_of_host_cpu", percent(output_cost_host_percent(c))},
	    {"percent_of_one_cpu", percent(output_cost_one_cpu_percent(c))},
	    {"target_ns", json_u64(output_cost_target_ns(c))},
	    {"allowed_ns", json_known(c->allowed_ns)}, {"attach_ns", json_u64(c->attach_ns)},
	    {"own_cpu_ns", json_u64(c->own_cpu_ns)}, {"start_cpu_ns", json_u64(c->start_cpu_ns)});
}

static json_t *lost_json(const struct rec_loss *l)
{
	return json_new({"records", json_u64(l->records)}, {"samples", json_u64(l->samples)},
			{"stacks", json_u64(l->stacks)}, {"tainted_ns", json_u64(l->tainted_ns)},
			{"activations", json_u64(l->activations)});
}

static json_t *phases_note(const struct rec_phases *p)
{
	SCOPED_BUF(b, 1 << 16);

	words_phases(&b, p);
	return text(b.data && !b.err ? b.data : "only phases are counted");
}

static json_t *phases_json(const struct rec_phases *p)
{
	return json_new({"begin", text(p->begin)}, {"end", text(p->end)},
			{"seen", json_u64(p->seen)}, {"ns", json_u64(p->ns)},
			{"blind", json_u64(p->blind)});
}

json_t *output_json_head(struct model *m, const char *kind, const struct output_options *opt)
{
	static const struct rec_cost no_cost;
	static const struct rec_loss no_loss;
	const struct rec_phases *phases = model_phases(m);
	json_t *notes = json_list(i, model_nr_notes(m), text(model_note(m, i)->text));
	json_t *o = json_new({"peaktop", json_string(PEAKTOP_VERSION)},
			     {"version", json_integer(JSON_VERSION)}, {"kind", json_string(kind)});

	if (phases)
		json_append(notes, phases_note(phases));
	put_targets(o, m);
	return json_add(
	    o, {"elapsed_ns", json_u64(opt->elapsed_ns ? opt->elapsed_ns : model_elapsed_ns(m))},
	    {"cost", cost_json(model_cost(m) ?: &no_cost)},
	    {"lost", lost_json(model_loss(m) ?: &no_loss)}, {"notes", notes},
	    {"phases", json_if(phases, phases_json(phases))});
}

static json_t *bucket_json(unsigned int bucket, unsigned int resolution, uint64_t count)
{
	return json_new({"low_ns", json_u64(bucket_low_ns(bucket, resolution))},
			{"high_ns", json_u64(bucket_high_ns(bucket, resolution))},
			{"count", json_u64(count)});
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
	uint64_t count;

	for (unsigned int i = 0; i < s->nr_buckets;) {
		bucket = s->bucket[i] / step;
		for (count = 0; i < s->nr_buckets && s->bucket[i] / step == bucket; i++)
			count += s->count[i];
		json_append(buckets, bucket_json(bucket, resolution, count));
	}
	return json_new({"start_ns", json_u64(s->start_ns)}, {"end_ns", json_u64(s->end_ns)},
			{"buckets", buckets});
}

static json_t *value_json(const struct peak_value *v)
{
	return json_new({"name", text(v->name)}, {"text", text(v->text)},
			{"separation", share(v->separation)});
}

static json_t *related_json(struct model *m, const struct peak *p)
{
	json_t *all = json_array(), *o;
	const struct op *other;

	for (unsigned int i = 0; i < p->nr_related; i++) {
		other = model_op_by_number(m, p->related[i].op);
		if (!other)
			continue;
		o = json_new({"name", text(other->name)}, {"function", function_of(other)});
		for (unsigned int j = 0; j < other->nr_peaks; j++) {
			if (other->peaks[j].id == p->related[i].peak_id)
				json_put(o, "peak", json_u64((uint64_t)other->peaks[j].rank));
		}
		json_append(all, json_add(o, {"by", text(p->related[i].by)},
					  {"score", share(p->related[i].score)}));
	}
	return all;
}

/* The percentiles of the calls in `range`. */
static void put_quantiles(json_t *o, const struct profile *p, struct bucket_range range)
{
	for (size_t i = 0; i < OUTPUT_QUANTILES && profile_range_calls(p, range); i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", output_quantiles[i].name);
		json_put(o, key, json_u64(profile_range_quantile(p, range, output_quantiles[i].q)));
	}
}

/* The fields of every peak, listed or folded. */
static void put_peak_figures(json_t *o, const struct op *op, const struct peak *p)
{
	json_add(o, {"low_ns", json_u64(p->low_ns)}, {"high_ns", json_u64(p->high_ns)},
		 {"mode_ns", json_u64(p->mode_ns)});
	put_quantiles(o, &op->total, p->range);
	json_add(o, {"calls", json_u64(p->calls)}, {"total_ns", json_u64(p->total_ns)},
		 {"share_of_calls", share(p->share_of_calls)},
		 {"share_of_time", share(p->share_of_time)});
}

json_t *output_json_peak(struct model *m, const struct op *op, const struct peak *p)
{
	json_t *o = json_new({"peak", json_integer(p->rank)}, {"id", json_integer(p->id)});

	put_peak_figures(o, op, p);
	return json_add(o, {"rate_hz", json_finite(p->rate_hz)},
			{"period_ns", json_if(p->period_ns > 0, json_u64((uint64_t)p->period_ns))},
			{"period_near", json_given(p->period_near)}, {"near", json_given(p->near)},
			{"share_in_run_queue", share(p->run_queue_share)},
			{"expected_preempted", percent(p->expected_preempted)},
			{"seen_preempted", percent(p->seen_preempted)},
			{"folded_as", json_given(words_fold(p->fold))},
			{"shadow_of", json_if(p->shadow_of, json_integer(p->shadow_of))},
			{"values", json_list(i, p->nr_values, value_json(&p->values[i]))},
			{"related", related_json(m, p)});
}

/* A peak that is not listed. */
static json_t *folded_json(const struct op *op, const struct peak *p)
{
	json_t *o =
	    json_new({"id", json_integer(p->id)}, {"folded_as", json_given(words_fold(p->fold))},
		     {"shadow_of", json_if(p->shadow_of, json_integer(p->shadow_of))});

	put_peak_figures(o, op, p);
	return o;
}

static json_t *open_call_json(const struct open_call *c)
{
	return json_new({"pid", json_u64(c->pid)}, {"tid", json_u64(c->tid)},
			{"comm", json_given(c->comm)}, {"age_ns", json_u64(c->age_ns)});
}

static uint64_t whole(double x)
{
	return x < 0x1p62 ? (uint64_t)(x + 0.5) : 1ull << 62;
}

static json_t *op_json(struct model *m, const struct op *op, unsigned int resolution)
{
	uint64_t calls;
	json_t *buckets = profile_json(&op->total, resolution, &calls);
	bool sampled = op->below_measurable && op->sampled_share >= 0;
	json_t *o = json_new(
	    {"name", text(op->name)}, {"function", function_of(op)},
	    {"requested", json_given(op->requested)},
	    {"layer", json_given(output_layer(op->layer))}, {"module", json_given(op->module)},
	    {"placement", json_given(op->placement)}, {"calls", json_u64(calls)},
	    {"calls_low", json_u64(op->calls_low)}, {"calls_high", json_u64(op->calls_high)},
	    {"calls_seen", json_u64(op->seen_calls)}, {"total_ns", json_u64(model_total_ns(op))},
	    {"total_low_ns", json_u64(whole(op->total_low_ns))},
	    {"total_high_ns", json_u64(whole(op->total_high_ns))});

	if (calls) {
		json_add(o, {"mean_ns", json_u64(whole(op->mean_ns))},
			 {"mean_low_ns", json_u64(whole(op->mean_low_ns))},
			 {"mean_high_ns", json_u64(whole(op->mean_high_ns))},
			 {"min_ns", json_u64(op->total.min_ns)},
			 {"max_ns", json_u64(op->total.max_ns)});
		put_quantiles(o, &op->total, (struct bucket_range){0, PT_BUCKETS});
	}
	return json_add(
	    o, {"floor_ns", json_known(op->floor_ns)}, {"open", json_u64(op->open)},
	    {"oldest_open_ns", json_if(op->open, json_u64(op->oldest_open_ns))},
	    {"open_calls", json_list(i, op->nr_open_calls, open_call_json(&op->open_calls[i]))},
	    {"abnormal", json_u64(op->abnormal)}, {"untimed", json_known(op->unseen)},
	    {"share_of_calls_seen", share(op->share_seen)},
	    {"latency_error_ns", json_known(op->error_ns)},
	    {"measurable_ns", json_known(op->measurable_ns)},
	    {"below_measurable", json_boolean(op->below_measurable)},
	    {"sampled_share_of_cpu", json_if(sampled, share(op->sampled_share))},
	    {"samples_of_cpu", json_if(sampled, json_u64(op->ticks))},
	    {"buckets_add_up", json_boolean(op->adds_up)}, {"buckets", buckets},
	    {"peaks", json_list(i, op->nr_peaks, output_json_peak(m, op, &op->peaks[i]))},
	    {"folded", json_list(i, op->nr_folded, folded_json(op, &op->folded[i]))});
}

json_t *output_json_operation(struct model *m, const struct op *op, unsigned int resolution)
{
	resolution = resolution ? resolution : 4;
	return json_add(
	    op_json(m, op, resolution),
	    {"slices", json_list(i, op->nr_slices, slice_json(&op->slices[i], resolution))});
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
	json_add(head,
		 {"slice",
		  json_if(o->json_lines && model_nr_slices(m), json_u64(model_nr_slices(m) - 1))},
		 {"operations_left_out", json_known(ops.left_out)});
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

static json_t *check_json(const struct rec_check *c)
{
	return json_new({"name", text(c->name)}, {"ok", json_boolean(c->ok != 0)},
			{"needed_for", json_given(c->needed_for)},
			{"remedy", json_if(!c->ok, json_given(c->remedy))});
}

json_t *output_checks_json(const struct model *m)
{
	return json_list(i, model_nr_checks(m), check_json(model_check(m, i)));
}

int output_doctor_json(struct model *m, const struct output_options *opt, FILE *f)
{
	const struct rec_meta *meta = model_meta(m);
	json_t *head = output_json_head(m, "doctor", opt);

	json_add(head, {"kernel", text(meta ? meta->kernel : "")},
		 {"checks", output_checks_json(m)});
	return json_write(head, JSON_LINE, f);
}
