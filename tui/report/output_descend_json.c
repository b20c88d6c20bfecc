// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_descend.h"

#include <jansson.h>
#include <math.h>

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/json_put.h"
#include "tui/report/output_descend_parts.h"
#include "tui/report/output_descend_sampled.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/sanitise.h"

enum { NAME_MAX_BYTES = 4096, TEXT_MAX = NAME_MAX_BYTES * SANITISE_MAX_GROWTH + 64 };

json_t *report_put_line(json_t *o, const struct driver_symbol *s)
{
	if (!s || !s->file[0])
		return o;
	return json_add(o, {"file", json_given(s->file)}, {"line", json_known(s->line)});
}

static json_t *name_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	char name[NAME_MAX_BYTES];

	return json_text(driver_function(d, n, name, sizeof(name)), NAME_MAX_BYTES);
}

/* The names of the inlined functions that contain a call site, innermost first. */
static json_t *inlined_at(const struct descent_driver *d, struct rec_code site)
{
	const struct rec_inlines *in = driver_inlines(d, site);
	uint32_t nr = 0;

	while (in && nr < in->nr_calls && in->calls[nr].inlined)
		nr++;
	return json_if(nr, json_list(i, nr, json_text(in->calls[i].function, NAME_MAX_BYTES)));
}

static json_t *call_site_json(const struct descent_driver *d, struct rec_code site)
{
	json_t *o = report_put_line(json_object(), driver_symbol(d, site.module, site.offset));

	return json_add(o, {"address", json_address(site.offset)},
			{"module", json_given(driver_module(d, site.module))},
			{"inlined", inlined_at(d, site)});
}

static json_t *loop_json(const struct inlined_level *l)
{
	return json_if(l->loop_first, json_new({"first_line", json_u64(l->loop_first)},
					       {"last_line", json_u64(l->loop_last)}));
}

/* A function that was inlined into the last frame and has no frame of its own. */
static json_t *inlined_json(const struct descent_driver *d, const struct descent_path *p,
			    const struct inlined *in, unsigned int i)
{
	const struct inlined_level *l = &in->level[i];

	return json_new({"function", json_text(l->function, NAME_MAX_BYTES)},
			{"module", json_given(driver_module(d, l->place.module))},
			{"inlined", json_true()}, {"file", json_given(l->file)},
			{"line", json_known(l->line)}, {"address", json_address(l->place.offset)},
			{"loop", loop_json(l)},
			{"share", json_share(p->share * (double)l->ns / (double)in->ns)},
			{"evidence", json_string(evidence_text(EVIDENCE_SAMPLED))});
}

/* The fields that a frame, a sibling and an fnode have in common: the function and its call
 * site. */
static json_t *function_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	struct rec_code f = n->function;
	const struct driver_symbol *s = f.module ? driver_symbol(d, f.module, f.offset) : NULL;

	return json_new({"function", name_json(d, n)},
			{"symbol", json_if(s, json_given(s->symbol))},
			{"module", json_if(f.module, json_given(driver_module(d, f.module)))},
			{"call_site", json_if(n->site.module, call_site_json(d, n->site))});
}

/* Add the measured figures of a node of the tree; nothing if the node was not measured. */
static json_t *put_figures(json_t *o, const struct descent_fnode *n)
{
	if (!n->records && n->depth)
		return o;
	return json_add(o, {"latency_ns", json_u64(n->latency_ns)},
			{"maxcount", json_u64(n->maxcount)}, {"decisions", json_u64(n->decisions)});
}

static json_t *frame_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	json_t *o = function_json(d, n);

	if (n->function.module) {
		report_put_line(o, driver_symbol(d, n->function.module, n->function.offset));
		json_put(o, "address", json_address(n->function.offset));
	}
	json_put(o, "share", json_share(n->share));
	return json_add(put_figures(o, n),
			{"records", json_if(n->records || !n->depth, json_u64(n->records))},
			{"evidence", json_string(evidence_text(report_evidence(n)))});
}

static json_t *sibling_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	return json_new({"function", name_json(d, n)},
			{"latency_ns", json_if(n->records, json_u64(n->latency_ns))},
			{"maxcount", json_if(n->records, json_u64(n->maxcount))});
}

/* Add the function that a path calls: name "dlopen", detail "7 calls, 107 us each". */
static void put_looped(json_t *o, const struct descent_driver *d, const struct descent_path *p)
{
	const struct descent_looped *looped = &p->looped;
	SCOPED_BUF(text, TEXT_MAX);

	report_function(&text, d, looped->function);
	json_put(o, "name", json_given(text.data));
	buf_reset(&text);
	if (looped->calls) {
		report_mean_count(&text, looped->calls);
		buf_printf(&text, " calls, %s each", format_time(looped->mean_ns).s);
		json_put(o, "calls", json_real(looped->calls));
	} else if (p->cause.kind == CAUSE_UNMEASURED) {
		buf_puts(&text, "by stack samples");
	} else {
		buf_puts(&text, looped->share > 0 ? "short calls, sampled" : "short calls");
		report_loop_kernel(&text, ", ", d, p);
	}
	json_add(o, {"detail", json_given(text.data)},
		 {"share", json_if(looped->share > 0, json_share(looped->share))});
}

static json_t *cause_json(const struct descent_driver *d, const struct descent_path *p)
{
	const struct cause *c = &p->cause;
	json_t *o = json_new({"kind", json_string(cause_kind_text(c->kind))});
	char *end;
	long long n;

	if (p->looped.share > 0 || p->looped.function.module) {
		put_looped(o, d, p);
		return o;
	}
	json_add(o, {"name", json_given(c->name)},
		 {"wait", json_if(c->wait, json_given(wait_kind_info(c->wait)->text))});
	n = strtoll(c->detail, &end, 10);
	if (c->kind == CAUSE_INTERRUPT && c->detail[0] && !*end) {
		json_put(o, "detail", json_integer(n));
	} else if (c->detail[0]) {
		json_put(o, "detail", json_given(c->detail));
	} else if (p->nr_pcs) {
		struct inlined in;
		SCOPED_BUF(where, TEXT_MAX);

		driver_narrow(d, p, &in);
		if (in.nr ? report_line(&where, "", in.level[in.nr - 1].file,
					in.level[in.nr - 1].line)
			  : report_place(&where, "", d, p->pcs[0].place))
			json_put(o, "detail", json_given(where.data));
	}
	return o;
}

void report_code_name(const struct descent_driver *d, struct rec_code code, char *out, size_t size)
{
	const struct driver_symbol *s = driver_symbol(d, code.module, code.offset);

	if (s && s->function[0])
		snprintf(out, size, "%s", s->function);
	else
		snprintf(out, size, "%s+0x%" PRIx64, driver_module(d, code.module), code.offset);
}

/* A stack frame that is no fnode: in the kernel part of a path, or a caller of a system call. */
static json_t *stack_frame_json(const struct descent_driver *d, const struct rec_frame *f,
				bool place)
{
	const struct driver_symbol *s = driver_symbol(d, f->module, f->function);
	char name[NAME_MAX_BYTES];
	json_t *o;

	report_code_name(d, (struct rec_code){f->module, f->function}, name, sizeof(name));
	o = json_new({"function", json_text(name, NAME_MAX_BYTES)},
		     {"symbol", json_if(s, json_given(s->symbol))},
		     {"module", json_given(driver_module(d, f->module))});
	if (place) {
		report_put_line(o, driver_symbol(d, f->module, f->offset - 1));
		json_put(o, "address", json_address(f->offset));
	}
	return o;
}

static json_t *kernel_frame_json(const struct descent_driver *d, const struct descent_path *p,
				 unsigned int i)
{
	return json_add(stack_frame_json(d, &p->kernel[i], false),
			{"share", json_share(p->share * p->kernel_part[i])},
			{"evidence", json_string(evidence_text(p->kernel_evidence))});
}

/* The callers of a system call, outermost first like all stacks in this JSON. */
static json_t *callers_json(const struct descent_driver *d, const struct descent_callers *c)
{
	const struct rec_frame *end = c->frame + c->nr_frames - 1;

	return json_new({"share", json_share(c->share)},
			{"frames", json_list(i, c->nr_frames, stack_frame_json(d, end - i, true))});
}

static json_t *path_json(const struct descend_report *report, const struct descent_result *r,
			 const struct descent_path *p)
{
	const struct descent_driver *d = report->driver;
	json_t *frames, *o;
	struct inlined in;

	driver_narrow(d, p, &in);
	frames = json_list(i, p->nr_frames, frame_json(d, &r->nodes[p->frames[i]]));
	if (in.nr && p->nr_frames)
		json_put(json_array_get(frames, p->nr_frames - 1), "loop", loop_json(&in.level[0]));
	for (unsigned int i = 1; i < in.nr; i++)
		json_append(frames, inlined_json(d, p, &in, i));
	/* a loop is that of the last frame */
	for (unsigned int i = 0; i < p->nr_kernel && p->cause.kind != CAUSE_LOOP; i++)
		json_append(frames, kernel_frame_json(d, p, i));
	o = json_new(
	    {"share", json_share(p->share)}, {"cause", cause_json(d, p)},
	    {"evidence", json_string(evidence_text(p->evidence))}, {"frames", frames},
	    {"siblings", json_list(i, p->nr_siblings, sibling_json(d, &r->nodes[p->siblings[i]]))},
	    {"in_kernel",
	     json_if(p->nr_deep, json_list(i, p->nr_deep, kernel_frame_json(d, p, i)))},
	    {"samples", json_if(p->nr_below, report_below_json(d, p))});
	report_put_waits(o, report, r, p);
	return o;
}

/* The tree: parents come before their children. */
static json_t *ftree_json(const struct descent_driver *d, const struct descent_result *r)
{
	json_t **children = calloc(r->nr_nodes + 1, sizeof(*children)), *root = NULL;

	for (unsigned int i = 0; children && i < r->nr_nodes; i++) {
		const struct descent_fnode *n = &r->nodes[i];
		json_t *o = put_figures(function_json(d, n), n);

		children[i] = json_array();
		json_add(o, {"root_cause", json_boolean(n->root_cause)}, {"children", children[i]});
		if (!i) {
			root = o;
			continue;
		}
		for (unsigned int j = 0; j < i; j++) {
			if (r->nodes[j].node == n->parent) {
				json_append(children[j], o);
				o = NULL;
				break;
			}
		}
		json_decref(o);
	}
	if (!children)
		json_fail();
	free(children);
	return root;
}

/* An interval of times or counts, rounded outwards to integers. */
static json_t *whole_interval(double low, double high)
{
	return json_pack("[I,I]", (json_int_t)floor(fmax(0, fmin(low, 0x1p62))),
			 (json_int_t)ceil(fmax(0, fmin(high, 0x1p62))));
}

/* The 95% confidence intervals of the figures. If calls were sampled, the interval of their count
 * includes the error of the sample and of the factor that scales it up. */
static json_t *intervals_json(const struct op *op, const struct peak *peak,
			      const struct descent_result *r)
{
	double calls = peak ? (double)peak->calls : 0,
	       share = op && op->share_seen > 0 ? fmin(op->share_seen, 1) : 1;
	double error = share < 1 ? 1.96 * sqrt(calls / share) : 0,
	       all = op ? (double)op->total.calls : 0;
	double below = all > 0 ? calls * fmax(0, 1 - (double)op->calls_low / all) : 0;
	double above = all > 0 ? calls * fmax(0, (double)op->calls_high / all - 1) : 0;

	return json_new(
	    {"mean_ns", whole_interval(r->latency_interval.low, r->latency_interval.high)},
	    {"explained",
	     json_pack("[f,f]", r->explained_interval.low, r->explained_interval.high)},
	    {"calls", json_if(peak, whole_interval(calls - hypot(error, below),
						   calls + hypot(error, above)))});
}

static json_t *missing_json(const struct descent_driver *d, const struct descent_result *r)
{
	const struct descent_missing *m = &r->missing;

	return json_new({"unmeasured", json_share(m->unmeasured)},
			{"unsampled", json_share(m->unsampled)},
			{"unknown", json_share(m->unknown)}, {"host", json_share(m->host)},
			{"other", json_share(m->other)},
			{"largest", json_if(m->largest, name_json(d, &r->nodes[m->largest]))},
			{"largest_share", json_if(m->largest, json_share(m->largest_share))});
}

/* Append the text as a note, and clear it for the next one. */
static void put_note(json_t *notes, struct buf *text)
{
	json_append(notes, text->err ? NULL : json_text(text->data, NAME_MAX_BYTES));
	buf_reset(text);
}

static void put_notes(json_t *notes, const struct descend_report *r, const struct op *op,
		      const struct descent_result *result)
{
	SCOPED_BUF(line, NAME_MAX_BYTES);

	if (result->refused[0]) {
		buf_printf(&line, "no answer, because its figures contradict each other: %s",
			   result->refused);
		put_note(notes, &line);
	}
	if (result->change[0])
		json_append(notes, json_text(result->change, NAME_MAX_BYTES));
	if (report_waited(r, "", &line))
		put_note(notes, &line);
	if (report_lacks_waits(&line, r, result))
		put_note(notes, &line);
	if (report_lacks_kernel(&line, r, result))
		put_note(notes, &line);
	if (report_left(&line, op))
		put_note(notes, &line);
}

json_t *report_paths_json(const struct descend_report *r, const struct descent_result *result)
{
	return json_list(i, result->nr_paths, path_json(r, result, &result->paths[i]));
}

static json_t *document(const struct descend_report *r, const struct output_options *opt,
			const struct descent_result *result)
{
	const struct op *op = model_op_peaks(r->model, r->op);
	const bool used = result->calls_used > 0, sampled = result->sampled.samples > 0;
	struct peak peak;
	bool known = report_peak(r, op, &peak);
	json_t *o = output_json_head(r->model, "descend", opt);
	char name[NAME_MAX_BYTES];

	report_subject(r, op, result, name, sizeof(name));
	json_add(
	    o, {"function", json_text(name, NAME_MAX_BYTES)},
	    {"module", json_if(op, json_given(op->module))},
	    {"profile",
	     json_if(op && !opt->json_lines, output_json_operation(r->model, op, opt->resolution))},
	    {"peak", json_if(known, output_json_peak(r->model, op, &peak))},
	    {"status", json_string(report_status(r, result))}, {"rounds", json_u64(result->rounds)},
	    {"calls_used", json_u64(result->calls_used)},
	    {"explained", json_share(result->explained)},
	    {"mean_ns", json_if(used || sampled, json_u64(result->latency_ns))},
	    {"expected_mean_ns", json_if(used, json_known(result->expected_ns))},
	    {"intervals", json_if(used, intervals_json(op, known ? &peak : NULL, result))},
	    {"missing", json_if(used, missing_json(r->driver, result))},
	    {"sampled", json_if(sampled, report_sampled_json(r, result))},
	    {"paths", report_paths_json(r, result)},
	    {"callers", json_unless_empty(json_list(i, result->nr_callers,
						    callers_json(r->driver, &result->callers[i])))},
	    {"ftree", json_if(result->nr_nodes, ftree_json(r->driver, result))});
	put_notes(json_object_get(o, "notes"), r, op, result);
	return o;
}

int output_descend_json(const struct descend_report *r, const struct output_options *opt, FILE *f)
{
	const struct descend_report first = report_first_part(r);
	SCOPED_BUF(note, NAME_MAX_BYTES);
	struct descent_result result;
	json_t *json;
	int err = report_result(&first, &result);

	if (err)
		return err;
	json = document(&first, opt, &result);
	report_put_parts_json(json, r);
	if (report_lacks_parts(&note, r))
		put_note(json_object_get(json, "notes"), &note);
	err = json_write(json, JSON_LINE, f);
	descent_result_release(&result);
	return err;
}
