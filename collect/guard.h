/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dead man's switch: a thread that does not depend on the collector's loop.
 *
 * The thread removes every probe of peaktop if the collector's loop has made no turn for
 * GUARD_MS, or if the front has sent no heartbeat for GUARD_MS. Time in which the loop waits for a
 * CPU does not count (chances.h). Normally the loop notices a silent front itself, and earlier. If
 * the front is gone and the loop makes no turn for GUARD_END_MS, the thread kills the process, but
 * not while any thread removes a probe.
 *
 * Code that attaches a probe registers its descriptor with guard_own(). To remove a probe, the
 * thread replaces the descriptor by one of /dev/null: the owner must still close it, so the
 * number cannot be reused meanwhile.
 */
#pragma once

enum { GUARD_MS = 3000, GUARD_END_MS = 6000 };

/* Start the thread. `front` is the socket of the front. Returns 0 or a negative errno. */
int guard_start(int front);
/* Make the thread idle, and wait until all probes that it removes are removed. */
void guard_stop(void);

/* Report that the collector's loop has made a turn. */
void guard_turn(void);
/* Report that the front is alive, or that nothing is attached. */
void guard_beat(void);

/* True if the thread has begun to remove the probes; attaching has no effect until guard_reset().
 */
bool guard_has_fired(void);
/* True if it has removed them all and released the leases: only then call guard_reset(). */
bool guard_is_done(void);
void guard_reset(void);

/* Register a descriptor that keeps a probe attached. */
void guard_own(int fd);
/* Close a registered descriptor; or unregister it, because other code closes it. */
void guard_close(int fd);
void guard_forget(int fd);

/*
 * Register the lease on a probed file (file_lease.h). After the thread has removed all probes, it
 * releases the leases, so that nobody waits any longer to write to the files.
 */
void guard_own_lease(int fd);
void guard_forget_lease(int fd);
