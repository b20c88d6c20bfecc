/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases: only calls count that begin between two operations that the user named (DARC,
 * SIGMETRICS 2008, section 4.2). */
#pragma once

#include "analysis/session/record.h"

struct collector;
struct function;

struct phases {
	struct req_phases *asked; /* NULL: REQ_PHASES did not come yet */
	uint64_t blind_times;
};

/* Carry out REQ_PHASES: the operations that begin and end phases. */
void phases_request(struct collector *c, const struct req_phases *req);
/* Call this when an operation that begins or ends phases was armed or disarmed: decides
 * whether open phases are known. */
void phases_look(struct collector *c);
/* A call of this slot has ended unseen, so the state of its phase is not known. */
void phases_left(struct collector *c, uint32_t slot);
/* True if a system call begins or ends phases. */
bool phases_need_syscalls(const struct collector *c);
/* True if this function begins or ends phases. */
bool phases_edge(const struct collector *c, const struct function *f);
/* The measurement begins: discard the phases seen so far. */
void phases_begin(struct collector *c);
/* Send REC_PHASES, if phases are used. */
void phases_report(struct collector *c);
