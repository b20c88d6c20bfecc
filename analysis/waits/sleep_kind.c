// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "analysis/base/syscall_names.h"
#include "analysis/waits/kinds.h"

int32_t wait_syscall(const struct rec_sleep *s)
{
	const char *call = s->call ? s->call : "",
		   *name = s->syscall >= 0 ? syscall_name((unsigned int)s->syscall) : NULL;

	if (name && !strcmp(name, call))
		return s->syscall;
	return *call ? syscall_number(call) : -1;
}

static bool starts_with_any(const char *text, const char *const *list)
{
	for (; *list; list++) {
		if (!strncmp(text, *list, strlen(*list)))
			return true;
	}
	return false;
}

/* What stands behind the descriptor, by the object and the name that the collector sent. */
static void fill_object(const struct rec_sleep *s, struct wait_facts *f)
{
	static const char *const terminals[] = {"/dev/pts/", "/dev/tty", "/dev/console", NULL};
	static const char *const timers[] = {"anon_inode:[timerfd", NULL};
	static const char *const events[] = {"anon_inode:", "an eventfd", NULL};
	static const enum object_kind kinds[SLEEP_OBJECTS] = {
	    [SLEEP_ON_FILE] = OBJECT_FILE,     [SLEEP_ON_DEVICE] = OBJECT_DEVICE,
	    [SLEEP_ON_SOCKET] = OBJECT_SOCKET, [SLEEP_ON_LOCAL] = OBJECT_LOCAL,
	    [SLEEP_ON_PIPE] = OBJECT_PIPE,
	};
	const char *name = s->name ? s->name : "";

	f->object = s->object < SLEEP_OBJECTS ? kinds[s->object] : OBJECT_OTHER;
	if (starts_with_any(name, terminals))
		f->object = OBJECT_TERMINAL;
	else if (starts_with_any(name, timers))
		f->object = OBJECT_TIMER;
	else if (starts_with_any(name, events))
		f->object = OBJECT_EVENT;
	f->has_object = f->object != OBJECT_OTHER;
}

/* The kinds of objects that say all there is to know. */
static enum wait_kind kind_by_object(uint32_t object)
{
	static const enum wait_kind kinds[SLEEP_OBJECTS] = {
	    [SLEEP_ON_KERNEL_LOCK] = WAIT_KERNEL_LOCK,
	    [SLEEP_ON_FILE_LOCK] = WAIT_FILE_LOCK,
	    [SLEEP_IN_RECLAIM] = WAIT_RECLAIM,
	    [SLEEP_IN_COMPACTION] = WAIT_COMPACTION,
	    [SLEEP_IN_SWAP] = WAIT_SWAP,
	    [SLEEP_IN_HUGE_PAGE] = WAIT_PAGE,
	    [SLEEP_IN_DIRTY] = WAIT_WRITEBACK,
	    [SLEEP_IN_SPIN] = WAIT_KERNEL_LOCK,
	    [SLEEP_STOPPED] = WAIT_STOPPED,
	    [SLEEP_TRACED] = WAIT_TRACED,
	    [SLEEP_FROZEN] = WAIT_FROZEN,
	    [SLEEP_IN_PROBE] = WAIT_KERNEL_LOCK,
	};

	return object < SLEEP_OBJECTS ? kinds[object] : WAIT_UNKNOWN;
}

enum wait_kind wait_kind_of_sleep(const struct rec_sleep *s, const char *kernel, bool serves)
{
	enum wait_kind kind = kind_by_object(s->object);
	/* a record of a sleep has no arguments; its object says what the collector saw in them */
	bool for_objects = s->object != SLEEP_ON_NOTHING;
	struct wait_facts f = {
	    .syscall = wait_syscall(s),
	    .args = {for_objects, for_objects},
	    .hints = wait_hints(kernel ? kernel : ""),
	    .serves = serves,
	    /* a thread snapshot says so of every sleep outside of system calls */
	    .in_fault = s->object == SLEEP_ON_PAGE && !kernel,
	    .exclusive = s->exclusive};

	if (kind != WAIT_UNKNOWN)
		return kind;
	fill_object(s, &f);
	return wait_kind_of(&f);
}
