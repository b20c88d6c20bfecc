// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/base/syscall_names.h"
#include "analysis/waits/kinds.h"

/* The name counts, not the number: a recording may come from another architecture. */
static int32_t syscall_of(const struct rec_sleep *s)
{
	const char *call = s->call ? s->call : "",
		   *name = s->syscall >= 0 ? syscall_name((unsigned int)s->syscall) : NULL;

	if (name && !strcmp(name, call))
		return s->syscall;
	return *call ? syscall_number(call) : -1;
}

/* A parked goroutine, by the reason that Go gives. */
static enum wait_kind kind_of_park(const char *reason)
{
	static const struct {
		const char *begin;
		enum wait_kind kind;
	} reasons[] = {{"sleep", WAIT_CLOCK},
		       {"semacquire", WAIT_LOCK},
		       {"sync.Mutex", WAIT_LOCK},
		       {"sync.RWMutex", WAIT_LOCK},
		       {"IO wait", WAIT_NETWORK}};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!strncmp(reason, reasons[i].begin, strlen(reasons[i].begin)))
			return reasons[i].kind;
	}
	return WAIT_CONDITION;
}

/* What the kernel did for the thread says more than what was called. WAIT_UNKNOWN: nothing. */
static enum wait_kind kind_of_work(const struct rec_sleep *s)
{
	static const enum wait_kind kinds[SLEEP_WORKS] = {
	    [SLEEP_IN_RECLAIM] = WAIT_RECLAIM, [SLEEP_IN_COMPACTION] = WAIT_COMPACTION,
	    [SLEEP_IN_SWAP] = WAIT_SWAP,       [SLEEP_IN_HUGE_PAGE] = WAIT_HUGE_PAGE,
	    [SLEEP_IN_DIRTY] = WAIT_THROTTLED, [SLEEP_IN_SPIN] = WAIT_KERNEL_LOCK,
	    [SLEEP_STOPPED] = WAIT_STOPPED,    [SLEEP_TRACED] = WAIT_TRACED,
	    [SLEEP_FROZEN] = WAIT_FROZEN,      [SLEEP_IN_PROBE] = WAIT_KERNEL_LOCK,
	    [SLEEP_IN_SUBMIT] = WAIT_DEVICE,   [SLEEP_IN_QUOTA] = WAIT_QUOTA,
	};

	if (s->work == SLEEP_PARKED)
		return kind_of_park(s->name ? s->name : "");
	return s->work < SLEEP_WORKS ? kinds[s->work] : WAIT_UNKNOWN;
}

enum wait_kind wait_kind_of_sleep(const struct rec_sleep *s, const char *kernel, bool serves)
{
	enum wait_kind kind = kind_of_work(s);
	bool has_stack = kernel && *kernel;
	struct wait_facts f = {.syscall = syscall_of(s),
			       .object = s->object,
			       .has_object = s->object != OBJECT_OTHER,
			       .state = s->flags & SLEEP_IN_IOWAIT ? SWITCH_IN_IOWAIT : 0,
			       .hints = wait_hints(has_stack ? kernel : ""),
			       .serves = serves,
			       .queue_full = s->room && s->queued >= s->room,
			       .held_back = s->flags & SLEEP_HELD_BACK,
			       .retries = s->flags & SLEEP_RETRIES,
			       .retries_lock = s->flags & SLEEP_RETRIES_LOCK,
			       .contends = s->flags & SLEEP_CONTENDS,
			       .for_thread = s->flags & SLEEP_FOR_THREAD};
	/* the kernel clears the number of a thread, and wakes who joins it, in that thread */
	const bool by_joined = s->waker_tid && (uint32_t)s->args[2] == s->waker_tid;

	if (kind != WAIT_UNKNOWN)
		return kind;
	/* without a stack, a sleep outside of system calls counts as a missing page */
	f.in_fault = f.syscall < 0 && !has_stack;
	memcpy(f.args, s->args, sizeof(f.args));
	f.for_thread |= by_joined;
	return wait_kind_of(&f);
}

enum wait_kind wait_kind_of_snapshot(const struct rec_thread_snapshot *snapshot)
{
	if (snapshot->state == 'T')
		return WAIT_STOPPED;
	if (snapshot->state == 't')
		return WAIT_TRACED;
	return wait_kind_of_sleep(&snapshot->sleep, snapshot->kernel, snapshot->serves);
}
