/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of `peaktop resume` that the loop of a descent calls (verb_descend.c). */
#pragma once

#include <stdint.h>

#include "tui/engine/front.h"
#include "tui/engine/saved_descent.h"

enum { RESUME_WHY = 512 };

/* Go on with the descent of the saved session o->files[0] on the live screen, in this process.
 * Returns the exit status. */
int resume_on_screen(struct options *o, uint32_t pid);

/* Take over what was asked of a saved descent that never began, but for what the command line says
 * otherwise. */
void resume_question(const struct saved_descent *s, struct options *o);
/* How many calls a saved descent that has begun needs before it goes on. */
unsigned int resume_start_ops(const struct saved_descent *s, const struct options *o);

/*
 * Go on with a saved descent of operation `op`, which has been watched for `waited_s` seconds.
 * Returns 0; -EAGAIN if it is too early; -ENOEXEC, with one line in `why`, if it cannot go on with
 * this target.
 */
int resume_begin(struct saved_descent *s, struct front *f, const struct options *o, uint32_t op,
		 double waited_s, char why[RESUME_WHY]);
