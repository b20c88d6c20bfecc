/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk between its tree (analysis/walk/walk.h) and the parser, live or from a
 * saved session: it takes every record of the stream, asks for the names that its
 * answer needs, and knows by them where a program really begins.
 */
#ifndef PEAKTOP_WALKER_H
#define PEAKTOP_WALKER_H

#include "analysis/walk/open.h"
#include "analysis/walk/walk.h"
#include "tui/engine/descent_driver.h"

struct walker;

/* `names`: who keeps the names of the stream (REC_SYMBOL); it must outlive this. `host` NULL: a
 * replay. */
struct walker *walker_new(const struct descent_driver *names, const struct driver_host *host);
void walker_free(struct walker *w);

/* Every saved record of the stream, in its order. */
void walker_take(struct walker *w, const struct record *rec);

/* Begin: goes into the stream. -EINVAL: out of range. */
int walker_begin(struct walker *w, const struct rec_walk *ask);
/* End the walk: later snapshots do not count. Adds a record to the stream. */
void walker_end(struct walker *w);
bool walker_asked(const struct walker *w);
bool walker_settled(const struct walker *w);
/* Ask for names that are missing; true when none is awaited. */
bool walker_names(struct walker *w);
/* The same for what is open now. */
bool walker_names_open(struct walker *w, const struct open_calls *calls);
/*
 * The result, with roots below the start functions of programs and threads. 0 or -ENOMEM;
 * release with walk_result_release().
 */
int walker_result(const struct walker *w, struct walk_result *out);

#endif
