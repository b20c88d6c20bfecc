/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A descent of a saved session that goes on with a live target (peaktop resume). A process without
 * privileges reads the session and writes what is needed of it as bytes; the front makes a
 * saved_descent of these once it has no privileges either, compares the programs, and begins. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"
#include "tui/engine/descent_driver.h"
#include "tui/engine/front.h"

enum { SAVED_DESCENT_MAX_BYTES = 16 << 20 };

struct saved_descent;

/* Append what another run needs of the descent of a session that was read: of one that never began,
 * what was asked. `damage` says what is wrong with the session (""). Returns 0 or a negative
 * errno. */
int saved_descent_write(const struct descent_driver *d, const struct model *m, const char *damage,
			struct buf *out);

/* Takes these bytes, which must outlive it. Returns NULL if out of memory, or if they hold no
 * descent. */
struct saved_descent *saved_descent_new(const void *bytes, size_t n);
void saved_descent_free(struct saved_descent *s);

/* What the user asked; NULL: an older session does not say it. */
const struct rec_question *saved_descent_question(const struct saved_descent *s);
/* The descent, with the numbers of the saved session; NULL: it never began. */
const struct rec_descent *saved_descent_asked(const struct saved_descent *s);

/* Tell the front before its first turn that it is to go on with this descent, which must outlive
 * it. It refuses to measure another program (front_failure()), before any probe is attached. A
 * screen stays: it shows a message, and front_resumes() is false from then on. */
void front_resume(struct front *f, struct saved_descent *s);
bool front_resumes(const struct front *f);

/* Find the modules of the session among those of this run, and the functions of those that were
 * built anew by their names. Returns 0; -EAGAIN: the parser has not answered yet; or -ENOEXEC with
 * one line in `why` if the function of the descent is gone. */
int saved_descent_match(struct saved_descent *s, struct front *f, char *why, size_t n);

/* Put what is to be said about the session into the stream, if the descent begins anew;
 * saved_descent_begin() does that by itself. */
void saved_descent_notes(const struct saved_descent *s, struct front *f);

/* Begin the descent where it stood, after saved_descent_match(). `ask` has the numbers of this run;
 * its member `resumes` says what to do if latencies have changed. Functions that this target does
 * not have are left out; notes in the stream say how many were taken over, found again by name, or
 * are gone.
 * Returns 0 or a negative errno. */
int saved_descent_begin(const struct saved_descent *s, struct front *f,
			const struct rec_descent *ask);
