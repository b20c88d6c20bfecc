/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the callees of indirect calls, in short bursts of probes (learn.c). */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

/* Carry out REQ_LEARN. The answer is REC_INDIRECT_CALLEES, at once or some seconds later. */
void learn_request(struct collector *c, const struct req_learn *req);
/* Adapt to another armed set of the descent. */
void learn_rebind(struct collector *c);
/* Detach the probes, together with those of f0. */
void learn_detach(struct collector *c);
/* The code at this site was changed in memory: detach. */
void learn_code_changed(struct collector *c, uint32_t module, uint64_t offset);
/* Remove the probes of learning from this module, whose file is about to change. */
void learn_file_changed(struct collector *c, uint32_t module);
/* Start bursts that are due, and answer finished requests. */
void learn_turn(struct collector *c, uint64_t now);
/* A site's fuse has blown: its burst ends. Returns false if the site is not one of these. */
bool learn_blown(struct collector *c, uint32_t site_index);
/* Record the callees that an in-peak call of f0 had. */
void learn_callees(struct collector *c, const struct pt_record_callees *r);
/* Cost of the hits since the last call, ns. */
uint64_t learn_spending(struct collector *c);
/* Drop all requests without an answer. */
void learn_end(struct collector *c);
/* Module and offset of an address in a target; module 0: no file is mapped there. */
struct rec_code code_at(const struct collector *c, uint32_t pid, uint64_t address);
