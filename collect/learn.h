/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the callees of indirect calls, in short bursts of probes (learn.c). */
#ifndef PEAKTOP_COLLECT_LEARN_H
#define PEAKTOP_COLLECT_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

void learn_request(struct collector *c, const struct req_learn *req);
/* Adapt to another armed set of the descent. */
void learn_rebind(struct collector *c);
/* Detach the probes, together with those of f0. */
void learn_detach(struct collector *c);
void learn_turn(struct collector *c, uint64_t now);
bool learn_blown(struct collector *c, uint32_t site_index);
void learn_callees(struct collector *c, const struct pt_record_callees *r);
uint64_t learn_spending(struct collector *c);
void learn_end(struct collector *c);
/* Module and offset of an address in a target; module 0: no file is mapped there. */
struct rec_code code_at(const struct collector *c, uint32_t pid, uint64_t address);

#endif
