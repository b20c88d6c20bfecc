// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/target_survey.h"

#include <stdarg.h>

#include "analysis/base/format.h"
#include "analysis/base/path.h"
#include "collect/code_survey.h"
#include "collect/doctor.h"
#include "collect/file_lease.h"
#include "collect/modules.h"
#include "collect/process/live_thread.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/thread_snapshots_state.h"

/* Report a limit of a target. */
__attribute__((format(printf, 4, 5))) static void
limit(struct collector *c, const char *name, const char *remedy, const char *needed_for, ...)
{
	char text[TARGET_PATH + 256];

	format_arguments(text, sizeof(text), needed_for);
	send_record(
	    c, &(struct record){
		   .type = REC_CHECK,
		   .check = {.name = name, .ok = false, .needed_for = text, .remedy = remedy}});
}

static void survey_main_thread(struct collector *c, const struct target *t)
{
	if (proc_number(t->pid) != t->pid)
		limit(
		    c, "main thread",
		    "its main thread has ended, so other processes that execute the same files "
		    "run into the probes, too; their calls do not count, but they are slowed down",
		    "probes in process %d (%s) alone", t->pid, t->comm);
}

static void count_thread(void *ctx, pid_t tid)
{
	(void)tid;
	++*(unsigned int *)ctx;
}

static void survey_crowd(struct collector *c, const struct target *t)
{
	unsigned int n = 0;

	if (!target_threads(t->pid, count_thread, &n) && n > MAX_THREADS)
		limit(c, "number of threads",
		      "the other threads are left out; name single threads with --thread",
		      "snapshots of all %u threads of process %d (%s): at most %d are looked at", n,
		      t->pid, t->comm, MAX_THREADS);
}

/* Code of this mapping is in no file. */
static void survey_fileless(struct collector *c, const struct target *t, uint64_t start)
{
	bool named = mapping_at(c, t->pid, start) != NULL;

	limit(c, "code without a file",
	      named
		  ? "it was made at run time: its perf map gives names to samples and stacks, but "
		    "it cannot be probed; watch system calls, libraries, or the process"
		  : "it was made at run time: it cannot be probed, and without a perf map "
		    "(/tmp/perf-PID.map) it has no names; watch system calls, libraries, or the "
		    "process",
	      "%s of the code at 0x%" PRIx64 " in process %d (%s)",
	      named ? "probes in functions" : "probes in functions and names", start, t->pid,
	      t->comm);
}

/* This mapping is a copy of a part of a file. */
static void survey_copied(struct collector *c, const struct target *t, const struct mapping *m)
{
	limit(c, "text in anonymous memory",
	      "the program copied it there, so the kernel cannot probe it; system calls, libraries "
	      "and samples work",
	      "probes in functions of %s whose code is at 0x%" PRIx64 " in process %d (%s)",
	      path_file(m->path), m->start, t->pid, t->comm);
}

struct survey {
	struct collector *c;
	const struct target *t;
	bool probed, fileless, copied;
};

static int survey_mapping(void *ctx, const struct mapping *m)
{
	struct survey *s = ctx;

	if (m->copied_beside && !s->copied) {
		s->copied = true;
		survey_copied(s->c, s->t, m);
	}
	s->probed |= !m->inode && !strncmp(m->path, "[uprobes", 8);
	if ((m->inode ? module_is_made(s->c, m) : !m->path[0]) && !s->fileless) {
		s->fileless = true;
		survey_fileless(s->c, s->t, m->start);
	}
	return 0;
}

static void survey_mappings(struct collector *c, const struct target *t)
{
	struct survey s = {.c = c, .t = t};

	target_code(t->pid, survey_mapping, &s);
	/* doctor has not probed anything yet */
	if (s.probed)
		limit(c, "probes of others",
		      "another tool probes this process, or did: the calls of functions whose "
		      "returns it probes may be missed, and the share of calls that was seen says "
		      "so; stop that tool if a figure is in doubt",
		      "all calls of functions of process %d (%s)", t->pid, t->comm);
}

/* Files that can be overwritten in place while they are probed. */
static void survey_leases(struct collector *c)
{
	const struct file_module *first = NULL;
	unsigned int n = 0;

	for (uint32_t i = 0; i < c->files.nr_modules; i++) {
		const struct file_module *m = &c->files.modules[i];
		int lease = -1;

		if (!module_has_file(c, i + 1) || m->fd < 0 || m->made)
			continue;
		if (!m->remote)
			lease = lease_take(m->fd);
		if (lease >= 0) {
			lease_release(lease);
			continue;
		}
		if (!first)
			first = m;
		n++;
	}
	if (first)
		limit(c, "leases on files",
		      "there are no leases on its file system, CAP_LEASE is missing, or it is open "
		      "for writing; do not overwrite the file in place while it is probed (a "
		      "package manager does not)",
		      "removing probes before somebody overwrites %s%s", first->path,
		      n > 1 ? " and other files" : "");
}

void target_survey(struct collector *c)
{
	code_survey(c);
	doctor_check_rights(c);
	for (unsigned int i = 0; i < c->targets.nr; i++) {
		const struct target *t = c->targets.list[i];

		survey_main_thread(c, t);
		survey_mappings(c, t);
		survey_crowd(c, t);
	}
	survey_leases(c);
}
