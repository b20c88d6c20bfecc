// SPDX-License-Identifier: GPL-2.0-or-later
/* The live screen: terminal, front process and screen joined in one loop. */
#include "tui/cli/live.h"

#include <signal.h>
#include <unistd.h>

#include "tui/cli/live_choose.h"
#include "tui/cli/live_compare.h"
#include "tui/cli/live_resume.h"
#include "tui/cli/live_write.h"
#include "tui/cli/replay_parent.h"
#include "tui/cli/replay_screen.h"
#include "tui/cli/target.h"
#include "tui/cli/verbs.h"
#include "tui/engine/front.h"
#include "tui/engine/processes.h"
#include "tui/engine/replay.h"
#include "tui/screen/curses.h"
#include "tui/screen/grid.h"
#include "tui/screen/screen.h"
#include "tui/views/live_descent.h"
#include "tui/views/live_open.h"
#include "tui/views/live_slow.h"
#include "tui/views/live_source.h"
#include "tui/views/live_waits.h"
#include "tui/views/views.h"

enum { TICK_MS = 250, PROCESSES_MS = 1000 };

struct live {
	struct options *options;
	struct front *front; /* NULL for a replay; else `replay` is NULL */
	struct replay *replay;
	struct screen *screen;
	struct grid *grid;
	const struct live_options *more;
	struct live_resume resume;
	struct live_descent descent;
	struct live_source source;
	struct live_open open_calls;
	struct live_slow slow;
	struct live_waits waits;
	struct live_compare compare;
	uint64_t processes_at;
	bool opened; /* the only function was opened, or a key was pressed: open none any more */
	bool quit, lost, dirty;
	bool picking;	 /* a process was picked; the collector has not answered yet */
	bool says_state; /* on SIGUSR1 print the state to stderr, which is not the terminal */
	int status;
	char goodbye[512]; /* printed after the terminal is restored */
};

static struct model *live_model(const struct live *l)
{
	return l->front ? front_model(l->front) : replay_model(l->replay);
}

static void live_draw(struct live *l)
{
	if (!l->dirty)
		return;
	screen_draw(l->screen, l->grid);
	if (term_put(l->grid))
		l->lost = l->quit = true;
	l->dirty = false;
}

static int live_resize(struct live *l)
{
	int cols, rows;

	term_size(&cols, &rows);
	screen_resize(l->screen, cols, rows);
	l->dirty = true;
	return grid_resize(l->grid, cols, rows);
}

static void live_fail(struct live *l, int status, const char *line)
{
	l->status = status;
	l->quit = true;
	snprintf(l->goodbye, sizeof(l->goodbye), "%s", line);
}

static bool live_attach(struct live *l, bool pick)
{
	struct front_options fo = {
	    .options = l->options, .screen = true, .all_layers = true, .pick = pick};
	char error[512];
	int status = front_start(&l->front, &fo, error, sizeof(error));

	if (status) {
		l->front = NULL;
		live_fail(l, status, error);
		return false;
	}
	return true;
}

static void live_suspend(struct live *l)
{
	/* while peaktop is stopped it sends no heartbeat, so the collector detaches after 2 s */
	term_suspend();
	raise(SIGSTOP);
	term_resume();
	live_resize(l);
	if (l->front && front_over(l->front))
		screen_message(l->screen, NOTE_WARNING,
			       "all probes were removed while peaktop was stopped; start peaktop "
			       "again to continue");
}

/* Set the present model and descent. A replay that goes back creates new ones. */
static void live_descent(struct live *l)
{
	l->descent.screen = l->screen;
	l->descent.question = &l->options->question;
	l->descent.replay = l->replay != NULL;
	l->descent.model = live_model(l);
	l->descent.driver = l->front ? front_driver(l->front) : replay_driver(l->replay);
	l->descent.front = l->front;
	l->descent.waits = l->front ? front_waits(l->front) : replay_waits(l->replay);
	l->source.screen = l->screen;
	l->source.front = l->front;
	l->source.driver = l->descent.driver;
	l->slow.screen = l->screen;
	l->slow.front = l->front;
	l->slow.replay = l->replay;
	live_waits_source(&l->waits, l->screen, l->front, l->replay);
}

/* Actions about the cause of a peak, waits, threads and open calls. */
static void live_question(struct live *l, const struct screen_action *a)
{
	const struct screen_action stop = {.type = SCREEN_DESCEND_STOP};

	live_descent(l);
	switch (a->type) {
	case SCREEN_DESCEND:
	case SCREEN_DESCENT_PART:
	case SCREEN_DESCEND_STOP:
		live_descent_action(&l->descent, a, now_ns());
		break;
	case SCREEN_RESUME:
		live_resume_anyway(&l->resume, &l->descent, l->options);
		break;
	case SCREEN_SOURCE:
	case SCREEN_CODE:
		live_source_show(&l->source, a);
		break;
	case SCREEN_WAITS:
	case SCREEN_WAITS_STOP:
	case SCREEN_WAITS_CHANGE:
		live_waits_action(&l->waits, a);
		break;
	case SCREEN_THREADS:
		(a->flag ? live_snapshots_begin : live_snapshots_end)(&l->waits);
		break;
	case SCREEN_CHOOSE_THREAD:
		live_choose_thread(l->front, l->screen, a->pid, a->tid);
		break;
	case SCREEN_SLOW_CALLS:
	case SCREEN_SLOW_CALL:
	case SCREEN_WHY:
		if (live_slow_action(&l->slow, a))
			live_descent_action(&l->descent, &stop, now_ns());
		break;
	case SCREEN_OPEN_CALLS:
		l->open_calls.screen = l->screen;
		l->open_calls.front = l->front;
		live_open_ask(&l->open_calls, a->op);
		break;
	default:
		break;
	}
}

static void live_action(struct live *l, const struct screen_action *a)
{
	if (l->replay && a->type == SCREEN_PICK_TARGET) {
		l->quit |= live_resume_in(l->more, l->replay, l->screen, a->pid);
		return;
	}
	if (l->replay && replay_screen_action(l->replay, l->screen, a))
		return;
	switch (a->type) {
	case SCREEN_QUIT:
		l->quit = true;
		break;
	case SCREEN_SUSPEND:
		live_suspend(l);
		break;
	case SCREEN_REPAINT:
		term_repaint();
		l->dirty = true;
		break;
	case SCREEN_PICK_TARGET:
		if (!l->picking)
			live_pick(l->front, l->screen, a->pid);
		l->picking = true;
		break;
	case SCREEN_REFRESH_PROCESSES:
		l->processes_at = 0;
		break;
	case SCREEN_COMPARE:
		live_compare_begin(&l->compare, l->screen, a->text);
		break;
	case SCREEN_SEARCH:
		front_search(l->front, a->text);
		break;
	case SCREEN_WATCH_FUNCTION:
		live_watch(l->front, l->screen, a->text);
		break;
	case SCREEN_UNWATCH:
		front_unwatch(l->front, a->op);
		break;
	case SCREEN_LAYERS:
		front_layers(l->front, a->layers);
		screen_set_layers(l->screen, a->layers, LAYERS_TRACED);
		break;
	case SCREEN_BOOKMARK:
	case SCREEN_SNAPSHOT_WRITE:
	case SCREEN_VIEW_TEXT_WRITE:
	case SCREEN_CONFIGURE:
		live_write(l->screen, l->front, a);
		break;
	default:
		live_question(l, a);
		break;
	}
}

static void live_actions(struct live *l)
{
	struct screen_action a;

	while (!l->quit && screen_next_action(l->screen, &a)) {
		live_action(l, &a);
		l->dirty = true;
	}
}

static void live_mouse(struct live *l)
{
	struct screen_mouse mouse;

	term_mouse(&mouse);
	mouse.at_ns = now_ns();
	screen_mouse(l->screen, &mouse);
}

static void live_keys(struct live *l)
{
	int key;

	while (!l->quit && (key = term_getkey()) != TERM_NOTHING) {
		if (key == TERM_LOST) {
			l->lost = l->quit = true;
			return;
		}
		if (key == SCREEN_KEY_RESIZE)
			live_resize(l);
		else if (key == SCREEN_KEY_MOUSE)
			live_mouse(l);
		else
			screen_key(l->screen, key);
		l->opened |= key != SCREEN_KEY_RESIZE;
		l->dirty = true;
		live_actions(l);
	}
}

static void live_signals(struct live *l)
{
	unsigned int mask = term_take_signals();

	if (mask & (TERM_SIGNAL_INT | TERM_SIGNAL_TERM))
		l->quit = true;
	if (mask & TERM_SIGNAL_HUP)
		l->lost = l->quit = true;
	if (mask & TERM_SIGNAL_TSTP)
		live_suspend(l);
	if (mask & TERM_SIGNAL_CONT)
		term_repaint();
	if (mask & TERM_SIGNAL_USR1)
		live_write_state(l->screen, live_model(l), l->options, l->says_state);
	if (mask)
		l->dirty = true;
}

static void show_processes(void *ctx, const struct picker_process *list, size_t nr)
{
	screen_set_processes(ctx, list, nr);
}

static void live_processes(struct live *l, uint64_t now)
{
	if (!(screen_wants(l->screen) & SCREEN_WANTS_PROCESSES) || now < l->processes_at)
		return;
	processes_list(show_processes, l->screen);
	l->processes_at = now + PROCESSES_MS * 1000000ull;
	l->dirty = true;
}

/* If the user named a single function, open its view instead of the list of operations. */
static void open_only_function(struct live *l)
{
	uint32_t number = l->options->nr_ops == 1 ? front_armed_op(l->front) : 0;
	const struct op *op = number ? model_op_by_number(front_model(l->front), number) : NULL;

	if (l->opened || !op || !op->nr_slices)
		return;
	screen_open_operation(l->screen, number);
	l->opened = true;
}

static void live_front(struct live *l)
{
	const struct function_candidate *list;
	const char *line, *searched;
	size_t n;

	while ((line = front_next_message(l->front)))
		screen_message(l->screen, NOTE_WARNING, line);
	if (l->picking && live_picked(l->front, l->screen)) {
		l->picking = false;
		l->dirty = true;
	}
	open_only_function(l);
	if (live_open_turn(&l->open_calls))
		l->dirty = true;
	if (front_take_candidates(l->front, &searched, &list, &n)) {
		screen_set_candidates(l->screen, searched, list, n);
		l->dirty = true;
	}
	if (front_failure(l->front, &line))
		live_fail(l, front_failure(l->front, &line), line);
}

static void live_over(struct live *l)
{
	SCOPED_BUF(line, 4096);

	if (verb_death(front_model(l->front), &(size_t){0}, &line))
		screen_message(l->screen, NOTE_ERROR, line.data);
	else
		screen_message(l->screen, NOTE_WARNING,
			       "the target has ended; its results stay on "
			       "the screen (q quits, w saves them)");
}

static void live_loop(struct live *l)
{
	bool said_over = false;

	if (l->replay) {
		replay_screen_show(l->replay, l->screen, UINT64_MAX);
		if (replay_damage(l->replay)[0])
			screen_message(l->screen, NOTE_WARNING, replay_damage(l->replay));
		live_descent(l);
		live_descent_turn(&l->descent, now_ns());
	}
	while (!l->quit) {
		struct pollfd fds[3] = {{.fd = 0, .events = POLLIN},
					{.fd = term_signal_fd(), .events = POLLIN},
					{.fd = l->more->parent ?: -1}};

		live_processes(l, now_ns());
		live_draw(l);
		if (l->front && !front_over(l->front)) {
			front_turn(l->front, fds, 2, l->compare.other ? 0 : TICK_MS);
			live_front(l);
		} else {
			if (l->front) /* names may still be missing */
				front_parser_turn(l->front, 0);
			poll(fds, 3, l->compare.other ? 0 : TICK_MS);
		}
		if (l->front && front_over(l->front) && !said_over && !l->quit) {
			live_over(l);
			said_over = l->dirty = true;
		}
		l->lost |= fds[2].revents != 0; /* the parent was killed */
		l->quit |= l->lost;
		if (fds[1].revents)
			live_signals(l);
		if (fds[0].revents || fds[1].revents)
			live_keys(l);
		live_descent(l);
		live_resume_turn(&l->resume, &l->descent, l->options, now_ns());
		l->dirty |= live_descent_turn(&l->descent, now_ns());
		l->dirty |= live_slow_turn(&l->slow);
		l->dirty |= live_waits_turn(&l->waits, now_ns());
		l->dirty |= live_compare_turn(&l->compare, l->screen, live_model(l));
		l->dirty |= screen_tick(l->screen, now_ns());
		live_actions(l);
	}
}

static int live_open(struct live *l, char *error, size_t n)
{
	struct term_options to = {.ascii = l->options->ascii,
				  .no_mouse = l->options->no_mouse,
				  .theme = l->options->theme,
				  .in_fd = 0,
				  .out_fd = 1};
	bool picker = !l->options->nr_pids && !l->options->command;
	struct screen_options so = {.root = picker ? SCREEN_PICKER : SCREEN_OPERATIONS,
				    .resolution = l->options->resolution,
				    .columns = l->options->columns,
				    .column_order = l->options->column_order,
				    .sort = l->options->sort,
				    .reverse = l->options->reverse,
				    .filter = l->options->bare};

	/* Open the terminal first: a wrong TERM is reported before any probe is attached. */
	if (term_open(&to, error, n))
		return EXIT_USAGE;
	if (l->replay) {
		so.replay = true;
		so.root = SCREEN_OPERATIONS;
	} else if (!live_attach(l, picker)) {
		snprintf(error, n, "%.500s", l->goodbye);
		return l->status;
	}
	so.ascii = term_ascii();
	if (l->front)
		so.layers = front_layers_now(l->front);
	so.layers_available = LAYERS_TRACED;
	l->screen = screen_new(live_model(l), &so, &all_views);
	l->grid = grid_new(80, 24, so.ascii);
	if (!l->screen || !l->grid || live_resize(l)) {
		snprintf(error, n, "out of memory while opening the screen");
		return EXIT_NO_ANSWER;
	}
	screen_tick(l->screen, now_ns()); /* the message expires by this time */
	if (term_notice())
		screen_message(l->screen, NOTE_WARNING, term_notice());
	return 0;
}

int live_screen(struct options *o, const struct live_options *more)
{
	struct live l = {.options = o, .says_state = !isatty(2), .more = more};
	char error[512] = "";

	l.status = target_resolve(o, isatty(0) && isatty(1), error, sizeof(error));
	if (l.status) {
		verb_complain(error);
		return l.status;
	}
	if (o->verb == VERB_REPLAY) {
		l.status = front_unprivileged(error, sizeof(error));
		if (!l.status)
			l.status = replay_open(&l.replay, o->files[0], error, sizeof(error));
		if (l.status) {
			verb_complain(error);
			return l.status;
		}
		model_list_all_peaks(replay_model(l.replay), o->all_peaks);
	}
	l.status = live_open(&l, error, sizeof(error));
	if (!l.status && more->saved && live_resume_begin(&l.resume, l.front, o, more->saved)) {
		l.status = EXIT_DAMAGED;
		snprintf(error, sizeof(error), "resume: the saved descent cannot be read");
	}
	if (l.status)
		snprintf(l.goodbye, sizeof(l.goodbye), "%s", error);
	else
		live_loop(&l);
	term_close();
	if (l.goodbye[0] && !l.lost)
		verb_complain(l.goodbye);
	if (l.front && !l.lost)
		l.status = verb_killed(front_model(l.front), l.status);
	live_descent_release(&l.descent);
	live_slow_release(&l.slow);
	screen_free(l.screen);
	grid_free(l.grid);
	verb_free(l.front);
	live_resume_release(&l.resume);
	live_compare_release(&l.compare);
	replay_free(l.replay);
	return l.status;
}

int live_run(struct options *o)
{
	return o->verb == VERB_REPLAY ? replay_run(o) : live_screen(o, &(struct live_options){0});
}
