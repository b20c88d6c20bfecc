// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/base/array.h"
#include "analysis/unwind/unwind.h"
#include "tui/parser/serve_internal.h"

enum {
	MAX_PROCESSES = 1024,
	MAX_MAPPINGS = 1 << 19, /* mappings of all processes together */
};

_Static_assert((int)PARSE_MAX_FRAMES == (int)UNWIND_MAX_FRAMES, "frames of one stack");
_Static_assert((int)PARSE_MAX_REGS == (int)UNWIND_PT_REGS, "registers of one thread");

struct process {
	uint32_t pid;
	uint64_t used;
	struct unwind_map *map; /* NULL: free */
};

struct server_unwind {
	struct unwinder *unwinder;
	uint32_t announced; /* the last module announced to the client (PARSED_AT) */
	struct process processes[MAX_PROCESSES];
	size_t nr_mappings;
};

/* The module of a stack frame. Announce the module first: if reading it crashes this process, the
 * client must know which module to blame. */
static struct module *module_on_stack(void *context, uint32_t number)
{
	struct server *s = context;
	struct parsed_at at = {.id = s->request.id, .module = number};
	const char *reason;
	int error;

	if (s->unwind->announced != number) {
		s->unwind->announced = number;
		if (server_send(s, PARSED_AT, &at) || channel_flush(s->channel) < 0)
			return NULL;
	}
	return server_module(s, number, &error, &reason);
}

static struct server_unwind *unwind_state(struct server *s)
{
	if (s->unwind)
		return s->unwind;
	s->unwind = calloc(1, sizeof(*s->unwind));
	if (s->unwind)
		s->unwind->unwinder = unwinder_new(module_on_stack, s);
	if (s->unwind && !s->unwind->unwinder) {
		free(s->unwind);
		s->unwind = NULL;
	}
	return s->unwind;
}

static void process_release(struct server_unwind *u, struct process *p)
{
	if (!p->map)
		return;
	u->nr_mappings -= unwind_map_size(p->map);
	unwind_map_free(p->map);
	*p = (struct process){0};
}

void server_unwind_free(struct server *s)
{
	if (!s->unwind)
		return;
	for (size_t i = 0; i < MAX_PROCESSES; i++)
		process_release(s->unwind, &s->unwind->processes[i]);
	unwinder_free(s->unwind->unwinder);
	free(s->unwind);
	s->unwind = NULL;
}

void server_unwind_forget(struct server *s, uint32_t module)
{
	if (s->unwind)
		unwinder_forget(s->unwind->unwinder, module);
}

static struct process *process_find(struct server_unwind *u, uint32_t pid)
{
	return find_first(i, u->processes, MAX_PROCESSES,
			  u->processes[i].map && u->processes[i].pid == pid);
}

/* Return a free slot with room for this many mappings. Evicts the least recently used processes. */
static struct process *process_place(struct server_unwind *u, size_t nr_mappings)
{
	struct process *unused, *oldest;

	for (;;) {
		unused = oldest = NULL;
		for (size_t i = 0; i < MAX_PROCESSES; i++) {
			struct process *p = &u->processes[i];

			if (!p->map)
				unused = p;
			else if (!oldest || p->used < oldest->used)
				oldest = p;
		}
		if (unused && (!oldest || u->nr_mappings + nr_mappings <= MAX_MAPPINGS))
			return unused;
		process_release(u, oldest);
	}
}

static struct unwind_map *map_of(const struct parse_request *r)
{
	struct unwind_mapping *list = calloc(r->nr_mappings + 1, sizeof(*list));
	struct unwind_map *map;

	if (!list)
		return NULL;
	for (uint32_t i = 0; i < r->nr_mappings; i++) {
		const struct parse_mapping *m = &r->mappings[i];

		list[i] = (struct unwind_mapping){m->start, m->end, m->offset, m->module};
	}
	map = unwind_map_new(list, r->nr_mappings);
	free(list);
	return map;
}

int serve_mappings(struct server *s)
{
	const struct parse_request *r = &s->request;
	struct parsed_mappings answer = {.error = 0};
	struct server_unwind *u = unwind_state(s);
	struct unwind_map *map = u && r->nr_mappings ? map_of(r) : NULL;
	struct process *p = u ? process_find(u, r->pid) : NULL;

	if (!u || (r->nr_mappings && !map)) {
		answer.error = -ENOMEM;
		answer.reason = module_error_text(-ENOMEM);
		return server_answer(s, PARSED_MAPPINGS, &answer);
	}
	if (p)
		process_release(u, p);
	if (map) {
		answer.nr = (uint32_t)unwind_map_size(map);
		*process_place(u, answer.nr) = (struct process){r->pid, s->requests, map};
		u->nr_mappings += answer.nr;
	}
	return server_answer(s, PARSED_MAPPINGS, &answer);
}

/* Check the request. 0 with the process in `p`, or a negative errno with `reason`. */
static int unwind_check(struct server *s, struct process **p, const char **reason)
{
	const struct parse_request *r = &s->request;
	struct server_unwind *u = unwind_state(s);

	*reason = "";
	if (!u) {
		*reason = module_error_text(-ENOMEM);
		return -ENOMEM;
	}
	if (r->nr_regs != UNWIND_PT_REGS) {
		*reason = "the request contains no registers";
		return -EINVAL;
	}
	*p = process_find(u, r->pid);
	if (!*p) {
		*reason = "the memory map of this process is not known";
		return -ESTALE;
	}
	(*p)->used = s->requests;
	return 0;
}

static int answer_frames(struct server *s, const struct unwind_stack *stack)
{
	struct parsed_frame frames[UNWIND_MAX_FRAMES];
	struct parsed_frames answer = {
	    .reason = unwind_stop_text(stack->stop),
	    .stop = stack->stop,
	    .missing = stack->missing,
	    .nr = stack->nr,
	    .frames = frames,
	};

	for (unsigned int i = 0; i < stack->nr; i++) {
		const struct unwind_frame *f = &stack->frames[i];

		frames[i] =
		    (struct parsed_frame){f->module, f->offset, f->function, f->cfa, f->flags};
	}
	return server_answer(s, PARSED_FRAMES, &answer);
}

/* The memory of the thread that the request has. Returns the number of parts. */
static size_t memory_of(const struct parse_request *r, uint64_t sp,
			struct unwind_memory out[1 + STACK_PIECES])
{
	size_t nr = 0;

	out[nr++] = (struct unwind_memory){sp, r->words, r->nr_words * sizeof(r->words[0])};
	for (uint32_t i = 0; nr <= STACK_PIECES && r->nr_pieces - i > 2; nr++) {
		const uint64_t *piece = &r->pieces[i];

		if (piece[1] > r->nr_pieces - i - 2)
			break;
		out[nr] = (struct unwind_memory){piece[0], piece + 2, piece[1] * sizeof(*piece)};
		i += 2 + (uint32_t)piece[1];
	}
	return nr;
}

int serve_unwind(struct server *s)
{
	const struct parse_request *r = &s->request;
	struct parsed_frames refusal = {.error = 0};
	struct unwind_memory memory[1 + STACK_PIECES];
	struct unwind_stack stack;
	struct unwind_input in;
	struct process *p = NULL;
	uint64_t registers[ROW_REGISTERS];

	refusal.error = unwind_check(s, &p, &refusal.reason);
	if (refusal.error)
		return server_answer(s, PARSED_FRAMES, &refusal);
	unwind_registers(r->regs, registers);
	in = (struct unwind_input){registers, memory, memory_of(r, registers[ROW_RSP], memory),
				   p->map};
	s->unwind->announced = 0;
	unwind(s->unwind->unwinder, &in, &stack);
	return answer_frames(s, &stack);
}
