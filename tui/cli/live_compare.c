// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/live_compare.h"

#include "analysis/base/path.h"
#include "analysis/latency/diff.h"
#include "tui/engine/front.h"

/* Meanwhile the front sends no heartbeat, for which the collector waits two seconds. */
#define TURN_NS 100000000ull

enum { STEP_SLICES = 8 };

void live_compare_begin(struct live_compare *c, struct screen *s, const char *path)
{
	char why[512], line[600];

	live_compare_release(c);
	if (replay_open(&c->other, path, why, sizeof(why))) {
		c->other = NULL;
		snprintf(line, sizeof(line), "cannot compare: %s", why);
		screen_message(s, NOTE_ERROR, line);
		return;
	}
	snprintf(c->name, sizeof(c->name), "%s", path_file(path));
	screen_message(s, NOTE_INFO, "reading the other session");
}

static const char *first_program(const struct model *m)
{
	return model_nr_targets(m) ? model_target(m, 0)->comm : "no program";
}

static void finish(struct live_compare *c, struct screen *s, const struct model *m)
{
	struct model *other = replay_model(c->other);
	char line[256];

	if (!diff_same_program(m, other)) {
		snprintf(line, sizeof(line),
			 "the sessions are of different programs: %.64s and %.64s",
			 first_program(m), first_program(other));
		screen_message(s, NOTE_ERROR, line);
	} else {
		screen_message(s, NOTE_WARNING, replay_damage(c->other));
		screen_compare_with(s, other, c->name);
	}
	live_compare_release(c);
}

bool live_compare_turn(struct live_compare *c, struct screen *s, const struct model *m)
{
	uint64_t begin = now_ns(), before, step;
	int64_t at = 0;
	char line[128];

	if (!c->other)
		return false;
	do {
		before = replay_at_ns(c->other);
		step = STEP_SLICES * replay_interval_ns(c->other);
		/* what follows the last slice has no time of its own */
		at = replay_advance(c->other, before + step < replay_total_ns(c->other)
						  ? before + step
						  : UINT64_MAX);
	} while (at >= 0 && (uint64_t)at > before && now_ns() - begin < TURN_NS);
	if (at < 0) {
		snprintf(line, sizeof(line), "cannot compare: %s", strerror((int)-at));
		screen_message(s, NOTE_ERROR, line);
		live_compare_release(c);
	} else if ((uint64_t)at <= before) {
		finish(c, s, m);
	}
	return true;
}

void live_compare_release(struct live_compare *c)
{
	replay_free(c->other);
	c->other = NULL;
}
