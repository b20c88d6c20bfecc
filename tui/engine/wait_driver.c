// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/wait_driver.h"

#include "analysis/latency/threads.h"
#include "analysis/session/frame.h"
#include "analysis/waits/traces.h"
#include "tui/engine/name_requests.h"

struct wait_driver {
	const struct descent_driver *names;
	struct driver_host host;
	struct name_requests *requests; /* NULL for a replay */
	struct waits_config config;
	bool keeps_calls;    /* `config` says which calls to follow, whatever the stream says */
	struct waits *waits; /* NULL before the first record about waits */
	/* The calls that the stream says to follow; `requested` NULL: it does not. */
	struct rec_followed followed;
	char *requested;
	/* Of the calls that the descent is about; NULL before the first record about waits since
	 * it began. */
	struct waits *of_descent;
	struct rec_descent asked; /* op 0: no descent has begun */
	/* of the calls of earlier parts of the operation */
	struct waits *of_part[FRAME_MAX_PARTS];
	struct thread_choice choice;
	bool stale; /* the choice has changed: `waits` begins anew with the next window */
	bool short_of_memory;
};

struct wait_driver *wait_driver_new(const struct descent_driver *names,
				    const struct driver_host *host)
{
	struct wait_driver *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->names = names;
	if (host) {
		w->host = *host;
		w->requests = name_requests_new(host);
		if (!w->requests) {
			wait_driver_free(w);
			return NULL;
		}
	}
	return w;
}

static void forget_parts(struct wait_driver *w)
{
	for (uint32_t i = 0; i < FRAME_MAX_PARTS; i++) {
		waits_free(w->of_part[i]);
		w->of_part[i] = NULL;
	}
}

void wait_driver_free(struct wait_driver *w)
{
	if (!w)
		return;
	waits_free(w->waits);
	waits_free(w->of_descent);
	forget_parts(w);
	name_requests_free(w->requests);
	thread_choice_release(&w->choice);
	free(w->requested);
	free(w);
}

void wait_driver_configure(struct wait_driver *w, const struct waits_config *config)
{
	w->config = *config;
	w->keeps_calls = config->calls_only;
}

void wait_driver_follow(struct wait_driver *w, const struct rec_followed *calls)
{
	w->host.feed(w->host.ctx, &(struct record){.type = REC_FOLLOWED, .followed = *calls});
}

const struct rec_followed *wait_driver_followed(const struct wait_driver *w)
{
	return w->requested ? &w->followed : NULL;
}

bool is_wait_record(enum record_type type)
{
	return type >= REC_WINDOW && type <= REC_STEAL;
}

static void say_short_of_memory(struct wait_driver *w)
{
	if (!w->short_of_memory && w->host.message)
		w->host.message(w->host.ctx, "out of memory: the chains of waits are incomplete");
	w->short_of_memory = true;
}

static bool same_calls(const struct rec_descent *a, const struct rec_descent *b)
{
	return a->op == b->op && a->low_ns == b->low_ns && a->high_ns == b->high_ns;
}

/* The descent is about other calls. Those of an earlier part of the operation keep their chains. */
static void turn_to(struct wait_driver *w, const struct rec_descent *ask)
{
	uint32_t was = w->asked.op == ask->op ? w->asked.part : 0;

	if (was && was <= FRAME_MAX_PARTS && ask->part > was) {
		waits_free(w->of_part[was - 1]);
		w->of_part[was - 1] = w->of_descent;
	} else {
		waits_free(w->of_descent);
		forget_parts(w);
	}
	w->of_descent = NULL;
	w->asked = *ask;
}

/* The chains of the calls that the descent is about are apart from those of all time. */
static void take_for_descent(struct wait_driver *w, const struct record *rec)
{
	const struct rec_descent *ask = driver_asked(w->names);
	bool of_waits = is_wait_record(rec->type);

	if (!ask || (!of_waits && rec->type != REC_SAMPLE))
		return;
	if (!same_calls(&w->asked, ask))
		turn_to(w, ask);
	if (!w->of_descent && of_waits) {
		const struct waits_config config = {.no_critical = true,
						    .calls_only = true,
						    .calls_of = ask->op,
						    .calls_low_ns = ask->low_ns,
						    .calls_high_ns = ask->high_ns};

		w->of_descent = waits_new(&config);
	}
	if (w->of_descent ? waits_feed(w->of_descent, rec) : of_waits)
		say_short_of_memory(w);
}

/* Other threads were chosen: what was observed until now is of other ones. */
static void take_choice(struct wait_driver *w, const struct rec_choice *choice)
{
	if (thread_choice_set(&w->choice, choice) ||
	    (w->waits && waits_choose(w->waits, w->choice.list, (uint32_t)w->choice.nr)))
		say_short_of_memory(w);
	w->stale = w->waits != NULL;
}

static void take_followed(struct wait_driver *w, const struct rec_followed *calls)
{
	char *requested = strdup(calls->requested);

	if (!requested) {
		say_short_of_memory(w);
		return;
	}
	free(w->requested);
	w->followed = *calls;
	w->followed.requested = w->requested = requested;
	if (w->keeps_calls)
		return;
	w->config.calls_only = true;
	w->config.calls_of = calls->op;
	w->config.calls_low_ns = calls->low_ns;
	w->config.calls_high_ns = calls->high_ns;
	if (w->waits)
		waits_limit_calls(w->waits, calls->op, calls->low_ns, calls->high_ns);
}

static struct waits *begin_waits(struct wait_driver *w)
{
	struct waits *waits = waits_new(&w->config);

	if (waits && waits_choose(waits, w->choice.list, (uint32_t)w->choice.nr)) {
		waits_free(waits);
		return NULL;
	}
	return waits;
}

/* As the waits of the session were analysed when it was recorded. */
static void take_meta(struct wait_driver *w, const struct rec_meta *meta)
{
	w->config.rsp_compat |= !!(meta->shown & SHOWN_RSP_COMPAT);
	if (meta->shown & SHOWN_PER_PROCESS)
		w->config.group = WAITS_BY_PROCESS;
}

void wait_driver_take(struct wait_driver *w, const struct record *rec)
{
	if (rec->type == REC_META)
		take_meta(w, &rec->meta);
	take_for_descent(w, rec);
	if (rec->type == REC_CHOICE)
		take_choice(w, &rec->choice);
	if (rec->type == REC_FOLLOWED)
		take_followed(w, &rec->followed);
	if (rec->type == REC_SAMPLE && w->config.calls_only && w->waits) {
		if (waits_feed(w->waits, rec))
			say_short_of_memory(w);
		return;
	}
	if (!is_wait_record(rec->type))
		return;
	if (w->stale && rec->type == REC_WINDOW && rec->window.edge == WINDOW_BEGIN) {
		waits_free(w->waits);
		w->waits = NULL;
		w->stale = false;
	}
	if (!w->waits)
		w->waits = begin_waits(w);
	if (!w->waits || waits_feed(w->waits, rec))
		say_short_of_memory(w);
}

struct waits *wait_driver_waits(const struct wait_driver *w)
{
	return w->waits;
}

struct waits *wait_driver_of_descent(const struct wait_driver *w)
{
	const struct rec_descent *ask = driver_asked(w->names);

	return ask && same_calls(&w->asked, ask) ? w->of_descent : NULL;
}

struct waits *wait_driver_of_part(const struct wait_driver *w, uint32_t number)
{
	if (number == w->asked.part)
		return w->of_descent;
	return number && number <= FRAME_MAX_PARTS ? w->of_part[number - 1] : NULL;
}

static void want_chains(struct wait_driver *w, const struct waits *waits)
{
	struct waits_chains chains;

	if (waits_chains(waits, &chains))
		return;
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct trace *t = chains.nodes[i].layer.user;

		for (uint32_t k = 0; t && k < t->nr_frames; k++)
			name_requests_want_frame(w->requests, &t->frames[k], k + 1 == t->nr_frames);
	}
	waits_chains_release(&chains);
}

/* States of the critical path are numbered without holes. */
static void want_states(struct wait_driver *w)
{
	for (uint32_t i = 0; waits_state(w->waits, i).what[0]; i++) {
		struct rec_frame f = waits_state(w->waits, i).function;

		name_requests_want(w->requests, (struct rec_code){f.module, f.function});
	}
}

bool wait_driver_names(struct wait_driver *w)
{
	if (!w->requests || !w->waits)
		return true;
	if (!w->config.no_chains)
		want_chains(w, w->waits);
	if (w->of_descent)
		want_chains(w, w->of_descent);
	for (uint32_t i = 0; i < FRAME_MAX_PARTS; i++)
		if (w->of_part[i])
			want_chains(w, w->of_part[i]);
	if (!w->config.no_critical)
		want_states(w);
	return name_requests_send(w->requests);
}
