// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_diff.h"

#include "analysis/base/format.h"
#include "tui/report/json_put.h"
#include "tui/report/sanitise.h"

enum { MAX_OUTPUT = 64 << 20, MAX_REASON = 512 };

static const char *const session_names[2] = {"Before: ", "After:  "};

static const char *name_of(const struct op *op)
{
	return op->shown[0] ? op->shown : op->name;
}

static void put_side(struct buf *out, const struct diff_report *r, const struct diff_pair *p,
		     const struct output_options *o)
{
	const struct op *const side[2] = {p->before, p->after};

	for (unsigned int i = 0; i < 2; i++) {
		const struct op *op = side[i];
		double covered;
		SCOPED_BUF(line, MAX_REASON);

		if (!op) {
			buf_puts(&line, "no call");
		} else {
			covered = model_covered_ns(op, (double)model_elapsed_ns(r->model[i]));
			buf_printf(&line, "%s calls", format_count(op->total.calls).s);
			if (covered > 0)
				buf_printf(&line, ", %s/s",
					   format_rate((double)op->total.calls * 1e9 / covered).s);
			for (size_t q = 0; q < OUTPUT_QUANTILES; q++)
				buf_printf(
				    &line, ", %s %s", output_quantiles[q].text,
				    format_time(profile_quantile(&op->total, output_quantiles[q].q))
					.s);
			if (op->share_seen < 1)
				buf_printf(&line, "; sampled: %s of calls, counts are estimates",
					   format_percent(op->share_seen).s);
		}
		output_wrap(out, &line, o, i ? "    after:  " : "    before: ", 12);
	}
}

static void put_changed(struct buf *out, const struct diff_report *r, const struct diff_pair *p,
			const struct output_options *o)
{
	const char *name = name_of(p->after ? p->after : p->before);
	const struct compare_pair *c = p->compared;
	SCOPED_BUF(line, MAX_OUTPUT);

	buf_putc(out, '\n');
	sanitise_puts(&line, name);
	output_wrap(out, &line, o, "", 4);
	for (unsigned int i = 0; i < c->nr_reasons; i++) {
		buf_reset(&line);
		compare_reason_words(&line, &c->reason[i], r->diff->result.rates);
		output_wrap(out, &line, o, "  - ", 4);
	}
	put_side(out, r, p, o);
}

/* The names of all pairs with this verdict, in one paragraph. */
static void put_names(struct buf *out, const struct diff *d, enum compare_verdict verdict,
		      const char *first, const struct output_options *o)
{
	unsigned int nr = 0;
	SCOPED_BUF(line, MAX_OUTPUT);

	for (unsigned int i = 0; i < d->result.nr; i++) {
		const struct diff_pair *p = &d->pair[i];
		const char *name = name_of(p->after ? p->after : p->before);

		if (p->compared->verdict != verdict)
			continue;
		buf_puts(&line, nr++ ? ", " : "");
		sanitise_puts(&line, name);
	}
	if (nr)
		output_wrap(out, &line, o, first, 4);
}

static const char *const omission_texts[DIFF_REASONS] = {
    [DIFF_ONLY_BEFORE] = "Measured only before, so not compared: ",
    [DIFF_ONLY_AFTER] = "Measured only after, so not compared: ",
    [DIFF_TOO_FAST] = "Faster than probes can measure, so not compared: ",
};

static void put_omitted(struct buf *out, const struct diff *d, enum diff_left_out why,
			const struct output_options *o)
{
	unsigned int nr = 0;
	SCOPED_BUF(line, MAX_OUTPUT);

	for (unsigned int i = 0; i < d->nr_omitted; i++) {
		const char *name = name_of(d->omitted[i].op);

		if (d->omitted[i].why != why)
			continue;
		buf_puts(&line, nr++ ? ", " : "");
		sanitise_puts(&line, name);
	}
	if (nr)
		output_wrap(out, &line, o, omission_texts[why], 4);
}

int output_diff_text(const struct diff_report *r, const struct output_options *o, FILE *f)
{
	const struct diff *d = r->diff;
	struct buf out = {.max = MAX_OUTPUT};

	for (unsigned int i = 0; i < 2; i++) {
		buf_puts(&out, session_names[i]);
		sanitise_puts(&out, r->file[i]);
		buf_putc(&out, '\n');
		output_text_state(&out, r->model[i], o);
		buf_putc(&out, '\n');
	}
	if (d->result.nr_changed)
		buf_printf(&out, "%u of %u operations changed.\n", d->result.nr_changed,
			   d->result.nr);
	else
		buf_printf(&out, "No change was found in %u %s.\n", d->result.nr,
			   d->result.nr == 1 ? "operation" : "operations");
	for (unsigned int i = 0; i < d->result.nr_changed; i++)
		put_changed(&out, r, &d->pair[i], o);
	if (d->result.nr_changed)
		buf_putc(&out, '\n');
	put_names(&out, d, COMPARE_SAME, "The same: ", o);
	put_names(&out, d, COMPARE_TOO_FEW, "Too few calls to tell: ", o);
	put_names(&out, d, COMPARE_NEGLIGIBLE, "Too little time to matter: ", o);
	for (enum diff_left_out why = 0; why < DIFF_REASONS; why++)
		put_omitted(&out, d, why, o);
	return output_text_write(&out, f);
}

static const char *const verdicts[] = {
    [COMPARE_SAME] = "same",
    [COMPARE_CHANGED] = "changed",
    [COMPARE_NEGLIGIBLE] = "negligible",
    [COMPARE_TOO_FEW] = "too few calls",
};

static const char *const omissions[DIFF_REASONS] = {
    [DIFF_ONLY_BEFORE] = "measured only before",
    [DIFF_ONLY_AFTER] = "measured only after",
    [DIFF_TOO_FAST] = "too fast to measure",
};

static const char *const kinds[] = {
    [COMPARE_APPEARED] = "appeared",   [COMPARE_VANISHED] = "vanished",
    [COMPARE_CALLS] = "calls",	       [COMPARE_PEAK_NEW] = "new peak",
    [COMPARE_PEAK_GONE] = "gone peak", [COMPARE_PEAK_MOVED] = "moved peak",
    [COMPARE_PEAK_WEIGHT] = "weight",  [COMPARE_SHAPE] = "shape",
};

static bool is_of_calls(enum compare_kind kind)
{
	return kind == COMPARE_APPEARED || kind == COMPARE_VANISHED || kind == COMPARE_CALLS;
}

static json_t *reason_json(const struct compare_reason *reason, bool rates)
{
	const char *unit = !is_of_calls(reason->kind) ? "share" : rates ? "rate_hz" : "calls";
	bool shape = reason->kind == COMPARE_SHAPE;
	SCOPED_BUF(words, MAX_REASON);
	char before[32], after[32];
	json_t *o;

	compare_reason_words(&words, reason, rates);
	snprintf(before, sizeof(before), "%s_before", unit);
	snprintf(after, sizeof(after), "%s_after", unit);
	o = json_new(
	    {"kind", json_string(kinds[reason->kind])}, {"text", json_given(words.data)},
	    {"mode_ns", json_if(!is_of_calls(reason->kind) && !shape, json_u64(reason->mode_ns))},
	    {"old_mode_ns",
	     json_if(reason->kind == COMPARE_PEAK_MOVED, json_u64(reason->old_mode_ns))});
	if (shape)
		return json_add(
		    o, {reason->before < 0 ? "faster" : "slower", json_real(reason->after)});
	return json_add(o, {before, json_real(reason->before)}, {after, json_real(reason->after)});
}

static json_t *side_json(const struct op *op)
{
	json_t *o =
	    json_new({"calls", json_u64(op->total.calls)}, {"total_ns", json_u64(op->total.sum_ns)},
		     {"share_of_calls_seen", json_real(op->share_seen)});
	char key[32];

	for (size_t i = 0; i < OUTPUT_QUANTILES && op->total.calls; i++) {
		snprintf(key, sizeof(key), "%s_ns", output_quantiles[i].name);
		json_put(o, key, json_u64(profile_quantile(&op->total, output_quantiles[i].q)));
	}
	return o;
}

static json_t *operation_json(const struct op *op, const char *verdict)
{
	return json_new({"name", json_text(op->name, JSON_MAX_TEXT)},
			{"layer", json_string(output_layer(op->layer))},
			{"verdict", json_string(verdict)});
}

static json_t *pair_json(const struct diff *d, const struct diff_pair *p)
{
	const struct compare_pair *c = p->compared;

	return json_add(
	    operation_json(p->after ? p->after : p->before, verdicts[c->verdict]),
	    {"reasons", json_list(i, c->nr_reasons, reason_json(&c->reason[i], d->result.rates))},
	    {"before", json_if(p->before, side_json(p->before))},
	    {"after", json_if(p->after, side_json(p->after))});
}

/* The first session, with what the head of the document says about the second. */
static json_t *before_json(const struct diff_report *r, const struct output_options *o)
{
	json_t *head = output_json_head(r->model[0], "diff", o);

	json_object_del(head, "peaktop");
	json_object_del(head, "version");
	json_object_del(head, "kind");
	return json_add(head, {"file", json_given(r->file[0])});
}

int output_diff_json(const struct diff_report *r, const struct output_options *o, FILE *f)
{
	const struct diff *d = r->diff;
	json_t *head = output_json_head(r->model[1], "diff", o),
	       *list = json_list(i, d->result.nr, pair_json(d, &d->pair[i]));

	for (unsigned int i = 0; i < d->nr_omitted; i++)
		json_append(list, operation_json(d->omitted[i].op, omissions[d->omitted[i].why]));
	json_add(head, {"file", json_given(r->file[1])}, {"before", before_json(r, o)},
		 {"changed", json_u64(d->result.nr_changed)}, {"operations", list});
	return json_write(head, JSON_LINE, f);
}
