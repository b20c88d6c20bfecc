/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples the CPU time of functions that are too short to be timed. */
#pragma once

#include "bpf/records.h"

struct collector;

/* If the histogram `h` shows that the calls of this slot's function are too short to be timed,
 * sample its share from now on. */
void share_look(struct collector *c, uint32_t slot, const struct pt_hist *h);
/* Suspend sampling while a function is armed, because probes would distort the shares; else
 * resume it. */
void share_hold(struct collector *c);
/* Stop sampling for all functions. */
void share_end(struct collector *c);
