// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/condition.h"

#include <ctype.h>
#include <math.h>

#include "analysis/base/array.h"
#include "analysis/base/duration.h"
#include "analysis/latency/event_log.h"

struct reading {
	const char *text, *at;
	char *error;
	size_t error_size;
};

static const struct {
	const char *word;
	enum condition_figure figure;
} figures[] = {
    {"mean", CONDITION_MEAN}, {"max", CONDITION_MAX},	  {"open", CONDITION_OPEN},
    {"rate", CONDITION_RATE}, {"share", CONDITION_SHARE}, {"new_peak", CONDITION_NEW_PEAK},
    {"load", CONDITION_LOAD},
};

static int wrong(const struct reading *r, const char *expected)
{
	snprintf(r->error, r->error_size, "--when '%.200s': position %zu: %s", r->text,
		 (size_t)(r->at - r->text) + 1, expected);
	return -EINVAL;
}

static void skip_blanks(struct reading *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

/* A number as people write it: strtod() would take "inf", "nan" and "0x1p3", too. */
static bool number(struct reading *r, double *out)
{
	size_t n = strspn(r->at, "0123456789.");
	char *end;

	*out = strtod(r->at, &end);
	if (!n || end != r->at + n || !isfinite(*out))
		return false;
	r->at = end;
	return true;
}

static int figure_parse(struct reading *r, struct condition *c)
{
	static const char expected[] =
	    "expected p99(OP), mean(OP), max(OP), open(OP), rate(OP), share(OP), new_peak(OP) or "
	    "load";
	size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
	double percent;

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		if (n != strlen(figures[i].word) || strncmp(r->at, figures[i].word, n))
			continue;
		c->figure = figures[i].figure;
		r->at += n;
		return 0;
	}
	if (n != 1 || *r->at != 'p')
		return wrong(r, expected);
	r->at++;
	if (!number(r, &percent))
		return wrong(r, expected);
	c->figure = CONDITION_QUANTILE;
	c->quantile = percent / 100;
	return c->quantile > 0 && c->quantile < 1
		   ? 0
		   : wrong(r, "the number of p must be larger than 0 and smaller than 100");
}

/* Read "(OP)"; names of C++ may have parentheses themselves. */
static int op_parse(struct reading *r, struct condition *c)
{
	unsigned int depth = 0;
	const char *end;
	size_t n;

	skip_blanks(r);
	if (*r->at != '(')
		return wrong(r, "expected the operation in parentheses, as in p99(serve_request)");
	for (end = r->at; *end; end++) {
		depth += *end == '(';
		depth -= *end == ')';
		if (!depth)
			break;
	}
	if (!*end)
		return wrong(r, "this parenthesis is not closed");
	r->at++;
	skip_blanks(r);
	n = (size_t)(end - r->at);
	while (n && isblank((unsigned char)r->at[n - 1]))
		n--;
	if (!n || n >= sizeof(c->op))
		return wrong(r, n ? "the name of the operation is too long"
				  : "expected the name of an operation");
	memcpy(c->op, r->at, n);
	r->at = end + 1;
	return 0;
}

static bool is_time(enum condition_figure figure)
{
	return figure <= CONDITION_OPEN;
}

/* Returns a time in ns; 0: there is none. duration_parse() would take signs and blanks, too. */
static uint64_t time_read(struct reading *r)
{
	const char *end = r->at;
	uint64_t ns = isdigit((unsigned char)*r->at) ? duration_parse(r->at, "", &end) : 0;

	if (ns)
		r->at = end;
	return ns;
}

static int value_parse(struct reading *r, struct condition *c)
{
	skip_blanks(r);
	if (is_time(c->figure)) {
		c->value = (double)time_read(r);
		return c->value > 0 ? 0 : wrong(r, "expected a time with its unit, as in 50ms");
	}
	if (!number(r, &c->value))
		return wrong(r, "expected a number");
	if (c->figure == CONDITION_RATE && !strncmp(r->at, "/s", 2))
		r->at += 2;
	if (c->figure != CONDITION_SHARE)
		return 0;
	if (*r->at != '%')
		return wrong(r, "expected %: a share is given in percent, as in 20%");
	r->at++;
	c->value /= 100;
	return 0;
}

static int test_parse(struct reading *r, struct condition *c)
{
	int err = figure_parse(r, c);

	if (!err && c->figure != CONDITION_LOAD)
		err = op_parse(r, c);
	if (err || c->figure == CONDITION_NEW_PEAK)
		return err;
	skip_blanks(r);
	if (*r->at != '<' && *r->at != '>')
		return wrong(r, "expected < or >");
	c->below = *r->at++ == '<';
	return value_parse(r, c);
}

int condition_parse(struct condition *c, const char *text, char *error, size_t n)
{
	struct reading r = {.text = text, .at = text, .error = error, .error_size = n};
	int err;

	*c = (struct condition){0};
	skip_blanks(&r);
	err = test_parse(&r, c);
	if (err)
		return err;
	skip_blanks(&r);
	if (c->figure != CONDITION_NEW_PEAK && !strncmp(r.at, "for", 3)) {
		r.at += 3;
		skip_blanks(&r);
		c->for_ns = time_read(&r);
		if (!c->for_ns)
			return wrong(&r, "expected a time with its unit, as in 5s");
		skip_blanks(&r);
	}
	if (!*r.at)
		return 0;
	return wrong(&r, c->figure == CONDITION_NEW_PEAK ? "expected nothing more"
			 : c->for_ns			 ? "expected nothing after the time"
				     : "expected \"for\" and a time, or nothing");
}

struct text condition_value(const struct condition *c, double value)
{
	struct text t;

	if (is_time(c->figure))
		return format_time((uint64_t)value);
	if (c->figure == CONDITION_SHARE)
		snprintf(t.s, sizeof(t.s), "%.3g%%", value * 100);
	else if (c->figure == CONDITION_RATE)
		snprintf(t.s, sizeof(t.s), "%.30s/s", format_rate(value).s);
	else
		snprintf(t.s, sizeof(t.s), "%.2f", value);
	return t;
}

static const struct op *op_of(const struct condition *c, struct condition_state *s, struct model *m)
{
	for (size_t i = 0; !s->op && i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (!strcmp(op->requested, c->op) || !strcmp(op->name, c->op) ||
		    !strcmp(op->label, c->op))
			s->op = op->op;
	}
	return s->op ? model_op_by_number(m, s->op) : NULL;
}

/* The slice that ended since the last call; NULL: there is none. */
static const struct slice *new_slice(struct condition_state *s, const struct op *op)
{
	const struct slice *last = op->nr_slices ? &op->slices[op->nr_slices - 1] : NULL;

	if (!last || last->end_ns <= s->slice_ns)
		return NULL;
	s->slice_ns = last->end_ns;
	return last;
}

/* True if the operation had no call in the last slice: all calls are seen, and a record is sent for
 * each slice that has one. */
static bool was_silent(const struct op *op)
{
	return op->layer != LAYER_FUNCTION && op->layer != LAYER_KERNEL &&
	       op->share_seen >= ALL_SEEN;
}

/* What the last slice tells of the figure. */
enum knowledge { UNKNOWN, KNOWN, NO_CALL /* there is none of which it could be */ };

/* A figure of the calls that ended in the last slice. */
static enum knowledge slice_figure(const struct condition *c, struct condition_state *s,
				   const struct op *op, double *out)
{
	const struct slice *last = new_slice(s, op);
	double length = last ? (double)(last->end_ns - last->start_ns) : 0;
	bool rates = c->figure == CONDITION_RATE || c->figure == CONDITION_SHARE;

	*out = 0;
	if (!last)
		return !was_silent(op) ? UNKNOWN : rates ? KNOWN : NO_CALL;
	if (rates) {
		*out = c->figure == CONDITION_RATE ? (double)last->calls * 1e9 / length
						   : (double)last->sum_ns / length;
		return length > 0 && last->armed_ns ? KNOWN : UNKNOWN;
	}
	if (!last->calls || !op->recent.calls)
		return last->armed_ns ? NO_CALL : UNKNOWN;
	switch (c->figure) {
	case CONDITION_QUANTILE:
		*out = (double)profile_quantile(&op->recent, c->quantile);
		break;
	case CONDITION_MAX:
		*out = (double)op->recent.max_ns;
		break;
	default:
		*out = (double)op->recent.sum_ns / (double)op->recent.calls;
	}
	return KNOWN;
}

/* True if a peak has appeared that was not there before. */
static bool new_peak(struct condition_state *s, const struct model *m, uint32_t op)
{
	const struct event_log *log = model_event_log(m);
	int highest = s->last_peak;
	const struct event *e;

	for (size_t i = 0; (e = event_log_at(log, i)); i++) {
		if (e->op == op && e->kind == EVENT_PEAK_APPEARED && e->peak > highest)
			highest = e->peak;
	}
	if (highest == s->last_peak)
		return false;
	s->last_peak = highest;
	return model_elapsed_ns(m) > CONDITION_LEARNS_NS;
}

static enum knowledge figure_now(const struct condition *c, struct condition_state *s,
				 struct model *m, double load, double *out)
{
	const struct op *op;

	*out = load;
	if (c->figure == CONDITION_LOAD)
		return load >= 0 ? KNOWN : UNKNOWN;
	op = op_of(c, s, m);
	if (!op)
		return UNKNOWN;
	if (c->figure == CONDITION_OPEN) {
		*out = op->open ? (double)op->oldest_open_ns : 0;
		return KNOWN;
	}
	return slice_figure(c, s, op, out);
}

static void remember(const struct condition *c, struct condition_state *s, double value, bool holds)
{
	if (!s->known || (c->below ? value < s->farthest : value > s->farthest))
		s->farthest = value;
	s->known++;
	s->held += holds;
	s->now = value;
}

bool condition_met(const struct condition *c, struct condition_state *s, struct model *m,
		   double load)
{
	uint64_t now = model_elapsed_ns(m), began = now - model_interval_ns(m);
	enum knowledge known;
	double value;
	bool holds;

	if (c->figure == CONDITION_NEW_PEAK) {
		holds = op_of(c, s, m) && new_peak(s, m, s->op);
		s->known += s->op != 0;
		s->held += holds;
		return holds;
	}
	known = figure_now(c, s, m, load, &value);
	if (known == NO_CALL)
		s->since_ns = 0;
	if (known == KNOWN) {
		holds = c->below ? value < c->value : value > c->value;
		remember(c, s, value, holds);
		if (!holds)
			s->since_ns = 0;
		else if (!s->since_ns)
			s->since_ns = (began < now ? began : 0) + 1;
	}
	return s->since_ns && now + 1 >= s->since_ns + c->for_ns;
}
