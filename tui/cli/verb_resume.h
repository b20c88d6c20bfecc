/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of `peaktop resume` that the loop of a descent calls (verb_descend.c). */
#pragma once

#include "tui/engine/front.h"
#include "tui/engine/replay.h"
#include "tui/engine/saved_descent.h"

enum { RESUME_WHY = 512 };

/* Write what another run needs of the descent of a session that was read to its end. Returns 0, or
 * an exit status with the reason in `why`, which follows the name of the session; "": it was said.
 */
int resume_write(struct replay *r, int fd, char why[RESUME_WHY]);
/* Go on with a descent on the live screen, in process `pid`; resume_write() has written it to `fd`.
 * Returns the exit status. */
int resume_on_screen(struct options *o, uint32_t pid, int fd);

/* Take over what was asked of a saved descent that never began, but for what the command line says
 * otherwise. */
void resume_question(const struct saved_descent *s, struct options *o);
/* How many calls a saved descent that has begun needs before it goes on. */
unsigned int resume_start_ops(const struct saved_descent *s, const struct options *o);

/* Go on with a saved descent of operation `op`, which has been watched for `waited_s` seconds.
 * Returns 0; -EAGAIN if it is too early; -ENOEXEC, with one line in `why`, if it cannot go on with
 * this target. */
int resume_begin(struct saved_descent *s, struct front *f, const struct options *o, uint32_t op,
		 double waited_s, char why[RESUME_WHY]);
