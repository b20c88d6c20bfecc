// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/replay_screen.h"

void replay_screen_show(struct replay *r, struct screen *s, uint64_t at)
{
	int64_t err = replay_advance(r, at);

	if (err < 0)
		screen_message(s, NOTE_ERROR, strerror((int)-err));
	screen_set_model(s, replay_model(r));
	screen_set_replay(s, replay_at_ns(r), replay_total_ns(r));
}

bool replay_screen_action(struct replay *r, struct screen *s, const struct screen_action *a)
{
	switch (a->type) {
	case SCREEN_REPLAY_STEP:
		replay_screen_show(r, s, replay_neighbour_ns(r, a->step));
		return true;
	case SCREEN_REPLAY_JUMP:
		replay_screen_show(r, s, a->at_ns);
		return true;
	case SCREEN_REPLAY_REWIND:
		if (!replay_rewind(r))
			replay_screen_show(r, s, replay_interval_ns(r));
		return true;
	case SCREEN_SEARCH:
	case SCREEN_WATCH_FUNCTION:
	case SCREEN_UNWATCH:
	case SCREEN_ASK_AGAIN:
	case SCREEN_LAYERS:
	case SCREEN_SNAPSHOT_WRITE:
	case SCREEN_OPEN_CALLS:
	case SCREEN_CHOOSE_THREAD:
		screen_message(s, NOTE_WARNING,
			       "not available in a saved session: the target cannot be probed");
		return true;
	default:
		return false;
	}
}
