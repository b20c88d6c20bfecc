/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dead man's switch: a thread that waits for nothing but time.
 *
 * It removes every probe of peaktop when the collector's loop has not gone round for GUARD_MS, or
 * when the front has not said for as long that it lives. The loop does the latter itself and
 * earlier, if it can. If the front is gone and the loop does not go round either, the thread ends
 * the process.
 *
 * Whatever attaches a probe hands the descriptor over with guard_own(). To remove a probe, the
 * thread puts a descriptor of /dev/null in its place: the number stays the owner's to close, and
 * nothing else can get it meanwhile.
 */
#ifndef PEAKTOP_GUARD_H
#define PEAKTOP_GUARD_H

#include <stdbool.h>

enum { GUARD_MS = 3000, GUARD_END_MS = 6000 };

/* Watch from now on; `front` is the socket of the front. 0 or a negative errno. */
int guard_start(int front);
/* The thread does nothing from now on. */
void guard_stop(void);

/* The loop goes round. */
void guard_turn(void);
/* The front lives, or nothing is attached that it would have to watch over. */
void guard_beat(void);

/* True if the probes were removed by the thread; attaching has no effect until guard_reset(). */
bool guard_has_fired(void);
void guard_reset(void);

/* Register a descriptor that keeps a probe attached. */
void guard_own(int fd);
/* Close a registered descriptor; or unregister it, because other code closes it. */
void guard_close(int fd);
void guard_forget(int fd);

#endif
