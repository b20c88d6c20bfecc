/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of `peaktop descend` that others use and tests look at. */
#ifndef PEAKTOP_VERB_DESCEND_H
#define PEAKTOP_VERB_DESCEND_H

#include "tui/options.h"
#include "tui/output_descend.h"
#include "tui/replay.h"

/*
 * What to ask about operation `number` by the options. 0; -EAGAIN: too early, more
 * calls are needed; -ENOENT: there is no such peak (only at the `last_chance`).
 */
int descend_choose(struct model *m, uint32_t number, const struct options *o, bool last_chance, struct rec_descent *ask);

/* The descent of a session that was read; `op` 0: it holds none. */
struct descend_report descend_report_of(struct replay *r);

#endif
