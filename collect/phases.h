/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases: only what begins between two operations that the user named counts. */
#ifndef PEAKTOP_COLLECT_PHASES_H
#define PEAKTOP_COLLECT_PHASES_H

#include <stdbool.h>

#include "analysis/session/record.h"

struct collector;
struct function;

struct phases {
	struct req_phases asked;
	char *begin, *end; /* as the user gave them */
	uint64_t blind_times;
};

void phases_request(struct collector *c, const struct req_phases *req);
/* An edge was armed, or is not watched any more: is it known whether a phase is open? */
void phases_look(struct collector *c);
/* A call of this slot was left without being seen to end. */
void phases_left(struct collector *c, uint32_t slot);
bool phases_need_syscalls(const struct collector *c);
/* Does this function begin or end phases? */
bool phases_edge(const struct collector *c, const struct function *f);
/* The measurement begins: what was seen so far does not count. */
void phases_begin(struct collector *c);
void phases_report(struct collector *c);

#endif
