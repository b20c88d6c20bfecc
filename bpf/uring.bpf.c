// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests of io_uring: their latencies, and the file of one that sleeps. */
#include "bpf/asleep.h"
#include "bpf/measure.h"
#include "bpf/phases.h"

/* Records the file of a request, because io_uring_enter() has only the descriptor of the ring. The
 * type of the first argument differs between kernels. Registered files have no descriptor and do
 * not pass this tracepoint. */
SEC("tp_btf/io_uring_file_get")
int BPF_PROG(on_uring_file, void *request, int fd)
{
	u64 id = bpf_get_current_pid_tgid();
	struct pt_control *c = the_control();
	struct pt_asleep *a;

	if (!c || !c->descend_slot || !is_target(c, id >> 32))
		return 0;
	a = asleep_of((u32)id);
	if (a)
		a->uring_fd = fd;
	return 0;
}

/* ---- latencies: from the submission to the completion, or to the last one of several (the others
 * do not tell their request). The requests share the bursts of the system calls that submit them.
 */

enum { FIXED_FILE = 1 /* IOSQE_FIXED_FILE: a file that is registered, without a descriptor */ };

INLINE void request_forget(struct pt_control *c, u64 *key, struct pt_uring *u)
{
	if (u->burst == c->sys_burst)
		__sync_fetch_and_sub(&c->uring_open, 1);
	bpf_map_delete_elem(&urings, key);
}

INLINE int request_submitted(struct io_kiocb *req)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), key = (u64)req;
	struct pt_uring u = {}, *before;

	if (!c)
		return 0;
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_SYSCALL_OTHER);
		return 0;
	}
	/* a request that ended without a completion, of which this one has the memory */
	before = bpf_map_lookup_elem(&urings, &key);
	if (before)
		request_forget(c, &key, before);
	u.start = bpf_ktime_get_ns();
	if (!gate_is_open(c, GATE_SYSCALL, u.start) || !counts_now(c, id >> 32, (u32)id))
		return 0;
	u.tgid = id >> 32;
	u.tid = (u32)id;
	u.burst = c->sys_burst;
	u.opcode = BPF_CORE_READ(req, opcode);
	u.fd = BPF_CORE_READ(req, flags) & FIXED_FILE ? -1 : BPF_CORE_READ(req, cqe.fd);
	if (!bpf_map_update_elem(&urings, &key, &u, BPF_ANY))
		__sync_fetch_and_add(&c->uring_open, 1);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *req)
{
	return request_submitted(req);
}

/* The name until Linux 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_sqe, struct io_kiocb *req)
{
	return request_submitted(req);
}

INLINE void request_count(struct pt_control *c, struct io_kiocb *req, struct pt_uring *u, u64 now)
{
	struct pt_record_sample *r;
	u64 op = u->opcode, ns;
	u32 slot;

	HIDE(op);
	slot = op < PT_URING_OPS ? slot_allotted(c, &c->uring_slot[op]) : 0;
	if (!slot || slot >= PT_SLOTS)
		return;
	ns = hist_count(c, slot, now - u->start);
	r = sample_begin(c, slot, u->tgid, u->tid, u->start, ns);
	if (!r)
		return;
	r->ret = BPF_CORE_READ(req, cqe.res);
	r->args[0] = (u32)u->fd;
	r->known = KNOWN_RET | (u->fd >= 0 ? KNOWN_ARG0 : 0);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete, void *ring, struct io_kiocb *req)
{
	struct pt_control *c = the_control();
	u64 now = bpf_ktime_get_ns(), key = (u64)req;
	struct pt_uring *u;

	if (!c)
		return 0;
	u = bpf_map_lookup_elem(&urings, &key);
	if (!u)
		return 0;
	count_hit(PT_HIT_SYSCALL);
	if (u->burst == c->sys_burst && gate_is_open(c, GATE_URING, u->start) &&
	    counts_still(c, u->start))
		request_count(c, req, u, now);
	request_forget(c, &key, u);
	return 0;
}
