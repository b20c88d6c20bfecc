// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of targets, which were named by the user or forked by a target: their identity,
 * rights and end. */
#include "collect/targets.h"
#include "collect/code_check.h"
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/modules.h"
#include "collect/probed.h"
#include "collect/process/live_thread.h"
#include "collect/ring.h"
#include "collect/seed.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/thread_snapshots.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

int target_add(struct collector *c, pid_t pid, bool requested, uint64_t born_ns)
{
	struct target *t;
	int err;

	for (unsigned int i = 0; i < c->targets.nr; i++) {
		if (c->targets.list[i]->pid == pid)
			return 0;
	}
	if (c->targets.nr == COLLECTOR_MAX_TARGETS)
		return -ENOSPC;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	err = target_open(t, pid);
	if (!err && born_ns && !target_started_at(t, born_ns)) {
		target_release(t);
		err = -ESRCH;
	}
	if (err) {
		free(t);
		return err;
	}
	t->requested = requested;
	if (requested)
		target_link(t, c->files.opener);
	t->main_ended = live_thread(pid) != pid;
	c->targets.list[c->targets.nr++] = t;
	send_target(c, t);
	modules_scan(c, t);
	threads_seed(c, pid);
	return kernel_side_target_add(c->kernel, (uint32_t)pid);
}

int target_add_host(struct collector *c)
{
	struct target *t = calloc(1, sizeof(*t));
	int err = t ? target_open_host(t) : -ENOMEM;

	if (err) {
		free(t);
		send_refused(c, 0, 0, err, "--host: %s",
			     err == -EACCES
				 ? "only root may measure all processes; run peaktop as root"
				 : strerror(-err));
		return err;
	}
	t->requested = true;
	c->targets.list[c->targets.nr++] = t;
	send_target(c, t);
	kernel_side_control(c->kernel)->host = 1;
	return kernel_side_target_add(c->kernel, 0);
}

/* The reason for an error of target_add(), in words for the user. */
static const char *target_why_not(int err)
{
	switch (err) {
	case -ESRCH:
		return "no such process; see ps -e";
	case -ECHILD:
		return "the process has already ended (zombie)";
	case -EISDIR:
		return "this is a kernel thread, which has no user code and no system calls; "
		       "choose a process";
	case -EXDEV:
		return "this is a 32-bit process; peaktop can watch only 64-bit processes";
	case -EACCES:
	case -EPERM:
		return target_forbidden_by();
	case -ETIMEDOUT:
		return "reading /proc/PID/maps is blocked by a lock on the memory of the process; "
		       "try again later";
	default:
		return strerror(-err);
	}
}

void target_refused(struct collector *c, uint32_t epoch, pid_t pid, int err)
{
	pid_t process = err == -EINVAL ? thread_process(pid) : 0;
	char comm[TARGET_COMM];

	if (!process) {
		send_refused(c, epoch, 0, err, "pid %d: %s", pid,
			     target_why_not(err == -EINVAL ? -ESRCH : err));
		return;
	}
	target_thread_comm(process, process, comm, sizeof(comm));
	send_refused(c, epoch, 0, err,
		     "pid %d: this is a thread of process %d (%s); give -p %d for the process, or "
		     "--thread %d for this thread alone",
		     pid, process, comm, process, pid);
}

static void target_forget(struct collector *c, unsigned int i, const struct record *end)
{
	struct target *t = c->targets.list[i];

	c->targets.gone_cpu_ns += target_cpu_ns(t);
	kernel_side_target_remove(c->kernel, (uint32_t)t->pid);
	snapshots_target_ended(c, (uint32_t)t->pid);
	modules_forget(c, t->pid);
	functions_forget(c, t->pid);
	code_check_forget(c, t->pid);
	probed_forget(t->pid);
	send_record(c, end);
	target_release(t);
	free(t);
	c->targets.list[i] = c->targets.list[--c->targets.nr];
}

void target_exits(struct collector *c, const struct pt_record_address *r)
{
	struct target *t = r->address & PT_EXIT_KNOWN ? target_by_pid(c, r->head.tgid) : NULL;

	/* the main thread may end long before the process, and with another status */
	if (!t || (t->exit_ns && t->exit_status == (uint32_t)r->address))
		return;
	t->exit_ns = r->head.at;
	t->exit_status = (uint32_t)r->address;
}

/* Tell whether probes were in the process when it ended, at `died_ns`. */
static void put_probes(struct rec_target_end *end, pid_t pid, uint64_t died_ns)
{
	struct probed p = probed_until(pid, died_ns);

	end->has_probes = 1;
	end->probes = (uint32_t)p.nr;
	end->unprobed_ns = p.removed_ns ? died_ns - p.removed_ns : 0;
}

static void target_ended(struct collector *c, unsigned int i)
{
	struct target *t = c->targets.list[i];
	struct record rec = {.type = REC_TARGET_END};
	struct rec_target_end *end = &rec.target_end;

	*end = (struct rec_target_end){.pid = (uint32_t)t->pid,
				       .at_ns = session_ns(c),
				       .has_status = t->exit_ns != 0,
				       .status = t->exit_status};
	put_probes(end, t->pid, t->exit_ns ? t->exit_ns : now_ns());
	if (t->pid == c->command.pid) {
		end->started = 1;
		if (waitpid(c->command.pid, &c->command.status, WNOHANG) == c->command.pid) {
			c->command.ended = true;
			end->has_status = 1;
			end->status = (uint32_t)c->command.status;
		}
	}
	if (!end->has_status)
		send_note(c, NOTE_WARNING,
			  "pid %d (%s) has ended; whether a signal killed it was not seen", t->pid,
			  t->comm);
	target_forget(c, i, &rec);
}

void targets_end(struct collector *c)
{
	unsigned int n = c->targets.nr;
	struct pollfd *fds = calloc(n + 1, sizeof(*fds));
	int ended;

	for (unsigned int i = 0; fds && i < n; i++)
		fds[i] = (struct pollfd){.fd = c->targets.list[i]->pidfd, .events = POLLIN};
	ended = fds ? poll(fds, n, 0) : 0;
	for (unsigned int i = 0; ended > 0 && i < n; i++)
		c->targets.list[i]->over = fds[i].revents != 0;
	free(fds);
	if (ended <= 0)
		return;
	/* The records say how they ended, and their last stacks are unwound with their mappings.
	 * Records also change the list of targets. */
	ring_drain(c);
	for (unsigned int i = c->targets.nr; i > 0; i--) {
		if (c->targets.list[i - 1]->over)
			target_ended(c, i - 1);
	}
}

/* Drop a live target whose rights have changed so that the invoking user must not inspect it:
 * remove all probes from it. */
static void target_drop(struct collector *c, unsigned int i)
{
	struct target *t = c->targets.list[i];
	struct record rec = {.type = REC_TARGET_END};
	struct function *f0 = descend_f0(c);

	send_note(c, NOTE_WARNING,
		  "pid %d (%s) is no longer watched: it executed a program or changed its user, "
		  "and user %u may not trace it; run peaktop as root",
		  t->pid, t->comm, (unsigned int)getuid());
	rec.target_end = (struct rec_target_end){.pid = (uint32_t)t->pid, .at_ns = session_ns(c)};
	/*
	 * The links of a descent are not bound to a process: attach all of them again for the
	 * remaining ones.
	 */
	if (f0)
		descend_detach(c, f0);
	target_forget(c, i, &rec);
	if (f0 && f0->state == FUNCTION_ON)
		descend_attach(c, f0);
}

void targets_check(struct collector *c)
{
	for (unsigned int i = c->targets.nr; i > 0 && target_rights_matter(); i--) {
		pid_t pid = c->targets.list[i - 1]->pid;
		int err = target_may_be_traced(pid);

		/* this second check covers an execve() before the resumption; a later one
		 * suspends the target again */
		if (!err && kernel_side_target_resume(c->kernel, (uint32_t)pid))
			err = target_may_be_traced(pid);
		/* if the check timed out, keep the state until the next slice */
		if (err && err != -ETIMEDOUT)
			target_drop(c, i - 1);
	}
}

void targets_main_check(struct collector *c)
{
	bool ended = false;

	for (unsigned int i = 0; i < c->targets.nr; i++) {
		struct target *t = c->targets.list[i];
		pid_t tid = t->main_ended || !t->pid ? 0 : live_thread(t->pid);

		if (!tid || tid == t->pid)
			continue;
		t->main_ended = ended = true;
		if (kernel_side_uprobes(c->kernel) == UPROBE_PERF && c->functions.nr)
			send_note(
			    c, NOTE_WARNING,
			    "the main thread of pid %d (%s) has ended, and the kernel removed "
			    "the probes of its functions; they are placed again, and calls of "
			    "up to %.1f s before %.1f s were not seen",
			    t->pid, t->comm, (double)(now_ns() - c->slice.start) / 1e9,
			    (double)session_ns(c) / 1e9);
	}
	/* links for many probes stay; only a new one would find no memory of the process */
	if (ended && kernel_side_uprobes(c->kernel) == UPROBE_PERF && !c->loop.asleep) {
		functions_sleep(c);
		functions_wake(c);
	}
}

struct target *target_by_pid(struct collector *c, uint32_t pid)
{
	for (unsigned int i = 0; i < c->targets.nr; i++) {
		if ((uint32_t)c->targets.list[i]->pid == pid)
			return c->targets.list[i];
	}
	return NULL;
}

/*
 * The BPF programs saw a target fork this process. It may have ended since, and its pid may
 * have been reused.
 */
void target_forked(struct collector *c, const struct pt_record_fork *r)
{
	if (target_add(c, (pid_t)r->child_tgid, false, r->child_start))
		kernel_side_target_remove(c->kernel, r->child_tgid);
}

void target_executed(struct collector *c, uint32_t pid)
{
	struct target *t = target_by_pid(c, pid);

	if (!t)
		return;
	if (target_rights_matter()) {
		targets_check(c);
		t = target_by_pid(c, pid);
	}
	if (!t || target_refresh(t))
		return;
	if (t->requested)
		target_link(t, c->files.opener);
	perf_map_forget(c, t->pid);
	code_check_forget(c, t->pid);
	modules_scan(c, t);
	send_target(c, t);
}
