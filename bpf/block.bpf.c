// SPDX-License-Identifier: GPL-2.0-or-later
/* Block requests. */
#include "bpf/measure.h"
#include "bpf/phases.h"
#include "bpf/waits_objects.h"

/* ---- tracing of waits */

typedef void (*btf_trace_block_io_done)(void *, struct request *);

/* enum block_event */
enum { REQUEST_SUBMITTED = 0, REQUEST_ISSUED, REQUEST_COMPLETED };

enum { OPERATION = 0xff /* REQ_OP_MASK */ };

INLINE u32 device_of(struct request *rq)
{
	struct gendisk *disk = BPF_CORE_READ(rq, q, disk);

	return disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}

INLINE void request_send(struct pt_control *c, struct request *rq, struct pt_waits_request *q,
			 u32 event, u64 now)
{
	struct pt_waits_block *r;

	WAITS_RECORD(c, r, PT_WAITS_BLOCK, now);
	if (!r)
		return;
	r->request = (u64)rq;
	r->sector = rq->__sector;
	r->start = q->start;
	r->event = event;
	r->tid = q->tid;
	r->device = device_of(rq);
	r->bytes = rq->__data_len;
	r->object = q->object;
	r->kind = (rq->cmd_flags & OPERATION) + 1;
	WAITS_SEND(r);
}

/*
 * The current task, which is not followed, submits a request. If it is a thread of the kernel,
 * remember the request, so that the thread can be followed once a followed task has waited for it.
 */
NOINLINE struct pt_follow *submitter_follow(struct pt_control *c, struct task_struct *current,
					    u64 key, u64 now)
{
	struct pt_waits_request q = {.stranger = PT_STRANGER};
	struct pt_follow *f;
	u32 tid = current->pid;

	/* the idle tasks have no number of their own */
	if (!tid || !(current->flags & FLAG_KTHREAD))
		return 0;
	if (c->waits.submitter[tid & (PT_SUBMITTERS - 1)] != tid) {
		q.tid = tid;
		q.window = c->waits.window;
		bpf_map_update_elem(&waits_requests, &key, &q, BPF_ANY);
		waits_charge(now);
		return 0;
	}
	f = follow_begin(c, current, 1, now + EXPIRES_NS);
	if (f)
		waits_announce(c, current, f->flags, 'R', now);
	return f;
}

/* A request of a followed task is started, inserted or issued. */
NOINLINE int request_follow(struct pt_control *c, struct request *rq, u32 event)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u64 key = (u64)rq, now = bpf_ktime_get_ns();
	struct pt_waits_request *q = bpf_map_lookup_elem(&waits_requests, &key), fresh = {};
	struct irq_context *irq = irq_here();
	struct pt_follow *f;

	/* its completion may have come when no window was open */
	if (q && q->stranger == PT_STRANGER && q->window == c->waits.window)
		return 0;
	if (!q || q->stranger) {
		if (q)
			bpf_map_delete_elem(&waits_requests, &key);
		/* what an interrupt submits is not of the task under it */
		if (irq && irq->brackets)
			return 0;
		f = follow_of(c, current);
		if (!f)
			f = submitter_follow(c, current, key, now);
		if (!f)
			return 0;
		follow_show(c, f, current, now);
		fresh.start = current->start_boottime;
		fresh.tid = current->pid;
		if (follow_is_open(c, f, current) && !(f->flags & IS_KERNEL))
			fresh.object = object_number(c, current, true, now);
		bpf_map_update_elem(&waits_requests, &key, &fresh, BPF_ANY);
		request_send(c, rq, &fresh, REQUEST_SUBMITTED, now);
		q = &fresh;
	}
	if (event == REQUEST_ISSUED)
		request_send(c, rq, q, event, now);
	waits_charge(now);
	return 0;
}

/* All that is woken until the end of the completion was woken by this request. */
NOINLINE int request_complete(struct pt_control *c, struct request *rq)
{
	u64 key = (u64)rq, now = bpf_ktime_get_ns();
	struct pt_waits_request *q = bpf_map_lookup_elem(&waits_requests, &key);
	struct irq_context *irq = irq_here();

	if (irq) {
		bracket_pop_request(irq);
		/* the bracket ends with block_io_done, else with the interrupt around it */
		if (irq->brackets || bpf_core_type_exists(btf_trace_block_io_done))
			bracket_push(irq, IN_BLOCK, 0, key);
	}
	if (q && q->stranger)
		q->stranger = PT_STRANGER_DONE;
	if (!q || q->stranger)
		return 0;
	request_send(c, rq, q, REQUEST_COMPLETED, now);
	bpf_map_delete_elem(&waits_requests, &key);
	waits_charge(now);
	return 0;
}

SEC("tp_btf/block_io_done")
int BPF_PROG(on_block_done, struct request *rq)
{
	struct irq_context *irq = irq_here();
	struct pt_waits_request *q;
	u64 key = (u64)rq;

	if (!irq || !waits_on(the_control()))
		return 0;
	bracket_pop_request(irq);
	q = bpf_map_lookup_elem(&waits_requests, &key);
	if (q && q->stranger == PT_STRANGER_DONE)
		bpf_map_delete_elem(&waits_requests, &key);
	return 0;
}

/* ---- profiles */

/* A request with data is given to its device. Returns how far from the one before it begins, as
 * pt_request.distance. */
NOINLINE u64 request_distance(struct pt_control *c, struct request *rq)
{
	u64 key = (u64)rq->q, begin = rq->__sector, end = begin + (rq->__data_len >> 9), was;
	struct pt_request_end *last, fresh = {.sector = end, .at = bpf_ktime_get_ns()};
	bool is_last;

	if (end == begin)
		return 0;
	last = bpf_map_lookup_elem(&request_ends, &key);
	if (!last) {
		bpf_map_update_elem(&request_ends, &key, &fresh, BPF_ANY);
		return 0;
	}
	was = last->sector;
	/* others were not seen while the layer was off */
	is_last = c && gate_is_open(c, GATE_BLOCK, last->at);
	*last = fresh;
	if (!is_last)
		return 0;
	return (begin > was ? begin - was : was - begin) + 1;
}

#define REQUEST_FLAG(flags, name)                                                                  \
	((flags) >> bpf_core_enum_value(enum req_flag_bits, __REQ_##name) & 1 ? PT_REQUEST_##name  \
									      : 0)

INLINE u32 request_flags(u32 flags)
{
	return REQUEST_FLAG(flags, SYNC) | REQUEST_FLAG(flags, META) | REQUEST_FLAG(flags, FUA) |
	       REQUEST_FLAG(flags, PREFLUSH) | REQUEST_FLAG(flags, RAHEAD) |
	       REQUEST_FLAG(flags, BACKGROUND);
}

INLINE void request_seen(struct request *rq, u32 event)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), key = (u64)rq;
	struct pt_request q = {}, *seen;

	if (!c || !(c->layers & ON_BLOCK))
		return;
	if (event == REQUEST_ISSUED)
		q.distance = request_distance(c, rq);
	/* a worker of the kernel may issue what a target has submitted */
	seen = bpf_map_lookup_elem(&requests, &key);
	/* what was open when the layer was off may have ended unseen */
	if (seen && (!seen->start || gate_is_open(c, GATE_BLOCK, seen->start))) {
		if (event == REQUEST_ISSUED) {
			seen->issued = bpf_ktime_get_ns();
			seen->distance = q.distance;
		}
		return;
	}
	if (!is_target(c, id >> 32))
		return;
	count_hit(PT_HIT_BLOCK);
	/* record a request from outside of a phase, too, or its next step would be taken for
	 * its start */
	q.start = bpf_ktime_get_ns();
	q.issued = event == REQUEST_ISSUED ? q.start : 0;
	if (!counts_now(c, id >> 32, (u32)id) || !gate_is_open(c, GATE_BLOCK, q.start))
		q.start = 0;
	q.sector = rq->__sector;
	q.bytes = rq->__data_len;
	q.flags = rq->cmd_flags;
	q.tgid = id >> 32;
	q.tid = (u32)id;
	q.device = device_of(rq);
	bpf_map_update_elem(&requests, &key, &q, BPF_ANY);
}

INLINE int request_step(struct request *rq, u32 event)
{
	struct pt_control *c = the_control();

	if (waits_on(c))
		request_follow(c, rq, event);
	request_seen(rq, event);
	return 0;
}

/* One that ended without a completion must not lend its times to the next one at its address. */
INLINE void request_drop(struct request *rq)
{
	struct pt_control *c = the_control();
	u64 key = (u64)rq;

	if (c && c->layers & ON_BLOCK)
		bpf_map_delete_elem(&requests, &key);
	if (waits_on(c))
		bpf_map_delete_elem(&waits_requests, &key);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_block_start, struct request *rq)
{
	request_drop(rq);
	return request_step(rq, REQUEST_SUBMITTED);
}

/* The request has become a part of the one before it, and never completes. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_block_merge, struct request *rq)
{
	request_drop(rq);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_insert, struct request *rq)
{
	return request_step(rq, REQUEST_SUBMITTED);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_issue, struct request *rq)
{
	return request_step(rq, REQUEST_ISSUED);
}

/* Count the parts of a request: until it was issued to the device, and from then on. */
NOINLINE int request_parts_count(struct pt_control *c, struct pt_request *q, u64 now)
{
	if (!q->issued || c->slot_block_queue >= PT_SLOTS || c->slot_block_device >= PT_SLOTS)
		return 0;
	hist_count(c, c->slot_block_queue, q->issued - q->start);
	hist_count(c, c->slot_block_device, now - q->issued);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_block_complete, struct request *rq, int error, unsigned int bytes)
{
	struct pt_control *c = the_control();
	u64 now = bpf_ktime_get_ns(), key = (u64)rq, ns;
	struct pt_record_sample *r;
	struct pt_request *q;

	if (!c)
		return 0;
	if (waits_on(c) && rq->__data_len <= bytes)
		request_complete(c, rq);
	q = bpf_map_lookup_elem(&requests, &key);
	/* a request can complete in parts: the last part ends it */
	if (!q || rq->__data_len > bytes)
		return 0;
	count_hit(PT_HIT_BLOCK);
	if (gate_is_open(c, GATE_BLOCK, q->start) && counts_still(c, q->start) && c->slot_block &&
	    c->slot_block < PT_SLOTS) {
		ns = hist_count(c, c->slot_block, now - q->start);
		request_parts_count(c, q, now);
		r = sample_begin(c, c->slot_block, q->tgid, q->tid, q->start, ns);
		if (r) {
			r->known = KNOWN_RET | KNOWN_ARG0 * (q->distance ? 0x3f : 0x2f);
			r->ret = (u32)error & 0xff;
			r->args[0] = q->flags & OPERATION;
			r->args[1] = q->bytes;
			r->args[2] = q->sector;
			r->args[3] = q->device;
			r->args[4] = q->distance - 1;
			r->args[5] = request_flags(q->flags);
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		}
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
