/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector: the one privileged process. It measures, and keeps the
 * promises to the target: only confirmed processes are probed, every site has a
 * fuse, budgets hold, and without a heartbeat from the front for 2 s, or when
 * the front is gone, every probe is removed.
 */
#ifndef PEAKTOP_COLLECTOR_H
#define PEAKTOP_COLLECTOR_H

#include "analysis/session/collector_options.h"

/*
 * Serve the front at the other end of `fd` (a stream socket) until it says
 * REQ_STOP, goes away, or the targets end. Does not return before every probe
 * is detached. Returns an exit status.
 */
int collector_run(int fd, const struct collector_options *options);

/* Send one REC_CHECK for each thing that this kernel and these privileges allow, then REC_BYE. */
int collector_doctor(int fd);

#endif
