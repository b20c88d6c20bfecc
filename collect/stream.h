/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends records to the front. If the queue is full, the record is counted as lost; these
 * functions never block. */
#pragma once

#include "analysis/session/record.h"

struct collector;
struct target;

/* Returns 0; -EAGAIN or -E2BIG: lost; -EPIPE: the front is gone, and the loop will stop. */
int send_record(struct collector *c, const struct record *rec);
/* Acknowledge a request. */
void send_ack(struct collector *c, uint32_t epoch);
/* Send a message for the user. */
void send_note(struct collector *c, enum note_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Send REC_REFUSED: request `epoch` for operation `op` failed with the negative errno `error`. */
void send_refused(struct collector *c, uint32_t epoch, uint32_t op, int error, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Send a note, once, for each process that the reader could not read. */
void send_reader_notes(struct collector *c);
void send_meta(struct collector *c);
void send_target(struct collector *c, const struct target *t);
/* Tell that a fuse of this operation has blown. */
void send_blown(struct collector *c, uint32_t op);
void send_constants(struct collector *c);

/* True if the front's messages are unread: then this process was late, not the front. */
bool front_has_said(const struct collector *c);
