/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `peaktop descend --open`: list the calls that are open now. */
#ifndef PEAKTOP_VERB_OPEN_H
#define PEAKTOP_VERB_OPEN_H

#include "tui/engine/options.h"

int verb_open(struct options *o);

#endif
