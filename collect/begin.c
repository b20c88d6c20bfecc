// SPDX-License-Identifier: GPL-2.0-or-later
/* Steps of the collector's start that do not need its main loop. */
#include "collect/begin.h"
#include "collect/launch.h"
#include "collect/state.h"
#include "collect/stream.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
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
	else /* EACCES comes from the verifier: a bug of peaktop, not a lack of rights */
		send_refused(c, 0, 0, err == -EACCES ? -EOPNOTSUPP : err,
			     "this kernel refuses the BPF programs (%s); run with "
			     "PEAKTOP_LIBBPF_DEBUG=1 and report the output",
			     strerror(-err));
}

/*
 * Raise the collector's priority. On a busy host a probe that costs too much would stay
 * attached until the collector gets a CPU, and loading the BPF programs takes seconds. Respect
 * a nice value that the user set explicitly. A started command gets nice value 0 again.
 */
void begin_process(void)
{
	prctl(PR_SET_NAME, "peaktop-collect");
	/* the front handles Ctrl-C and a lost terminal; when it ends, the socket closes */
	signal(SIGINT, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

void begin_hurry(struct collector *c)
{
	if (getpriority(PRIO_PROCESS, 0) == 0)
		c->hurried = !setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
}

/* Call this after the BPF programs are loaded, but before other threads exist: they would keep
 * the privileges that this thread gives up. */
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

/* Checked between the steps of the start, because each may take seconds on a busy host. */
bool begin_front_is_gone(const struct collector *c)
{
	struct pollfd p = {.fd = channel_fd(c->front), .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}
