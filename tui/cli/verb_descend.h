/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of `peaktop descend` that others use and tests look at. */
#ifndef PEAKTOP_VERB_DESCEND_H
#define PEAKTOP_VERB_DESCEND_H

#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/report/output_descend.h"

/*
 * What to ask about operation `number`, which has been watched for `waited_s` seconds, by the
 * options. 0; -EAGAIN: too early, or there are too few calls; -ENOENT: there is no such peak. After
 * a third of --timeout what there is decides.
 */
int descend_choose(struct model *m, uint32_t number, const struct options *o, double waited_s,
		   struct rec_descent *ask);

/* The descent of a session that was read; `op` 0: it holds none. */
struct descend_report descend_report_of(struct replay *r);

#endif
