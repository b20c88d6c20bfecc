// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/critical_feed.h"

#include "analysis/waits/critical_names.h"

enum { STATES = 4096 };
/* Owners of machines: a kind in the upper bits. */
enum { OWNER_TASK = 1, OWNER_REQUEST = 2, OWNER_WORK = 3 };

struct critical_feed *critical_feed_new(void)
{
	struct critical_feed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->critical = critical_new(&(struct critical_config){.max_states = STATES});
	f->names = calloc(STATES, sizeof(*f->names));
	f->slot = calloc(2 * STATES, sizeof(*f->slot));
	f->tasks = calloc(2 * STATES, sizeof(*f->tasks));
	if (!f->critical || !f->names || !f->slot || !f->tasks) {
		critical_feed_free(f);
		return NULL;
	}
	f->nr_names = 1; /* 0: the others */
	return f;
}

void critical_feed_free(struct critical_feed *f)
{
	if (!f)
		return;
	critical_free(f->critical);
	critical_path_release(&f->sum);
	free(f->names);
	free(f->slot);
	free(f->tasks);
	free(f);
}

static uint32_t state_number(struct critical_feed *f, const struct state_name *name)
{
	uint64_t hash = ((uint64_t)name->machine << 32 | name->tid) * 0x9e3779b97f4a7c15u;
	uint32_t i;

	hash = (hash ^ name->function.function ^ (uint64_t)name->detail << 40 ^
		(uint64_t)name->kind << 32 ^ (uint64_t)name->type << 56) *
	       0xff51afd7ed558ccdu;
	for (i = (uint32_t)(hash >> 40) & (2 * STATES - 1); f->slot[i];
	     i = (i + 1) & (2 * STATES - 1)) {
		if (!memcmp(&f->names[f->slot[i]], name, sizeof(*name)))
			return f->slot[i];
	}
	if (f->nr_names == STATES)
		return 0;
	f->names[f->nr_names] = *name;
	f->slot[i] = f->nr_names;
	return f->nr_names++;
}

/* The slot of a machine, or the free slot in which it belongs. */
static struct named_tasks *named_tasks_slot(const struct critical_feed *f, uint32_t machine)
{
	uint32_t i = (machine * 0x9e3779b9u) >> 16 & (2 * STATES - 1);

	while (f->tasks[i].machine && f->tasks[i].machine != machine)
		i = (i + 1) & (2 * STATES - 1);
	return &f->tasks[i];
}

/* Note that a task has a state. There are at most as many machines as states. */
static void named_tasks_note(struct critical_feed *f, const struct state_name *name, uint32_t tid)
{
	struct named_tasks *t;

	if (name->tid || !name->machine)
		return;
	t = named_tasks_slot(f, name->machine);
	if (!t->machine)
		*t = (struct named_tasks){.machine = name->machine, .tid = tid};
	else if (t->tid != tid)
		t->tid = 0;
}

uint32_t state_tid(const struct critical_feed *f, const struct state_name *name)
{
	if (name->tid || !name->machine || name->type > STATE_WAIT || name->type < STATE_RUN)
		return name->tid;
	return named_tasks_slot(f, name->machine)->tid;
}

static struct state_name name_of_task(const struct waits *w, uint32_t task, enum state_type type)
{
	const struct wait_task *t = task_at(w, task);
	struct state_name name;

	memset(&name, 0, sizeof(name));
	name.machine = t->comm;
	name.tid = t->flags & TASK_TARGET ? t->tid : 0;
	name.type = (uint16_t)type;
	return name;
}

uint32_t state_of_segment(struct waits *w, const struct segment *s)
{
	enum state_type type = s->state == SEGMENT_RUN	   ? STATE_RUN
			       : s->state == SEGMENT_READY ? STATE_READY
							   : STATE_WAIT;
	struct state_name name = name_of_task(w, s->task, type);
	const struct trace *stack = NULL;
	uint32_t number;

	/* most sampled stacks are unwound too late: the others alone would distort the shares */
	if (type == STATE_RUN && s->sampled && !(s->user_stack & TRACE_SAMPLED))
		stack = traces_find(w->traces, s->user_stack);
	if (stack && stack->nr_frames) {
		name.function.module = stack->frames[stack->nr_frames - 1].module;
		name.function.function = stack->frames[stack->nr_frames - 1].function;
	}
	/* of a wait for a CPU, what the task has waited for before */
	if (type != STATE_RUN) {
		name.kind = s->kind;
		name.detail = s->syscall;
	}
	if (type == STATE_WAIT)
		name.ender = s->cause.kind;
	number = state_number(w->feed, &name);
	if (number)
		named_tasks_note(w->feed, &name, task_at(w, s->task)->tid);
	return number;
}

uint32_t state_of_request(struct waits *w, uint32_t object, bool issued)
{
	struct state_name name;

	memset(&name, 0, sizeof(name));
	name.machine = object && object < w->nr_objects ? w->objects[object].name : 0;
	name.type = issued ? STATE_DEVICE : STATE_IO_QUEUE;
	return state_number(w->feed, &name);
}

static uint32_t machine_of(struct waits *w, uint32_t task)
{
	struct wait_task *t = task_at(w, task);

	t->machine =
	    critical_machine(w->feed->critical, t->machine, (uint64_t)OWNER_TASK << 60 | task);
	return t->machine;
}

/* Most turns are of two states, which are the same as long as the task's name is. */
static uint32_t state_of_turn(struct waits *w, uint32_t task, const struct segment *s)
{
	struct wait_task *t = task_at(w, task);
	uint32_t *known = s->state == SEGMENT_RUN ? &t->state_run : &t->state_ready;

	if (s->sampled || (s->state == SEGMENT_READY && s->kind))
		return state_of_segment(w, s);
	if (t->state_comm != t->comm || t->state_target != (t->flags & TASK_TARGET)) {
		t->state_comm = t->comm;
		t->state_target = t->flags & TASK_TARGET;
		t->state_run = t->state_ready = 0;
	}
	if (!*known)
		*known = state_of_segment(w, s);
	return *known;
}

void critical_turn(struct waits *w, uint32_t task, uint64_t now)
{
	struct wait_task *t = task_at(w, task);
	struct segment *s = &t->now;

	if (!w->feed)
		return;
	switch ((enum segment_state)s->state) {
	case SEGMENT_RUN:
	case SEGMENT_READY:
		critical_enter(w->feed->critical, machine_of(w, task), now,
			       state_of_turn(w, task, s));
		return;
	case SEGMENT_GONE:
		/* the path may end at a target; whoever else waits for its end has been woken */
		if (t->flags & TASK_TARGET) {
			critical_block(w->feed->critical, machine_of(w, task), now);
			return;
		}
		critical_drop(w->feed->critical, critical_find(w->feed->critical, t->machine,
							       (uint64_t)OWNER_TASK << 60 | task));
		t->machine = 0;
		return;
	case SEGMENT_NONE:
		return;
	default:
		critical_block(w->feed->critical, machine_of(w, task), now);
		return;
	}
}

/* The machine of a request that is not dropped yet; 0: none. */
static uint32_t machine_of_request(struct waits *w, uint64_t key)
{
	const struct block_request *q = keyed_find(&w->requests, key);

	return q ? critical_find(w->feed->critical, q->machine, (uint64_t)OWNER_REQUEST << 60 ^ key)
		 : 0;
}

void critical_waking(struct waits *w, uint32_t wakee, const struct wait_cause *cause, uint64_t key,
		     uint64_t now)
{
	struct wait_task *t = task_at(w, wakee);
	struct segment s = t->now;
	uint32_t machine = 0, source;
	bool unseen;

	if (!w->feed)
		return;
	machine = machine_of(w, wakee);
	/* who tells that a grace period is over has not made it longer, as in chains */
	if (s.state == SEGMENT_SLEEP && cause->kind != ENDER_LOST &&
	    wait_passes_by_itself((enum wait_kind)s.kind)) {
		s.cause = *cause;
		critical_external(w->feed->critical, machine, now, state_of_segment(w, &s));
		return;
	}
	unseen = cause->kind == ENDER_TASK && s.state == SEGMENT_SLEEP &&
		 s.kind != WAIT_KERNEL_IDLE && is_followed(w, cause->task) &&
		 task_at(w, cause->task)->joined_ns > s.from;
	if (unseen) {
		/* what its waker did until then is not known: all that is known is this wait */
		s.cause = *cause;
		critical_external(w->feed->critical, machine, task_at(w, cause->task)->joined_ns,
				  state_of_segment(w, &s));
	}
	switch ((enum wait_ender)cause->kind) {
	case ENDER_TASK:
	case ENDER_WORK:
	case ENDER_URING:
		if (is_followed(w, cause->task)) {
			source = machine_of(w, cause->task);
			critical_edge(w->feed->critical, source, machine, now);
			return;
		}
		break;
	case ENDER_REQUEST:
		source = machine_of_request(w, key);
		if (source) {
			critical_edge(w->feed->critical, source, machine, now);
			critical_drop(w->feed->critical, source);
			return;
		}
		break;
	case ENDER_UNKNOWN:
	case ENDER_UNKNOWN_IRQ:
	case ENDER_LOST:
	case ENDER_SELF:
		/* a missing edge: the deficit will show it */
		return;
	default:
		break;
	}
	/* An idle thread of the kernel does nothing for anybody: its path must not grow, or it
	 * would win whenever it wakes somebody whose path has lost a little. */
	if (s.state != SEGMENT_SLEEP || s.kind == WAIT_KERNEL_IDLE)
		return;
	s.cause = *cause;
	critical_external(w->feed->critical, machine, now, state_of_segment(w, &s));
}

void critical_fork(struct waits *w, uint32_t parent, uint32_t child, uint64_t now)
{
	if (w->feed && is_followed(w, parent))
		critical_edge(w->feed->critical, machine_of(w, parent), machine_of(w, child), now);
}

void critical_request(struct waits *w, uint64_t key, struct block_request *q, uint64_t now)
{
	uint64_t owner = (uint64_t)OWNER_REQUEST << 60 ^ key;
	struct critical *c = w->feed ? w->feed->critical : NULL;

	if (!c)
		return;
	if (q->issue_ns) {
		critical_enter(c, critical_find(c, q->machine, owner), now,
			       state_of_request(w, q->object, true));
		return;
	}
	q->machine = critical_machine(c, q->machine, owner);
	if (is_followed(w, q->task))
		critical_edge(c, machine_of(w, q->task), q->machine, now);
	critical_enter(c, q->machine, now, state_of_request(w, q->object, false));
}

void critical_queued(struct waits *w, uint64_t key, uint32_t task, uint64_t cause, uint64_t now)
{
	struct queued_work *q = keyed_find(&w->works, key);
	uint64_t owner = (uint64_t)OWNER_WORK << 60 ^ key;
	struct critical *c = w->feed ? w->feed->critical : NULL;
	struct state_name name;

	if (!c || !q)
		return;
	q->machine = critical_machine(c, q->machine, owner);
	if (q->by.kind == ENDER_TASK && is_followed(w, task))
		critical_edge(c, machine_of(w, task), q->machine, now);
	else if (q->by.kind == ENDER_REQUEST && machine_of_request(w, cause))
		critical_edge(c, machine_of_request(w, cause), q->machine, now);
	memset(&name, 0, sizeof(name));
	name.type = STATE_WORK_QUEUE;
	critical_enter(c, q->machine, now, state_number(w->feed, &name));
}

void critical_begun(struct waits *w, uint64_t key, uint32_t worker, uint64_t now)
{
	struct queued_work *q = keyed_find(&w->works, key);
	struct critical *c = w->feed ? w->feed->critical : NULL;
	uint32_t machine;

	if (!c || !q)
		return;
	machine = critical_find(c, q->machine, (uint64_t)OWNER_WORK << 60 ^ key);
	if (machine && is_followed(w, worker))
		critical_edge(c, machine, machine_of(w, worker), now);
	critical_drop(c, machine);
	q->machine = 0;
}

/* The target, of the chosen ones, whose path is longest. */
uint32_t critical_end(struct waits *w, uint64_t now)
{
	uint32_t best = NO_TASK;
	uint64_t best_ns = 0;

	for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++) {
		const struct wait_task *t = task_at(w, i);
		uint32_t machine =
		    critical_find(w->feed->critical, t->machine, (uint64_t)OWNER_TASK << 60 | i);
		uint64_t ns = critical_length(w->feed->critical, machine, now);

		if (is_chosen_target(w, t) && machine && (!best || ns > best_ns)) {
			best = i;
			best_ns = ns;
		}
	}
	return best;
}

int critical_sum_add(struct critical_path *sum, const struct critical_path *p)
{
	struct critical_edge_sum *edges = realloc(sum->edges, (p->nr_edges + 1) * sizeof(*edges));
	struct critical_state *states = NULL;

	if (edges)
		sum->edges = edges;
	if (!sum->states)
		sum->states = calloc(p->nr_states, sizeof(*states));
	if (!edges || !sum->states)
		return -ENOMEM;
	memset(edges + sum->nr_edges, 0, (p->nr_edges + 1 - sum->nr_edges) * sizeof(*edges));
	sum->nr_states = p->nr_states;
	sum->nr_edges = p->nr_edges;
	for (uint32_t i = 0; i < p->nr_states; i++) {
		uint64_t critical_ns = sum->states[i].critical_ns + p->states[i].critical_ns;

		/* all but the path itself counts since the begin */
		sum->states[i] = p->states[i];
		sum->states[i].critical_ns = critical_ns;
	}
	for (uint32_t i = 0; i < p->nr_edges; i++) {
		uint64_t critical_ns = edges[i].critical_ns + p->edges[i].critical_ns;

		edges[i] = p->edges[i];
		edges[i].critical_ns = critical_ns;
	}
	sum->length_ns += p->length_ns;
	sum->elapsed_ns += p->elapsed_ns;
	sum->deficit_ns += p->deficit_ns;
	sum->approximate |= p->approximate;
	sum->behind = p->behind;
	sum->behind_ns = p->behind_ns;
	sum->behind_machine = p->behind_machine;
	sum->silent_state = p->silent_state;
	return 0;
}

void critical_window_begin(struct waits *w, uint64_t now)
{
	if (w->feed)
		critical_restart(w->feed->critical, now);
}

void critical_window_end(struct waits *w, uint64_t now)
{
	struct critical_path path;
	uint32_t end;

	if (!w->feed)
		return;
	end = critical_end(w, now);
	if (critical_result(w->feed->critical, end ? machine_of(w, end) : 0, now, &path))
		return;
	critical_sum_add(&w->feed->sum, &path);
	w->feed->end = end;
	critical_path_release(&path);
}
