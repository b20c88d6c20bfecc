/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces who waits for whom, from the targets on, in windows of continuous observation. */
#ifndef PEAKTOP_COLLECT_WAITS_H
#define PEAKTOP_COLLECT_WAITS_H

#include "analysis/session/record.h"

struct collector;

/* Carry out REQ_WAITS. The answer is ACK, or REFUSED if a value is out of range. */
void waits_request(struct collector *c, const struct req_waits *req);

#endif
