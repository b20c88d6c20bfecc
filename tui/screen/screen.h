/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen: a stack of views over one model, the prompt, the status line.
 *
 * The screen reads no clock, does no I/O and does not use curses. The caller passes events
 * (screen_key, screen_tick, screen_resize), draws cells (screen_draw), and carries out a queue of
 * actions that only the front process can do. The same events over the same records give the same
 * grids.
 *
 * After feeding records to the model call screen_tick() before the next screen_draw(). In
 * screen_tick() views copy the data that they draw. A paused view keeps its copy while collection
 * continues.
 *
 * Text arguments are untrusted and need not be sanitised. They are copied.
 */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"
#include "analysis/session/record.h"
#include "tui/engine/candidate.h"
#include "tui/engine/processes.h"

struct grid;
struct screen;

/* Keys as screen_key() takes them: a Unicode code point (Ctrl-X is 1..26,
 * Enter 13, Tab 9, Esc 27), or one of these. term_getkey() returns them. */
enum screen_key {
	SCREEN_KEY_UP = 0x110000,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_INSERT,
	SCREEN_KEY_DELETE,
	SCREEN_KEY_BACKSPACE,
	SCREEN_KEY_BACKTAB,
	SCREEN_KEY_RESIZE, /* not a key: ask term_size() and call screen_resize() */
	SCREEN_KEY_F1,	   /* .. F12 = F1 + 11 */
	SCREEN_KEY_F12 = SCREEN_KEY_F1 + 11,
	SCREEN_KEY_MOUSE, /* not a key: ask term_mouse() and call screen_mouse() */
};

enum screen_view { SCREEN_PICKER, SCREEN_OPERATIONS };

struct screen_options {
	bool ascii;		   /* only ASCII in the cells */
	bool replay;		   /* shows a saved session: there is no collector */
	enum screen_view root;	   /* the first view */
	const char *host;	   /* host name until REC_META arrives; NULL: unknown */
	uint32_t layers;	   /* layers measured now: mask of 1 << enum layer */
	uint32_t layers_available; /* layers that the kernel and the privileges allow */
	/* of the list of operations (tui/views/op_rows.h) */
	uint32_t columns;      /* mask of 1 << enum op_column; 0: as many as fit */
	uint64_t column_order; /* as op_columns_pack() makes it; 0: the usual one */
	int sort;	       /* 1 + enum row_order; 0: by time */
	bool reverse;
	unsigned int resolution; /* buckets per doubling to show, 1, 2, 4 or 8; 0 = 4 */
	const char *filter;	 /* the picker shows names that begin with it; NULL: all */
};

/* The caller keeps `model` and `views`, which must outlive the screen. NULL: out of memory. */
struct screen_views;
struct screen *screen_new(struct model *model, const struct screen_options *options,
			  const struct screen_views *views);
void screen_free(struct screen *s);

/* Replace the model (a replay went back). Views keep their selection. */
void screen_set_model(struct screen *s, struct model *model);
/* Replace the root view and close all others, e.g. SCREEN_OPERATIONS once the picked target is
 * attached. */
void screen_show(struct screen *s, enum screen_view root);

/* Events. */
void screen_key(struct screen *s, int key);
/* The mouse was used at this cell, at this time (of the clock of screen_tick()). Two clicks at one
 * cell within SCREEN_DOUBLE_CLICK_NS are a double click. */
struct screen_mouse {
	enum { MOUSE_CLICK, MOUSE_DOUBLE_CLICK, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN } what;
	int x, y;
	uint64_t at_ns;
};
#define SCREEN_DOUBLE_CLICK_NS 500000000ULL
void screen_mouse(struct screen *s, const struct screen_mouse *mouse);
void screen_resize(struct screen *s, int cols, int rows);
/* Set the time (of any monotonic clock; messages expire by it) and copy new data from the model.
 * Call this at every REC_TICK and a few times per second. Returns true if the screen may have
 * changed. */
bool screen_tick(struct screen *s, uint64_t now_ns);

/* True if the cells must be ASCII: pass this to grid_new(). */
unsigned int screen_columns(const struct screen *s);
bool screen_ascii(const struct screen *s);
/* Draw everything into the grid, in its size. Changes nothing else. */
void screen_draw(const struct screen *s, struct grid *grid);
/* Append the whole top view as plain text in the width of the screen (the key `P`). Returns 0 or a
 * negative errno. */
int screen_text(const struct screen *s, struct buf *out);

/* What a view of waits shows. SCREEN_WAITS_WALK: where the threads spend their time. */
enum screen_waits {
	SCREEN_WAITS_CHAINS = 0,
	SCREEN_WAITS_CRITICAL,
	SCREEN_WAITS_WALK,
	SCREEN_WAITS_ACCOUNT,
	SCREEN_WAITS_TIMELINE,
	SCREEN_WAITS_FLAME,
	SCREEN_WAITS_FOLDED,
	SCREEN_WAITS_ROOT, /* the chains of one task */
	NR_SCREEN_WAITS
};

/* What the views of waits may change. */
enum screen_waits_change {
	WAITS_ZOOM_IN = 0, /* of the timeline: half of the time; twice; earlier; later */
	WAITS_ZOOM_OUT,
	WAITS_EARLIER,
	WAITS_LATER,
	WAITS_GROUP, /* chains per process instead of per thread, and back */
};

/* A task in the timeline, on a line of its own. */
struct screen_lane {
	uint32_t pid, tid;
	uint64_t start_ns;
};
enum { SCREEN_MAX_LANES = 64 };

enum screen_action_type {
	SCREEN_NONE = 0,
	SCREEN_QUIT,
	SCREEN_SUSPEND, /* Ctrl-Z: detach, term_suspend(), stop */
	SCREEN_REPAINT, /* term_repaint(), then draw */
	SCREEN_PAUSE, /* flag: 1: the view is frozen (pause a replay; a collection continues), 0: it
			 continues */
	SCREEN_PICK_TARGET,	  /* pid */
	SCREEN_REFRESH_PROCESSES, /* the picker wants a fresh list now */
	SCREEN_SEARCH, /* text: what is typed in "watch function"; answer: screen_set_candidates()
			*/
	SCREEN_WATCH_FUNCTION, /* text: an OP */
	SCREEN_UNWATCH,	       /* op */
	SCREEN_ASK_AGAIN, /* op: plan and arm it again, after it was refused or its fuse blew */
	SCREEN_LAYERS, /* layers: the mask wanted; the screen shows it when screen_set_layers() says
			  so */
	/* op, peak (id; 0: all parts of the operation's time); answer: screen_open_descent(), or a
	   message */
	SCREEN_DESCEND,
	SCREEN_DESCENT_PART,	/* peak: the number, from 1, of the part to show */
	SCREEN_SNAPSHOT_WRITE,	/* text: file name */
	SCREEN_VIEW_TEXT_WRITE, /* text: file name; contents: screen_text() */
	SCREEN_REPLAY_STEP,	/* step: slices, negative = back */
	SCREEN_REPLAY_JUMP,	/* at_ns since the start of the session */
	SCREEN_REPLAY_REWIND,
	SCREEN_DESCEND_STOP, /* op: stop the descent, its view was closed */
	/* text: file ("" unknown), line, module, offset; answer: screen_show_source(),
	   screen_show_code(), or a message */
	SCREEN_SOURCE,
	SCREEN_CODE, /* module, offset; answer: screen_show_code(), or a message */
	/* flag: enum screen_waits. SCREEN_WAITS_ROOT also has pid, tid, and in at_ns when the task
	   began. Answer: screen_set_waits(), repeated until SCREEN_WAITS_STOP */
	SCREEN_WAITS,
	SCREEN_WAITS_STOP, /* flag: enum screen_waits; such a view was closed */
	SCREEN_THREADS, /* flag: 1: follow all threads (REC_THREAD and their snapshots), 0: no more
			 */
	SCREEN_OPEN_CALLS, /* op: take stacks of its open calls; answer: screen_show_open(), or a
			      message */
	/* pid, tid (0: the process): count only the calls of this thread, or no longer; pid 0: of
	   all threads. The model says what is chosen */
	SCREEN_CHOOSE_THREAD,
	SCREEN_WAITS_CHANGE, /* flag: enum screen_waits_change */
	SCREEN_CONFIGURE,    /* text: lines SETTING = VALUE for the configuration file */
	SCREEN_BOOKMARK,     /* text: the note; at_ns, end_ns: the time that it is about */
	SCREEN_COMPARE,	     /* text: a file; answer: screen_compare_with(), or a message */
	SCREEN_SLOW_CALLS,   /* the list of slow calls was opened; answer: screen_set_slow_calls(),
				repeated while screen_slow_question() has one */
	SCREEN_SLOW_CALL,    /* at_ns: the number of the call whose story is to be opened */
	/* op (0: all), tid (0: of all threads), at_ns, end_ns (0: of any time): slow calls that
	   were open then; answer: the story of the only one, screen_list_slow_calls(), or a message
	 */
	SCREEN_WHY,
	SCREEN_RESUME, /* live: go on with the saved descent although latencies have changed */
};

struct screen_action {
	enum screen_action_type type;
	const char *text; /* "" if none; valid until the next screen_next_action() */
	uint32_t pid, tid;
	uint32_t op;
	int peak;
	uint32_t line;
	uint32_t layers;
	int flag;
	int step;
	uint64_t at_ns, end_ns;
	uint32_t module; /* a place in code, with the module's number in REC_MODULE */
	uint64_t offset;
};

/* Take the oldest action; false (and SCREEN_NONE) when there is none. */
bool screen_next_action(struct screen *s, struct screen_action *action);

/* A mask of the data that the screen needs now. */
enum screen_wants {
	SCREEN_WANTS_PROCESSES =
	    1 << 0, /* the picker is shown: screen_set_processes() about once a second */
	SCREEN_WANTS_CANDIDATES = 1 << 1, /* the prompt of `f` is open */
};
unsigned int screen_wants(const struct screen *s);

/* Show one line at the bottom. INFO and WARNING disappear after 5 s or at a key, ERROR at a key. */
void screen_message(struct screen *s, enum note_level level, const char *text);

/* Two spans or sessions that are compared, the earlier one first. */
struct screen_diff {
	struct model *model[2];
	const char *title[2];
};
/* The answer to SCREEN_COMPARE: compare what is shown with this session. The model is not needed
 * any more when this returns. */
void screen_compare_with(struct screen *s, struct model *other, const char *name);

/* An answer to SCREEN_SEARCH. Best first; more than SCREEN_MAX_CANDIDATES are not kept. */
enum { SCREEN_MAX_CANDIDATES = 64 };
/* `searched` is the text of the SCREEN_SEARCH; answers to an older text are dropped. */
void screen_set_candidates(struct screen *s, const char *searched,
			   const struct function_candidate *list, size_t n);

void screen_set_processes(struct screen *s, const struct picker_process *list, size_t n);

/* Layers that the collector measures now. */
void screen_set_layers(struct screen *s, uint32_t layers, uint32_t available);
/* Set the position of a replay. */
void screen_set_replay(struct screen *s, uint64_t at_ns, uint64_t total_ns);

/* In a saved session: the operation whose descent was recorded until now; 0: none. */
void screen_set_recorded_descent(struct screen *s, uint32_t op);

/* Show an operation, as if it had been opened in the list; does nothing if the model has none of
 * this number. */
void screen_open_operation(struct screen *s, uint32_t op);
