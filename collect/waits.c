// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/waits.h"

#include <errno.h>

#include "collect/state.h"
#include "collect/stream.h"

#define SECOND_NS 1000000000ull

enum { WINDOW_MAX_S = 60, HOPS_MAX = 16 };

void waits_request(struct collector *c, const struct req_waits *req)
{
	if (req->stop > 1 || req->hops > HOPS_MAX ||
	    (req->window_ns &&
	     (req->window_ns < SECOND_NS || req->window_ns > WINDOW_MAX_S * SECOND_NS))) {
		send_refused(c, req->epoch, 0, -EINVAL,
			     "a request to trace waits has a window of %.3f s or %u hops; at least "
			     "1 s and at most %d s, and at most %d hops are possible",
			     (double)req->window_ns / 1e9, req->hops, WINDOW_MAX_S, HOPS_MAX);
		return;
	}
	send_refused(c, req->epoch, 0, -EOPNOTSUPP, "this collector cannot trace waits yet");
}
