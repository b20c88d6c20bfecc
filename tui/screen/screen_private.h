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
	struct status status;

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
/* Handle a click on a candidate of the prompt, or on a layer of the menu. */
void screen_prompt_click(struct screen *s, int target, bool twice);
void screen_menu_click(struct screen *s, int target);
void screen_draw_bottom(const struct screen *s, struct grid *g);
void screen_draw_menu(const struct screen *s, struct grid *g);
/* False if the request would be refused, or do nothing, in the top view: for hints and help. */
bool screen_offers(const struct screen *s, enum request request);
/* Carry out a request that has the same meaning in every view. False: not such a request. */
bool screen_request(struct screen *s, enum request request);
