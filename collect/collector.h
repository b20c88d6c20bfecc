/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector: the only privileged process. It measures and protects the target: only
 * confirmed processes are probed, every site has a fuse, and the budget is kept. If the front
 * sends no heartbeat for 2 s or is gone, every probe is removed.
 */
#pragma once

#include "analysis/session/collector_options.h"

/*
 * Serve the front at the other end of `fd` (a stream socket) until it sends REQ_STOP, closes
 * the socket, or the targets end; then only give it the files that it asks for, until it closes the
 * socket. Returns an exit status after every probe is detached.
 */
int collector_run(int fd, const struct collector_options *options);

/* Send one REC_CHECK for each feature that depends on the kernel or on privileges, then
 * REC_BYE. Returns an exit status. */
int collector_doctor(int fd);
