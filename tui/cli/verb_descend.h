/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of `peaktop descend` that other verbs and tests use. */
#pragma once

#include "analysis/base/buf.h"
#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/engine/saved_descent.h"
#include "tui/report/output_descend.h"

/* Run a descent live and print its answer; `o->ops[0]` is its function. `saved` holds a descent
 * that goes on, as saved_descent_write() wrote it, or is NULL. Returns the exit status. */
int verb_descend_live(struct options *o, const struct buf *saved);

/* The exit status: is there an answer, if only about a part? `command`: the target is one that
 * peaktop started, which may end. */
int descend_status(const struct descend_report *report, bool command);

/* The report of the descent in a session that was read; its `op` is 0 if there is none. */
struct descend_report descend_report_of(struct replay *r);
