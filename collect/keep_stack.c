// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/keep_stack.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "analysis/base/array.h"

static int in_order(const void *a, const void *b)
{
	const struct known_return *x = a, *y = b;

	return ascending(x->pid, y->pid) ?: ascending(x->address, y->address);
}

void known_returns_sort(struct known_return *list, size_t nr)
{
	if (nr)
		qsort(list, nr, sizeof(*list), in_order);
}

bool stack_find_return(const struct known_returns *known, uint32_t pid, uint64_t sp,
		       const uint64_t *words, size_t nr, struct stack_return *out)
{
	for (size_t i = 0; known->nr && i < nr; i++) {
		const struct known_return key = {.address = words[i], .pid = pid};
		const struct known_return *r =
		    bsearch(&key, known->list, known->nr, sizeof(key), in_order);

		if (!r)
			continue;
		/* the return address is the last word below the frame of the caller */
		*out = (struct stack_return){
		    .address = r->address, .cfa = sp + 8 * (i + 1), .slot = r->slot};
		return true;
	}
	return false;
}

static uint64_t milliseconds(uint64_t argument)
{
	int32_t ms = (int32_t)argument;

	return ms > 0 ? (uint64_t)ms * 1000000 : 0;
}

static bool futex_may_end(uint64_t operation)
{
	return (operation & FUTEX_CMD_MASK) == FUTEX_WAIT;
}

struct asked_by asked_by(const struct pt_task_now *now)
{
	const uint64_t di = now->regs[PT_REG_DI], si = now->regs[PT_REG_SI],
		       dx = now->regs[PT_REG_DX], r10 = now->regs[PT_REG_R10],
		       r8 = now->regs[PT_REG_R8];
	struct asked_by by = {.fd = (uint32_t)di, .unit_ns = 1};

	switch ((int64_t)now->regs[PT_REG_ORIG_AX]) {
	case SYS_nanosleep:
		by.timespec = di;
		break;
	case SYS_clock_nanosleep:
		by.until = si & TIMER_ABSTIME;
		by.timespec = !by.until || (int32_t)di == CLOCK_MONOTONIC ? dx : 0;
		break;
	case SYS_poll:
		by.ns = milliseconds(dx);
		by.fd_at = si ? di : 0;
		break;
	case SYS_ppoll:
		by.timespec = dx;
		by.fd_at = si ? di : 0;
		break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		by.ns = milliseconds(r10);
		return by;
	case SYS_select:
		by.unit_ns = 1000;
		by.timespec = r8;
		break;
	case SYS_pselect6:
		by.timespec = r8;
		break;
	case SYS_futex:
		by.words = di;
		by.timespec = futex_may_end(si) ? r10 : 0;
		break;
	default:
		if ((int64_t)now->regs[PT_REG_ORIG_AX] < 0)
			by.fd = PT_NO_FD;
		return by;
	}
	by.fd = PT_NO_FD;
	return by;
}

uint64_t asked_of_timespec(const struct asked_by *by, const uint64_t value[2], uint64_t since)
{
	uint64_t ns = value[0] * 1000000000 + value[1] * by->unit_ns;

	if (!by->until)
		return ns;
	return ns > since ? ns - since : 0;
}
