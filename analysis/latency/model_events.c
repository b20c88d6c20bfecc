// SPDX-License-Identifier: GPL-2.0-or-later
/* Which records and which changes of the peaks are events (event_log.h). */
#include "analysis/latency/model_impl.h"

#include <math.h>

#include "analysis/base/format.h"
#include "analysis/latency/target_end.h"

enum {
	QUIET_SLICES = 5, /* losses and bursts end when they were absent for so many slices */
	NAME_SHOWN = 60,  /* bytes of a name in the text of an event */
};
/* Below this share of armed time an operation is sampled in bursts. Attaching takes some time, too.
 */
static const double bursts_share = 0.95;

static struct event *add(struct model *m, struct event *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the line of the event; NULL: none. */
static struct event *add(struct model *m, struct event *e, const char *fmt, ...)
{
	format_arguments(e->text, sizeof(e->text), fmt);
	if (!e->at_ns)
		e->at_ns = m->elapsed_ns;
	return event_log_add(&m->events.log, e);
}

static const char *label_of(const struct model *m, uint32_t op)
{
	const struct op_state *o = model_find_op(m, op);

	return o ? o->pub.shown : "?";
}

static uint64_t bucket_middle_ns(unsigned int bucket)
{
	return (uint64_t)llround(exp2((bucket + 0.5) / PT_RESOLUTION));
}

void model_events_target(struct model *m, const struct rec_target *rec, bool known)
{
	struct event e = {.kind = known ? EVENT_EXEC : rec->requested ? EVENT_TARGET : EVENT_FORK};

	if (known)
		add(m, &e, "process %u executed %.*s", rec->pid, 2 * NAME_SHOWN,
		    rec->exe[0] ? rec->exe : rec->comm);
	else
		add(m, &e, "process %u (%.*s) is %s", rec->pid, NAME_SHOWN, rec->comm,
		    rec->requested ? "measured from now on" : "followed from now on");
}

void model_events_target_end(struct model *m, const struct rec_target *t,
			     const struct rec_target_end *rec)
{
	struct event e = {.kind = EVENT_EXIT,
			  .level = t->requested ? NOTE_WARNING : NOTE_INFO,
			  .at_ns = rec->at_ns};
	unsigned int signal = target_end_signal(rec);

	if (!rec->has_status)
		add(m, &e, "process %u (%.*s) ended", t->pid, NAME_SHOWN, t->comm);
	else if (signal)
		add(m, &e, "process %u (%.*s) was killed by %s", t->pid, NAME_SHOWN, t->comm,
		    target_end_signal_name(signal).s);
	else
		add(m, &e, "process %u (%.*s) exited with status %u", t->pid, NAME_SHOWN, t->comm,
		    rec->status >> 8 & 0xff);
}

static void blown(struct model *m, uint32_t op, const char *what)
{
	struct event e = {.kind = EVENT_FUSE, .level = NOTE_WARNING, .op = op};

	add(m, &e, "%.*s: %s", NAME_SHOWN, label_of(m, op), what);
}

static void descent(struct model *m, const struct rec_descent *rec)
{
	struct event e = {.kind = EVENT_DESCENT, .op = rec->op};

	m->events.descent_op = rec->op;
	add(m, &e, "%.*s: finding the cause of the calls of %s", NAME_SHOWN, label_of(m, rec->op),
	    format_range(rec->low_ns, rec->high_ns).s);
}

static void bookmark(struct model *m, const struct rec_mark *rec)
{
	struct event e = {.kind = EVENT_BOOKMARK};
	struct event *line = add(m, &e, "%s", rec->label);

	if (!line)
		return;
	line->at_ns = rec->at_ns;
	line->last_ns = rec->end_ns > rec->at_ns ? rec->end_ns : rec->at_ns;
}

void model_events_warning(struct model *m, uint32_t level, uint32_t op, const char *text)
{
	struct event e = {.kind = EVENT_WARNING, .op = op};

	e.level = level > NOTE_ERROR ? NOTE_ERROR : (enum note_level)level;
	if (level >= NOTE_WARNING && text)
		add(m, &e, "%s", text);
}

void model_events_record(struct model *m, const struct record *rec)
{
	struct event mark = {.kind = EVENT_MARK};
	const char *label = rec->type == REC_MARK && rec->mark.label ? rec->mark.label : "";

	switch (rec->type) {
	case REC_SITE:
		if (rec->site.state == SITE_BLOWN)
			blown(m, rec->site.op, "a probe was hit too often and was detached");
		break;
	case REC_FNODE_LOST:
		if (rec->fnode_lost.reason == FNODE_BLOWN)
			blown(m, m->events.descent_op,
			      "a probe inside its calls was hit too often and was detached");
		break;
	case REC_DESCENT:
		descent(m, &rec->descent);
		break;
	case REC_BOOKMARK:
		bookmark(m, &rec->mark);
		break;
	case REC_MARK:
		mark.at_ns = rec->mark.at_ns;
		add(m, &mark, "the session was saved%s%.*s", label[0] ? ": " : "", NAME_SHOWN,
		    label);
		break;
	default:
		break;
	}
}

void model_events_choice(struct model *m)
{
	struct event e = {.kind = EVENT_CHOICE, .at_ns = m->since_ns};
	const struct thread_choice *c = &m->choice;

	if (c->nr)
		add(m, &e, "profiles began anew: only calls of %u of %u threads count",
		    c->chosen_threads, c->threads);
	else
		add(m, &e, "profiles began anew: calls of all threads count");
}

/* --- at the end of a slice --------------------------------------------------------------- */

static uint64_t lost_all(const struct rec_loss *l)
{
	return l->records + l->samples + l->stacks + l->activations;
}

/* Says when losses begin and when they end. */
static void loss_tick(struct model *m, const struct rec_tick *tick)
{
	struct model_events *s = &m->events;
	struct event e = {.kind = EVENT_LOSS, .level = NOTE_WARNING};
	const struct rec_loss *now = &m->loss, *from = &s->loss_begin;
	bool grew =
	    lost_all(now) > lost_all(&s->loss_last) || now->tainted_ns > s->loss_last.tainted_ns;

	if (grew && !s->losing) {
		s->losing = true;
		s->loss_begin = s->loss_last;
		s->loss_begin_ns = tick->start_ns;
		add(m, &e, "records are being lost; results from here on are incomplete");
	}
	s->loss_quiet = grew ? 0 : s->loss_quiet + 1;
	if (s->losing && s->loss_quiet >= QUIET_SLICES) {
		s->losing = false;
		e.level = NOTE_INFO;
		add(m, &e,
		    "no losses for %d slices; lost since %s: %s records, %s samples, %s stacks, %s "
		    "calls",
		    QUIET_SLICES, format_time(s->loss_begin_ns).s,
		    format_count(now->records - from->records).s,
		    format_count(now->samples - from->samples).s,
		    format_count(now->stacks - from->stacks).s,
		    format_count(now->activations - from->activations).s);
	}
	s->loss_last = *now;
}

static void bursts_change(struct model *m, struct burst_state *b, bool in_bursts, uint32_t op,
			  const char *name)
{
	struct event e = {.kind = EVENT_BURSTS, .op = op};

	b->full_slices = in_bursts ? 0 : b->full_slices + 1;
	if (in_bursts && !b->on) {
		b->on = true;
		add(m, &e, "%.*s: sampling in bursts began, to stay within --max-overhead",
		    NAME_SHOWN, name);
	} else if (b->on && b->full_slices >= QUIET_SLICES) {
		b->on = false;
		add(m, &e, "%.*s: sampling in bursts ended: all calls are timed again", NAME_SHOWN,
		    name);
	}
}

static bool has_own_probes(const struct op_state *op)
{
	return op->pub.layer == LAYER_FUNCTION || op->pub.layer == LAYER_KERNEL;
}

/* How much of the time since the last tick calls of this operation were seen; sets *in_bursts. */
static uint64_t watched_ns(struct op_state *op, const struct rec_tick *tick, bool *in_bursts)
{
	uint64_t length = op->slices_ns - op->told_slices_ns;
	uint64_t armed = op->armed_ns - op->told_armed_ns;

	*in_bursts = length && (double)armed < bursts_share * (double)length;
	op->told_slices_ns = op->slices_ns;
	op->told_armed_ns = op->armed_ns;
	if (length)
		return armed;
	/* Without a record an operation of a layer had no calls. In bursts, and for functions, a
	 * record that comes later covers this slice. */
	return op->bursts.on || has_own_probes(op) ? 0 : tick->end_ns - tick->start_ns;
}

static void peak_event(struct model *m, const struct op_state *op, const struct peak_event *change)
{
	static const struct {
		enum event_kind kind;
		const char *text; /* after "peak at TIME"; has the time of silence if `silence` */
		bool silence;
	} table[] = {
	    [PEAK_CHANGE_APPEARED] = {EVENT_PEAK_APPEARED, "", false},
	    [PEAK_CHANGE_VANISHED] = {EVENT_PEAK_VANISHED, ": no calls for ", true},
	    [PEAK_CHANGE_MERGED] = {EVENT_PEAK_VANISHED, ": no longer distinct from its neighbours",
				    false},
	    [PEAK_CHANGE_RETURNED] = {EVENT_PEAK_APPEARED, ": calls again after ", true},
	};
	struct event e = {.op = op->pub.op, .peak = change->id, .place = change->mode}, *line;
	struct text at = format_time(bucket_middle_ns(change->mode));

	if (change->change == PEAK_CHANGE_MOVED) {
		e.kind = EVENT_PEAK_MOVED;
		e.from = change->from;
		line = add(m, &e, "%.*s: peak moved from %s to %s", NAME_SHOWN, op->pub.shown,
			   format_time(bucket_middle_ns(change->from)).s, at.s);
		if (line && line->times > 1)
			snprintf(line->text, sizeof(line->text),
				 "%.*s: peak moves: from %s at first to %s now", NAME_SHOWN,
				 op->pub.shown, format_time(bucket_middle_ns(line->from)).s, at.s);
		return;
	}
	e.kind = table[change->change].kind;
	line = add(m, &e, "%.*s: peak at %s%s%s", NAME_SHOWN, op->pub.shown, at.s,
		   table[change->change].text,
		   table[change->change].silence ? format_time(change->silent_ns).s : "");
	if (line && line->kind == EVENT_PEAK_FLICKERS)
		snprintf(line->text, sizeof(line->text), "%.*s: peak at %s comes and goes%s",
			 NAME_SHOWN, op->pub.shown, at.s,
			 e.kind == EVENT_PEAK_APPEARED ? "; it is there now" : "");
}

/* If all peaks vanish at once the program has stopped calling: that is one event. */
static bool all_vanished(const struct peak_history *h, const struct peak_event *change,
			 unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (change[i].change != PEAK_CHANGE_VANISHED)
			return false;
	for (unsigned int i = 0; i < h->nr; i++)
		if (h->past[i].announced && !h->past[i].silent)
			return false;
	return n > 1;
}

static void peaks_tick(struct model *m, struct op_state *op, const struct rec_tick *tick,
		       uint64_t watched)
{
	struct peak_slice slice = {.start_ns = tick->start_ns,
				   .end_ns = tick->end_ns,
				   .watched_ns = watched,
				   .seen = &op->seen};
	struct peak_event change[PEAKS_TRACKED];
	struct event e = {.kind = EVENT_PEAK_VANISHED, .op = op->pub.op};
	unsigned int n;

	for (unsigned int i = 0; i < op->nr_spans; i++) {
		if (!op->listed[i])
			continue;
		slice.span[slice.nr] = op->span[i];
		slice.id[slice.nr++] = op->id[i];
	}
	if (!op->history && slice.nr)
		op->history = calloc(1, sizeof(*op->history));
	if (!op->history)
		return;
	n = peak_events_slice(op->history, &slice, change);
	if (all_vanished(op->history, change, n)) {
		add(m, &e, "%.*s: all %u peaks: no calls for %s", NAME_SHOWN, op->pub.shown, n,
		    format_time(change[0].silent_ns).s);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		peak_event(m, op, &change[i]);
}

void model_events_tick(struct model *m, const struct rec_tick *tick)
{
	static const char *const layers[LAYER_MAX] = {
	    [LAYER_SYSCALL] = "system calls",
	    [LAYER_BLOCK] = "block requests",
	    [LAYER_LOCK] = "lock waits",
	    [LAYER_RUNQUEUE] = "run-queue delay",
	    [LAYER_URING] = "requests of io_uring",
	    [LAYER_NET] = "connections",
	};
	bool recorded[LAYER_MAX] = {false}, sampled[LAYER_MAX] = {false};

	for (size_t i = 0; i < m->nr_ops; i++) {
		struct op_state *op = m->op[i];
		uint64_t before = op->slices_ns - op->told_slices_ns;
		bool in_bursts;
		uint64_t watched = watched_ns(op, tick, &in_bursts);

		if (before && has_own_probes(op))
			bursts_change(m, &op->bursts, in_bursts, op->pub.op, op->pub.shown);
		if (before && !has_own_probes(op)) {
			op->bursts.on = in_bursts;
			recorded[op->pub.layer] = true;
			sampled[op->pub.layer] |= in_bursts;
		}
		peaks_tick(m, op, tick, watched);
	}
	for (unsigned int l = 0; l < LAYER_MAX; l++)
		if (recorded[l])
			bursts_change(m, &m->events.layer[l], sampled[l], 0, layers[l]);
	loss_tick(m, tick);
}

void model_events_release(struct model *m)
{
	event_log_release(&m->events.log);
}

const struct event_log *model_event_log(const struct model *m)
{
	return &m->events.log;
}
