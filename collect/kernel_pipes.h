/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has the other end of a pipe or a socket open: found in the files of all processes. */
#pragma once

#include "bpf/records.h"

struct kernel_side;

enum { PIPES_KNOWN = 16 };

/* The process at one end of a pipe, or with a socket, as last looked up. All zero: none. */
struct pipe_end_known {
	struct pt_sought sought;
	uint64_t at_ns;
	uint32_t mode, self;		/* for whom it was looked up */
	uint32_t pid;			/* 0: no process, or several, or not looked up */
	uint32_t queued, room, dropped; /* of a listener, as in struct pt_pipe_end */
	bool is_child;			/* `self` has started it, or the process that has */
	char comm[17];
};

/*
 * Find the only process, besides `self`, that can read (`reads`) or else write the pipe with this
 * inode. A process that has both ends open, as a shell has that has just made the pipe, counts only
 * if there is no other; one of whose children has the same end does not count. An answer is kept
 * for a second. Returns NULL if there is none, if there are several, or if the kernel cannot tell;
 * one without a pid if it was not looked up, because many others were (struct scan_pace).
 */
const struct pipe_end_known *kernel_pipe_end(struct kernel_side *k, uint64_t inode, bool reads,
					     uint32_t self);
/* The same for a socket. */
const struct pipe_end_known *kernel_socket(struct kernel_side *k, const struct pt_sought *sought,
					   uint32_t self);
/* Write which process it is, "reader 12", or that it was not looked up. Returns `out`. */
const char *pipe_end_text(const struct pipe_end_known *end, char *out, size_t n);

/*
 * Each look-up reads the files of all processes of the host. They may take SCANS_NS at once, and
 * then 1 / SCANS_PART of one CPU.
 */
struct scan_pace {
	uint64_t owed_ns; /* time of look-ups that is not made up for yet */
	uint64_t at_ns;	  /* when this was so */
};
enum { SCANS_NS = 100000000, SCANS_PART = 100 };

static inline bool scan_pace_allows(struct scan_pace *p, uint64_t now)
{
	uint64_t earned = (now - p->at_ns) / SCANS_PART;

	p->owed_ns -= earned < p->owed_ns ? earned : p->owed_ns;
	p->at_ns = now;
	return p->owed_ns < SCANS_NS;
}
