// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/known_stacks.h"

enum { SLOTS = 512 };
/* Indices of the registers in struct pt_regs of x86-64. */
enum { REG_IP = 16, REG_SP = 19 };

struct known_stack {
	struct stack_place at;
	/* different callers were seen at this place: the frames are not known */
	bool several;
	uint32_t nr;
	struct rec_frame *frames; /* outermost first; NULL: the entry is free */
};

struct known_stacks {
	struct known_stack slot[SLOTS];
};

struct stack_place stack_place_of(const struct rec_thread_snapshot *l, const uint64_t *regs,
				  uint32_t nr_regs)
{
	if (nr_regs <= REG_SP)
		return (struct stack_place){0};
	return (struct stack_place){l->pid, l->tid, regs[REG_IP], regs[REG_SP]};
}

struct known_stacks *known_stacks_new(void)
{
	return calloc(1, sizeof(struct known_stacks));
}

void known_stacks_free(struct known_stacks *k)
{
	for (size_t i = 0; k && i < SLOTS; i++)
		free(k->slot[i].frames);
	free(k);
}

static size_t slot_of(struct stack_place at)
{
	uint64_t hash = ((at.ip * 31 + at.sp) * 31 + at.tid) * 0x9e3779b97f4a7c15ull;

	return hash >> 32 & (SLOTS - 1);
}

static bool is_at(const struct known_stack *k, struct stack_place at)
{
	return k->frames && k->at.pid == at.pid && k->at.tid == at.tid && k->at.ip == at.ip &&
	       k->at.sp == at.sp;
}

static bool same_function(const struct rec_frame *a, const struct rec_frame *b)
{
	if (a->module != b->module)
		return false;
	return a->function || b->function ? a->function == b->function : a->offset == b->offset;
}

/* True if the innermost frames of `k` are those of `l`. A function may have called the next one
 * from several places. */
static bool ends_in(const struct known_stack *k, const struct rec_thread_snapshot *l)
{
	bool same = k->nr >= l->nr_frames;

	for (uint32_t i = 0; same && i < l->nr_frames; i++)
		same = same_function(&k->frames[k->nr - l->nr_frames + i], &l->frames[i]);
	return same;
}

static bool same_frames(const struct known_stack *k, const struct rec_thread_snapshot *l)
{
	return k->nr == l->nr_frames && ends_in(k, l);
}

void known_stacks_note(struct known_stacks *k, struct stack_place at,
		       const struct rec_thread_snapshot *l)
{
	struct known_stack *s = &k->slot[slot_of(at)];
	struct rec_frame *frames;

	if (l->kind != WITNESS_SLEEP || l->stop || !l->nr_frames || !at.ip)
		return;
	if (is_at(s, at)) {
		s->several |= !same_frames(s, l);
		return;
	}
	frames = malloc(l->nr_frames * sizeof(*frames));
	if (!frames)
		return;
	memcpy(frames, l->frames, l->nr_frames * sizeof(*frames));
	free(s->frames);
	*s = (struct known_stack){.at = at, .nr = l->nr_frames, .frames = frames};
}

bool known_stacks_fill(const struct known_stacks *k, struct stack_place at,
		       struct rec_thread_snapshot *l)
{
	const struct known_stack *s = &k->slot[slot_of(at)];

	if (l->kind != WITNESS_SLEEP || !at.ip || !is_at(s, at) || s->several)
		return false;
	l->nr_frames = s->nr;
	l->frames = s->frames;
	return true;
}

bool known_stacks_complete(const struct known_stacks *k, struct stack_place at,
			   struct rec_thread_snapshot *l)
{
	const struct known_stack *s = &k->slot[slot_of(at)];

	if (!is_at(s, at) || !ends_in(s, l) || !known_stacks_fill(k, at, l))
		return false;
	l->stop = 0;
	l->stop_text = "";
	return true;
}
