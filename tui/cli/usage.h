/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "analysis/base/buf.h"
#include "tui/engine/options.h"

/* Append the help text of a verb: its synopsis, options and examples. For VERB_SCREEN and
 * VERB_HELP, append the overview of all verbs and options. 0 or a negative errno. */
int usage_text(enum verb verb, struct buf *out);
