/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow calls are kept (REQ_KEEP): each call that takes longer than its operation's limit is sent as
 * REC_SLOW_CALL, with its longest sleeps. It uses the programs of descents, so that there is either
 * a descent or this.
 */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

void keep_request(struct collector *c, const struct req_keep *req);
/* Stop keeping slow calls while a descent runs, and go on after it. Both do nothing if there was no
 * REQ_KEEP. */
void keep_pause(struct collector *c);
void keep_resume(struct collector *c);
/* Sample running threads inside calls that are slow by now, or stop that. */
void keep_clocks(struct collector *c, bool run);
/* The scheduler is watched again after a pause: calls that were open meanwhile are not kept, except
 * those that were found open. */
void keep_burst_begins(struct collector *c);
/* Take a record of the BPF programs while slow calls are kept. */
void keep_sleep(struct collector *c, const struct pt_record_sleep *r);
void keep_stack(struct collector *c, const struct pt_record_stack *r);
/* The same of the stack with which the call was found that keep_call() has been given. */
void keep_found_stack(struct collector *c, const struct pt_record_stack *r);
/* True if such a sleep has been taken, of a thread that left its CPU at `since`; *until: its end.
 */
bool keep_has_sleep(const struct collector *c, uint32_t tid, uint64_t since, uint64_t *until);
void keep_call(struct collector *c, const struct pt_record_call *r);
void keep_release(struct collector *c);
