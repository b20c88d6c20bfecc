// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_open.h"

#include "tui/engine/walker.h"
#include "tui/report/output_open.h"
#include "tui/report/words.h"
#include "tui/views/views.h"

enum { MAX_LINES_BYTES = 1 << 20 };
#define PATIENCE_NS 20000000000ull

void live_open_ask(struct live_open *l, uint32_t number)
{
	const struct op *op = l->front ? model_op_by_number(front_model(l->front), number) : NULL;

	if (!op || front_over(l->front)) {
		screen_message(
		    l->screen, NOTE_WARNING,
		    l->front ? "the target has ended: there is nothing left to probe"
			     : "not available in a saved session: the target cannot be probed");
		return;
	}
	if (op->layer != LAYER_FUNCTION && op->layer != LAYER_SYSCALL) {
		screen_message(l->screen, NOTE_INFO,
			       "only calls of functions and system calls can be listed here");
		return;
	}
	l->op = number;
	l->round = front_take_snapshots(l->front, number);
	l->asked_ns = now_ns();
	screen_message(l->screen, NOTE_INFO, "reading the threads of the target");
}

bool live_open_turn(struct live_open *l)
{
	const struct op *op = l->op ? model_op_by_number(front_model(l->front), l->op) : NULL;
	bool late = l->op && now_ns() - l->asked_ns > PATIENCE_NS;
	struct open_report r;
	SCOPED_BUF(lines, MAX_LINES_BYTES);
	SCOPED_BUF(name, MAX_LINES_BYTES);

	if (!op || front_over(l->front)) {
		l->op = 0;
		return false;
	}
	if (!late && !front_snapshots_complete(l->front, l->round))
		return false;
	r = (struct open_report){.model = front_model(l->front),
				 .names = front_driver(l->front),
				 .calls = front_open_calls(l->front)};
	r.ask = open_ask_of(op);
	if (!walker_names_open(front_walker(l->front), r.calls) && !late)
		return false;
	l->op = 0;
	if (!open_report_nr(&r) && !open_report_unknown(&r)) {
		screen_message(l->screen, NOTE_INFO,
			       late ? "the threads could not be read"
				    : "all of these calls have returned in the meantime");
		return true;
	}
	words_op_function(&name, r.model, op);
	r.what = name.data ? name.data : op->name;
	open_report_lines(&r, &lines);
	screen_show_open(l->screen, lines.data ? lines.data : "");
	return true;
}
