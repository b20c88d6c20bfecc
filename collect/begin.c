// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/begin.h"
#include "collect/calibrate.h"
#include "collect/doctor.h"
#include "collect/kernel_names.h"
#include "collect/kernel_symbols.h"
#include "collect/launch.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/target_survey.h"
#include "collect/targets.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/privileges.h"

enum { COLLECTOR_NICE = -10 };

static void load_refused(struct collector *c, int err)
{
	const char *unfit = doctor_unfit_kernel();

	if (err == -EPERM)
		send_refused(c, 0, 0, err,
			     "not permitted to load BPF programs; run peaktop as root (peaktop "
			     "doctor says what is missing)");
	else if (unfit)
		send_refused(c, 0, 0, -EOPNOTSUPP, "this kernel %s", unfit);
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
	/* Return large blocks when they are freed. By default glibc keeps those that are smaller
	 * than the largest one before, several megabytes. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

/*
 * Give this process an autogroup of its own (kernel/sched/autogroup.c): the scheduler first divides
 * the CPUs among sessions, and only then looks at the nice values within a session. A command that
 * the collector starts must stay in the session of its terminal, so then there is no new session.
 */
static void autogroup_leave(const struct collector *c)
{
	char text[16];
	int fd, n;

	if (c->options->command || setsid() < 0)
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	n = snprintf(text, sizeof(text), "%d", COLLECTOR_NICE);
	/* without autogroups the nice value of the process is all that counts */
	if (fd >= 0 && write(fd, text, (size_t)n) < 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

void begin_hurry(struct collector *c)
{
	if (c->options->no_boost || getpriority(PRIO_PROCESS, 0) != 0)
		return;
	c->hurried = !setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
	if (c->hurried)
		autogroup_leave(c);
}

/* Call this after the BPF programs are loaded, but before other threads exist: they would keep
 * the privileges that this thread gives up. */
static int launch_and_limit(struct collector *c)
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
	err = privileges_limit_collector(&(struct privileges_use){
	    .command = o->command != NULL,
	    .uprobe_events = kernel_side_uprobes(c->kernel) == UPROBE_PERF,
	});
	if (err)
		send_refused(c, 0, 0, err,
			     "the collector cannot drop the privileges that it does not need: %s",
			     strerror(-err));
	return err;
}

/* Checked between the steps of the start, because each may take seconds on a busy host. */
static bool front_is_gone(const struct collector *c)
{
	struct pollfd p = {.fd = channel_fd(c->front), .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

/* True if target_add() has found that the process has ended. */
static bool has_ended(int err)
{
	return err == -ESRCH || err == -ECHILD;
}

/* Add process `i` of the options. Of several that a name chose, one that has ended is left out. */
static int add_one(struct collector *c, unsigned int i)
{
	const struct collector_options *o = c->options;
	int err = target_add(c, o->pids[i], true, 0);

	if (has_ended(err) && o->matched && (c->targets.nr || i + 1 < o->nr_pids)) {
		send_note(c, NOTE_WARNING,
			  "process %d ended before it could be measured; it is left out",
			  o->pids[i]);
		return 0;
	}
	if (err)
		target_refused(c, 0, o->pids[i], err);
	return err;
}

int collector_begin(struct collector *c)
{
	const struct collector_options *o = c->options;
	struct pt_control *control;
	int err = kernel_side_new(&c->kernel, o->waits);

	if (!err && front_is_gone(c))
		return -EPIPE;
	if (err) {
		send_refused(c, 0, 0, err, "%s",
			     err == -ENODEV ? "this kernel has no BTF (/sys/kernel/btf/vmlinux); "
					      "peaktop needs Linux 5.15 with CONFIG_DEBUG_INFO_BTF"
					    : strerror(-err));
		return err;
	}
	err = kernel_side_load(c->kernel);
	if (err) {
		load_refused(c, err);
		return err;
	}
	if (front_is_gone(c))
		return -EPIPE;
	kernel_names_fall_back(c->kernel, kernel_side_names);
	control = kernel_side_control(c->kernel);
	err = kernel_side_attach_life(c->kernel);
	if (err) {
		send_refused(c, 0, 0, err, "cannot attach tracepoints: %s; see peaktop doctor",
			     strerror(-err));
		return err;
	}
	err = launch_and_limit(c);
	if (err)
		return err;
	calibrate(c);
	budget_calibrated(c);
	/* this takes 250 ms, and seconds on a busy host: the front waits for the start */
	if (o->descends)
		kernel_symbols_load(c);
	if (front_is_gone(c))
		return -EPIPE;
	control->slot_block = control->next_slot++;
	control->slot_block_queue = control->next_slot++;
	control->slot_block_device = control->next_slot++;
	control->slot_connect = control->next_slot++;
	control->slot_lock = control->next_slot++;
	control->slot_runqueue = control->next_slot++;
	for (uint32_t s = 0; s < PT_SLOTS; s++)
		control->correction[s] = 0;
	file_values(c);
	control->follow = o->follow;
	control->check_exec = target_rights_matter();
	control->phase_mode = o->phases;
	if (o->command)
		err = target_add(c, c->command.pid, true, 0);
	if (o->host)
		err = target_add_host(c);
	for (unsigned int i = 0; i < o->nr_pids && !err; i++)
		err = add_one(c, i);
	if (!err && o->survey)
		target_survey(c);
	return err;
}
