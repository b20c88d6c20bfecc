// SPDX-License-Identifier: GPL-2.0-or-later
/* A wait that is begun again whenever its time is over is one wait. */

#include "analysis/descent/witness_impl.h"

void witness_release(struct witnesses *w, struct stack *s)
{
	w->nr_timed_out -= s->timed_out;
	s->used = s->timed_out = s->counted = false;
}

/* Do both wait for the same? The address of a futex tells; what other calls wait for may have the
 * same address or number in other code. */
static bool is_same_place(const struct stack *a, const struct stack *b)
{
	if (a->syscall != b->syscall || a->arg != b->arg)
		return false;
	return a->futex || (a->partial == b->partial && a->nr_frames == b->nr_frames &&
			    !memcmp(a->frame, b->frame, a->nr_frames * sizeof(a->frame[0])));
}

/* Gives a sleep that timed out another cause, also where it is counted already. */
static void change_cause(struct witnesses *w, struct stack *s, const struct cause *cause)
{
	struct witness_own *own = s->counted ? w->node[s->at].own : NULL;

	if (s->counted)
		blocked_move(&w->blocked, s->node, &s->cause, cause, s->weight_ns);
	if (own)
		cause_tally_move(s->partial ? &own->partial : &own->sleeps, &s->cause, cause,
				 s->weight_ns);
	s->cause = *cause;
	w->nr_timed_out--;
	s->timed_out = false;
	if (s->counted)
		witness_release(w, s);
}

/* The last sleep of the thread of `s` that timed out before `begin_ns`, in the same call `c` (NULL:
 * it has not ended, so that no sleep of it is counted), and waited for the same. NULL: none. */
static struct stack *timed_out_before(const struct witnesses *w, const struct stack *s,
				      const struct recent_call *c, uint64_t begin_ns)
{
	struct stack *best = NULL;

	for (unsigned int i = 0; i < WITNESS_PENDING; i++) {
		struct stack *p = w->pending[i];

		if (p && p != s && p->timed_out && p->tid == s->tid && p->at_ns <= begin_ns &&
		    (c ? p->at_ns >= c->start_ns : !p->counted) && is_same_place(p, s) &&
		    (!best || p->at_ns > best->at_ns))
			best = p;
	}
	return best && wait_is_begun_again(begin_ns - best->at_ns, best->weight_ns, s->futex)
		   ? best
		   : NULL;
}

/* Who ends the last one of such waits is who was waited for all the time. */
void witness_join_timeouts(struct witnesses *w, const struct stack *s, const struct recent_call *c)
{
	uint64_t begin_ns = s->at_ns - s->weight_ns;
	struct stack *p;

	if (s->kind != WITNESS_SLEEP || s->timed_out || s->cause.kind == CAUSE_UNKNOWN)
		return;
	while (w->nr_timed_out && (p = timed_out_before(w, s, c, begin_ns))) {
		begin_ns = p->at_ns - p->weight_ns;
		change_cause(w, p, &s->cause);
	}
	if (s->futex)
		w->ended[w->next_ended++ % WITNESS_ENDED] =
		    (struct ended_wait){s->tid, s->arg, begin_ns, s->at_ns, s->cause};
}

static bool is_begun_again_in(const struct stack *s, const struct ended_wait *e)
{
	uint64_t gap_ns = e->begin_ns > s->at_ns ? e->begin_ns - s->at_ns : 0;

	return e->tid == s->tid && e->arg == s->arg && e->end_ns > s->at_ns &&
	       wait_is_begun_again(gap_ns, s->weight_ns, s->futex);
}

/* The same, if the last one was seen before: a sleep whose stack is read arrives later. */
void witness_join_ended(const struct witnesses *w, struct stack *s, const struct recent_call *c)
{
	const struct ended_wait *best = NULL;

	for (unsigned int i = 0; c && s->timed_out && s->futex && i < WITNESS_ENDED; i++) {
		const struct ended_wait *e = &w->ended[i];

		if (is_begun_again_in(s, e) && e->end_ns <= c->end_ns &&
		    (!best || e->end_ns < best->end_ns))
			best = e;
	}
	if (!best)
		return;
	s->cause = best->cause;
	s->timed_out = false;
}
