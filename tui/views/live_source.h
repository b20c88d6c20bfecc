/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows the code of a frame: its source file, read with the rights of the user, or its instructions
 * from the parser. */
#pragma once

#include "tui/screen/screen.h"

struct descent_driver;
struct front;

struct live_source {
	struct screen *screen;
	struct front *front; /* NULL: a saved session, for which only source can be shown */
	const struct descent_driver *driver; /* NULL: none */
	char no_source[512];		     /* why the last source file could not be shown */
};

/* SCREEN_SOURCE and SCREEN_CODE: show source or code, at once or when the parser has answered, or
 * show the reason for a failure. */
void live_source_show(struct live_source *l, const struct screen_action *a);
