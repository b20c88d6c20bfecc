/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chronological view of waits as text: one line per followed task, time across. */
#pragma once

#include "tui/report/output_waits.h"

struct timeline_ask {
	uint64_t span_ns, back_ns; /* as in waits_span(); span 0: all that is remembered */
	uint32_t max_lanes;
};

/* What was shown. */
struct timeline_shown {
	uint64_t from_ns, to_ns; /* both 0: nothing was observed */
	uint64_t back_ns;	 /* before the newest record */
	uint32_t first_line;	 /* number of the line of lane 0 */
	uint32_t nr;		 /* lanes */
	struct waits_lane lane[64];
};

/* `shown` may be NULL. 0 or a negative errno. */
int output_timeline_text(const struct wait_report *r, const struct timeline_ask *ask,
			 const struct output_options *o, struct timeline_shown *shown, FILE *f);
