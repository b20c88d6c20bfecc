// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/replay.h"
#include "analysis/base/array.h"

#include "analysis/walk/open.h"
#include "tui/engine/descent_driver.h"
#include "tui/engine/front.h"
#include "tui/engine/told_call.h"
#include "tui/engine/wait_driver.h"
#include "tui/engine/walker.h"
#include "tui/session/session_file.h"

enum { MAX_TICKS = 1 << 20 };

struct replay {
	struct session_reader *reader;
	struct model *model;
	struct descent_driver *driver;
	struct walker *walker;
	struct wait_driver *waits;
	struct open_calls *open_calls;
	struct told_calls told;
	struct waits_config waits_config;
	uint64_t at_ns, total_ns, interval_ns;
	uint64_t *ticks; /* ends of the slices read so far, ascending */
	size_t nr_ticks, cap_ticks;
	bool ended;
};

static void tick_note(struct replay *r, uint64_t end)
{
	if (r->nr_ticks && r->ticks[r->nr_ticks - 1] >= end)
		return;
	array_append(r->ticks, r->nr_ticks, r->cap_ticks, MAX_TICKS, end);
}

int replay_open_status(int err)
{
	return err == -ENODATA || err == -ENOEXEC || err == -EBADMSG || err == -ENOTSUP
		   ? EXIT_DAMAGED
	       : err == -EACCES || err == -EPERM ? EXIT_NOT_PERMITTED
						 : EXIT_USAGE;
}

int replay_open(struct replay **out, const char *path, char *why, size_t n)
{
	struct replay *r = calloc(1, sizeof(*r));
	int err;

	if (!r || !(r->model = model_new()) || !(r->driver = driver_new(NULL)) ||
	    !(r->walker = walker_new(r->driver, NULL)) ||
	    !(r->waits = wait_driver_new(r->driver, NULL)) || !(r->open_calls = open_calls_new()) ||
	    told_calls_init(&r->told)) {
		replay_free(r);
		snprintf(why, n, "out of memory");
		return EXIT_NO_ANSWER;
	}
	err = session_reader_open(&r->reader, path, why, n);
	if (err) {
		replay_free(r);
		return replay_open_status(err);
	}
	err = session_reader_elapsed_ns(r->reader, &r->total_ns);
	if (err) {
		snprintf(why, n, "cannot read %s: %s", path, strerror(-err));
		replay_free(r);
		return EXIT_DAMAGED;
	}
	session_reader_rewind(r->reader);
	r->interval_ns = 1000000000;
	*out = r;
	return 0;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	if (r->reader)
		session_reader_close(r->reader);
	walker_free(r->walker);
	wait_driver_free(r->waits);
	open_calls_free(r->open_calls);
	driver_free(r->driver);
	told_calls_release(&r->told);
	model_free(r->model);
	free(r->ticks);
	free(r);
}

struct model *replay_model(struct replay *r)
{
	return r->model;
}

struct descent_driver *replay_driver(struct replay *r)
{
	return r->driver;
}

struct walker *replay_walker(struct replay *r)
{
	return r->walker;
}

struct wait_driver *replay_waits(struct replay *r)
{
	return r->waits;
}

const struct open_calls *replay_open_calls(const struct replay *r)
{
	return r->open_calls;
}

const struct told_calls *replay_told(const struct replay *r)
{
	return &r->told;
}

void replay_configure_waits(struct replay *r, const struct waits_config *config)
{
	r->waits_config = *config;
	wait_driver_configure(r->waits, config);
}

int replay_rewind(struct replay *r)
{
	struct descent_driver *d = driver_new(NULL);
	struct walker *w = d ? walker_new(d, NULL) : NULL;
	struct wait_driver *waits = w ? wait_driver_new(d, NULL) : NULL;
	struct open_calls *open = waits ? open_calls_new() : NULL;
	struct model *m = open ? model_new() : NULL;
	struct told_calls told = {0};

	if (!m || told_calls_init(&told)) {
		model_free(m);
		open_calls_free(open);
		wait_driver_free(waits);
		walker_free(w);
		driver_free(d);
		return -ENOMEM;
	}
	model_list_all_peaks(m, model_lists_all_peaks(r->model));
	walker_free(r->walker);
	wait_driver_free(r->waits);
	open_calls_free(r->open_calls);
	driver_free(r->driver);
	told_calls_release(&r->told);
	r->told = told;
	r->open_calls = open;
	r->walker = w;
	r->waits = waits;
	wait_driver_configure(waits, &r->waits_config);
	model_free(r->model);
	r->driver = d;
	r->model = m;
	r->at_ns = 0;
	r->ended = false;
	session_reader_rewind(r->reader);
	return 0;
}

int64_t replay_advance(struct replay *r, uint64_t until_ns)
{
	const struct record *rec;
	int got, err;

	if (until_ns < r->at_ns) {
		err = replay_rewind(r);
		if (err)
			return err;
	}
	/* A record belongs to the slice whose TICK follows it: stop at the first TICK that reaches
	 * the time. */
	while (!r->ended && (until_ns == UINT64_MAX || r->at_ns + r->interval_ns / 2 < until_ns)) {
		got = session_reader_next(r->reader, &rec);
		if (got < 0)
			return got;
		if (!got) {
			r->ended = true;
			break;
		}
		err = model_feed(r->model, rec);
		/* The model has a limited list of processes: leave out the others. */
		if (err == -ENOMEM && rec->type != REC_TARGET)
			return err;
		driver_take(r->driver, rec);
		walker_take(r->walker, rec);
		wait_driver_take(r->waits, rec);
		if (open_calls_feed(r->open_calls, rec))
			return -ENOMEM;
		if (told_calls_take(&r->told, rec) == -ENOMEM)
			return -ENOMEM;
		if (rec->type == REC_META && rec->meta.interval_ns)
			r->interval_ns = rec->meta.interval_ns;
		if (rec->type == REC_TICK) {
			r->at_ns = rec->tick.end_ns;
			tick_note(r, r->at_ns);
		}
	}
	return (int64_t)r->at_ns;
}

uint64_t replay_at_ns(const struct replay *r)
{
	return r->at_ns;
}

uint64_t replay_total_ns(const struct replay *r)
{
	return r->total_ns;
}

uint64_t replay_interval_ns(const struct replay *r)
{
	return r->interval_ns;
}

uint64_t replay_neighbour_ns(const struct replay *r, int step)
{
	size_t i;

	for (i = 0; i < r->nr_ticks && r->ticks[i] < r->at_ns; i++)
		;
	if (step < 0)
		return i < (size_t)-step ? 0 : r->ticks[i - (size_t)-step];
	if (i + (size_t)step < r->nr_ticks)
		return r->ticks[i + (size_t)step];
	return r->at_ns + (uint64_t)step * r->interval_ns;
}

const char *replay_damage(const struct replay *r)
{
	return session_reader_damage(r->reader);
}
