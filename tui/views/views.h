/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views: those that the screen opens by itself, and what the front shows in others. */
#ifndef PEAKTOP_VIEWS_H
#define PEAKTOP_VIEWS_H

#include "tui/screen/screen_descent.h"
#include "tui/screen/view.h"

/* For screen_new(). */
extern const struct screen_views all_views;

struct view *view_picker_new(struct screen *s);
struct view *view_operations_new(struct screen *s);
/* `peak` is the id to choose, 0: the one with the most time. */
struct view *view_operation_new(struct screen *s, uint32_t op, int peak);
struct view *view_help_new(struct screen *s, enum keymap of);
struct view *view_information_new(struct screen *s);

/*
 * Show the view of a descent: in answer to SCREEN_DESCEND, once it has begun. Where
 * it is open already (asked again), it stays. Closing it gives SCREEN_DESCEND_STOP.
 */
void screen_open_descent(struct screen *s, uint32_t op, int peak);
/* The state now; shown from the next screen_tick() on. 0, -EINVAL (not in preorder) or -ENOMEM. */
int screen_set_descent(struct screen *s, const struct screen_descent *d);

/* In answer to SCREEN_SOURCE: lines of a file with this one (from 1) marked. */
void screen_show_source(struct screen *s, const char *title, const char *text, uint32_t line);
/* In answer to SCREEN_CODE, or to a SCREEN_SOURCE whose file cannot be read. */
void screen_show_code(struct screen *s, const struct screen_code *code);
/* In answer to SCREEN_OPEN_CALLS: these lines (sanitised, the first one a heading) in a view of
 * their own. */
void screen_show_open(struct screen *s, const char *lines);

#endif
