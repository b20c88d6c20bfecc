/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to screen*.c and the views. */
#pragma once

#include "tui/screen/descent_copy.h"
#include "tui/screen/prompt.h"
#include "tui/screen/screen.h"
#include "tui/screen/statusline.h"
#include "tui/screen/view.h"

enum {
	SCREEN_MAX_ACTIONS = 64,
	SCREEN_MAX_DEPTH = 16,
	SCREEN_TEXT_MAX = 1024, /* of a message */
};
#define SCREEN_MESSAGE_NS 5000000000ULL

struct queued_action {
	struct screen_action action; /* its text is `text` below */
	char text[PROMPT_TEXT_MAX];
};

struct screen {
	struct model *model;
	const struct screen_views *views;
	struct screen_options options; /* host and filter are not kept */
	int cols, rows;
	uint64_t now_ns;
	struct view *top;
	bool paused;
	uint64_t seen_elapsed_ns; /* of the model at the last refresh */
	size_t seen_ops, seen_notes, seen_targets;
	struct status status; /* knows which span of the past is shown */
	struct {
		struct model *model;   /* of the span; NULL: the present is shown */
		uint64_t length_ns;    /* that `[` and `]` show; 0: a slice */
		uint64_t before_ns[2]; /* the span that was shown before this one; 0, 0: none */
		uint64_t bookmark;     /* number of the last one that was shown */
	} past;

	struct prompt prompt;
	char search[PROMPT_TEXT_MAX]; /* the last accepted search text; "" none */

	bool menu; /* the layers menu is open */
	struct list menu_list;
	uint32_t layers, layers_available;

	enum note_level message_level;
	char message[SCREEN_TEXT_MAX]; /* sanitised; "" none */
	uint64_t message_ns;	       /* when it was set */

	struct queued_action actions[SCREEN_MAX_ACTIONS];
	unsigned int first_action, nr_actions;
	struct queued_action taken;

	struct screen_mouse last_click; /* at_ns 0: none that a second click could follow */

	struct descent_copy *descent; /* the latest state of a descent; NULL none */
	bool content_changed;	      /* the descent or the waits, since the last tick */
	uint32_t recorded_descent;    /* operation of the descent in a saved session; 0: none */
};

/* The rectangle of the view between status line and bottom line. */
struct rect screen_body(int cols, int rows);
/* Push a view on the stack, which then owns it. NULL (out of memory) shows a message. */
void screen_push(struct screen *s, struct view *v);
/* Queue a copy of an action. If the queue is full, the action is dropped. */
void screen_act(struct screen *s, struct screen_action action);
/* The target of clicks that does what the key of this request does. */
#define SCREEN_TARGET(request) (-(int)(request))
/* Give a request to the view on top, then to the screen. */
void screen_view_request(struct screen *s, enum request request, int key);
/* The name of a layer for the user. */
const char *layer_name(enum layer layer);
/* Prompts, menu and messages: screen_prompt.c. */
void screen_open_prompt(struct screen *s, enum prompt_kind kind);
void screen_prompt_key(struct screen *s, int key);
void screen_menu_key(struct screen *s, int key);
/* Carry out a request of KEYMAP_REPLAY. False: it is another one, or there is no saved session. */
bool screen_replay_request(struct screen *s, enum request request);
void screen_toggle_pause(struct screen *s);
/* Let all views copy what they show. */
void screen_tick_views(struct screen *s);

/* Time travel: screen_past.c. What views that travel show: the session, or a part of it. */
struct model *screen_model(const struct screen *s);
bool screen_is_past(const struct screen *s);
/* Show this part of the session, at least one slice. */
void screen_past_show(struct screen *s, uint64_t start_ns, uint64_t end_ns);
/* Show the present from the next tick of the views on. */
void screen_past_end(struct screen *s);
/* The part that is shown; in the present: the newest slice. */
void screen_past_span(const struct screen *s, uint64_t *start_ns, uint64_t *end_ns);
/* True if the request moves in time. */
bool screen_travels(enum request request);
/* Comparisons: screen_compare.c. Write a span that the present one could be compared with. */
void screen_compare_default(const struct screen *s, char *out, size_t size);
/* Compare what is shown with another span, or with the session in a file. */
void screen_compare(struct screen *s, const char *with);
/* "90", "1.5", "1:30", "1:00:30" to nanoseconds; false when it is no time. */
bool screen_parse_time(const char *text, uint64_t *ns);
/* Carry out a request about time. False: another request. */
bool screen_past_request(struct screen *s, enum request request);
/* Handle a click on a candidate of the prompt, or on a layer of the menu. */
void screen_prompt_click(struct screen *s, int target, bool twice);
void screen_menu_click(struct screen *s, int target);
void screen_draw_bottom(const struct screen *s, struct grid *g);
void screen_draw_menu(const struct screen *s, struct grid *g);
/* False if the request would be refused, or do nothing, in the top view: for hints and help. */
bool screen_offers(const struct screen *s, enum request request);
/* Carry out a request that has the same meaning in every view. False: not such a request. */
bool screen_request(struct screen *s, enum request request);
