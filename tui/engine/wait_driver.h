/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of the waits connects analysis/waits/ with the stream and the parser, live or in a
 * replay. It reads every record of the stream and requests the names that the answers need. */
#pragma once

#include "analysis/waits/waits.h"
#include "analysis/waits/waits_critical.h"
#include "tui/engine/descent_driver.h"

struct wait_driver;

/* `names` stores the names of the stream (REC_SYMBOL) and must outlive the driver. `host` is NULL
 * for a replay. */
struct wait_driver *wait_driver_new(const struct descent_driver *names,
				    const struct driver_host *host);
void wait_driver_free(struct wait_driver *w);
/* How to analyse the waits; has an effect only before the first record about waits. Without
 * config.calls_only, the stream says which calls are followed. */
void wait_driver_configure(struct wait_driver *w, const struct waits_config *config);

/* Not for a replay: put into the stream that only these calls are followed from now on. Call this
 * before the tracing begins, and again once the operation has a number. */
void wait_driver_follow(struct wait_driver *w, const struct rec_followed *calls);
/* What the stream says of them; NULL: it does not limit the calls. */
const struct rec_followed *wait_driver_followed(const struct wait_driver *w);

/* True for the records of record_waits.h. */
bool is_wait_record(enum record_type type);
/* Call this for every record of the stream that a session file can hold, in stream order. The
 * descent must have taken the record before. */
void wait_driver_take(struct wait_driver *w, const struct record *rec);
/* The analysis; NULL: the stream has had no record about waits. */
struct waits *wait_driver_waits(const struct wait_driver *w);
/* Its part for the calls that the present descent is about; NULL: nothing was observed since. */
struct waits *wait_driver_of_descent(const struct wait_driver *w);
/* The same for the calls of part `number` of the operation (driver_part()). */
struct waits *wait_driver_of_part(const struct wait_driver *w, uint32_t number);
/* Request the names that the answers lack. True: no request is outstanding. */
bool wait_driver_names(struct wait_driver *w);
