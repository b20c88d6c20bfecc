// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/live_choose.h"

#include "tui/cli/command_line.h"

void live_pick(struct front *f, struct screen *s, uint32_t pid)
{
	char line[64];

	snprintf(line, sizeof(line), "asking for process %u...", pid);
	screen_message(s, NOTE_INFO, line);
	front_pick(f, pid);
}

bool live_picked(struct front *f, struct screen *s)
{
	const char *why = front_pick_refused(f);

	if (why) {
		screen_message(s, NOTE_ERROR, why);
		return true;
	}
	if (!model_nr_targets(front_model(f)))
		return false;
	screen_message(s, NOTE_INFO, "");
	screen_show(s, SCREEN_OPERATIONS);
	return true;
}

void live_watch(struct front *f, struct screen *s, const char *text)
{
	struct op_spec spec;
	char error[512];

	if (op_spec_parse(&spec, text, error, sizeof(error)))
		screen_message(s, NOTE_ERROR, error);
	else
		front_watch(f, &spec);
}

void live_choose_thread(struct front *f, struct screen *s, uint32_t pid, uint32_t tid)
{
	bool all;

	if (front_over(f)) {
		screen_message(s, NOTE_WARNING, "the target has ended");
		return;
	}
	if (front_choose(f, pid, tid, &all))
		screen_message(s, NOTE_ERROR,
			       "no more threads can be chosen; choose their process instead");
	else if (all)
		screen_message(s, NOTE_INFO,
			       "all profiles begin anew, with the calls of all threads");
	else
		screen_message(s, NOTE_INFO,
			       "all profiles begin anew, only with calls of the threads marked *");
}
