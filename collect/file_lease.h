/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leases on probed files (fcntl(2), F_SETLEASE). While a lease is held, the kernel holds up whoever
 * opens the file for writing, or truncates it, until the lease is released: so the probes can be
 * removed before the code below them changes. Otherwise the kernel would put breakpoints into the
 * new code and execute instructions of the old.
 */
#pragma once

/*
 * Take a lease on the regular file of a local file system that is open at `fd`. Returns the
 * descriptor of the lease, or a negative errno: -ETXTBSY if the file is open for writing; others
 * if there are no leases on its file system or the right to take one is missing.
 */
int lease_take(int fd);
/* True if somebody waits to write, or if the lease is lost. */
bool lease_is_broken(int lease);
void lease_release(int lease);
/* A descriptor that is readable after a lease was broken; -1: no lease was taken yet. */
int lease_wake_fd(void);
/* Reset it. Call this before lease_is_broken(). */
void lease_woken(void);
