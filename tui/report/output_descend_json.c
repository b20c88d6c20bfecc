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

void report_put_line(json_t *o, const struct driver_symbol *s)
{
	if (!s || !s->file[0])
		return;
	json_put_text(o, "file", s->file);
	if (s->line)
		json_put_u64(o, "line", s->line);
}

static json_t *name_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	char name[NAME_MAX_BYTES];

	return json_text(driver_function(d, n, name, sizeof(name)), NAME_MAX_BYTES);
}

/* Add the names of the inlined functions that contain a call site, innermost first. */
static void put_inlined_at(json_t *o, const struct descent_driver *d, struct rec_code site)
{
	const struct rec_inlines *in = driver_inlines(d, site);
	json_t *names = json_array();

	for (uint32_t i = 0; in && i < in->nr_calls && in->calls[i].inlined; i++)
		json_append(names, json_text(in->calls[i].function, NAME_MAX_BYTES));
	if (json_array_size(names))
		json_put(o, "inlined", names);
	else
		json_decref(names);
}

static json_t *call_site_json(const struct descent_driver *d, struct rec_code site)
{
	json_t *o = json_object();

	report_put_line(o, driver_symbol(d, site.module, site.offset));
	json_put_address(o, site.offset);
	json_put_text(o, "module", driver_module(d, site.module));
	put_inlined_at(o, d, site);
	return o;
}

static void put_loop(json_t *o, const struct inlined_level *l)
{
	json_t *loop;

	if (!l->loop_first)
		return;
	loop = json_object();
	json_put_u64(loop, "first_line", l->loop_first);
	json_put_u64(loop, "last_line", l->loop_last);
	json_put(o, "loop", loop);
}

/* A function that was inlined into the last frame and has no frame of its own. */
static json_t *inlined_json(const struct descent_driver *d, const struct descent_path *p,
			    const struct inlined *in, unsigned int i)
{
	const struct inlined_level *l = &in->level[i];
	json_t *o = json_object();

	json_put(o, "function", json_text(l->function, NAME_MAX_BYTES));
	json_put_text(o, "module", driver_module(d, l->place.module));
	json_put(o, "inlined", json_true());
	json_put_text(o, "file", l->file);
	if (l->line)
		json_put_u64(o, "line", l->line);
	json_put_address(o, l->place.offset);
	put_loop(o, l);
	json_put_share(o, "share", p->share * (double)l->ns / (double)in->ns);
	json_put(o, "evidence", json_string(evidence_text(EVIDENCE_SAMPLED)));
	return o;
}

/*
 * The fields that a frame, a sibling and an fnode have in common: the function and its call
 * site.
 */
static void put_function(json_t *o, const struct descent_driver *d, const struct descent_fnode *n)
{
	const struct driver_symbol *s =
	    n->function.module ? driver_symbol(d, n->function.module, n->function.offset) : NULL;

	json_put(o, "function", name_json(d, n));
	if (s)
		json_put_text(o, "symbol", s->symbol);
	if (n->function.module)
		json_put_text(o, "module", driver_module(d, n->function.module));
	if (n->site.module)
		json_put(o, "call_site", call_site_json(d, n->site));
}

/* Add the measured figures of a node of the tree; nothing if the node was not measured. */
static void put_figures(json_t *o, const struct descent_fnode *n)
{
	if (!n->records && n->depth)
		return;
	json_put_u64(o, "latency_ns", n->latency_ns);
	json_put_u64(o, "maxcount", n->maxcount);
	json_put_u64(o, "decisions", n->decisions);
}

static json_t *frame_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	json_t *o = json_object();

	put_function(o, d, n);
	if (n->function.module) {
		report_put_line(o, driver_symbol(d, n->function.module, n->function.offset));
		json_put_address(o, n->function.offset);
	}
	json_put_share(o, "share", n->share);
	put_figures(o, n);
	if (n->records || !n->depth)
		json_put_u64(o, "records", n->records);
	json_put(o, "evidence", json_string(evidence_text(report_evidence(n))));
	return o;
}

static json_t *sibling_json(const struct descent_driver *d, const struct descent_fnode *n)
{
	json_t *o = json_object();

	json_put(o, "function", name_json(d, n));
	if (n->records) {
		json_put_u64(o, "latency_ns", n->latency_ns);
		json_put_u64(o, "maxcount", n->maxcount);
	}
	return o;
}

/* Add the function that a path calls: name "dlopen", detail "7 calls, 107 us each". */
static void put_looped(json_t *o, const struct descent_driver *d, const struct descent_path *p)
{
	const struct descent_looped *looped = &p->looped;
	SCOPED_BUF(text, TEXT_MAX);

	report_function(&text, d, looped->function);
	json_put_text(o, "name", text.data);
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
	json_put_text(o, "detail", text.data);
	if (looped->share > 0)
		json_put_share(o, "share", looped->share);
}

static json_t *cause_json(const struct descent_driver *d, const struct descent_path *p)
{
	const struct cause *c = &p->cause;
	json_t *o = json_object();
	char *end;
	long long n;

	json_put(o, "kind", json_string(cause_kind_text(c->kind)));
	if (p->looped.share > 0 || p->looped.function.module) {
		put_looped(o, d, p);
		return o;
	}
	json_put_text(o, "name", c->name);
	if (c->wait)
		json_put_text(o, "wait", wait_kind_info(c->wait)->text);
	n = strtoll(c->detail, &end, 10);
	if (c->kind == CAUSE_INTERRUPT && c->detail[0] && !*end) {
		json_put(o, "detail", json_integer(n));
	} else if (c->detail[0]) {
		json_put_text(o, "detail", c->detail);
	} else if (p->nr_pcs) {
		struct inlined in;
		SCOPED_BUF(where, TEXT_MAX);

		driver_narrow(d, p, &in);
		if (in.nr ? report_line(&where, "", in.level[in.nr - 1].file,
					in.level[in.nr - 1].line)
			  : report_place(&where, "", d, p->pcs[0].place))
			json_put_text(o, "detail", where.data);
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
	json_t *o = json_object();
	char name[NAME_MAX_BYTES];

	report_code_name(d, (struct rec_code){f->module, f->function}, name, sizeof(name));
	json_put(o, "function", json_text(name, NAME_MAX_BYTES));
	if (s)
		json_put_text(o, "symbol", s->symbol);
	json_put_text(o, "module", driver_module(d, f->module));
	if (place) {
		report_put_line(o, driver_symbol(d, f->module, f->offset - 1));
		json_put_address(o, f->offset);
	}
	return o;
}

static json_t *kernel_frame_json(const struct descent_driver *d, const struct descent_path *p,
				 unsigned int i)
{
	json_t *o = stack_frame_json(d, &p->kernel[i], false);

	json_put_share(o, "share", p->share * p->kernel_part[i]);
	json_put(o, "evidence", json_string(evidence_text(p->kernel_evidence)));
	return o;
}

/* The callers of a system call, outermost first like all stacks in this JSON. */
static json_t *callers_json(const struct descent_driver *d, const struct descent_callers *c)
{
	json_t *o = json_object(), *frames = json_array();

	json_put_share(o, "share", c->share);
	for (unsigned int i = c->nr_frames; i > 0; i--)
		json_append(frames, stack_frame_json(d, &c->frame[i - 1], true));
	json_put(o, "frames", frames);
	return o;
}

static json_t *path_json(const struct descend_report *report, const struct descent_result *r,
			 const struct descent_path *p)
{
	json_t *o = json_object(), *frames = json_array(), *siblings = json_array();
	json_t *in_kernel = json_array();
	const struct descent_driver *d = report->driver;
	struct inlined in;

	driver_narrow(d, p, &in);
	json_put_share(o, "share", p->share);
	json_put(o, "cause", cause_json(d, p));
	json_put(o, "evidence", json_string(evidence_text(p->evidence)));
	for (unsigned int i = 0; i < p->nr_frames; i++)
		json_append(frames, frame_json(d, &r->nodes[p->frames[i]]));
	if (in.nr && p->nr_frames)
		put_loop(json_array_get(frames, p->nr_frames - 1), &in.level[0]);
	for (unsigned int i = 1; i < in.nr; i++)
		json_append(frames, inlined_json(d, p, &in, i));
	/* a loop is that of the last frame */
	for (unsigned int i = 0; i < p->nr_kernel && p->cause.kind != CAUSE_LOOP; i++)
		json_append(frames, kernel_frame_json(d, p, i));
	for (unsigned int i = 0; i < p->nr_deep; i++)
		json_append(in_kernel, kernel_frame_json(d, p, i));
	for (unsigned int i = 0; i < p->nr_siblings; i++)
		json_append(siblings, sibling_json(d, &r->nodes[p->siblings[i]]));
	json_put(o, "frames", frames);
	json_put(o, "siblings", siblings);
	if (p->nr_deep)
		json_put(o, "in_kernel", in_kernel);
	else
		json_decref(in_kernel);
	if (p->nr_below)
		json_put(o, "samples", report_below_json(d, p));
	report_put_waits(o, report, r, p);
	return o;
}

/* The tree: parents come before their children. */
static json_t *ftree_json(const struct descent_driver *d, const struct descent_result *r)
{
	json_t **children = calloc(r->nr_nodes + 1, sizeof(*children)), *root = NULL;

	for (unsigned int i = 0; children && i < r->nr_nodes; i++) {
		const struct descent_fnode *n = &r->nodes[i];
		json_t *o = json_object();

		children[i] = json_array();
		put_function(o, d, n);
		put_figures(o, n);
		json_put(o, "root_cause", json_boolean(n->root_cause));
		json_put(o, "children", children[i]);
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

static void put_interval(json_t *o, const char *key, double low, double high)
{
	json_put(o, key, json_pack("[f,f]", low, high));
}

/* Add an interval of times or counts, rounded outwards to integers. */
static void put_whole_interval(json_t *o, const char *key, double low, double high)
{
	json_put(o, key,
		 json_pack("[I,I]", (json_int_t)floor(fmax(0, fmin(low, 0x1p62))),
			   (json_int_t)ceil(fmax(0, fmin(high, 0x1p62)))));
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
	json_t *o = json_object();

	put_whole_interval(o, "mean_ns", r->latency_interval.low, r->latency_interval.high);
	put_interval(o, "explained", r->explained_interval.low, r->explained_interval.high);
	if (peak)
		put_whole_interval(o, "calls", calls - hypot(error, below),
				   calls + hypot(error, above));
	return o;
}

static json_t *missing_json(const struct descent_driver *d, const struct descent_result *r)
{
	json_t *o = json_object();

	json_put_share(o, "unmeasured", r->missing.unmeasured);
	json_put_share(o, "unsampled", r->missing.unsampled);
	json_put_share(o, "unknown", r->missing.unknown);
	json_put_share(o, "host", r->missing.host);
	json_put_share(o, "other", r->missing.other);
	if (r->missing.largest) {
		json_put(o, "largest", name_json(d, &r->nodes[r->missing.largest]));
		json_put_share(o, "largest_share", r->missing.largest_share);
	}
	return o;
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
	if (report_left(&line, op))
		put_note(notes, &line);
}

json_t *report_paths_json(const struct descend_report *r, const struct descent_result *result)
{
	json_t *paths = json_array();

	for (unsigned int i = 0; i < result->nr_paths; i++)
		json_append(paths, path_json(r, result, &result->paths[i]));
	return paths;
}

static json_t *document(const struct descend_report *r, const struct output_options *opt,
			const struct descent_result *result)
{
	const struct op *op = model_op_peaks(r->model, r->op);
	struct peak peak;
	bool known;
	json_t *o = output_json_head(r->model, "descend", opt);
	char name[NAME_MAX_BYTES];

	report_subject(r, op, result, name, sizeof(name));
	json_put(o, "function", json_text(name, NAME_MAX_BYTES));
	if (op) {
		json_put_text(o, "module", op->module);
		if (!opt->json_lines)
			json_put(o, "profile",
				 output_json_operation(r->model, op, opt->resolution));
	}
	known = report_peak(r, op, &peak);
	if (known)
		json_put(o, "peak", output_json_peak(r->model, op, &peak));
	json_put(o, "status", json_string(report_status(r, result)));
	json_put_u64(o, "rounds", result->rounds);
	json_put_u64(o, "calls_used", result->calls_used);
	json_put_share(o, "explained", result->explained);
	if (result->calls_used) {
		json_put_u64(o, "mean_ns", result->latency_ns);
		if (result->expected_ns)
			json_put_u64(o, "expected_mean_ns", result->expected_ns);
		json_put(o, "intervals", intervals_json(op, known ? &peak : NULL, result));
		json_put(o, "missing", missing_json(r->driver, result));
	}
	if (result->sampled.samples) {
		json_put_u64(o, "mean_ns", result->latency_ns);
		json_put(o, "sampled", report_sampled_json(r, result));
	}
	json_put(o, "paths", report_paths_json(r, result));
	if (result->nr_callers) {
		json_t *callers = json_array();

		for (unsigned int i = 0; i < result->nr_callers; i++)
			json_append(callers, callers_json(r->driver, &result->callers[i]));
		json_put(o, "callers", callers);
	}
	if (result->nr_nodes)
		json_put(o, "ftree", ftree_json(r->driver, result));
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
