/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `peaktop descend --open`: list the calls that are open now. */
#pragma once

#include "tui/engine/options.h"

int verb_open(struct options *o);
