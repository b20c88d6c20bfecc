/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of `peaktop descend` that other verbs and tests use. */
#ifndef PEAKTOP_VERB_DESCEND_H
#define PEAKTOP_VERB_DESCEND_H

#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/report/output_descend.h"

/* The report of the descent in a session that was read; its `op` is 0 if there is none. */
struct descend_report descend_report_of(struct replay *r);

#endif
