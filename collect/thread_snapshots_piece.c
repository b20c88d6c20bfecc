// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads more of the stack of a sleeping thread. A copy of a stack ends inside a frame that is
 * larger than it, for example one with a buffer of 100 KB. The parser knows from the call frame
 * information where the return address of that frame lies; the collector reads only what is there.
 */
#include "collect/reader.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/thread_snapshots.h"
#include "collect/thread_snapshots_state.h"

/* A stack is not larger: other memory of the target is none of the front's business. */
#define LARGEST_STACK (64ull << 20)
/* Below a return address a function saves registers, which the caller's rules may need. */
#define BELOW 64

struct piece {
	const struct req_stack_piece *req;
	uint64_t address, words[STACK_PIECE_WORDS];
	uint32_t nr;
	bool still;
};

/* The piece counts only if the thread has slept since its registers were read. */
static void piece_task(void *ctx, const struct pt_task_now *now)
{
	struct piece *p = ctx;

	if (now->tid != p->req->tid || now->tgid != p->req->pid)
		return;
	p->still =
	    now->state && now->switches == p->req->switches && now->regs[PT_REG_SP] == p->req->sp;
	replaced_restore(&now->replaced, p->address, p->words, p->nr);
}

static void piece_read(struct collector *c, struct piece *p)
{
	const struct req_stack_piece *req = p->req;
	struct reader_piece piece = {.pid = (pid_t)req->pid,
				     .address = p->address,
				     .bytes = sizeof(p->words),
				     .to = p->words,
				     .holes = true};

	if (!target_by_pid(c, req->pid) || req->sp % 8 || req->address < req->sp ||
	    req->address - req->sp > LARGEST_STACK)
		return;
	/* is it its stack at all? A front that was taken over must not read anything else */
	kernel_side_task(c->kernel, req->tid, piece_task, p);
	if (!p->still)
		return;
	reader_memory(&piece, 1);
	p->nr = piece.got / sizeof(p->words[0]);
	p->still = false;
	kernel_side_task(c->kernel, req->tid, piece_task, p);
}

void snapshot_piece(struct collector *c, const struct req_stack_piece *req)
{
	struct piece p = {.req = req, .address = req->address / 8 * 8 - BELOW};

	if (p.address < req->sp)
		p.address = req->sp;
	piece_read(c, &p);
	send_record(c, &(struct record){.type = REC_STACK_PIECE,
					.stack_piece = {.tid = req->tid,
							.wanted = req->address,
							.address = p.address,
							.nr_words = p.still ? p.nr : 0,
							.words = p.words}});
}
