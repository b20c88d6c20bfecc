// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints an answer by samples alone: its calls are too short to time what they call. */
#include "tui/report/output_descend_sampled.h"

#include "analysis/base/format.h"
#include "tui/report/json_put.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/sanitise.h"

enum { NAME_MAX_BYTES = 4096, MAX_OUTPUT = 1 << 20 };

/* A function of the kernel with this part of the time of its caller is shown without its share. */
#define AS_MUCH 0.95

void report_sampled_begin(const struct descend_report *r, const struct descent_result *result,
			  struct buf *out)
{
	const struct op *op = model_op_peaks(r->model, r->op);
	const struct profile *p = descent_start_profile(driver_descent(r->driver));

	buf_puts(out, "all calls of ");
	report_function(out, r->driver, result->sampled.function[0].function);
	if (op && op->below_measurable)
		buf_printf(out, ", most of them shorter than %s, which is too short to measure",
			   format_time(op->measurable_ns).s);
	else if (p->calls)
		buf_printf(out, ", %s on average (half of them at most %s)",
			   format_time(result->latency_ns).s,
			   format_time(profile_quantile(p, 0.5)).s);
}

void report_sampled_end(const struct descent_result *result, struct buf *out)
{
	buf_printf(out, "; by %s CPU samples, because its calls are too short for probes in them",
		   format_count(result->sampled.samples).s);
}

void report_sampled_table(const struct descend_report *r, const struct descent_result *result,
			  struct buf *out)
{
	const struct descent_sampled *s = &result->sampled;

	if (!s->samples)
		return;
	buf_puts(out, "\nBy samples, the function and those with most of its time (% of it):\n"
		      "  itself  with callees  function\n");
	for (unsigned int i = 0; i < s->nr; i++) {
		buf_printf(out, "  %s        %s  ", format_percent_fixed(s->function[i].own).s,
			   format_percent_fixed(s->function[i].inclusive).s);
		report_function(out, r->driver, s->function[i].function);
		buf_putc(out, '\n');
	}
	if (s->nr_rest)
		buf_printf(out, "  %s                %u other%s\n", format_percent_fixed(s->rest).s,
			   s->nr_rest, s->nr_rest > 1 ? "s" : "");
}

static json_t *name_json(const struct descent_driver *d, struct rec_code function)
{
	char name[NAME_MAX_BYTES] = NO_FILE;

	if (function.module)
		report_code_name(d, function, name, sizeof(name));
	return json_text(name, NAME_MAX_BYTES);
}

static json_t *function_json(const struct descend_report *r, const struct descent_share *s)
{
	return json_new({"function", name_json(r->driver, s->function)},
			{"module", json_given(driver_module(r->driver, s->function.module))},
			{"itself", json_share(s->own)}, {"with_callees", json_share(s->inclusive)});
}

json_t *report_sampled_json(const struct descend_report *r, const struct descent_result *result)
{
	const struct descent_sampled *s = &result->sampled;

	return json_new({"samples", json_u64(s->samples)},
			{"functions", json_list(i, s->nr, function_json(r, &s->function[i]))},
			{"others", json_u64(s->nr_rest)}, {"rest", json_share(s->rest)});
}

void report_put_kernel(struct buf *out, const struct descend_report *r,
		       const struct descent_path *p, const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);
	double part = 1;

	if (!p->nr_deep)
		return;
	for (unsigned int i = 0; i < p->nr_deep; i++) {
		const struct rec_frame *f = &p->kernel[i];

		buf_puts(&line, i ? " > " : "");
		report_function(&line, r->driver, (struct rec_code){f->module, f->function});
		if (p->kernel_part[i] >= part * AS_MUCH)
			continue;
		part = p->kernel_part[i];
		buf_printf(&line, " %s", format_percent(part * p->share).s);
	}
	buf_printf(&line, " (%s)", report_evidence_words(p->kernel_evidence));
	output_wrap(out, &line, o, "  in the kernel: ", 17);
}

void report_put_below(struct buf *out, const struct descend_report *r, const struct descent_path *p,
		      const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	if (!p->nr_below)
		return;
	for (unsigned int i = 0; i < p->nr_below; i++) {
		buf_printf(&line, "%s%s ", i ? ", " : "", format_percent(p->below[i].share).s);
		report_function(&line, r->driver, p->below[i].function);
	}
	output_wrap(out, &line, o, "  CPU samples: ", 14);
}

static json_t *below_json(const struct descent_driver *d, const struct descent_below *f)
{
	return json_new({"function", name_json(d, f->function)},
			{"module", json_text(driver_module(d, f->function.module), NAME_MAX_BYTES)},
			{"share", json_share(f->share)});
}

json_t *report_below_json(const struct descent_driver *d, const struct descent_path *p)
{
	return json_list(i, p->nr_below, below_json(d, &p->below[i]));
}
