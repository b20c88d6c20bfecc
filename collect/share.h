/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU time of functions that are too short to be timed. */
#ifndef PEAKTOP_COLLECT_SHARE_H
#define PEAKTOP_COLLECT_SHARE_H

#include <stdint.h>

#include "bpf/records.h"

struct collector;

/* Look from now on at the share of this slot's function, if `h` says that its calls are too short.
 */
void share_look(struct collector *c, uint32_t slot, const struct pt_hist *h);
/* Call this only while nothing is armed, because probes would be visible. */
void share_hold(struct collector *c);
void share_end(struct collector *c);

#endif
