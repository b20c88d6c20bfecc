/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that are open while their function is not armed. While slow calls are kept, a turn every 25
 * ms looks for threads that have not run for some time. If the stack of such a thread has the
 * return address of a watched function, the call is followed to its end: a hardware breakpoint
 * waits for its return, and the scheduler is watched. Its latency counts from when the thread left
 * its CPU, because its begin was not seen: the call took at least so long.
 *
 * A return address may be left over in a part of the stack that is not used. So the front keeps
 * such a call only if the frame is found when its stack is unwound.
 */
#pragma once

#include "bpf/records.h"

struct collector;

/* Look for such calls. Returns the time of the next turn. */
uint64_t keep_open_turn(struct collector *c, uint64_t now);
/* True if open calls of this slot are looked for, and hardly any was missed lately. */
bool keep_open_looks(struct collector *c, uint32_t slot);
/* A hardware breakpoint has seen a call return: look in the next turn which calls are over. */
void keep_open_closed(struct collector *c);
/* A breakpoint is hit by other calls than its own. */
void keep_open_missed(struct collector *c);
/* True if the end of a call is awaited that was found lately. */
bool keep_open_waits(const struct collector *c);
/* What was known of open calls is not valid any more: follow again those of threads that have not
 * run since they were found, and look for the others anew. */
void keep_open_again(struct collector *c);
/* The call has ended: if it was followed, hand its stack, and its sleep if the scheduler was not
 * watched, to keep_found_stack() and keep_sleep(). */
void keep_open_tell(struct collector *c, const struct pt_record_call *r);
/* Follow no call any more. */
void keep_open_release(struct collector *c);
