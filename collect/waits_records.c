// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes records for the front of what the BPF programs tell about waits. */
#include <dirent.h>
#include <sys/syscall.h>

#include "collect/kernel_names.h"
#include "collect/kernel_waits.h"
#include "collect/modules.h"
#include "collect/process/small_file.h"
#include "collect/replaced.h"
#include "collect/sleeps.h"
#include "collect/snapshot_wait.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/waits.h"

_Static_assert((int)PT_NO_CPU == (int)WAITS_NO_CPU, "bpf/waits_records.h repeats this");
_Static_assert(TASK_TARGET == 1 && TASK_FOLLOWED == 2 && TASK_KERNEL == 4 && TASK_KWORKER == 8 &&
		   TASK_URING == 64 && TASK_HUB == 128 && TASK_RESTRICTED == 256 &&
		   TASK_UNFOLLOWED == 512,
	       "bpf/waits.h repeats enum task_flags");
_Static_assert(TRACE_SAMPLED == PT_SAMPLED_TRACE, "bpf/waits_records.h repeats this");
_Static_assert(BRACKET_HARD == 1 && BRACKET_SOFT == 2 && BRACKET_TIMER == 3 && BRACKET_CLOCK == 4 &&
		   BRACKET_IPI == 5 && BRACKET_BLOCK == 6 && BRACKET_WORK == 7 &&
		   BRACKET_URING == 8,
	       "bpf/waits.h repeats enum bracket_kind");

enum {
	KERNEL_LINE = 4096,
	SOCKETS = 8, /* lookups of sockets per SOCKETS_MS: each reads tables of the kernel */
	SOCKETS_MS = 200,
};

/* ---- numbers and times */

static uint64_t since_start(const struct collector *c, uint64_t at)
{
	return at > c->start_ns ? at - c->start_ns : 0;
}

/*
 * The number of a record of a CPU. The ring buffer keeps the order of each CPU's records, and each
 * says how many of this CPU were lost before it: they have numbers, too.
 */
static uint32_t sequence_of(struct waits_tracing *w, const struct pt_waits_head *h)
{
	if (h->cpu >= PT_CPUS)
		return 0;
	if (h->lost > w->lost[h->cpu])
		w->lost[h->cpu] = h->lost;
	return ++w->given[h->cpu] + w->lost[h->cpu];
}

/* Send the record of an event with its time, its CPU and its number. */
static void send_event(struct collector *c, const struct pt_waits_head *h, struct record *rec)
{
	rec->waits_head = (struct rec_waits_head){
	    .at_ns = since_start(c, h->at), .sequence = sequence_of(c->waits, h), .cpu = h->cpu};
	send_record(c, rec);
}

/* Send an event whose content is laid out as in record_waits.h, behind the head. */
static void send_content(struct collector *c, const struct pt_waits_head *h, const void *content,
			 size_t size, enum record_type type)
{
	struct record rec = {.type = type};

	memcpy((char *)&rec.waits_head + sizeof(rec.waits_head), content, size);
	send_event(c, h, &rec);
}
#define SAME_CONTENT(pt, rec)                                                                      \
	_Static_assert(sizeof(struct pt) - sizeof(struct pt_waits_head) ==                         \
			   sizeof(struct rec) - sizeof(struct rec_waits_head),                     \
		       "bpf/waits_records.h repeats the content of " #rec)
SAME_CONTENT(pt_waits_switch, rec_switch);
SAME_CONTENT(pt_waits_sample, rec_run_sample);
SAME_CONTENT(pt_waits_asleep, rec_asleep);
SAME_CONTENT(pt_waits_waking, rec_waking);
SAME_CONTENT(pt_waits_block, rec_block);
SAME_CONTENT(pt_waits_work, rec_work);

/* ---- tasks */

/* May the invoking user trace this process? If so, let the BPF programs record its stacks. */
static void rights_check(struct collector *c, const struct pt_waits_task *t)
{
	struct waits_tracing *w = c->waits;
	size_t at = t->pid % (sizeof(w->checked_pid) / sizeof(w->checked_pid[0]));

	if (w->checked_pid[at] == t->pid && w->checked_start[at] == t->start)
		return;
	w->checked_pid[at] = t->pid;
	w->checked_start[at] = t->start;
	if (target_may_be_traced((pid_t)t->pid))
		return;
	kernel_waits_allow(c->kernel, t->pid, true);
	/* an execve() before the permission is not known to the BPF programs; they take back the
	 * permission at a later one */
	if (target_may_be_traced((pid_t)t->pid))
		kernel_waits_allow(c->kernel, t->pid, false);
}

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

/* Threads of the kernel with a task of their own are known by their names. */
static uint32_t flags_by_name(uint32_t flags, const char *comm)
{
	if (!(flags & TASK_KERNEL))
		return flags;
	if (begins_with(comm, "irq/"))
		flags |= TASK_IRQ;
	if (begins_with(comm, "ksoftirqd/"))
		flags |= TASK_KSOFTIRQD | TASK_HUB;
	return flags;
}

static void send_task(struct collector *c, const struct pt_waits_task *r)
{
	char comm[PT_COMM + 1];

	snprintf(comm, sizeof(comm), "%.*s", PT_COMM, r->comm);
	if (r->flags & TASK_TARGET) {
		c->waits->listed_tid = r->tid;
		c->waits->listed_pid = r->pid;
	}
	if (r->flags & TASK_FOLLOWED && r->flags & TASK_RESTRICTED)
		rights_check(c, r);
	send_event(c, &r->head,
		   &(struct record){.type = REC_TASK,
				    .task = {.start_ns = r->start,
					     .tid = r->tid,
					     .pid = r->pid,
					     .flags = flags_by_name(r->flags, comm),
					     .state = r->state,
					     .parent_start_ns = r->parent_start,
					     .parent_tid = r->parent_tid,
					     .comm = comm}});
}

static void send_life(struct collector *c, const struct pt_waits_life *r)
{
	char comm[PT_COMM + 1];

	snprintf(comm, sizeof(comm), "%.*s", PT_COMM, r->comm);
	send_event(c, &r->head,
		   &(struct record){.type = REC_LIFE,
				    .life = {.start_ns = r->start,
					     .child_start_ns = r->child_start,
					     .event = r->event,
					     .tid = r->tid,
					     .child_tid = r->child_tid,
					     .child_pid = r->child_pid,
					     .flags = r->flags,
					     .comm = comm}});
}

/* ---- stacks */

static void send_stack(struct collector *c, const struct pt_waits_stack *r)
{
	char line[KERNEL_LINE];
	uint32_t nr = r->nr < PT_WAITS_FRAMES ? r->nr : PT_WAITS_FRAMES;
	const char *names[PT_WAITS_FRAMES] = {0};
	size_t own;

	for (uint32_t i = 0; i < nr; i++)
		names[i] = kernel_name(r->frames[i] - (i > 0));
	own = kernel_names_of_tracing(names, nr);
	kernel_names_line((const uint64_t *)r->frames + own, nr - own, line, sizeof(line));
	send_record(
	    c, &(struct record){
		   .type = REC_TRACE,
		   .trace = {.trace = r->trace,
			     .flags = TRACE_KERNEL | (nr == PT_WAITS_FRAMES ? TRACE_PARTIAL : 0u),
			     .kernel = line}});
}

static void send_user_stack(struct collector *c, const struct pt_waits_user_stack *r)
{
	static uint64_t words[PT_SNAPSHOT_STACK / 8];
	uint32_t bytes = r->bytes <= PT_SNAPSHOT_STACK ? r->bytes : 0;

	memcpy(words, r->stack, bytes);
	replaced_restore(&r->replaced, r->regs[PT_REG_SP], words, bytes / 8);
	/* a program that has just begun maps its libraries; the same stack is not sent again */
	modules_check(c, (pid_t)r->tgid, r->regs[PT_REG_IP]);
	send_record(c, &(struct record){.type = REC_RAW_TRACE,
					.raw_trace = {.trace = r->trace,
						      .pid = r->tgid,
						      .tid = r->tid,
						      .nr_regs = PT_REGS,
						      .regs = (const uint64_t *)r->regs,
						      .nr_words = bytes / 8,
						      .words = words}});
}

/* ---- names and objects */

static void send_name(struct collector *c, uint32_t kind, uint32_t number, const char *text)
{
	send_record(c, &(struct record){.type = REC_NAME,
					.name = {.kind = kind, .number = number, .text = text}});
}

/* The devices of an interrupt, as its handlers named them. */
static void send_device(struct collector *c, unsigned int number)
{
	char text[128];

	if (small_file_line(text, sizeof(text), "/sys/kernel/irq/%u/actions", number) > 0)
		send_name(c, BRACKET_HARD, number, text);
}

void waits_names(struct collector *c)
{
	DIR *d = opendir("/sys/kernel/irq");
	struct dirent *e;

	for (uint32_t i = 0; i < SOFTIRQS; i++)
		send_name(c, BRACKET_SOFT, i, softirq_names[i]);
	for (uint32_t i = 0; i < VECTORS; i++)
		send_name(c, BRACKET_IPI, i, vector_names[i]);
	send_name(c, BRACKET_CLOCK, 0, "local timer");
	while (d && (e = readdir(d))) {
		unsigned long number = strtoul(e->d_name, NULL, 10);

		if (e->d_name[0] != '.' && number < 4096)
			send_device(c, (unsigned int)number);
	}
	if (d)
		closedir(d);
}

/* The number of a block device's name, which is sent before its first use; 0: it has none. */
static uint32_t disk_number(struct collector *c, uint32_t device)
{
	struct waits_tracing *w = c->waits;
	char to[256] = "", *name;
	uint32_t i = 0;

	while (i < w->nr_disks && w->disk[i] != device)
		i++;
	if (i == WAITS_DISKS || !device)
		return 0;
	if (i < w->nr_disks)
		return i + 1;
	small_file_link(to, sizeof(to), "/sys/dev/block/%u:%u", device >> 20, device & 0xfffff);
	name = strrchr(to, '/');
	w->disk[w->nr_disks++] = device;
	send_name(c, BRACKET_BLOCK, i + 1, name ? name + 1 : "");
	return i + 1;
}

static void send_block(struct collector *c, const struct pt_waits_block *r)
{
	struct pt_waits_block named = *r;

	named.kind |= disk_number(c, r->device) << 8;
	send_content(c, &r->head, &named.head + 1, sizeof(named) - sizeof(named.head), REC_BLOCK);
}

/* Is this the serving side of a connection? */
static bool socket_serves(struct collector *c, const struct pt_waits_object *r)
{
	struct waits_tracing *w = c->waits;
	struct rec_thread_snapshot snapshot = {0};
	struct pt_task_now now = {.tgid = r->tgid, .tid = r->tgid, .fd = PT_NO_FD};
	struct wait_text text;

	if (r->object.end)
		return r->object.end == PT_END_SERVER;
	if (r->head.at - w->objects_ns > SOCKETS_MS * 1000000ull) {
		w->objects_ns = r->head.at;
		w->objects = 0;
	}
	if (w->objects++ >= SOCKETS)
		return false;
	now.regs[PT_REG_ORIG_AX] = 0; /* as if it slept in read() */
	now.regs[PT_REG_DI] = r->fd;
	snapshot_wait(c->kernel, &now, &snapshot, &text);
	return snapshot.serves;
}

static void send_object(struct collector *c, const struct pt_waits_object *r)
{
	struct pt_record_sleep sleep = {.head = {.tgid = r->tgid, .tid = r->tgid},
					.args = {r->fd},
					.fd = r->fd,
					.object = r->object};
	struct rec_sleep s = {.call = "read", .name = ""};
	char name[256] = "", quota[96];

	if (r->quota.period_ns) {
		quota_owner(&r->quota, name, sizeof(name));
		quota_text(&r->quota, quota, sizeof(quota));
		snprintf(name + strlen(name), sizeof(name) - strlen(name), " (%s)", quota);
		s.name = name;
	} else {
		sleep_object(c->kernel, &sleep, &s, name, sizeof(name));
	}
	send_record(c, &(struct record){.type = REC_OBJECT,
					.object = {
					    .object = r->number,
					    .kind = s.object,
					    .serves = r->object.family && socket_serves(c, r),
					    .name = s.name,
					}});
}

/* ---- sleeps that began before the window */

/*
 * Such a sleep may last until the window ends: then nobody is seen to end it. If a thread of a
 * target reads from a pipe or waits for a child, say who can end it, as an object of its own.
 * Returns its number, or 0: not known.
 */
static uint32_t awaited_send(struct collector *c, const struct pt_asleep_in *in)
{
	struct pt_task_now now = {
	    .tgid = c->waits->listed_pid, .tid = in->tid, .fd = PT_NO_FD, .state = 1};
	bool for_child = in->syscall == SYS_wait4 || in->syscall == SYS_waitid;
	struct rec_thread_snapshot snapshot = {0};
	struct wait_text text;
	uint32_t number;

	if (in->tid != c->waits->listed_tid ||
	    !(for_child || in->syscall == SYS_read || in->syscall == SYS_readv))
		return 0;
	now.regs[PT_REG_ORIG_AX] = (uint64_t)in->syscall;
	now.regs[PT_REG_DI] = in->args[0];
	now.regs[PT_REG_SI] = in->args[1];
	now.regs[PT_REG_DX] = in->args[2];
	snapshot_wait(c->kernel, &now, &snapshot, &text);
	snapshot_pipe(c->kernel, &now, &snapshot, &text);
	if (!snapshot.sleep.waker[0])
		return 0;
	number =
	    __atomic_add_fetch(&kernel_side_control(c->kernel)->waits.objects, 1, __ATOMIC_RELAXED);
	send_record(c, &(struct record){.type = REC_OBJECT,
					.object = {
					    .object = number,
					    .kind = snapshot.sleep.object,
					    /* a child that was given by its number, too */
					    .serves = snapshot.awaits == AWAITS_CHILD ||
						      (for_child && snapshot.awaits == now.awaits),
					    .name = snapshot.sleep.waker,
					}});
	return number;
}

static void send_asleep(struct collector *c, const struct pt_waits_asleep *r)
{
	struct pt_asleep_in in = r->in;
	uint32_t awaited = r->head.cpu == PT_NO_CPU ? awaited_send(c, &in) : 0;

	in.object = awaited ? awaited : in.object;
	send_content(c, &r->head, &in, sizeof(in), REC_ASLEEP);
}

/* ---- */

void waits_record(void *ctx, const struct pt_waits_head *h, size_t size)
{
	static const size_t sizes[] = {
	    [PT_WAITS_TASK] = sizeof(struct pt_waits_task),
	    [PT_WAITS_SWITCH] = sizeof(struct pt_waits_switch),
	    [PT_WAITS_ASLEEP] = sizeof(struct pt_waits_asleep),
	    [PT_WAITS_WAKING] = sizeof(struct pt_waits_waking),
	    [PT_WAITS_LIFE] = sizeof(struct pt_waits_life),
	    [PT_WAITS_BLOCK] = sizeof(struct pt_waits_block),
	    [PT_WAITS_WORK] = sizeof(struct pt_waits_work),
	    [PT_WAITS_STACK] = offsetof(struct pt_waits_stack, frames),
	    [PT_WAITS_USER_STACK] = offsetof(struct pt_waits_user_stack, stack),
	    [PT_WAITS_NAME] = sizeof(struct pt_waits_name),
	    [PT_WAITS_OBJECT] = sizeof(struct pt_waits_object),
	    [PT_WAITS_SAMPLE] = sizeof(struct pt_waits_sample),
	    [PT_WAITS_SLEEP] = sizeof(struct pt_waits_sleep),
	};
	struct collector *c = ctx;
	const char *name;

	if (h->kind >= sizeof(sizes) / sizeof(sizes[0]) || !sizes[h->kind] ||
	    size < sizes[h->kind] || h->window != c->waits->window)
		return;
	switch ((enum pt_waits_kind)h->kind) {
	case PT_WAITS_TASK:
		send_task(c, (const struct pt_waits_task *)h);
		break;
	case PT_WAITS_SWITCH:
		send_content(c, h, h + 1, sizes[h->kind] - sizeof(*h), REC_SWITCH);
		break;
	case PT_WAITS_SAMPLE:
		send_content(c, h, h + 1, sizes[h->kind] - sizeof(*h), REC_RUN_SAMPLE);
		break;
	case PT_WAITS_ASLEEP:
		send_asleep(c, (const struct pt_waits_asleep *)h);
		break;
	case PT_WAITS_SLEEP:
		send_content(c, h, &((const struct pt_waits_sleep *)h)->in,
			     sizeof(struct pt_asleep_in), REC_ASLEEP);
		send_content(c, h, &((const struct pt_waits_sleep *)h)->switched,
			     sizeof(struct pt_switched), REC_SWITCH);
		break;
	case PT_WAITS_WAKING:
		send_content(c, h, h + 1, sizes[h->kind] - sizeof(*h), REC_WAKING);
		break;
	case PT_WAITS_LIFE:
		send_life(c, (const struct pt_waits_life *)h);
		break;
	case PT_WAITS_BLOCK:
		send_block(c, (const struct pt_waits_block *)h);
		break;
	case PT_WAITS_WORK:
		send_content(c, h, h + 1, sizes[h->kind] - sizeof(*h), REC_WORK);
		break;
	case PT_WAITS_STACK:
		send_stack(c, (const struct pt_waits_stack *)h);
		break;
	case PT_WAITS_USER_STACK:
		send_user_stack(c, (const struct pt_waits_user_stack *)h);
		break;
	case PT_WAITS_NAME:
		name = kernel_name(((const struct pt_waits_name *)h)->address);
		send_name(c, ((const struct pt_waits_name *)h)->kind,
			  ((const struct pt_waits_name *)h)->number, name ? name : "");
		break;
	case PT_WAITS_OBJECT:
		send_object(c, (const struct pt_waits_object *)h);
		break;
	}
}
