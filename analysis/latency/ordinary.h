/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of ordinary calls, and by what a slow call differs from them. Pure. */
#pragma once

#include "analysis/latency/values.h"

struct ordinary;

/* NULL: out of memory. */
struct ordinary *ordinary_new(void);
void ordinary_free(struct ordinary *o);
/* Take any record of the stream. 0 or -ENOMEM. */
int ordinary_take(struct ordinary *o, const struct record *rec);
/* By what this call differs from those of its operation that were not slow (values_of_call()).
 * Nothing if too few of them are known. `op` names the values. Do not copy *out. */
void ordinary_differences(const struct ordinary *o, const struct op *op,
			  const struct rec_slow_call *slow, struct values *out);
