/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of a walk connects the call tree (analysis/walk/walk.h) with the parser, live or in a
 * replay. It reads every record of the stream and requests the names that the answer needs. By
 * their names it finds the start functions of programs and threads, below which the program's own
 * code begins. */
#pragma once

#include "analysis/walk/open.h"
#include "analysis/walk/walk.h"
#include "tui/engine/descent_driver.h"

struct walker;

/* `names` stores the names of the stream (REC_SYMBOL) and must outlive the walker. `host` is NULL
 * for a replay. */
struct walker *walker_new(const struct descent_driver *names, const struct driver_host *host);
void walker_free(struct walker *w);

/* Call this for every record of the stream that a session file can hold, in stream order. */
void walker_take(struct walker *w, const struct record *rec);

/* Begin a walk. `ask` goes into the stream. 0, or -EINVAL: `ask` is out of range. */
int walker_begin(struct walker *w, const struct rec_walk *ask);
/* End the walk: later snapshots do not count. Adds a record to the stream. */
void walker_end(struct walker *w);
bool walker_asked(const struct walker *w);
bool walker_settled(const struct walker *w);
bool walker_is_empty(const struct walker *w);
/* Request the names that the result lacks. True: no request is outstanding. */
bool walker_names(struct walker *w);
/* Like walker_names(), for the frames of open calls. */
bool walker_names_open(struct walker *w, const struct open_calls *calls);
/* The result, with roots below the start functions of programs and threads. 0 or -ENOMEM;
 * release with walk_result_release(). */
int walker_result(const struct walker *w, struct walk_result *out);
