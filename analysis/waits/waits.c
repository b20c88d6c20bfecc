// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits/critical_feed.h"
#include "analysis/waits/tree.h"
#include "analysis/waits/waits_impl.h"

enum {
	REQUEST_BITS = 14,
	LOCK_BITS = 13,
	MAX_TEXTS = 1 << 16,
	MAX_OBJECTS = 1 << 20,
	CONTEXT_ROOM = 1 << 16,
	RELEASE_ROOM = 1 << 16,
};
#define HORIZON_NS 30000000000ull
#define SWEEP_NS 1000000000ull

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 64;

	while (p < n)
		p *= 2;
	return p;
}

static void defaults(struct waits_config *c)
{
	if (!c->horizon_ns)
		c->horizon_ns = HORIZON_NS;
	c->max_segments = power_of_two(c->max_segments ? c->max_segments : 1 << 19);
	if (!c->max_tasks)
		c->max_tasks = 1 << 17;
	if (!c->max_traces)
		c->max_traces = 1 << 14;
	if (!c->max_nodes)
		c->max_nodes = 1 << 16;
	if (!c->max_events)
		c->max_events = 1 << 18;
}

static int init(struct waits *w)
{
	const struct waits_config *c = &w->config;

	w->reorder = reorder_new(c->max_events);
	w->texts = texts_new(MAX_TEXTS);
	w->traces = traces_new(c->max_traces);
	w->segments = malloc(c->max_segments * sizeof(*w->segments));
	w->contexts = malloc(CONTEXT_ROOM * sizeof(*w->contexts));
	w->releases = malloc(RELEASE_ROOM * sizeof(*w->releases));
	w->chains = chains_new(c);
	w->feed = c->no_critical ? NULL : critical_feed_new();
	if (!w->reorder || !w->texts || !w->traces || !w->segments || !w->contexts ||
	    !w->releases || !w->chains || (!w->feed && !c->no_critical))
		return -ENOMEM;
	return keyed_init(&w->requests, REQUEST_BITS, sizeof(struct request)) ||
		       keyed_init(&w->works, REQUEST_BITS, sizeof(struct queued_work)) ||
		       keyed_init(&w->packets, REQUEST_BITS, sizeof(struct sent_packet)) ||
		       keyed_init(&w->locks, LOCK_BITS, sizeof(struct lock_log)) ||
		       tasks_init(&w->tasks, c->max_tasks)
		   ? -ENOMEM
		   : 0;
}

struct waits *waits_new(const struct waits_config *config)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	if (config)
		w->config = *config;
	defaults(&w->config);
	if (init(w)) {
		waits_free(w);
		return NULL;
	}
	w->steps_saved = STEPS_SAVED;
	w->tasks.task[OTHER_TASKS].comm = texts_number(w->texts, "(more tasks)");
	return w;
}

void waits_free(struct waits *w)
{
	if (!w)
		return;
	reorder_free(w->reorder);
	texts_free(w->texts);
	traces_free(w->traces);
	free(w->segments);
	free(w->contexts);
	free(w->releases);
	free(w->objects);
	keyed_release(&w->requests);
	keyed_release(&w->works);
	keyed_release(&w->packets);
	keyed_release(&w->locks);
	tasks_release(&w->tasks);
	chains_free(w->chains);
	critical_feed_free(w->feed);
	calls_release(w);
	free(w);
}

/* ---- what is named */

static int add_object(struct waits *w, const struct rec_object *r)
{
	uint32_t nr = w->nr_objects ? w->nr_objects : 256;
	struct object *grown;

	if (!r->object || r->object >= MAX_OBJECTS)
		return 0;
	while (nr <= r->object)
		nr *= 2;
	if (nr != w->nr_objects) {
		grown = realloc(w->objects, nr * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + w->nr_objects, 0, (nr - w->nr_objects) * sizeof(*grown));
		w->objects = grown;
		w->nr_objects = nr;
	}
	w->objects[r->object] = (struct object){
	    .kind = r->kind, .serves = r->serves, .name = texts_number(w->texts, r->name)};
	return 0;
}

/* Notes a name. The timers below belong to the task that sleeps, or to its process: setitimer(),
 * timer_create(), timerfd_create(). */
static void add_name(struct waits *w, const struct rec_name *r)
{
	static const char *const own[] = {"hrtimer_wakeup", "process_timeout", "it_real_fn",
					  "posix_timer_fn", "timerfd_tmrproc"};

	if (r->kind >= BRACKET_KINDS || r->number >= NO_NAME)
		return;
	w->names[r->kind][r->number] = texts_number(w->texts, r->text);
	if (r->kind != BRACKET_TIMER)
		return;
	w->own_timer[r->number] = 0;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		w->own_timer[r->number] |= !strcmp(r->text, own[i]);
}

/* ---- the stream */

#define EVENT(record_, member)                                                                     \
	do {                                                                                       \
		e->member = record_;                                                               \
		e->at_ns = (record_).at_ns;                                                        \
		e->sequence = (record_).sequence;                                                  \
		e->cpu = (record_).cpu < MAX_CPUS ? (uint16_t)(record_).cpu : WAITS_NO_CPU;        \
	} while (0)

static bool event_of(struct waits *w, const struct record *rec, struct wait_event *e)
{
	switch (rec->type) {
	case REC_SWITCH:
		EVENT(rec->switched, switched);
		break;
	case REC_WAKING:
		EVENT(rec->waking, waking);
		break;
	case REC_ASLEEP:
		EVENT(rec->asleep, asleep);
		break;
	case REC_TASK:
		EVENT(rec->task, task);
		e->comm = texts_number(w->texts, rec->task.comm);
		break;
	case REC_LIFE:
		EVENT(rec->life, life);
		e->comm = texts_number(w->texts, rec->life.comm);
		break;
	case REC_BLOCK:
		EVENT(rec->block, block);
		break;
	case REC_PACKET:
		EVENT(rec->packet, packet);
		break;
	case REC_WORK:
		EVENT(rec->work, work);
		break;
	case REC_CONTENTION:
		EVENT(rec->contention, contention);
		break;
	case REC_SIGNAL:
		EVENT(rec->signal, signal);
		break;
	case REC_RUN_SAMPLE:
		EVENT(rec->run_sample, run_sample);
		break;
	case REC_STEAL:
		EVENT(rec->steal, steal);
		break;
	case REC_PAST:
		e->past = rec->past;
		e->at_ns = rec->past.until_ns;
		e->sequence = 0;
		e->cpu = WAITS_NO_CPU;
		break;
	case REC_WINDOW:
		EVENT(rec->window, window);
		e->sequence += rec->window.edge == WINDOW_CPU;
		if (rec->window.edge != WINDOW_CPU) {
			e->cpu = WAITS_NO_CPU;
			e->sequence = 0;
		}
		break;
	default:
		return false;
	}
	e->type = (uint16_t)rec->type;
	/* without a CPU only these mean something */
	return e->cpu != WAITS_NO_CPU || e->type == REC_WINDOW || e->type == REC_TASK ||
	       e->type == REC_PAST || e->type == REC_ASLEEP;
}

static void drain(struct waits *w, bool all)
{
	struct wait_event e;

	while (reorder_get(w->reorder, all, &e)) {
		if (e.at_ns < w->now_ns) {
			e.at_ns = w->now_ns;
			w->stats.late += e.type != REC_PAST;
		}
		w->now_ns = e.at_ns;
		waits_event(w, &e);
	}
	if (w->now_ns < w->swept_ns + SWEEP_NS)
		return;
	w->swept_ns = w->now_ns;
	if (w->now_ns > w->config.horizon_ns)
		tasks_sweep(&w->tasks, w->now_ns - w->config.horizon_ns);
}

int waits_feed(struct waits *w, const struct record *rec)
{
	struct wait_event e;
	int ret;

	switch (rec->type) {
	case REC_TRACE:
		return traces_add(w->traces, &rec->trace);
	case REC_SAMPLE:
		ret = calls_add(w, &rec->sample);
		calls_settle(w, false);
		return ret;
	case REC_OBJECT:
		return add_object(w, &rec->object);
	case REC_NAME:
		add_name(w, &rec->name);
		return 0;
	default:
		break;
	}
	e.comm = 0;
	if (!event_of(w, rec, &e))
		return 0;
	if (rec->type == REC_WINDOW && rec->window.edge == WINDOW_BEGIN) {
		drain(w, true);
		calls_settle(w, true);
		reorder_restart(w->reorder);
		w->fed_window_ns = e.at_ns;
	}
	w->stats.records++;
	if (w->steps_saved < STEPS_SAVED)
		w->steps_saved += STEPS_PER_RECORD;
	ret = reorder_put(w->reorder, &e);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	w->stats.clamped += rec->type == REC_PAST ? 0 : (uint64_t)ret;
	if (e.lost)
		gap_add(w, e.lost_since_ns ? e.lost_since_ns : w->fed_window_ns, e.at_ns, e.lost);
	drain(w, rec->type == REC_WINDOW && rec->window.edge == WINDOW_END);
	chains_join_equal(w);
	return 0;
}

void waits_flush(struct waits *w)
{
	drain(w, true);
	calls_settle(w, true);
}

void waits_stats(const struct waits *w, struct waits_stats *out)
{
	*out = w->stats;
	out->tasks_full = w->tasks.overflown;
	if (w->in_window) {
		out->observed_ns += w->now_ns - w->window_ns;
		out->elapsed_ns = w->now_ns - w->first_ns;
	}
}

uint32_t waits_segments(const struct waits *w, uint32_t tid, uint64_t start_ns, uint64_t lo,
			uint64_t hi, struct waits_segment *out, uint32_t max)
{
	uint32_t task = tasks_find(&w->tasks, tid, start_ns), nr = 0;
	const struct segment *s;
	uint64_t number;

	if (task < FIRST_TASK)
		return 0;
	for (number = task_at(w, task)->tail;
	     number && nr < max && (s = segment_get(w, number - 1)) && s->to > lo;
	     number = s->prev) {
		if (s->from >= hi)
			continue;
		out[nr++] = (struct waits_segment){
		    .from = s->from,
		    .to = s->to,
		    .state = (enum segment_state)s->state,
		    .kind = (enum wait_kind)s->kind,
		    .ender = (enum wait_ender)s->cause.kind,
		    .waker_tid = s->cause.task ? task_at(w, s->cause.task)->tid : 0,
		    .lost = s->lost};
	}
	return nr;
}
