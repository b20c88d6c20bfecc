/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes snapshots of the targets' threads. */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

/* Carry out REQ_THREAD_SNAPSHOTS: start or stop the walk, or begin a request for open calls. */
void snapshot_request(struct collector *c, const struct req_thread_snapshots *req);
/* Carry out REQ_STACK_PIECE: read more of the stack of a thread, if it is still asleep. */
void snapshot_piece(struct collector *c, const struct req_stack_piece *req);
/* Send the sample of a running thread. `size`: bytes of the record. */
void snapshot_running(struct collector *c, const struct pt_record_thread_snapshot *r, size_t size);
/* Refill the allowance of running threads' stacks to be copied. */
void snapshots_refill(struct collector *c);
/* Send what was not sent yet of a process that has ended, while its mappings are still known. */
void snapshots_target_ended(struct collector *c, uint32_t pid);
/* Do what is due now. Returns the time of the next turn. */
uint64_t snapshots_turn(struct collector *c, uint64_t now);
/* Send what was not sent yet, and stop. */
void snapshots_end(struct collector *c);
