/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen: a stack of views over one model, the prompt, the status line.
 *
 * It reads no clock, does no I/O and knows no curses: events come in
 * (screen_key, screen_tick, screen_resize), cells come out (screen_draw), and
 * what only the front process can do comes out as a queue of actions. The same
 * events over the same records give the same grids.
 *
 * After feeding records to the model call screen_tick() before the next
 * screen_draw(): views draw from copies that they take there, which is also
 * how a paused view stays still while the collection goes on.
 *
 * Text handed in is not trusted and need not be sanitised; it is copied.
 */
#ifndef PEAKTOP_SCREEN_H
#define PEAKTOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"
#include "analysis/session/record.h"
#include "tui/engine/candidate.h"
#include "tui/engine/processes.h"

struct grid;
struct screen;

/*
 * Keys as screen_key() takes them: a Unicode code point (Ctrl-X is 1..26,
 * Enter 13, Tab 9, Esc 27), or one of these. term_getkey() returns them.
 */
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
};

enum screen_view { SCREEN_PICKER, SCREEN_OPERATIONS };

struct screen_options {
	bool ascii;		   /* only ASCII in the cells */
	bool replay;		   /* over a saved session: nothing can be asked of a collector */
	enum screen_view root;	   /* what is shown first */
	const char *host;	   /* until META says it; NULL = unknown */
	uint32_t layers;	   /* measured now: mask of 1 << enum layer */
	uint32_t layers_available; /* that this kernel and these privileges allow */
	unsigned int resolution;   /* buckets per doubling to show, 1, 2, 4 or 8; 0 = 4 */
};

/* `model` and `views` stay the caller's and must outlive the screen. NULL without memory. */
struct screen_views;
struct screen *screen_new(struct model *model, const struct screen_options *options,
			  const struct screen_views *views);
void screen_free(struct screen *s);

/* Another model in the place of the first (replay: rewind, step back). Views keep their selection.
 */
void screen_set_model(struct screen *s, struct model *model);
/* Replace the root view and close all others, e.g. SCREEN_OPERATIONS once the picked target is
 * attached. */
void screen_show(struct screen *s, enum screen_view root);

/* Events. */
void screen_key(struct screen *s, int key);
void screen_resize(struct screen *s, int cols, int rows);
/*
 * Time passes (any monotonic clock; messages end by it) and the model may have
 * new records. At every REC_TICK, and a few times a second besides. Returns
 * whether anything on the screen may have changed.
 */
bool screen_tick(struct screen *s, uint64_t now_ns);

/* Whether its cells must be ASCII: what a grid for it is made with. */
bool screen_ascii(const struct screen *s);
/* Draw everything; pure. The grid says how large. */
void screen_draw(const struct screen *s, struct grid *grid);
/* The view on top as plain text, all of it, as wide as the screen (`P`). Returns 0 or a negative
 * errno. */
int screen_text(const struct screen *s, struct buf *out);

enum screen_action_type {
	SCREEN_NONE = 0,
	SCREEN_QUIT,
	SCREEN_SUSPEND, /* Ctrl-Z: detach, term_suspend(), stop */
	SCREEN_REPAINT, /* term_repaint(), then draw */
	SCREEN_PAUSE,	/* flag: 1 the view was frozen, 0 it goes on (a replay stops, a collection
			   does not) */
	SCREEN_PICK_TARGET,	  /* pid */
	SCREEN_REFRESH_PROCESSES, /* the picker wants a fresh list now */
	SCREEN_SEARCH, /* text: what is typed in "watch function"; answer: screen_set_candidates()
			*/
	SCREEN_WATCH_FUNCTION, /* text: an OP */
	SCREEN_UNWATCH,	       /* op */
	SCREEN_ASK_AGAIN,      /* op: plan and arm it again (refused, blown by the fuse) */
	SCREEN_LAYERS, /* layers: the mask wanted; the screen shows it when screen_set_layers() says
			  so */
	SCREEN_DESCEND,		/* op, peak (id); answer: screen_open_descent(), or a message */
	SCREEN_SNAPSHOT_WRITE,	/* text: file name */
	SCREEN_VIEW_TEXT_WRITE, /* text: file name; contents: screen_text() */
	SCREEN_REPLAY_STEP,	/* step: slices, negative = back */
	SCREEN_REPLAY_JUMP,	/* at_ns since the start of the session */
	SCREEN_REPLAY_REWIND,
	SCREEN_DESCEND_STOP, /* op: its view was closed */
	/* text: file ("" unknown), line, module, offset; answer: screen_show_source(),
	   screen_show_code(), or a message */
	SCREEN_SOURCE,
	SCREEN_CODE,	   /* module, offset; answer: screen_show_code(), or a message */
	SCREEN_OPEN_CALLS, /* op: where its open calls are; answer: screen_show_open(), or a message
			    */
};

struct screen_action {
	enum screen_action_type type;
	const char *text; /* "" if none; valid until the next screen_next_action() */
	uint32_t pid;
	uint32_t op;
	int peak;
	uint32_t line;
	uint32_t layers;
	int flag;
	int step;
	uint64_t at_ns;
	uint32_t module; /* a place in code, as REC_MODULE numbers it */
	uint64_t offset;
};

/* Take the oldest action; false (and SCREEN_NONE) when there is none. */
bool screen_next_action(struct screen *s, struct screen_action *action);

/* What would be of use at the moment: mask. */
enum screen_wants {
	SCREEN_WANTS_PROCESSES =
	    1 << 0, /* the picker is shown: screen_set_processes() about once a second */
	SCREEN_WANTS_CANDIDATES = 1 << 1, /* the prompt of `f` is open */
};
unsigned int screen_wants(const struct screen *s);

/* One line at the bottom: INFO and WARNING go after 5 s or at a key, ERROR at a key. */
void screen_message(struct screen *s, enum note_level level, const char *text);

/* An answer to SCREEN_SEARCH. Best first; more than SCREEN_MAX_CANDIDATES are not kept. */
enum { SCREEN_MAX_CANDIDATES = 64 };
/* `searched` is the text of the SCREEN_SEARCH; answers to an older text are dropped. */
void screen_set_candidates(struct screen *s, const char *searched,
			   const struct function_candidate *list, size_t n);

void screen_set_processes(struct screen *s, const struct picker_process *list, size_t n);

/* Layers that the collector measures now. */
void screen_set_layers(struct screen *s, uint32_t layers, uint32_t available);
/* Of a replay: where it stands, and whether it runs. */
void screen_set_replay(struct screen *s, uint64_t at_ns, uint64_t total_ns, bool running);

/* Show an operation, as if it had been opened in the list; does nothing if the model has none of
 * this number. */
void screen_open_operation(struct screen *s, uint32_t op);

#endif
