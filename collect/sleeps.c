// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sleeps.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What kind of thing a descriptor of the target is, and its name. */
static uint32_t descriptor_kind(uint32_t pid, uint64_t fd, char *name, size_t n)
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, (unsigned int)fd);
	len = readlink(path, name, n - 1);
	name[len > 0 ? len : 0] = '\0';
	if (!strncmp(name, "socket:", 7))
		return SLEEP_ON_SOCKET;
	if (!strncmp(name, "pipe:", 5))
		return SLEEP_ON_PIPE;
	if (!strncmp(name, "/dev/", 5))
		return SLEEP_ON_DEVICE;
	return name[0] == '/' ? SLEEP_ON_FILE : SLEEP_ON_OTHER;
}

/*
 * A futex says nothing of what it is for; the value that its word must have for the sleep does: that of a mutex
 * somebody waits for is 2 in the C libraries and in Rust's, those of a read-write lock of glibc are 2 and 3.
 */
static bool futex_is_lock(uint64_t op, uint32_t value)
{
	switch (op) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	case FUTEX_WAIT:
		return value == 2;
	case FUTEX_WAIT_BITSET:
		return value == 2 || value == 3;
	default:
		return false;
	}
}

void sleep_object(const struct pt_record_sleep *r, struct rec_sleep *s, char *name, size_t n)
{
	const char *call = s->call;

	s->object = SLEEP_ON_OTHER;
	if (r->syscall < 0) {
		s->object = SLEEP_ON_PAGE;
	} else if (strstr(call, "nanosleep")) {
		s->object = SLEEP_ON_NOTHING;
	} else if (!strcmp(call, "futex")) {
		s->object = SLEEP_ON_FUTEX;
		s->lock = r->args[0];
		s->exclusive = futex_is_lock(r->args[1] & FUTEX_CMD_MASK, (uint32_t)r->args[2]);
	} else if (!strcmp(call, "poll") || !strcmp(call, "ppoll")) {
		s->object = r->args[1] ? SLEEP_ON_OTHER : SLEEP_ON_NOTHING;
	} else if (!strncmp(call, "wait", 4)) {
		s->object = SLEEP_ON_CHILD;
	} else if (strstr(call, "sync")) {
		/* a file, also when its descriptor is closed by now */
		s->object = SLEEP_ON_FILE;
		if (strcmp(call, "sync") != 0 && strcmp(call, "msync") != 0 &&
		    descriptor_kind(r->head.tgid, r->args[0], name, n) == SLEEP_ON_FILE)
			s->name = name;
	} else if (strstr(call, "read") || strstr(call, "write") || !strncmp(call, "recv", 4) ||
		   !strncmp(call, "send", 4) || !strncmp(call, "accept", 6) || !strcmp(call, "connect") ||
		   !strcmp(call, "fallocate") || !strcmp(call, "ftruncate")) {
		s->object = descriptor_kind(r->head.tgid, r->args[0], name, n);
		s->name = name;
	}
}

uint32_t sleep_end(const struct pt_record_sleep *r, const struct rec_sleep *s)
{
	uint32_t irq = r->waker_irq - 1;

	if (!r->waker_tid && !r->waker_irq)
		return ENDED_UNKNOWN;
	if (!r->waker_irq)
		return r->waker_tid == r->head.tid ? ENDED_UNKNOWN : ENDED_TASK;
	if (irq == PT_IRQ_LOCAL_TIMER || irq == PT_IRQ_SOFT + 1 || irq == PT_IRQ_SOFT + 8)
		return ENDED_TIMER;
	if (irq == PT_IRQ_SOFT + 4 || s->object == SLEEP_ON_FILE || s->object == SLEEP_ON_PAGE)
		return ENDED_REQUEST;
	return irq == PT_IRQ_SOFT + 3 ? ENDED_NETWORK : ENDED_INTERRUPT;
}
