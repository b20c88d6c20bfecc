/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the threads of the targets are. */
#ifndef PEAKTOP_COLLECT_LOOKS_H
#define PEAKTOP_COLLECT_LOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

void look_request(struct collector *c, const struct req_look *req);
void looked_running(struct collector *c, const struct pt_record_look *r, size_t size);
/* Allow some more stacks of running threads to be copied. */
void looks_refill(struct collector *c);
/* What is due now; the time of the next turn. */
uint64_t looks_turn(struct collector *c, uint64_t now);
void looks_end(struct collector *c);

#endif
