// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that are made: from the first SYN to the answer of the peer. The socket's state
 * changes to SYN_SENT in the call that connects, and so in the context of its task; it leaves that
 * state in whatever context the answer comes, or a timer gives up.
 */
#include "bpf/descriptors.h"
#include "bpf/phases.h"

enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_CLOSE = 7, CANCELLED = 125 };

INLINE void connect_begin(struct pt_control *c, u64 key)
{
	u64 id = bpf_get_current_pid_tgid();
	struct pt_request q = {};

	if (!is_target(c, id >> 32))
		return;
	q.start = bpf_ktime_get_ns();
	if (!counts_now(c, id >> 32, (u32)id) || !gate_is_open(c, GATE_NET, q.start))
		return;
	q.tgid = id >> 32;
	q.tid = (u32)id;
	bpf_map_update_elem(&connects, &key, &q, BPF_ANY);
}

INLINE void connect_sample(struct pt_record_sample *r, struct sock *sk, int state)
{
	int error = BPF_CORE_READ(sk, sk_err);
	u64 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	/* without an error, the program has closed the socket */
	r->ret = state != TCP_CLOSE ? 0 : error ? -error : -CANCELLED;
	r->args[0] = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	r->args[1] = retransmits_of(sk);
	r->blocks[1][0] = family;
	if (family == AF_INET)
		BPF_CORE_READ_INTO((u32 *)r->blocks[0], sk, __sk_common.skc_daddr);
	else
		bpf_probe_read_kernel(r->blocks[0], 16, &sk->__sk_common.skc_v6_daddr);
	r->known = KNOWN_RET | KNOWN_ARG0 * 3 | KNOWN_TEXT;
	count_hit(PT_READS);
}

/* False: the attempt failed before the first SYN, as no port was left. */
INLINE bool syn_was_sent(struct sock *sk, int state)
{
	return state != TCP_CLOSE || BPF_CORE_READ(sk, sk_err) ||
	       BPF_CORE_READ((struct tcp_sock *)sk, packets_out);
}

INLINE void connect_end(struct pt_control *c, struct sock *sk, u64 key, int state)
{
	struct pt_request *q = bpf_map_lookup_elem(&connects, &key);
	u64 now = bpf_ktime_get_ns(), ns;
	struct pt_record_sample *r;

	if (!q)
		return;
	count_hit(PT_HIT_BLOCK);
	if (syn_was_sent(sk, state) && gate_is_open(c, GATE_NET, q->start) &&
	    counts_still(c, q->start) && c->slot_connect && c->slot_connect < PT_SLOTS) {
		ns = hist_count(c, c->slot_connect, now - q->start);
		r = sample_begin(c, c->slot_connect, q->tgid, q->tid, q->start, ns);
		if (r) {
			connect_sample(r, sk, state);
			bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
		}
	}
	bpf_map_delete_elem(&connects, &key);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_socket_state, struct sock *sk, int before, int state)
{
	struct pt_control *c = the_control();
	u64 key = (u64)sk;

	if (!c || !(c->layers & ON_NET) || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	/* of two that connect to each other at once, each receives a SYN first */
	if (state == TCP_SYN_SENT)
		connect_begin(c, key);
	else if (state != TCP_SYN_RECV && (before == TCP_SYN_SENT || before == TCP_SYN_RECV))
		connect_end(c, sk, key, state);
	return 0;
}
