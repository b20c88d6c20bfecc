/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is open now, on the screen: the answer to SCREEN_OPEN_CALLS. */
#ifndef PEAKTOP_SCREEN_OPEN_H
#define PEAKTOP_SCREEN_OPEN_H

struct screen;

/* Show these lines (sanitised, the first one a heading) in a view of their own. */
void screen_show_open(struct screen *s, const char *lines);

#endif
