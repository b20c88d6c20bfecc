// SPDX-License-Identifier: GPL-2.0-or-later
/* Steps of the collector's start that have nothing to do with its loop. */
#include "collect/begin.h"
#include "collect/launch.h"
#include "collect/state.h"
#include "collect/stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "collect/privileges.h"

enum { COLLECTOR_NICE = -10 };

void begin_load_refused(struct collector *c, int err)
{
	if (err == -EPERM)
		send_refused(c, 0, 0, err,
			     "not permitted to load BPF programs; run peaktop as root (peaktop "
			     "doctor says what is missing)");
	else if (kernel_side_too_old())
		send_refused(c, 0, 0, -EOPNOTSUPP,
			     "this kernel is too old for the BPF programs: peaktop needs Linux "
			     "5.15 or later");
	else /* EACCES is the verifier's word: a fault of ours, not of the user's rights */
		send_refused(c, 0, 0, err == -EACCES ? -EOPNOTSUPP : err,
			     "this kernel refuses the BPF programs (%s); run with "
			     "PEAKTOP_LIBBPF_DEBUG=1 and report the output",
			     strerror(-err));
}

/*
 * On a busy host a probe that costs too much stands until the collector gets a CPU, and the
 * kernel's check of the programs takes seconds. Respect a nice value that the user set. A command
 * that is started gets the usual one back.
 */
void begin_hurry(struct collector *c)
{
	if (getpriority(PRIO_PROCESS, 0) == 0)
		c->hurried = !setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
}

/* Only now are programs loaded, and there are no other threads yet, which would keep what this one
 * gives up. */
int begin_launch_and_limit(struct collector *c)
{
	const struct collector_options *o = c->options;
	int err;

	if (o->command) {
		err = launch_start(c);
		if (err) {
			send_refused(c, 0, 0, err, "cannot start %s: %s", o->command[0],
				     strerror(-err));
			return err;
		}
	}
	err = privileges_limit_collector(o->command != NULL);
	if (err)
		send_refused(c, 0, 0, err,
			     "the collector cannot drop the privileges that it does not need: %s",
			     strerror(-err));
	return err;
}

/* Each step below may take seconds on a busy host. */
bool begin_front_is_gone(const struct collector *c)
{
	struct pollfd p = {.fd = channel_fd(c->front), .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}
