/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the code of a file from changing while probes are in it. A probe belongs to a place of the
 * file: if other code is written there and mapped again, the kernel puts the breakpoint into the
 * new code and executes the saved instruction of the old. So each probed file has a lease
 * (file_lease.h). When somebody opens the file for writing, its probes are removed first, and its
 * present module ends: it has no probes any more, and what is mapped from the file later is a new
 * module.
 */
#pragma once

struct collector;
struct file_module;

/* Note the version of the file, which was just opened. */
void module_opened(struct file_module *m);
/*
 * Keep a file from changing, immediately before a probe is attached. Returns 0 or a negative errno:
 * -ESTALE if its content has changed since it was opened, -ETXTBSY if it is open for writing.
 */
int module_hold(struct collector *c, uint32_t module);
/* Carry out what has happened to the files that are held. Call this in each turn of the loop. */
void modules_hold_turn(struct collector *c);
/* The guard has removed all probes and released all leases: take them anew when needed. */
void modules_hold_lost(struct collector *c);
/* Read the mappings of the targets again that have mapped code since the last call. */
void modules_follow(struct collector *c);
/* The same as modules_hold_turn() where it need not be at once: files without a lease, and those
 * that were open for writing. Sets files.changed if one of them may be probed now. */
void modules_hold_look(struct collector *c);
/* True if somebody waits to write: then call modules_hold_turn() soon. */
bool modules_hold_is_urgent(const struct collector *c);
