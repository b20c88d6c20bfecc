// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Documents are written operation by operation and slice by slice, so that a
 * session of hours needs no more memory than its largest operation.
 */
#include "tui/report/output.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/base/buf.h"
#include "tui/report/json_put.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { JSON_VERSION = 1, MAX_TEXT = (64 << 10) / SANITISE_MAX_GROWTH };

/* An object under construction; the first error sticks. */
struct object {
	json_t *json;
	bool failed;
};

static struct object new_object(void)
{
	json_t *json = json_object();

	return (struct object){json, !json};
}

/* The finished object, or NULL when anything failed. */
static json_t *finish(struct object *o)
{
	if (o->failed) {
		json_decref(o->json);
		return NULL;
	}
	return o->json;
}

/* Add a field. Owns `value`. */
static void put(struct object *o, const char *key, json_t *value)
{
	if (json_object_set_new(o->json, key, value))
		o->failed = true;
}

static void put_u64(struct object *o, const char *key, uint64_t v)
{
	put(o, key, json_u64(v));
}

static void put_real(struct object *o, const char *key, double v)
{
	if (isfinite(v))
		put(o, key, json_real(v));
}

/* Add a share, unless it is negative (not known). */
static void put_share(struct object *o, const char *key, double v)
{
	if (isfinite(v) && v >= 0)
		put(o, key, json_real(fmin(v, 1)));
}

static json_t *text(const char *s)
{
	return json_text(s, MAX_TEXT);
}

static void put_text(struct object *o, const char *key, const char *s)
{
	if (s && s[0])
		put(o, key, text(s));
}

/* Append `value` to an array. Owns `value`. */
static void append(struct object *o, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		o->failed = true;
}

/* --- the fields that every document has */

static json_t *target_json(const struct model *m, size_t i)
{
	const struct rec_target *t = model_target(m, i);
	struct object o = new_object();

	put_u64(&o, "pid", t->pid);
	if (t->ns_pid && t->ns_pid != t->pid)
		put_u64(&o, "ns_pid", t->ns_pid);
	put(&o, "comm", text(t->comm));
	put_text(&o, "exe", t->exe);
	put_u64(&o, "started_ns", t->started_ns);
	if (model_target_ended(m, i))
		put(&o, "ended", json_true());
	return finish(&o);
}

static void put_targets(struct object *o, const struct model *m)
{
	size_t nr = model_nr_targets(m), i, first = 0;
	json_t *all;

	if (!nr)
		return;
	while (first + 1 < nr && !model_target(m, first)->requested)
		first++;
	if (!model_target(m, first)->requested)
		first = 0;
	put(o, "target", target_json(m, first));
	if (nr == 1)
		return;
	all = json_array();
	for (i = 0; i < nr; i++)
		append(o, all, target_json(m, i));
	put(o, "targets", all);
}

static json_t *cost_json(const struct rec_cost *c)
{
	struct object o = new_object();
	double target = output_cost_target_percent(c), host = output_cost_host_percent(c),
	       one = output_cost_one_cpu_percent(c);

	put_u64(&o, "hits", c->hits);
	put_u64(&o, "ns", c->ns);
	if (target >= 0)
		put_real(&o, "percent_of_target_cpu", target);
	if (host >= 0)
		put_real(&o, "percent_of_host_cpu", host);
	if (one >= 0)
		put_real(&o, "percent_of_one_cpu", one);
	put_u64(&o, "target_ns", output_cost_target_ns(c));
	if (c->allowed_ns)
		put_u64(&o, "allowed_ns", c->allowed_ns);
	put_u64(&o, "attach_ns", c->attach_ns);
	put_u64(&o, "own_cpu_ns", c->own_cpu_ns);
	put_u64(&o, "start_cpu_ns", c->start_cpu_ns);
	return finish(&o);
}

static json_t *lost_json(const struct rec_loss *l)
{
	struct object o = new_object();

	put_u64(&o, "records", l->records);
	put_u64(&o, "samples", l->samples);
	put_u64(&o, "stacks", l->stacks);
	put_u64(&o, "tainted_ns", l->tainted_ns);
	put_u64(&o, "activations", l->activations);
	return finish(&o);
}

static json_t *phases_note(const struct rec_phases *p)
{
	json_t *note;
	struct buf b;

	buf_init(&b, 1 << 16);
	words_phases(&b, p);
	note = text(b.data && !b.err ? b.data : "only phases are counted");
	buf_release(&b);
	return note;
}

static json_t *phases_json(const struct rec_phases *p)
{
	struct object o = new_object();

	put(&o, "begin", text(p->begin));
	put(&o, "end", text(p->end));
	put_u64(&o, "seen", p->seen);
	put_u64(&o, "ns", p->ns);
	put_u64(&o, "blind", p->blind);
	return finish(&o);
}

json_t *output_json_head(struct model *m, const char *kind, const struct output_options *opt)
{
	static const struct rec_cost no_cost;
	static const struct rec_loss no_loss;
	const struct rec_cost *cost = model_cost(m);
	const struct rec_loss *loss = model_loss(m);
	struct object o = new_object();
	json_t *notes = json_array();
	size_t i;

	put(&o, "peaktop", json_string(PEAKTOP_VERSION));
	put(&o, "version", json_integer(JSON_VERSION));
	put(&o, "kind", json_string(kind));
	put_targets(&o, m);
	put_u64(&o, "elapsed_ns", opt->elapsed_ns ? opt->elapsed_ns : model_elapsed_ns(m));
	put(&o, "cost", cost_json(cost ? cost : &no_cost));
	put(&o, "lost", lost_json(loss ? loss : &no_loss));
	for (i = 0; i < model_nr_notes(m); i++)
		append(&o, notes, text(model_note(m, i)->text));
	if (model_phases(m))
		append(&o, notes, phases_note(model_phases(m)));
	put(&o, "notes", notes);
	if (model_phases(m))
		put(&o, "phases", phases_json(model_phases(m)));
	return finish(&o);
}

/* --- operations */

static json_t *bucket_json(unsigned int bucket, unsigned int resolution, uint64_t count)
{
	struct object o = new_object();

	put_u64(&o, "low_ns", bucket_low_ns(bucket, resolution));
	put_u64(&o, "high_ns", bucket_high_ns(bucket, resolution));
	put_u64(&o, "count", count);
	return finish(&o);
}

/* The non-empty buckets; the sum of their counts is stored in *calls. */
static json_t *profile_json(const struct profile *p, unsigned int resolution, uint64_t *calls)
{
	struct object o = {json_array(), false};
	unsigned int i;
	uint64_t count;

	*calls = 0;
	for (i = 0; i < bucket_total(resolution); i++) {
		count = profile_count(p, i, resolution);
		if (!count)
			continue;
		*calls += count;
		append(&o, o.json, bucket_json(i, resolution, count));
	}
	return finish(&o);
}

static json_t *slice_json(const struct slice *s, unsigned int resolution)
{
	unsigned int step = PT_RESOLUTION / resolution, i, bucket;
	json_t *buckets = json_array();
	struct object o = new_object();
	uint64_t count;

	put_u64(&o, "start_ns", s->start_ns);
	put_u64(&o, "end_ns", s->end_ns);
	for (i = 0; i < s->nr_buckets;) {
		bucket = s->bucket[i] / step;
		for (count = 0; i < s->nr_buckets && s->bucket[i] / step == bucket; i++)
			count += s->count[i];
		append(&o, buckets, bucket_json(bucket, resolution, count));
	}
	put(&o, "buckets", buckets);
	return finish(&o);
}

static json_t *values_json(const struct peak *p)
{
	struct object all = {json_array(), false}, o;
	unsigned int i;

	for (i = 0; i < p->nr_values; i++) {
		o = new_object();
		put(&o, "name", text(p->values[i].name));
		put(&o, "text", text(p->values[i].text));
		put_share(&o, "separation", p->values[i].separation);
		append(&all, all.json, finish(&o));
	}
	return finish(&all);
}

static json_t *related_json(struct model *m, const struct peak *p)
{
	struct object all = {json_array(), false}, o;
	const struct op *other;
	unsigned int i, j;

	for (i = 0; i < p->nr_related; i++) {
		other = model_op_by_number(m, p->related[i].op);
		if (!other)
			continue;
		o = new_object();
		put(&o, "name", text(other->name));
		for (j = 0; j < other->nr_peaks; j++) {
			if (other->peaks[j].id == p->related[i].peak_id)
				put_u64(&o, "peak", (uint64_t)other->peaks[j].rank);
		}
		put(&o, "by", text(p->related[i].by));
		put_share(&o, "score", p->related[i].score);
		append(&all, all.json, finish(&o));
	}
	return finish(&all);
}

/* The fields of every peak, listed or folded. */
static void put_peak_figures(struct object *o, const struct peak *p)
{
	put_u64(o, "low_ns", p->low_ns);
	put_u64(o, "high_ns", p->high_ns);
	put_u64(o, "mode_ns", p->mode_ns);
	put_u64(o, "calls", p->calls);
	put_u64(o, "total_ns", p->total_ns);
	put_share(o, "share_of_calls", p->share_of_calls);
	put_share(o, "share_of_time", p->share_of_time);
}

static json_t *peak_json(struct model *m, const struct peak *p)
{
	struct object o = new_object();

	put(&o, "peak", json_integer(p->rank));
	put(&o, "id", json_integer(p->id));
	put_peak_figures(&o, p);
	put_real(&o, "rate_hz", p->rate_hz);
	if (p->period_ns > 0)
		put_u64(&o, "period_ns", (uint64_t)p->period_ns);
	put_text(&o, "period_near", p->period_near);
	put_text(&o, "near", p->near);
	put_share(&o, "share_in_run_queue", p->run_queue_share);
	if (p->expected_preempted >= 0)
		put_real(&o, "expected_preempted", p->expected_preempted);
	if (p->seen_preempted >= 0)
		put_real(&o, "seen_preempted", p->seen_preempted);
	put_text(&o, "folded_as", words_fold(p->fold));
	if (p->shadow_of)
		put(&o, "shadow_of", json_integer(p->shadow_of));
	put(&o, "values", values_json(p));
	put(&o, "related", related_json(m, p));
	return finish(&o);
}

/* A peak that is not listed. */
static json_t *folded_json(const struct peak *p)
{
	struct object o = new_object();

	put(&o, "id", json_integer(p->id));
	put_text(&o, "folded_as", words_fold(p->fold));
	if (p->shadow_of)
		put(&o, "shadow_of", json_integer(p->shadow_of));
	put_peak_figures(&o, p);
	return finish(&o);
}

static json_t *open_call_json(const struct open_call *c)
{
	struct object o = new_object();

	put_u64(&o, "pid", c->pid);
	put_u64(&o, "tid", c->tid);
	put_text(&o, "comm", c->comm);
	put_u64(&o, "age_ns", c->age_ns);
	return finish(&o);
}

static uint64_t whole(double x)
{
	return x < 0x1p62 ? (uint64_t)(x + 0.5) : 1ull << 62;
}

static json_t *op_json(struct model *m, const struct op *op, unsigned int resolution)
{
	static const char *const layers[LAYER_MAX] = {"syscall", "function", "kernel",
						      "block",	 "lock",     "runqueue"};
	struct object o = new_object();
	json_t *buckets, *peaks = json_array(), *folded = json_array(), *open = json_array();
	uint64_t calls;
	unsigned int i;

	buckets = profile_json(&op->total, resolution, &calls);
	put(&o, "name", text(op->name));
	put_text(&o, "requested", op->requested);
	if (op->layer < LAYER_MAX)
		put(&o, "layer", json_string(layers[op->layer]));
	put_text(&o, "module", op->module);
	put_text(&o, "placement", op->placement);
	put_u64(&o, "calls", calls);
	put_u64(&o, "calls_low", op->calls_low);
	put_u64(&o, "calls_high", op->calls_high);
	put_u64(&o, "calls_seen", op->seen_calls);
	put_u64(&o, "total_ns", op->total.sum_ns);
	put_u64(&o, "total_low_ns", whole(op->total_low_ns));
	put_u64(&o, "total_high_ns", whole(op->total_high_ns));
	if (calls) {
		put_u64(&o, "mean_ns", whole(op->mean_ns));
		put_u64(&o, "mean_low_ns", whole(op->mean_low_ns));
		put_u64(&o, "mean_high_ns", whole(op->mean_high_ns));
		put_u64(&o, "min_ns", op->total.min_ns);
		put_u64(&o, "max_ns", op->total.max_ns);
	}
	if (op->floor_ns)
		put_u64(&o, "floor_ns", op->floor_ns);
	put_u64(&o, "open", op->open);
	if (op->open)
		put_u64(&o, "oldest_open_ns", op->oldest_open_ns);
	for (i = 0; i < op->nr_open_calls; i++)
		append(&o, open, open_call_json(&op->open_calls[i]));
	put(&o, "open_calls", open);
	put_u64(&o, "abnormal", op->abnormal);
	if (op->unseen)
		put_u64(&o, "untimed", op->unseen);
	put_share(&o, "share_of_calls_seen", op->share_seen);
	if (op->error_ns)
		put_u64(&o, "latency_error_ns", op->error_ns);
	if (op->measurable_ns)
		put_u64(&o, "measurable_ns", op->measurable_ns);
	put(&o, "below_measurable", json_boolean(op->below_measurable));
	if (op->below_measurable && op->sampled_share >= 0) {
		put_share(&o, "sampled_share_of_cpu", op->sampled_share);
		put_u64(&o, "samples_of_cpu", op->ticks);
	}
	put(&o, "buckets_add_up", json_boolean(op->adds_up));
	put(&o, "buckets", buckets);
	for (i = 0; i < op->nr_peaks; i++)
		append(&o, peaks, peak_json(m, &op->peaks[i]));
	put(&o, "peaks", peaks);
	for (i = 0; i < op->nr_folded; i++)
		append(&o, folded, folded_json(&op->folded[i]));
	put(&o, "folded", folded);
	return finish(&o);
}

json_t *output_json_peak(struct model *m, const struct peak *p)
{
	return peak_json(m, p);
}

json_t *output_json_operation(struct model *m, const struct op *op, unsigned int resolution)
{
	struct object o = {op_json(m, op, resolution ? resolution : 4), false};
	json_t *slices = json_array();

	if (!o.json) {
		json_decref(slices);
		return NULL;
	}
	for (unsigned int i = 0; i < op->nr_slices; i++)
		append(&o, slices, slice_json(&op->slices[i], resolution ? resolution : 4));
	put(&o, "slices", slices);
	return finish(&o);
}

/* --- writing */

/* Write `json` and free it. With `open`, omit the last brace, so that more fields can follow. */
static int write_json(FILE *f, json_t *json, bool open)
{
	size_t len;
	char *s;
	int err;

	if (!json)
		return -ENOMEM;
	s = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(json);
	if (!s)
		return -ENOMEM;
	len = strlen(s) - (open ? 1 : 0);
	errno = EIO;
	err = fwrite(s, 1, len, f) == len ? 0 : -errno;
	free(s);
	return err;
}

static int write_text(FILE *f, const char *s)
{
	errno = EIO;
	return fputs(s, f) < 0 ? -errno : 0;
}

static int write_op(struct model *m, const struct op *op, const struct output_options *o,
		    unsigned int resolution, FILE *f)
{
	const char *separator = o->json_lines ? "" : "\n  ";
	unsigned int i;
	int err;

	err = write_json(f, op_json(m, op, resolution), true);
	if (!err)
		err = write_text(f, ",\"slices\":[");
	for (i = 0; i < op->nr_slices && !err; i++) {
		/* Compare the end of each slice: slices of bursts may be longer and arrive late. */
		if (o->json_lines && op->slices[i].end_ns <= o->since_ns)
			continue;
		err = write_text(f, separator);
		if (!err)
			err = write_json(f, slice_json(&op->slices[i], resolution), false);
		separator = o->json_lines ? "," : ",\n  ";
	}
	return err ? err : write_text(f, "]}");
}

static int flush(FILE *f)
{
	errno = EIO;
	return fflush(f) || ferror(f) ? -errno : 0;
}

int output_watch_json(struct model *m, const struct output_options *o, FILE *f)
{
	unsigned int resolution = o->resolution ? o->resolution : 4;
	const char *separator = o->json_lines ? "" : "\n ";
	const struct op **ops, *full;
	long nr = output_sorted_ops(m, &ops), i;
	struct object head;
	int err;

	if (nr < 0)
		return (int)nr;
	head = (struct object){output_json_head(m, "watch", o), false};
	if (head.json && o->json_lines && model_nr_slices(m))
		put_u64(&head, "slice", model_nr_slices(m) - 1);
	err = write_json(f, head.json ? finish(&head) : NULL, true);
	if (!err)
		err = write_text(f, ",\"operations\":[");
	for (i = 0; i < nr && !err; i++) {
		full = model_op_peaks(m, ops[i]->op);
		err = write_text(f, separator);
		if (!err)
			err = full ? write_op(m, full, o, resolution, f) : -ENOMEM;
		separator = o->json_lines ? "," : ",\n ";
	}
	free(ops);
	if (!err)
		err = write_text(f, "]}\n");
	return err ? err : flush(f);
}

int output_doctor_json(struct model *m, const struct output_options *opt, FILE *f)
{
	struct object head = {output_json_head(m, "doctor", opt), false}, o;
	const struct rec_meta *meta = model_meta(m);
	const struct rec_check *c;
	json_t *checks = json_array();
	size_t i;
	int err;

	if (!head.json) {
		json_decref(checks);
		return -ENOMEM;
	}
	put(&head, "kernel", text(meta ? meta->kernel : ""));
	for (i = 0; i < model_nr_checks(m); i++) {
		c = model_check(m, i);
		o = new_object();
		put(&o, "name", text(c->name));
		put(&o, "ok", json_boolean(c->ok != 0));
		put_text(&o, "needed_for", c->needed_for);
		if (!c->ok)
			put_text(&o, "remedy", c->remedy);
		append(&head, checks, finish(&o));
	}
	put(&head, "checks", checks);
	err = write_json(f, finish(&head), false);
	if (!err)
		err = write_text(f, "\n");
	return err ? err : flush(f);
}
