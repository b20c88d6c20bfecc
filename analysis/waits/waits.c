// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/waits.h"

#include "analysis/base/array.h"
#include "analysis/waits/critical_feed.h"
#include "analysis/waits/tree.h"
#include "analysis/waits/waits_impl.h"

enum {
	WORK_BITS = 14,
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
	return requests_init(w) || keyed_init(&w->works, WORK_BITS, sizeof(struct queued_work)) ||
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
	free(w->done);
	keyed_release(&w->works);
	keyed_release(&w->locks);
	tasks_release(&w->tasks);
	chains_free(w->chains);
	critical_feed_free(w->feed);
	calls_release(w);
	free(w->chosen);
	free(w);
}

static int add_object(struct waits *w, const struct rec_object *r)
{
	if (!r->object || r->object >= MAX_OBJECTS)
		return 0;
	if (array_fit_zeroed(w->objects, r->object + 1, w->nr_objects, MAX_OBJECTS))
		return -ENOMEM;
	w->objects[r->object] = (struct object){.kind = r->kind,
						.serves = r->serves,
						.name = texts_number(w->texts, r->name),
						.is_numbered = r->kind == OBJECT_PIPE &&
							       !strncmp(r->name, "pipe:[", 6)};
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
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		w->own_timer[r->number] |= !strcmp(r->text, own[i]);
}

/* Make an event of a record. False: the record is of no event, or of an unknown CPU. */
static bool event_of(struct waits *w, const struct record *rec, struct wait_event *e)
{
	static const size_t sizes[] = {
	    [REC_WINDOW] = sizeof(rec->window),		[REC_TASK] = sizeof(rec->task),
	    [REC_SWITCH] = sizeof(rec->switched),	[REC_ASLEEP] = sizeof(rec->asleep),
	    [REC_WAKING] = sizeof(rec->waking),		[REC_LIFE] = sizeof(rec->life),
	    [REC_BLOCK] = sizeof(rec->block),		[REC_WORK] = sizeof(rec->work),
	    [REC_RUN_SAMPLE] = sizeof(rec->run_sample), [REC_STEAL] = sizeof(rec->steal),
	};
	const struct rec_waits_head *head = &rec->waits_head;

	if (rec->type >= ARRAY_SIZE(sizes) || !sizes[rec->type])
		return false;
	memcpy((char *)e + offsetof(struct wait_event, head), head, sizes[rec->type]);
	e->type = (uint16_t)rec->type;
	e->at_ns = head->at_ns;
	e->sequence = head->sequence;
	e->cpu = head->cpu < MAX_CPUS ? (uint16_t)head->cpu : WAITS_NO_CPU;
	if (rec->type == REC_TASK)
		e->comm = texts_number(w->texts, rec->task.comm);
	if (rec->type == REC_LIFE)
		e->comm = texts_number(w->texts, rec->life.comm);
	if (rec->type == REC_WINDOW && rec->window.edge == WINDOW_CPU) {
		e->sequence++;
	} else if (rec->type == REC_WINDOW) {
		e->cpu = WAITS_NO_CPU;
		e->sequence = 0;
	}
	/* without a CPU only these mean something */
	return e->cpu != WAITS_NO_CPU || e->type == REC_WINDOW || e->type == REC_TASK ||
	       e->type == REC_ASLEEP;
}

static void drain(struct waits *w, bool all)
{
	struct wait_event e;

	while (reorder_get(w->reorder, all, &e)) {
		if (e.at_ns < w->now_ns) {
			e.at_ns = w->now_ns;
			w->stats.late++;
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
	w->stats.clamped += (uint64_t)ret;
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
