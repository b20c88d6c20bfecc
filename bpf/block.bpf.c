// SPDX-License-Identifier: GPL-2.0-or-later
/* Block requests. */
#include "bpf/measure.h"
#include "bpf/phases.h"

INLINE void request_seen(struct request *rq)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), key = (u64)rq;
	struct pt_request q = {};
	struct gendisk *disk;

	if (!c || !is_target(c, id >> 32))
		return;
	if (bpf_map_lookup_elem(&requests, &key))
		return;
	count_hit(PT_HIT_BLOCK);
	/* record a request from outside of a phase, too, or its next step would be taken for
	 * its start */
	q.start = bpf_ktime_get_ns();
	if (!in_phase(c, id >> 32) || !gate_is_open(c, GATE_BLOCK, q.start))
		q.start = 0;
	q.sector = rq->__sector;
	q.bytes = rq->__data_len;
	q.flags = rq->cmd_flags;
	q.tgid = id >> 32;
	q.tid = (u32)id;
	disk = BPF_CORE_READ(rq, q, disk);
	if (disk)
		q.device = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	bpf_map_update_elem(&requests, &key, &q, BPF_ANY);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_block_start, struct request *rq)
{
	request_seen(rq);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_insert, struct request *rq)
{
	request_seen(rq);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_issue, struct request *rq)
{
	request_seen(rq);
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
	q = bpf_map_lookup_elem(&requests, &key);
	/* a request can complete in parts: the last part ends it */
	if (!q || rq->__data_len > bytes)
		return 0;
	count_hit(PT_HIT_BLOCK);
	if (q->start && c->slot_block && c->slot_block < PT_SLOTS) {
		ns = hist_count(c, c->slot_block, now - q->start);
		r = sample_begin(c, c->slot_block, q->tgid, q->tid, q->start, ns);
		if (r) {
			r->known = KNOWN_RET | KNOWN_ARG0 * 0xf;
			r->ret = (u32)error & 0xff;
			r->args[0] = q->flags & 0xff;
			r->args[1] = q->bytes;
			r->args[2] = q->sector;
			r->args[3] = q->device;
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		}
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
