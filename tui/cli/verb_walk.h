/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `peaktop descend` without -f. */
#pragma once

#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/report/output_walk.h"

int verb_walk(struct options *o);
/* The question of a walk with these options. */
struct rec_walk walk_ask(const struct descent_question *q);
/* Print the walk of a session that was read. Returns the exit status. */
int verb_walk_replayed(struct replay *r, const struct options *o);
struct walk_report walk_report_of(struct replay *r);
