/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes the state of a descent to the screen (tui/screen/screen_descent.h). */
#pragma once

#include "tui/report/output_descend.h"

struct screen;

/* Show the result `r` of `report`, and above it the parts of `whole`, if there are several: then
 * `report` is that on one of them. `remark` follows the answer; "" for none. Returns 0 or a
 * negative errno. */
int descent_rows_show(struct screen *s, const struct descend_report *whole,
		      const struct descend_report *report, const struct descent_result *r,
		      const char *remark);
