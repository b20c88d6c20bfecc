/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A descent in the collector: its fnodes are armed inside calls of one function, f0. */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"
#include "collect/functions.h"

struct collector;
struct function;

/* Carry out REQ_DESCEND: arm another set, or end the descent. Sends REC_ACK or REC_REFUSED. */
void descend_request(struct collector *c, const struct req_descend *req);
/* Attach or detach the probes of the armed set. No effect if `f` is not f0. */
void descend_attach(struct collector *c, struct function *f);
void descend_detach(struct collector *c, const struct function *f);
/* True if `f` is f0 of the running descent. */
bool descend_is_of(const struct collector *c, const struct function *f);
/* True if `f` is f0 of a descent that only samples stacks: `f` needs no probes. */
bool descend_only_samples(const struct collector *c, const struct function *f);
/* The function of the running descent, or NULL. */
struct function *descend_f0(const struct collector *c);
/* Number of the armed set; 0: no descent. */
uint32_t descend_epoch(const struct collector *c);
/* Index + 1 of a node in the armed set; 0: the node is not armed. */
uint32_t descend_node_index(const struct collector *c, uint32_t node);
/* True if the armed set already has a probe at this site. */
bool descend_site_is_armed(const struct collector *c, const struct rec_site *s);
/* Cost of the hits of the set since the last call, ns; 0 if `f` is not f0. Drops sites that
 * cost too much. */
uint64_t descend_spending(struct collector *c, const struct function *f);
/* Mean cost of the armed fnodes per call of f0 since the last query. */
uint64_t descend_cost_of_call(struct collector *c, uint32_t slot, uint64_t calls);
/* What callees in the kernel cost the host. Returns the time of the next check. */
uint64_t descend_kernel_govern(struct collector *c, uint64_t now);
/* Let the system calls of the armed set begin in processes that have mapped their code since. */
void descend_kernel_new_mapping(struct collector *c);
/* A site's fuse has blown. Returns true if the site belongs to the descent. */
bool descend_blown(struct collector *c, uint32_t site_index);
/* The code at this site was changed in memory: detach the set, and attach the rest again. */
void descend_code_changed(struct collector *c, uint32_t module, uint64_t offset);
/* Called after the ring buffer is read: attach the set again without the sites whose fuses
 * have blown, and watch for calls that fail if that is wanted from now on. */
void descend_settle(struct collector *c);
/* True if threads sleep by a timer again and again in a call of f0: perhaps between tries of a call
 * that fails. False while others have paid enough for looking. */
bool descend_wants_tries(const struct collector *c);
/* True if sites of fnodes are armed. */
bool descend_is_armed(const struct collector *c);
/* Send a record of the BPF programs to the front. A record that is not of the descent is ignored.
 */
void armed_call(struct collector *c, const struct pt_record_call *r, size_t size);
void armed_sleep(struct collector *c, const struct pt_record_sleep *r);
void armed_stack(struct collector *c, const struct pt_record_stack *r);
/* True if f0 is a system call or system calls in f0 are timed, so that their tracepoints are
 * needed. */
bool descend_needs_syscalls(const struct collector *c);
/* True if f0 is a function, of the program or of the kernel: the bursts of the scheduler's events
 * are those of f0. *state: f0's, unless it is NULL. */
bool descend_has_bursts(const struct collector *c, enum function_state *state);
/* True if functions of the kernel below f0 can be probed. */
bool descend_goes_into_kernel(const struct collector *c);
/* True if f0 of the running descent is this function of the kernel. */
bool descend_is_of_kernel(const struct collector *c, uint32_t op);

/*
 * Let the timers that sample the CPUs run while f0 is measured, and stop them while it is not: a
 * tick costs the target time, and outside f0's calls it shows nothing. To be called when a burst
 * has begun or ended.
 */
void descend_clocks(struct collector *c);
/* Refill the allowance of stacks to be copied. */
void descend_refill(struct collector *c);
/* Stop and start the timers that sample the CPUs, while the front sleeps. The probes are
 * stopped and started with those of f0. */
void descend_sleep(struct collector *c);
void descend_wake(struct collector *c);
/* End the descent and release its set. */
void descend_end(struct collector *c);
/* End the descent if one of its probes is in this module, whose file is about to change. */
void descend_file_changed(struct collector *c, uint32_t module);
