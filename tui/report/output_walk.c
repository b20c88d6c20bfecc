// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the text and the JSON output of a walk. */
#include "tui/report/output_walk.h"

#include <fnmatch.h>

#include "analysis/base/format.h"

#define BULK 0.5 /* a function with this fraction of the work is proposed for a descent */
/* fraction of the leading class that the reported paths must cover to be called explained */
#define ENOUGH 0.6
#define ACCOUNTED 0.95	   /* a smaller fraction of the time that is accounted for is remarked on */
#define MANY_SNAPSHOTS 10  /* of so many, one that leads alone may be chance */
#define CAUSE_REPORTED 0.1 /* fraction of all time from which a second cause is reported */
#define QUEUE_REPORTED 0.1 /* fraction of the work from which waiting for a CPU is reported */

/* True if the callers of the path's first function are not known: its stacks were cut. */
static bool is_cut(const struct walk_result *result, const struct walk_path *p)
{
	const struct walk_node *first = &result->nodes[p->nr_frames ? p->frames[0] : 0];

	return first->kind == WALK_UNKNOWN && !first->parent;
}

/* The fraction of the leading class's time, without waiting for a CPU, that is on reported
 * paths (0..1). *cut: the part of it whose callers are not known. */
static double walk_explained(const struct walk_result *result, double *cut)
{
	double all =
		   result->share[result->lead] - (result->lead == WALK_WORK ? result->runqueue : 0),
	       reported = 0, without = 0;

	for (unsigned int i = 0; i < result->nr_paths; i++) {
		const struct walk_path *p = &result->paths[i];

		if (p->class != result->lead || p->cause.kind == CAUSE_RUN_QUEUE || p->flat)
			continue;
		reported += p->share;
		without += is_cut(result, p) ? p->share : 0;
	}
	*cut = all > 0 ? without / all : 0;
	return all > 0 ? reported / all : 0;
}

/* True if most of the leading class's time is on reported paths whose callers are known. */
static bool is_explained(const struct walk_result *result)
{
	double cut, explained = walk_explained(result, &cut);

	return explained - cut >= ENOUGH && !is_cut(result, &result->paths[0]);
}

/* True if the path is a wait for another task below code without a name: that code may be the idle
 * loop of a runtime, for example the scheduler in a stripped Go program. */
static bool waits_in_unnamed(const struct walk_result *result, const struct walk_path *p)
{
	unsigned int i = p->nr_frames;

	if (p->class != WALK_WORK || p->cause.kind != CAUSE_WAIT)
		return false;
	while (i && result->nodes[p->frames[i - 1]].kind >= WALK_SYSCALL)
		i--;
	return i && result->nodes[p->frames[i - 1]].kind == WALK_UNKNOWN;
}

/* The fraction of the time of which the snapshots tell what the threads did. */
static double walk_told(const struct walk_result *result)
{
	double told = 0;

	for (int c = 0; c < WALK_CLASSES; c++)
		told += result->share[c];
	return told;
}

/* True if the answer is no more than a guess: one sample of many leads, or the kernel does not tell
 * what the threads did for most of their time. */
static bool is_guess(const struct walk_result *result)
{
	return walk_told(result) < ENOUGH ||
	       (result->paths[0].snapshots == 1 && result->snapshots >= MANY_SNAPSHOTS);
}

/* True if page faults may take most of the time for which the answer names code. */
static bool faults_unsure(const struct walk_result *result)
{
	const struct walk_path *p = &result->paths[0];

	return p->perhaps_faults || (p->flat && result->faults_high >= BULK);
}

const char *walk_status(const struct walk_result *result)
{
	enum cause_kind kind;

	if (!result->nr_paths)
		return result->target_ended ? "target ended" : "not enough calls";
	if (!result->settled && !result->target_ended)
		return "in progress";
	kind = result->paths[0].cause.kind;
	if (result->depth_reached && result->paths[0].cut)
		return "maximum depth reached";
	if (result->lead != WALK_IDLE && (kind == CAUSE_UNKNOWN || kind == CAUSE_UNMEASURED))
		return "partly explained";
	if (is_guess(result) || faults_unsure(result) || walk_unsure(result) ||
	    waits_in_unnamed(result, &result->paths[0]))
		return "partly explained";
	/* other idle threads are idle, too, wherever they wait */
	if ((result->lead != WALK_IDLE && !is_explained(result)) ||
	    walk_in_unnamed(result, &result->paths[0]))
		return "partly explained";
	return "root cause found";
}

const char *walk_cause_text(const struct walk_path *p)
{
	if (p->flat)
		return "flat";
	/* The thread waits for several events at once, so no single cause is known. */
	if (p->class == WALK_IDLE && p->cause.kind == CAUSE_UNKNOWN)
		return "idle";
	return cause_kind_text(p->cause.kind);
}

bool walk_in_unnamed(const struct walk_result *result, const struct walk_path *p)
{
	return p->cause.kind == CAUSE_OWN_CODE &&
	       result->nodes[p->frames[p->nr_frames - 1]].kind == WALK_UNKNOWN;
}

const struct walk_path *walk_beside(const struct walk_result *result)
{
	const struct walk_path *first = result->paths, *p = first + 1;

	if (result->nr_paths < 2 || p->class != first->class || p->cause.kind == CAUSE_RUN_QUEUE ||
	    walk_is_same_call(result, first, p))
		return NULL;
	return (p->share >= 0.9 * first->share && first->share >= 0.9 * p->share) ||
		       (p->class == WALK_WORK && p->cause.kind != first->cause.kind &&
			p->share >= CAUSE_REPORTED)
		   ? p
		   : NULL;
}

bool walk_queue_reported(const struct walk_result *result)
{
	return result->lead == WALK_WORK &&
	       result->runqueue >= QUEUE_REPORTED * result->share[WALK_WORK];
}

const char *walk_class_text(enum walk_class class)
{
	static const char *const text[WALK_CLASSES] = {"work", "sleep", "idle"};

	return class < WALK_CLASSES ? text[class] : "work";
}

bool walk_is_code_of_file(const struct walk_report *r, const struct walk_node *n)
{
	return n->kind == WALK_UNKNOWN && n->function.module &&
	       fnmatch("perf-*.map", driver_module(r->names, n->function.module), 0);
}

const char *walk_name(const struct walk_report *r, const struct walk_node *n, char *out,
		      size_t size)
{
	const struct driver_symbol *s;

	switch (n->kind) {
	case WALK_PROCESS:
		snprintf(out, size, "%s",
			 model_nr_targets(r->model) ? model_target(r->model, 0)->comm
						    : "(process)");
		break;
	case WALK_FUNCTION:
		s = driver_symbol(r->names, n->function.module, n->function.offset);
		if (s && s->function[0])
			snprintf(out, size, "%s", s->function);
		else
			snprintf(out, size, "%s+0x%" PRIx64,
				 driver_module(r->names, n->function.module), n->function.offset);
		break;
	case WALK_UNKNOWN:
		if (walk_is_code_of_file(r, n))
			snprintf(out, size, "(code without symbols in %s)",
				 driver_module(r->names, n->function.module));
		else
			snprintf(out, size, n->parent ? "(generated code)" : "(unknown callers)");
		break;
	case WALK_SYSCALL:
		snprintf(out, size, "syscall:%s", n->name);
		break;
	case WALK_KERNEL:
		snprintf(out, size, "%s", n->name);
		break;
	}
	return out;
}

/* The index of the target with this pid; 0, the first target, if none has it. */
static size_t target_of(const struct model *m, uint32_t pid)
{
	for (size_t i = 0; i < model_nr_targets(m); i++) {
		if (model_target(m, i)->pid == pid)
			return i;
	}
	return 0;
}

/* Write the descend command to run next. False: no function has the bulk of the work. */
static bool walk_onward(const struct walk_report *r, const struct walk_result *result, char *out,
			size_t size)
{
	const struct walk_node *best = NULL;
	const struct walk_path *p = NULL;
	const struct driver_symbol *s;
	double work;
	uint32_t program;
	char name[400];
	size_t target;

	for (unsigned int i = 0; i < result->nr_paths && !p; i++) {
		if (result->paths[i].class != WALK_IDLE &&
		    result->paths[i].cause.kind != CAUSE_RUN_QUEUE &&
		    result->nodes[result->paths[i].frames[0]].kind == WALK_FUNCTION)
			p = &result->paths[i];
	}
	if (!p || !model_nr_targets(r->model))
		return false;
	work = result->share[WALK_WORK] - result->runqueue + result->share[WALK_SLEEP];
	program = result->nodes[p->frames[0]].function.module;
	/* Skip the root (frame 0): it does not return, so it has no calls to time. */
	for (unsigned int i = 1; i < p->nr_frames; i++) {
		const struct walk_node *n = &result->nodes[p->frames[i]];

		if (n->kind == WALK_FUNCTION &&
		    n->share[WALK_WORK] + n->share[WALK_SLEEP] >= BULK * work &&
		    (!best || n->function.module == program))
			best = n;
	}
	if (!best)
		return false;
	s = driver_symbol(r->names, best->function.module, best->function.offset);
	if (s && s->symbol[0])
		snprintf(name, sizeof(name), "%s", s->symbol);
	else
		snprintf(name, sizeof(name), "0x%" PRIx64 "@%s", best->function.offset,
			 driver_module(r->names, best->function.module));
	target = target_of(r->model, best->pid);
	out[0] = '\0';
	/* With several targets name the process, also if it has ended. */
	if (model_nr_targets(r->model) > 1)
		snprintf(out, size, "for process %s %u: ", model_target(r->model, target)->comm,
			 model_target(r->model, target)->pid);
	/* The command stands last, so that it can be copied. */
	if (model_target_ended(r->model, target))
		snprintf(out + strlen(out), size - strlen(out),
			 "peaktop descend -f '%s' -- COMMAND", name);
	else
		snprintf(out + strlen(out), size - strlen(out), "peaktop descend -p %u -f '%s'",
			 model_target(r->model, target)->pid, name);
	return true;
}

static void add(struct walk_remarks *list, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct walk_remarks *list, const char *fmt, ...)
{
	format_arguments(list->line[list->nr], sizeof(list->line[0]), fmt);
	list->nr++;
}

/* Page faults that take at least this fraction of the CPU time are remarked on. */
#define FAULTS_REPORTED 0.3

/* Remarks about time whose place or cause is not known. */
static void add_unknown(const struct walk_result *result, struct walk_remarks *out)
{
	if (walk_unsure(result))
		add(out,
		    "%s of the time is in waits that need not be idle: deep below other functions, "
		    "in the scheduler of a Go program, for the other end of a pair of sockets, or "
		    "while a client that has sent data is not answered; "
		    "those that are part of a request are blocked by a timer, or by another thread "
		    "or process; \"peaktop chains\" shows who ends them",
		    format_percent(result->unsure).s);
	if (result->faults_high >= FAULTS_REPORTED && result->nr_paths &&
	    result->paths[0].cause.kind != CAUSE_PAGE_FAULT)
		add(out,
		    "page faults take %s to %s of the CPU time, by their number and by what one "
		    "takes on this host; where they happen is not known",
		    format_percent(result->faults_low).s, format_percent(result->faults_high).s);
	if (result->share[WALK_IDLE] > 0)
		add(out,
		    "%s of the time the threads were idle, waiting for requests, other tasks or "
		    "other "
		    "events; idle time is listed separately%s",
		    format_percent(result->share[WALK_IDLE]).s,
		    result->lead == WALK_IDLE ? "" : ", after the work");
	if (result->unknown_callers > 0.005)
		add(out,
		    "the callers are unknown for %s of the time, because those stacks end early "
		    "(%s%s)",
		    format_percent(result->unknown_callers).s,
		    result->unknown_why[0] ? "mostly: " : "reason unknown", result->unknown_why);
	if (result->joined > 0)
		add(out,
		    "%s of the time belongs to threads at the same places as hundreds of others; "
		    "some of these stacks were read, and stand for all of them",
		    format_percent(result->joined).s);
	if (result->left_out)
		add(out,
		    "%s of the time is not known: there was no room for %u of the threads, which "
		    "were not looked at; measure fewer processes at a time",
		    format_percent(result->not_seen).s, result->left_out);
	if (result->nr_paths && walk_told(result) + result->not_seen < ACCOUNTED)
		add(out,
		    "%s of the time is not accounted for: the threads slept between two snapshots, "
		    "or their stacks had not been read yet",
		    format_percent(1 - walk_told(result) - result->not_seen).s);
	if (result->unnamed > 0.005)
		add(out,
		    "%s of the time is in generated code without names; let the runtime that "
		    "generates it write /tmp/perf-PID.map (node --perf-basic-prof, java "
		    "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, PYTHONPERFSUPPORT=1)",
		    format_percent(result->unnamed).s);
}

void walk_remarks_fill(struct walk_remarks *out, const struct walk_report *r,
		       const struct walk_result *result)
{
	double explained, cut;
	char next[512];

	out->nr = 0;
	add(out,
	    "method: %s stack samples of %u %s, without probes; shares are of the wall time of all "
	    "threads",
	    format_count(result->snapshots).s, result->threads,
	    result->threads == 1 ? "thread" : "threads");
	add_unknown(result, out);
	/* Waiting for a CPU counts as work in the shares of the paths, but not in this figure. */
	explained = walk_explained(result, &cut);
	if (result->settled && result->nr_paths && !result->flat && explained < ENOUGH)
		add(out,
		    "%s of the %s%s is spread over other paths, each less than half as large as "
		    "the largest",
		    format_percent(1 - explained).s, walk_class_text(result->lead),
		    result->lead == WALK_WORK && result->runqueue > 0.005
			? " that is no waiting for a CPU"
			: "");
	if (!result->settled && result->nr_paths)
		add(out, "%s",
		    result->target_ended
			? "the largest path was still changing when the target ended; the shares "
			  "are rough"
			: "no path stayed the largest, or there was little work; try a longer "
			  "--timeout");
	out->whole = out->nr;
	if (walk_onward(r, result, next, sizeof(next)))
		add(out, "next: %s", next);
}
