/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the descriptors of a task refer to: files, sockets with their peers, and what an epoll
 * waits for. Read from the kernel's structures, so of any task.
 */
#pragma once

#include "bpf/measure.h"

enum { SOCK_DGRAM = 2 };
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, IPPROTO_TCP = 6, TCP_LISTEN = 10 };
enum {
	S_IFMT = 0170000,
	S_IFSOCK = 0140000,
	S_IFREG = 0100000,
	S_IFBLK = 0060000,
	S_IFCHR = 0020000,
	S_IFIFO = 0010000
};

INLINE struct fdtable *files_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, files, fdt);
}

INLINE struct file *file_in(struct fdtable *table, u32 fd)
{
	struct file *file = 0, **at;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	at = BPF_CORE_READ(table, fd);
	return bpf_probe_read_kernel(&file, sizeof(file), at + fd) ? 0 : file;
}

INLINE struct file *file_of(struct task_struct *task, u32 fd)
{
	return file_in(files_of(task), fd);
}

INLINE u32 mode_of(struct file *file)
{
	return file ? BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT : 0;
}

INLINE u32 retransmits_of(struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	u32 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	if ((family != AF_INET && family != AF_INET6) ||
	    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	return BPF_CORE_READ(tcp, total_retrans);
}

/*
 * True if a TCP socket has a small part of its data not sent, only because earlier data are not
 * acknowledged yet (Nagle's algorithm).
 */
SEPARATE int is_held_back(u64 socket)
{
	struct sock *sk = (struct sock *)socket;
	struct tcp_sock *tcp = (struct tcp_sock *)socket;
	u32 family = BPF_CORE_READ(sk, __sk_common.skc_family), unsent;

	if ((family != AF_INET && family != AF_INET6) ||
	    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP || !BPF_CORE_READ(tcp, packets_out) ||
	    BPF_CORE_READ_BITFIELD_PROBED(tcp, nonagle))
		return 0;
	unsent = BPF_CORE_READ(tcp, write_seq) - BPF_CORE_READ(tcp, snd_nxt);
	return unsent && unsent < BPF_CORE_READ(tcp, mss_cache);
}

INLINE struct sock *sock_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

/*
 * How many messages wait at the other end of a Unix datagram socket (in the upper half), and for
 * how many it has room (in the lower half); 0: it is none.
 */
SEPARATE u64 datagrams_of(u64 socket)
{
	struct unix_sock *here = (struct unix_sock *)socket;
	struct sock *sk = (struct sock *)socket, *there;

	if (!bpf_core_type_exists(struct unix_sock) ||
	    BPF_CORE_READ(sk, __sk_common.skc_family) != AF_UNIX ||
	    BPF_CORE_READ(sk, sk_type) != SOCK_DGRAM)
		return 0;
	there = BPF_CORE_READ(here, peer);
	if (!there)
		return 0;
	/* the queue is full when it is longer than the limit */
	return (u64)BPF_CORE_READ(there, sk_receive_queue.qlen) << 32 |
	       (BPF_CORE_READ(there, sk_max_ack_backlog) + 1);
}

/* Whose end of a Unix socket this is (enum pt_end). */
INLINE u32 unix_end(struct sock *sk)
{
	struct unix_sock *here = (struct unix_sock *)sk, *there;

	if (!bpf_core_type_exists(struct unix_sock))
		return PT_END_UNKNOWN;
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN || BPF_CORE_READ(here, addr))
		return PT_END_SERVER;
	there = (struct unix_sock *)BPF_CORE_READ(here, peer);
	if (!there)
		return PT_END_UNKNOWN;
	return BPF_CORE_READ(there, addr) ? PT_END_CLIENT : PT_END_PAIR;
}

/* Only the server's socket has a path: for a client's socket, use the path of its peer. */
INLINE void unix_fill(struct pt_object *o, struct sock *sk)
{
	struct unix_sock *here, *there;
	struct unix_address *address;
	u64 length;

	if (!bpf_core_type_exists(struct unix_sock))
		return;
	here = (struct unix_sock *)sk;
	address = BPF_CORE_READ(here, addr);
	there = (struct unix_sock *)BPF_CORE_READ(here, peer);
	if (!address && there)
		address = BPF_CORE_READ(there, addr);
	if (there)
		o->peer_inode =
		    BPF_CORE_READ((struct sock *)there, sk_socket, file, f_inode, i_ino);
	length = address ? BPF_CORE_READ(address, len) - sizeof(unsigned short) : 0;
	HIDE(length);
	if (!length || length > PT_SOCKET_PATH)
		return;
	bpf_probe_read_kernel(o->path, length,
			      (void *)address + bpf_core_field_offset(struct unix_address, name) +
				  2);
}

INLINE void socket_fill(struct pt_object *o, struct file *file)
{
	struct sock *sk = sock_of(file);
	struct pid *pid;
	u64 waiting;

	if (!sk)
		return;
	o->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (o->family == AF_UNIX) {
		pid = BPF_CORE_READ(sk, sk_peer_pid);
		if (pid)
			o->peer_pid = BPF_CORE_READ(pid, numbers[0].nr);
		o->end = unix_end(sk);
		waiting = datagrams_of((u64)sk);
		o->queued = waiting >> 32;
		o->room = waiting;
		unix_fill(o, sk);
		return;
	}
	o->network = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	o->protocol = BPF_CORE_READ(sk, sk_protocol);
	o->port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	o->own_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	o->retransmits = retransmits_of(sk);
	o->held_back = is_held_back((u64)sk);
	if (o->family == AF_INET) {
		BPF_CORE_READ_INTO((u32 *)o->peer, sk, __sk_common.skc_daddr);
		BPF_CORE_READ_INTO((u32 *)o->own, sk, __sk_common.skc_rcv_saddr);
	} else if (o->family == AF_INET6) {
		BPF_CORE_READ_INTO(&o->peer, sk, __sk_common.skc_v6_daddr);
		BPF_CORE_READ_INTO(&o->own, sk, __sk_common.skc_v6_rcv_saddr);
	}
}

/*
 * Describe a file by the address of its struct file: a socket by its peer, a regular file or FIFO
 * by the last part of its name. Always returns 0.
 */
SEPARATE int object_fill(struct pt_object *o, u64 address)
{
	struct file *file = (struct file *)address;

	if (!o)
		return 0;
	o->mode = mode_of(file);
	if (o->mode == S_IFSOCK)
		socket_fill(o, file);
	else if (o->mode == S_IFREG || o->mode == S_IFIFO)
		bpf_probe_read_kernel_str(o->file, sizeof(o->file),
					  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return 0;
}

/* The first file on the ready list of an epoll: it ended the wait. NULL: none. */
INLINE struct file *epoll_ready(struct file *epoll)
{
	struct eventpoll *ep = BPF_CORE_READ(epoll, private_data);
	struct list_head *first;
	struct epitem *item;

	if (!bpf_core_type_exists(struct eventpoll) || !ep)
		return 0;
	first = BPF_CORE_READ(ep, rdllist.next);
	if (!first ||
	    (void *)first == (void *)ep + bpf_core_field_offset(struct eventpoll, rdllist))
		return 0;
	item = (void *)first - bpf_core_field_offset(struct epitem, rdllink);
	return BPF_CORE_READ(item, ffd.file);
}

/* What can end a wait for one file. The later ones tell more about the wait. */
enum {
	ENDED_BY_SELF,	 /* pipes, timers, signals and the like */
	ENDED_BY_OTHERS, /* clients or a terminal */
	ENDED_BY_PAIR,	 /* the other end of a pair of Unix sockets, perhaps the thread's own */
	ENDED_BY_UNIX_SERVER, /* the server at the other end of a Unix socket */
	ENDED_BY_PEER,	      /* the other end of a connection over a network */
	ENDED_BY_ASKED	      /* the same, and the last data were sent to it: it is its turn */
};

/*
 * True if data were sent over this connection and nothing was received since. The times are ticks
 * of the kernel's clock; if both are the same, the data sent count as the later ones.
 */
INLINE bool is_asked(struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct inet_connection_sock *connection = (struct inet_connection_sock *)sk;

	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP || !BPF_CORE_READ(tcp, data_segs_out))
		return false;
	return !BPF_CORE_READ(tcp, data_segs_in) ||
	       (s32)(BPF_CORE_READ(tcp, lsndtime) - BPF_CORE_READ(connection, icsk_ack.lrcvtime)) >=
		   0;
}

/* True if the TCP socket of this file has ever received data. */
INLINE bool has_received(struct file *file)
{
	struct tcp_sock *tcp = file ? (struct tcp_sock *)sock_of(file) : 0;

	return tcp && BPF_CORE_READ(tcp, data_segs_in);
}

/*
 * Who can end a wait for the file at this address. A function of its own, so that the verifier
 * follows it once and not for each descriptor.
 */
SEPARATE u32 file_end(u64 address)
{
	struct file *file = (struct file *)address;
	u32 mode = mode_of(file), family;
	struct sock *sk;

	if (mode != S_IFSOCK)
		return mode == S_IFCHR ? ENDED_BY_OTHERS : ENDED_BY_SELF;
	sk = sock_of(file);
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family == AF_UNIX)
		switch (unix_end(sk)) {
		case PT_END_CLIENT:
			return ENDED_BY_UNIX_SERVER;
		case PT_END_PAIR:
			return ENDED_BY_PAIR;
		default:
			return ENDED_BY_OTHERS;
		}
	/* without a peer, anybody can send to it or connect */
	if ((family != AF_INET && family != AF_INET6) || !BPF_CORE_READ(sk, __sk_common.skc_dport))
		return ENDED_BY_OTHERS;
	return is_asked(sk) ? ENDED_BY_ASKED : ENDED_BY_PEER;
}

/*
 * The files of one wait: in the upper half how many (ENDS_BITS each) have which end, in the lower
 * half the descriptor of the first one of those that tell most. Without a branch for each kind: the
 * verifier follows every branch through all further files.
 */
enum { ENDS_BITS = 5 };

INLINE u64 ends_add(u64 ends, u32 end, u32 fd)
{
	u64 counts = ends >> 32;
	u32 shift = end % 8 * ENDS_BITS;

	if (!(counts >> shift))
		ends = fd;
	return (counts + (1ull << shift)) << 32 | (u32)ends;
}

/* How many of the files have this end. */
INLINE u32 ends_with(u64 ends, u32 end)
{
	return ends >> (32 + end * ENDS_BITS) & ((1 << ENDS_BITS) - 1);
}

enum { EPOLL_LOOKED = 7, EPOLL_INNER = 3 };

/*
 * What an epoll waits for (PT_AWAITS_..., in the upper half), by the files at the top of its tree,
 * three levels deep, and the descriptor of its only connection (in the lower half; else PT_NO_FD).
 * The tree is read without its lock: another thread may change it meanwhile.
 */
INLINE u64 epoll_awaits(struct file *epoll)
{
	struct eventpoll *ep = epoll ? BPF_CORE_READ(epoll, private_data) : 0;
	struct rb_node *node[2 * EPOLL_LOOKED + 1] = {};
	const u64 unknown = (u64)PT_AWAITS_UNKNOWN << 32 | PT_NO_FD;
	struct epitem *item;
	bool whole = true;
	u64 ends = 0;
	u32 connections;

	if (!ep || !bpf_core_type_exists(struct eventpoll) ||
	    !bpf_core_field_exists(struct eventpoll, rbr) ||
	    !bpf_core_field_exists(struct epitem, rbn))
		return unknown;
	node[0] = BPF_CORE_READ(ep, rbr.rb_root.rb_node);
	if (!node[0])
		return unknown;
#pragma unroll
	for (int i = 0; i < EPOLL_LOOKED; i++) {
		if (!node[i])
			continue;
		item = (void *)node[i] - bpf_core_field_offset(struct epitem, rbn);
		ends = ends_add(ends, file_end((u64)BPF_CORE_READ(item, ffd.file)),
				BPF_CORE_READ(item, ffd.fd));
		node[2 * i + 1] = BPF_CORE_READ(node[i], rb_left);
		node[2 * i + 2] = BPF_CORE_READ(node[i], rb_right);
		if (i >= EPOLL_INNER && (node[2 * i + 1] || node[2 * i + 2]))
			whole = false;
	}
	connections = ends_with(ends, ENDED_BY_UNIX_SERVER) + ends_with(ends, ENDED_BY_PEER) +
		      ends_with(ends, ENDED_BY_ASKED);
	if (ends_with(ends, ENDED_BY_OTHERS) || connections > 1 || (connections && !whole))
		return (u64)PT_AWAITS_OTHERS << 32 | PT_NO_FD;
	if (!whole)
		return unknown;
	if (connections)
		return (u64)PT_AWAITS_UNKNOWN << 32 | (u32)ends;
	return (ends_with(ends, ENDED_BY_PAIR) ? (u64)PT_AWAITS_PAIR << 32
					       : (u64)PT_AWAITS_OWN << 32) |
	       PT_NO_FD;
}
