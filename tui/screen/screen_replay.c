// SPDX-License-Identifier: GPL-2.0-or-later
/* What the keys of a replay ask for. */
#include "tui/screen/screen_private.h"

/* In a replay, choose the process in which the saved descent goes on; the list begins with those of
 * the same name. */
static void resume(struct screen *s)
{
	const struct rec_target *t = model_nr_targets(s->model) ? model_target(s->model, 0) : NULL;

	if (!s->options.replay) {
		screen_act(s, (struct screen_action){.type = SCREEN_RESUME});
		return;
	}
	if (!s->recorded_descent) {
		screen_message(s, NOTE_WARNING,
			       "this saved session contains no descent that could go on");
		return;
	}
	if (s->top->methods->keymap == KEYMAP_PICKER)
		return;
	s->options.filter = t ? t->comm : NULL;
	screen_push(s, s->views->picker(s));
	s->options.filter = NULL;
	screen_message(s, NOTE_INFO,
		       "choose the process in which the descent goes on; type its pid or name, or "
		       "Ctrl-W for all");
}

bool screen_replay_request(struct screen *s, enum request request)
{
	struct screen_action a = {0};

	if (request == REQUEST_RESUME) {
		resume(s);
		return true;
	}
	if (!s->options.replay)
		return false;
	switch (request) {
	case REQUEST_STEP:
	case REQUEST_STEP_BACK:
		a.type = SCREEN_REPLAY_STEP;
		a.step = request == REQUEST_STEP ? 1 : -1;
		break;
	case REQUEST_REWIND:
		a.type = SCREEN_REPLAY_REWIND;
		break;
	case REQUEST_JUMP:
		screen_open_prompt(s, PROMPT_JUMP);
		return true;
	default:
		return false;
	}
	screen_past_end(s);
	if (s->paused) /* end the pause, so that the step is shown */
		screen_toggle_pause(s);
	screen_act(s, a);
	return true;
}
