/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a frame is in the program: its source, read as the user that we are, or its instructions,
 * from the parser. */
#ifndef PEAKTOP_LIVE_SOURCE_H
#define PEAKTOP_LIVE_SOURCE_H

#include "tui/screen/screen.h"

struct descent_driver;
struct front;

struct live_source {
	struct screen *screen;
	struct front *front; /* NULL: a saved session, of which only the source can be shown */
	const struct descent_driver *driver; /* NULL: none */
	char no_source[512];		     /* why the last one could not be shown */
};

/* SCREEN_SOURCE and SCREEN_CODE: show it, now or when the parser has answered, or say why not. */
void live_source_show(struct live_source *l, const struct screen_action *a);

#endif
