/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `peaktop descend --open`: list the calls that are open now. */
#pragma once

#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/report/output_open.h"

int verb_open(struct options *o);

/* The calls that were open when the session was recorded. */
struct open_report open_report_of(struct replay *r);
/* Prints them as verb_open() did. Returns the exit status. */
int verb_open_replayed(struct replay *r, const struct options *o);
