/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of `peaktop descend` that others use and tests look at. */
#ifndef PEAKTOP_VERB_DESCEND_H
#define PEAKTOP_VERB_DESCEND_H

#include "tui/engine/options.h"
#include "tui/engine/replay.h"
#include "tui/report/output_descend.h"

/* The descent of a session that was read; `op` 0: it holds none. */
struct descend_report descend_report_of(struct replay *r);

#endif
