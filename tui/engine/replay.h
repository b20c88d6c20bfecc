/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feeds the records of a saved session to the model, the descent and the walk, without privileges
 * and collector. */
#pragma once

#include "analysis/latency/model.h"
#include "analysis/waits/waits.h"

struct replay;

/* Open a session without feeding records. Returns 0, or an exit status with one line in `why`. */
int replay_open(struct replay **out, const char *path, char *why, size_t n);
/* The exit status for an error of session_reader_open(). */
int replay_open_status(int err);
void replay_free(struct replay *r);

struct model *replay_model(struct replay *r);
/* The descent of the session (tui/engine/descent_driver.h), up to the present time. */
struct descent_driver *replay_driver(struct replay *r);
/* The recorded walk (tui/engine/walker.h). */
struct walker *replay_walker(struct replay *r);
/* The recorded waits (tui/engine/wait_driver.h). */
struct wait_driver *replay_waits(struct replay *r);
/* The slow calls up to the present time (tui/engine/told_call.h). */
struct told_calls;
const struct told_calls *replay_told(const struct replay *r);
/* What descend --open showed. */
struct open_calls;
const struct open_calls *replay_open_calls(const struct replay *r);
/* How to analyse the waits; call this before replay_advance(). */
void replay_configure_waits(struct replay *r, const struct waits_config *config);
/* Feed all records of the slices that end at or before `until_ns` (UINT64_MAX: all). Returns the
 * time reached, or a negative errno. To go back, this starts again with a new model and descent:
 * call replay_model() and replay_driver() again. */
int64_t replay_advance(struct replay *r, uint64_t until_ns);
int replay_rewind(struct replay *r);
uint64_t replay_at_ns(const struct replay *r);
uint64_t replay_total_ns(const struct replay *r);
uint64_t replay_interval_ns(const struct replay *r);
/* The end of the slice `step` slices after (or before) the present one. */
uint64_t replay_neighbour_ns(const struct replay *r, int step);
/* One line that describes what is missing at the end of a damaged file; "" for an intact file. */
const char *replay_damage(const struct replay *r);
