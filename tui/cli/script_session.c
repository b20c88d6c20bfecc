// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/script_session.h"

#include "tui/cli/live_compare.h"
#include "tui/cli/replay_screen.h"
#include "tui/cli/script.h"
#include "tui/views/live_descent.h"
#include "tui/views/live_slow.h"
#include "tui/views/live_source.h"
#include "tui/views/live_waits.h"
#include "tui/views/views.h"

/* A replay with its screen, as in `peaktop -r FILE` but without a terminal. */
struct scripted {
	struct replay *replay;
	struct screen *screen; /* NULL while it is being created */
	struct live_descent descent;
	struct live_source source;
	struct live_slow slow;
	struct live_waits waits;
	struct live_compare compare;
	uint64_t turn_ns;
};

/* Set the present model and descent: going back creates new ones. */
static void scripted_turn(struct scripted *x)
{
	x->descent.screen = x->source.screen = x->screen;
	x->descent.model = replay_model(x->replay);
	x->descent.driver = replay_driver(x->replay);
	x->descent.waits = replay_waits(x->replay);
	x->source.driver = x->descent.driver;
	x->slow.screen = x->screen;
	x->slow.replay = x->replay;
	live_waits_source(&x->waits, x->screen, NULL, x->replay);
	while (live_compare_turn(&x->compare, x->screen, x->descent.model))
		;
	x->turn_ns += 1000000000;
	live_descent_turn(&x->descent, x->turn_ns);
	live_slow_turn(&x->slow);
	live_waits_turn(&x->waits, x->turn_ns);
}

static int64_t script_advance(void *ctx, uint64_t until_ns)
{
	struct scripted *x = ctx;
	int64_t at = replay_advance(x->replay, until_ns);

	if (at >= 0) {
		screen_set_model(x->screen, replay_model(x->replay));
		scripted_turn(x);
	}
	return at;
}

static void script_action(void *ctx, const struct screen_action *a)
{
	const struct screen_action stop = {.type = SCREEN_DESCEND_STOP};
	struct scripted *x = ctx;

	if (!replay_screen_action(x->replay, x->screen, a)) {
		scripted_turn(x);
		live_descent_action(&x->descent, a, x->turn_ns);
		if (a->type == SCREEN_SOURCE || a->type == SCREEN_CODE) {
			live_source_show(&x->source, a);
		} else if (a->type == SCREEN_SLOW_CALLS || a->type == SCREEN_SLOW_CALL ||
			   a->type == SCREEN_WHY) {
			if (live_slow_action(&x->slow, a))
				live_descent_action(&x->descent, &stop, x->turn_ns);
		} else if (a->type == SCREEN_COMPARE) {
			live_compare_begin(&x->compare, x->screen, a->text);
		} else {
			live_waits_action(&x->waits, a);
		}
	}
	scripted_turn(x);
}

int script_session(struct replay *r, const struct options *o, const char *text, size_t n,
		   struct buf *out)
{
	struct screen_options so = {.replay = true,
				    .ascii = o->ascii,
				    .root = SCREEN_OPERATIONS,
				    .columns = o->columns,
				    .column_order = o->column_order,
				    .sort = o->sort,
				    .reverse = o->reverse,
				    .resolution = o->resolution};
	struct scripted x = {.replay = r, .descent = {.question = &o->question, .replay = true}};
	struct script_host host = {.ctx = &x,
				   .advance = script_advance,
				   .action = script_action,
				   .interval_ns = replay_interval_ns(r)};
	int err;

	x.screen = screen_new(replay_model(r), &so, &all_views);
	if (!x.screen)
		return -ENOMEM;
	err = script_run(text, n, x.screen, &host, out);
	live_descent_release(&x.descent);
	live_slow_release(&x.slow);
	live_compare_release(&x.compare);
	screen_free(x.screen);
	return err;
}
