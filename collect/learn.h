/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The callees of indirect calls, seen in short bursts. */
#ifndef PEAKTOP_COLLECT_LEARN_H
#define PEAKTOP_COLLECT_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

void learn_request(struct collector *c, const struct req_learn *req);
/* Another set is armed. */
void learn_rebind(struct collector *c);
/* Probes on and off with those of f0. */
void learn_detach(struct collector *c);
void learn_turn(struct collector *c, uint64_t now);
bool learn_blown(struct collector *c, uint32_t site_index);
void learn_callees(struct collector *c, const struct pt_record_callees *r);
uint64_t learn_spending(struct collector *c);
void learn_end(struct collector *c);
/* The place in a module of this address of a target; module 0: none is mapped there. */
struct rec_code code_at(const struct collector *c, uint32_t pid, uint64_t address);

#endif
