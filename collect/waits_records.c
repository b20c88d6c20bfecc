// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes records for the front of what the BPF programs tell about waits. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/kernel_names.h"
#include "collect/kernel_waits.h"
#include "collect/sleeps.h"
#include "collect/snapshot_wait.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
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

static void send_task(struct collector *c, const struct pt_waits_task *r, uint32_t sequence)
{
	char comm[PT_COMM + 1];

	snprintf(comm, sizeof(comm), "%.*s", PT_COMM, r->comm);
	if (r->flags & TASK_FOLLOWED && r->flags & TASK_RESTRICTED)
		rights_check(c, r);
	send_record(c, &(struct record){.type = REC_TASK,
					.task = {.at_ns = since_start(c, r->head.at),
						 .start_ns = r->start,
						 .sequence = sequence,
						 .cpu = r->head.cpu,
						 .tid = r->tid,
						 .pid = r->pid,
						 .flags = flags_by_name(r->flags, comm),
						 .state = r->state,
						 .parent_start_ns = r->parent_start,
						 .parent_tid = r->parent_tid,
						 .comm = comm}});
}

static void send_life(struct collector *c, const struct pt_waits_life *r, uint32_t sequence)
{
	char comm[PT_COMM + 1];

	snprintf(comm, sizeof(comm), "%.*s", PT_COMM, r->comm);
	send_record(c, &(struct record){.type = REC_LIFE,
					.life = {.at_ns = since_start(c, r->head.at),
						 .start_ns = r->start,
						 .child_start_ns = r->child_start,
						 .sequence = sequence,
						 .cpu = r->head.cpu,
						 .event = r->event,
						 .tid = r->tid,
						 .child_tid = r->child_tid,
						 .child_pid = r->child_pid,
						 .flags = r->flags,
						 .comm = comm}});
}

/* ---- switches and wakings */

static void send_switch(struct collector *c, const struct pt_waits_switch *r, uint32_t sequence)
{
	send_record(c, &(struct record){.type = REC_SWITCH,
					.switched = {.at_ns = since_start(c, r->head.at),
						     .prev_start_ns = r->prev_start,
						     .next_start_ns = r->next_start,
						     .sequence = sequence,
						     .cpu = r->head.cpu,
						     .prev_tid = r->prev_tid,
						     .next_tid = r->next_tid,
						     .state = r->state,
						     .kernel_stack = r->kernel_stack,
						     .user_stack = r->user_stack,
						     .irq_ns = r->irq_ns}});
}

static void send_sample(struct collector *c, const struct pt_waits_sample *r, uint32_t sequence)
{
	send_record(c, &(struct record){.type = REC_RUN_SAMPLE,
					.run_sample = {.at_ns = since_start(c, r->head.at),
						       .sequence = sequence,
						       .cpu = r->head.cpu,
						       .tid = r->tid,
						       .kernel_stack = r->kernel_stack,
						       .user_stack = r->user_stack,
						       .irq_ns = r->irq_ns}});
}

static void send_asleep(struct collector *c, const struct pt_waits_asleep *r, uint32_t sequence)
{
	send_record(c, &(struct record){.type = REC_ASLEEP,
					.asleep = {.at_ns = since_start(c, r->head.at),
						   .args = {r->args[0], r->args[1], r->args[2]},
						   .asked_ns = r->asked,
						   .sequence = sequence,
						   .cpu = r->head.cpu,
						   .tid = r->tid,
						   .syscall = r->syscall,
						   .object = r->object,
						   .flags = r->flags}});
}

static void send_waking(struct collector *c, const struct pt_waits_waking *r, uint32_t sequence)
{
	send_record(c, &(struct record){.type = REC_WAKING,
					.waking = {.at_ns = since_start(c, r->head.at),
						   .current_start_ns = r->current_start,
						   .wakee_start_ns = r->wakee_start,
						   .brackets = r->brackets,
						   .cause = r->cause,
						   .sequence = sequence,
						   .cpu = r->head.cpu,
						   .current_tid = r->current_tid,
						   .wakee_tid = r->wakee_tid,
						   .kernel_stack = r->kernel_stack}});
}

/* ---- requests and work */

static void send_block(struct collector *c, const struct pt_waits_block *r, uint32_t sequence)
{
	send_record(c, &(struct record){.type = REC_BLOCK,
					.block = {.at_ns = since_start(c, r->head.at),
						  .request = r->request,
						  .sector = r->sector,
						  .start_ns = r->start,
						  .sequence = sequence,
						  .cpu = r->head.cpu,
						  .event = r->event,
						  .tid = r->tid,
						  .device = r->device,
						  .bytes = r->bytes,
						  .object = r->object}});
}

static void send_work(struct collector *c, const struct pt_waits_work *r, uint32_t sequence)
{
	send_record(c, &(struct record){.type = REC_WORK,
					.work = {.at_ns = since_start(c, r->head.at),
						 .work = r->work,
						 .start_ns = r->start,
						 .brackets = r->brackets,
						 .cause = r->cause,
						 .sequence = sequence,
						 .cpu = r->head.cpu,
						 .tid = r->tid,
						 .event = r->event}});
}

/* ---- stacks */

/* How many of the innermost frames belong to the tracing itself: BPF programs, what calls them at
 * a tracepoint, and the scheduler, which all stacks end with. */
static uint32_t own_frames(const uint64_t *frames, uint32_t nr)
{
	uint32_t own = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const char *name = kernel_name(frames[i] - (i > 0));

		if (name && (begins_with(name, "bpf_") || begins_with(name, "__traceiter_") ||
			     begins_with(name, "__bpf_trace_") || begins_with(name, "__schedule")))
			own = i + 1;
	}
	return own;
}

static void send_stack(struct collector *c, const struct pt_waits_stack *r)
{
	char line[KERNEL_LINE];
	uint32_t nr = r->nr < PT_WAITS_FRAMES ? r->nr : PT_WAITS_FRAMES,
		 own = own_frames((const uint64_t *)r->frames, nr);

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
	char path[64], text[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/actions", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (text[0])
		send_name(c, BRACKET_HARD, number, text);
}

void waits_names(struct collector *c)
{
	static const char *const soft[] = {"HI",       "TIMER",	  "NET_TX", "NET_RX",  "BLOCK",
					   "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	static const char *const vectors[] = {"reschedule", "call_function", "call_function_single",
					      "irq_work"};
	DIR *d = opendir("/sys/kernel/irq");
	struct dirent *e;

	for (uint32_t i = 0; i < sizeof(soft) / sizeof(soft[0]); i++)
		send_name(c, BRACKET_SOFT, i, soft[i]);
	for (uint32_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		send_name(c, BRACKET_IPI, i, vectors[i]);
	send_name(c, BRACKET_CLOCK, 0, "local timer");
	while (d && (e = readdir(d))) {
		unsigned long number = strtoul(e->d_name, NULL, 10);

		if (e->d_name[0] != '.' && number < 4096)
			send_device(c, (unsigned int)number);
	}
	if (d)
		closedir(d);
}

static uint32_t object_kind(const struct rec_sleep *s)
{
	switch (s->object) {
	case SLEEP_ON_FILE:
	case SLEEP_ON_FILE_LOCK:
		return OBJECT_FILE;
	case SLEEP_ON_SOCKET:
		return OBJECT_SOCKET;
	case SLEEP_ON_LOCAL:
		return OBJECT_LOCAL;
	case SLEEP_ON_PIPE:
		return OBJECT_PIPE;
	case SLEEP_ON_DEVICE:
		return begins_with(s->name, "/dev/pts/") || begins_with(s->name, "/dev/tty")
			   ? OBJECT_TERMINAL
			   : OBJECT_DEVICE;
	default:
		break;
	}
	if (strstr(s->name, "eventfd"))
		return OBJECT_EVENT;
	return strstr(s->name, "timerfd") ? OBJECT_TIMER : OBJECT_OTHER;
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
	snapshot_wait(&now, &snapshot, &text);
	return snapshot.serves;
}

static void send_object(struct collector *c, const struct pt_waits_object *r)
{
	struct pt_record_sleep sleep = {.head = {.tgid = r->tgid, .tid = r->tgid},
					.args = {r->fd},
					.fd = r->fd,
					.object = r->object};
	struct rec_sleep s = {.call = "read", .name = ""};
	char name[256] = "";

	sleep_object(&sleep, &s, name, sizeof(name));
	send_record(c, &(struct record){.type = REC_OBJECT,
					.object = {
					    .object = r->number,
					    .kind = object_kind(&s),
					    .serves = r->object.family && socket_serves(c, r),
					    .name = s.name,
					}});
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
	};
	struct collector *c = ctx;
	const char *name;

	if (h->kind >= sizeof(sizes) / sizeof(sizes[0]) || !sizes[h->kind] ||
	    size < sizes[h->kind] || h->window != c->waits->window)
		return;
	switch ((enum pt_waits_kind)h->kind) {
	case PT_WAITS_TASK:
		send_task(c, (const struct pt_waits_task *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_SWITCH:
		send_switch(c, (const struct pt_waits_switch *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_SAMPLE:
		send_sample(c, (const struct pt_waits_sample *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_ASLEEP:
		send_asleep(c, (const struct pt_waits_asleep *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_WAKING:
		send_waking(c, (const struct pt_waits_waking *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_LIFE:
		send_life(c, (const struct pt_waits_life *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_BLOCK:
		send_block(c, (const struct pt_waits_block *)h, sequence_of(c->waits, h));
		break;
	case PT_WAITS_WORK:
		send_work(c, (const struct pt_waits_work *)h, sequence_of(c->waits, h));
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
