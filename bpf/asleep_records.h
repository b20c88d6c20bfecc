/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread sleeps on. Part of records.h, which includes it. */
#include "bpf/records.h"
#ifndef PEAKTOP_ASLEEP_RECORDS_H
#define PEAKTOP_ASLEEP_RECORDS_H

enum { PT_NO_FD = 0xffffffff };

/* An interval in which a thread was off its CPU. */
struct pt_past {
	pt_u64 since, until;
	pt_s32 syscall;	    /* system call in which it slept; -1: none */
	pt_u32 preempt_pid; /* 0: it slept; else the task that took its CPU */
	char preempt_comm[PT_COMM];
};

/* What a thread did while another one waited for it. */
enum pt_did { PT_DID_UNKNOWN = 0, PT_DID_RUN, PT_DID_SLEEP, PT_DID_WAIT_FOR_CPU };

/* A system call that failed in a way in which the next try may succeed. */
struct pt_tried {
	pt_u32 call;  /* number + 1; 0: none */
	pt_u32 error; /* errno */
	pt_u64 args[2];
	pt_u32 owner; /* of a lock on a file: the process that has it; 0: not known */
	pt_u32 later; /* calls that have not failed since */
};

/*
 * What a thread waits for, recorded as it falls asleep inside a call of f0, because its memory
 * can be read only while it is the current task. Also its last off-CPU intervals, which explain
 * the sleeps of threads that wait for it.
 */
struct pt_asleep {
	pt_u64 since;		      /* pt_thread.off_since of this sleep */
	pt_u64 asked;		      /* ns after which a timer ends the sleep; 0: no timer */
	pt_u32 fd;		      /* descriptor that it waits for; PT_NO_FD: none */
	pt_u32 io;		      /* 1: it waits in the kernel for I/O to a device */
	pt_u32 words[PT_FUTEX_WORDS]; /* of the futex it waits for */
	pt_u32 retransmits;	      /* so far, of the TCP connection it waits for */
	pt_u32 parked;	  /* wait reason + 1 of the goroutine in f0 if it is parked; else 0 */
	pt_u32 held_back; /* 1: its own data wait for an acknowledgement of earlier ones (Nagle) */
	/* messages that waited at the other end of a datagram socket, and its room for them */
	pt_u32 queued, room;
	pt_u32 uring_fd;	/* descriptor in its last io_uring request; PT_NO_FD: none */
	struct pt_tried failed; /* the last call that has failed since the last timed sleep */
	struct pt_tried before; /* the last one that had failed before that sleep */
	struct pt_tried tried;	/* both were the same call: it sleeps until the next try of it */
	pt_u64 turn;		/* of the task, at which these were noted */
	/* timed sleeps that a window of waits has seen, and its number */
	pt_u32 naps, naps_window;
	/* how often it had left its CPU, + 1, when the scheduler's tracepoints last saw it get one;
	 * 0: never. None of its off-CPU intervals after known_since is missing. */
	pt_u32 switches;
	pt_u64 known_since;
	pt_u32 nr_past;
	struct pt_past past[PT_PASTS];
};

/* Whose end of a Unix socket it is. */
enum pt_end {
	PT_END_UNKNOWN = 0,
	PT_END_SERVER, /* it listens, or was accepted: it has a name of its own */
	PT_END_CLIENT, /* it is connected to a name */
	PT_END_PAIR,   /* neither end has a name, as after socketpair() */
};

/* The object that a descriptor refers to. */
struct pt_object {
	pt_u32 mode;   /* S_IFMT bits; 0: there is no descriptor */
	pt_u32 family; /* address family of a socket; 0: not a socket */
	pt_u32 protocol;
	pt_u32 port, own_port; /* peer's and own port; 0: not connected */
	pt_u32 peer_pid;       /* Unix socket: process that made the other end */
	pt_u32 retransmits;    /* TCP: retransmits since the connection was made */
	pt_u32 end;	       /* Unix socket: enum pt_end */
	pt_u32 held_back; /* TCP: 1: its data wait for an acknowledgement of earlier ones (Nagle) */
	pt_u32 network;	  /* inode of its network namespace; 0: a Unix socket */
	/* Unix datagrams: messages that wait at the other end, and its room for them; 0: not known
	 */
	pt_u32 queued, room;
	pt_u64 peer_inode;		 /* of the other end of a Unix socket; 0: not known */
	unsigned char peer[16], own[16]; /* addresses, 4 or 16 bytes */
	char file[PT_FILE_NAME]; /* last part of the name of a file or FIFO, perhaps cut off */
	char path[PT_SOCKET_PATH + 4]; /* of a Unix socket; an abstract name begins with byte 0 */
};

/*
 * What the iterator over files looks for: a pipe or a socket by its inode, or, if that is 0, the
 * TCP sockets that listen on a port of a network namespace. `address`: the IPv4 address that they
 * must accept; 0: any.
 */
struct pt_sought {
	pt_u64 inode;
	pt_u32 network, port, address, spare;
};

/* Calls that are followed at once, each by a breakpoint; after so many hits by other calls it is
 * removed. */
enum { PT_FOLLOWED_CALLS = 8, PT_BREAK_MISSES = 64 };
/* A bit of pt_act.arg_mask, always with PT_ACT_OUTSIDE: the begin of the call was not seen. */
#define PT_ACT_FOUND (1u << 29)

/*
 * A call that the collector has found open in a thread that does not run (collect/keep_open.c). The
 * program on_found() follows it from there on, if the thread has not run since.
 */
struct pt_found {
	pt_u32 tid, slot;
	pt_u64 switches; /* of the thread; see struct pt_task_now */
	pt_u64 cfa, ret; /* of the call; its return address */
	pt_u64 since;	 /* when the thread left its CPU, as the scheduler's statistics tell */
	pt_u64 seen;	 /* when it was first seen not to run */
	pt_u64 woken;	 /* since when it waits for a CPU; 0: it sleeps */
	pt_u64 asked;	 /* as in struct pt_asleep; so are the next ones */
	pt_u32 fd, words[PT_FUTEX_WORDS];
	/* the answer: */
	pt_u32 state;	/* enum pt_found_state */
	pt_u32 certain; /* 1: the thread has not left its CPU later than `since` */
	/* Of the call; at the latest, if state is PT_FOUND_LATE. Also asked with: of a call that
	 * was found before; 0: none. */
	pt_u64 start;
};
enum pt_found_state {
	PT_FOUND_GONE = 0, /* the thread has run meanwhile */
	PT_FOUND_FOLLOWED, /* the call was seen to begin, and is followed already */
	PT_FOUND_AGAIN,	   /* it was seen to begin, and is followed again from now on */
	PT_FOUND_LATE,	   /* its begin was not seen */
};

#endif
