// SPDX-License-Identifier: GPL-2.0-or-later
/* For whom the calls of a path wait: as JSON and as a tree. */
#include "tui/report/output_descend_waits.h"

#include "analysis/base/format.h"
#include "analysis/descent/path_waits.h"
#include "analysis/waits/traces.h"
#include "tui/report/json_put.h"
#include "tui/report/output_waits.h"
#include "tui/report/sanitise.h"

enum { NAME_MAX_BYTES = 4096, MAX_CHAINS = 16, MAX_REQUESTS = 16, MAX_OUTPUT = 16 << 20 };

struct wait_report wait_report_for(const struct descend_report *r)
{
	return (struct wait_report){.model = r->model, .names = r->driver, .waits = r->waits};
}

int report_path_waits(const struct descend_report *r, const struct descent_result *result,
		      const struct descent_path *p, struct waits_chains *out)
{
	struct waits_chains all;
	int err;

	*out = (struct waits_chains){0};
	if (p->cause.took_cpu)
		return 0;
	err = r->waits ? waits_chains(r->waits, &all) : 0;
	if (err || !r->waits)
		return err;
	err = path_waits_find(&all, result, p, out);
	waits_chains_release(&all);
	return err ? err : waits_chains_join(out, WAITS_BY_PROCESS);
}

int report_wait_lines(const struct descend_report *report, const struct descent_result *result,
		      const struct descent_path *p, uint64_t *total_ns, wait_line_fn *fn, void *ctx)
{
	struct wait_report r = wait_report_for(report);
	struct waits_chains chains;
	int err = report_path_waits(report, result, p, &chains);

	*total_ns = chains.total_ns;
	if (err || path_waits_largest(&chains) == chains.nr) {
		waits_chains_release(&chains);
		return err;
	}
	err = wait_subtrees_each(&r, &chains, fn, ctx);
	waits_chains_release(&chains);
	return err;
}

bool report_lacks_waits(struct buf *out, const struct descend_report *r,
			const struct descent_result *result)
{
	struct waits_stats stats = {0};
	struct waits_calls calls = {0};

	if (r->waits) {
		waits_stats(r->waits, &stats);
		waits_calls(r->waits, &calls);
	}
	for (unsigned int i = 0; !calls.followed && i < result->nr_paths; i++) {
		if (!cause_has_chain(&result->paths[i].cause))
			continue;
		buf_printf(out,
			   "for whom these calls wait is not known beyond the end of their waits, "
			   "because %s",
			   stats.windows ? "no call of this peak began and ended while waits were "
					   "traced; run it again"
					 : "waits were not traced: --timeout or --max-overhead "
					   "left no room for it, or the kernel refused it (see "
					   "peaktop doctor)");
		return true;
	}
	return false;
}

/* ---- the end of a wait alone, if its chains were not traced */

static json_t *wait_frame(const struct descent_driver *d, const struct hop *h, size_t i)
{
	struct rec_code place = driver_frame_place(&h->frame[i], i + 1 == h->nr_frames);
	const struct driver_symbol *s = driver_symbol(d, place.module, place.offset);
	char at[NAME_MAX_BYTES];

	report_code_name(d, place, at, sizeof(at));
	return report_put_line(json_new({"function", json_text(at, NAME_MAX_BYTES)},
					{"module", json_given(driver_module(d, place.module))}),
			       s);
}

/* The layer that ended a wait; NULL if not known. Nothing is known of what a task did meanwhile. */
static json_t *ended_by_json(const struct hop *h)
{
	static const char *const states[ENDERS] = {
	    [ENDER_REQUEST] = "io",	   [ENDER_TIMER] = "timer",
	    [ENDER_OTHER_TIMER] = "timer", [ENDER_TASK] = "run",
	    [ENDER_NETWORK] = "network",   [ENDER_SOFTIRQ] = "interrupt",
	    [ENDER_IRQ] = "interrupt",	   [ENDER_UNKNOWN_IRQ] = "interrupt",
	    [ENDER_IPI] = "interrupt"};
	const struct rec_sleep *s = &h->sleep;
	bool task = h->ender == ENDER_TASK;
	const char *detail = task						      ? "not traced"
			     : h->ender == ENDER_REQUEST || h->ender == ENDER_NETWORK ? s->name
			     : s->interrupt[0]					      ? s->interrupt
					       : wait_ender_text(h->ender);

	if (!states[h->ender])
		return NULL;
	return json_new({"pid", json_if(task, json_u64(s->waker_pid))},
			{"tid", json_if(task, json_u64(s->waker_tid))},
			{"comm", json_if(task, json_given(s->waker))},
			{"state", json_string(states[h->ender])}, {"detail", json_given(detail)},
			{"frames", json_array()});
}

static const char *wait_state(const struct hop *h)
{
	return h->cause == CAUSE_IO || h->cause == CAUSE_PAGE_FAULT ? "io"
	       : h->cause == CAUSE_NETWORK			    ? "network"
								    : "sleep";
}

/* A wait: the thread that waited, then the layer that ended the wait. */
static json_t *hop_json(const struct descend_report *report, const struct hop *h)
{
	json_t *layers = json_array(), *layer, *ended = ended_by_json(h);
	char detail[sizeof(h->texts.call) + sizeof(h->texts.name) + 8];

	snprintf(detail, sizeof(detail), "%s%s%s", h->sleep.call,
		 h->sleep.call[0] && h->sleep.name[0] ? " on " : "", h->sleep.name);
	layer = json_new({"pid", json_known(h->pid)}, {"tid", json_u64(h->tid)});
	for (size_t i = 0; i < model_nr_targets(report->model); i++) {
		if (model_target(report->model, i)->pid == h->pid)
			json_put(layer, "comm", json_given(model_target(report->model, i)->comm));
	}
	json_append(
	    layers,
	    json_add(layer, {"state", json_string(wait_state(h))}, {"detail", json_given(detail)},
		     {"frames", json_list(i, h->nr_frames, wait_frame(report->driver, h, i))}));
	if (ended)
		json_append(layers, ended);
	return json_new({"ns", json_u64(h->ns)}, {"count", json_u64(h->count)}, {"layers", layers});
}

/* The next chain by time, of those that are smaller than the last one; nr: there is none. */
static uint32_t next_chain(const struct waits_chains *c, uint32_t last)
{
	uint32_t best = c->nr;

	for (uint32_t i = 0; i < c->nr; i++) {
		uint64_t ns = c->nodes[i].self_ns;
		bool is_after = last == c->nr || ns < c->nodes[last].self_ns ||
				(ns == c->nodes[last].self_ns && i > last);

		if (ns && is_after && (best == c->nr || ns > c->nodes[best].self_ns))
			best = i;
	}
	return best;
}

static json_t *request_json(const struct waits_requests *q)
{
	return json_new({"device", json_given(q->device)},
			{"operation", json_given(wait_operation_word(q->operation).s)},
			{"count", json_u64(q->sums.count)}, {"bytes", json_u64(q->sums.bytes)},
			{"queue_ns", json_u64(q->sums.queue_ns)},
			{"device_ns", json_u64(q->sums.device_ns)});
}

/* The block requests that the calls of a path have waited for. */
static json_t *requests_json(const struct waits_chains *chains)
{
	struct waits_requests all[MAX_REQUESTS];
	uint32_t nr = waits_chains_requests(chains, all, MAX_REQUESTS);

	return json_unless_empty(json_list(i, nr, request_json(&all[i])));
}

void report_put_waits(json_t *o, const struct descend_report *report,
		      const struct descent_result *result, const struct descent_path *p)
{
	const struct hop *hop = driver_wait(report->driver, result, p);
	struct wait_report r = wait_report_for(report);
	struct waits_chains chains;
	json_t *list;
	uint32_t largest, i;

	if (report_path_waits(report, result, p, &chains)) {
		json_fail();
		return;
	}
	largest = path_waits_largest(&chains);
	if (largest == chains.nr) {
		if (hop)
			json_put(o, "wait", hop_json(report, hop));
		waits_chains_release(&chains);
		return;
	}
	json_put(o, "wait", wait_chain_json(&r, &chains, largest));
	list = json_array();
	i = chains.nr;
	for (unsigned int k = 0; k < MAX_CHAINS && (i = next_chain(&chains, i)) < chains.nr; k++)
		json_append(list, wait_chain_json(&r, &chains, i));
	json_put(o, "waits", list);
	json_put(o, "block_requests", requests_json(&chains));
	waits_chains_release(&chains);
}

static void put_end(struct buf *out, const struct hop *h)
{
	const char *name = h->ender == ENDER_TASK ? h->sleep.waker : h->sleep.interrupt;

	if (h->ender == ENDER_TASK)
		buf_puts(out, "woken by ");
	else
		buf_printf(out, "ended by %s%s", wait_ender_text(h->ender), name[0] ? ": " : "");
	sanitise_puts(out, name);
	if (h->ender == ENDER_TASK)
		buf_printf(out, " %u", h->sleep.waker_tid);
}

/* "  waits in: serve > usleep > clock_nanosleep; ended by its timer; 29 of these waits, 87 ms" */
static void put_wait(struct buf *out, const struct descend_report *r,
		     const struct descent_result *result, const struct descent_path *p,
		     const struct output_options *o)
{
	const struct hop *h = driver_wait(r->driver, result, p);
	SCOPED_BUF(line, MAX_OUTPUT);

	if (!h)
		return;
	for (uint32_t i = 0; i < h->nr_frames; i++) {
		struct rec_code place = driver_frame_place(&h->frame[i], i + 1 == h->nr_frames);
		const struct driver_symbol *s =
		    driver_symbol(r->driver, place.module, place.offset);

		buf_puts(&line, i ? " > " : "");
		report_short_name(&line, s && s->function[0]
					     ? s->function
					     : driver_module(r->driver, place.module));
	}
	buf_puts(&line, h->nr_frames ? "; " : "");
	put_end(&line, h);
	buf_printf(&line, "; %s %s, %s", format_count(h->count).s, h->count == 1 ? "wait" : "waits",
		   format_time(h->ns).s);
	output_wrap(out, &line, o, "  waits in: ", 12);
}

void report_put_wait_tree(struct buf *out, const struct descend_report *report,
			  const struct descent_result *result, const struct descent_path *p,
			  const struct output_options *o)
{
	struct wait_report r = wait_report_for(report);
	struct waits_chains chains;

	if (report_path_waits(report, result, p, &chains))
		return;
	if (path_waits_largest(&chains) < chains.nr) {
		buf_puts(out, "  waits (share of their time, in calls of this peak):\n");
		wait_subtrees_text(out, &r, &chains, output_columns(o));
	} else {
		put_wait(out, report, result, p, o);
	}
	waits_chains_release(&chains);
}
