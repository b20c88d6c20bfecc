/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares code in the memory of a process with its file, through the reader, which may wait. */
#pragma once

#include "collect/code_bytes.h"

/* An instruction in a mapping of a file. */
struct code_piece {
	uint64_t address, offset;    /* in memory, in the file */
	uint64_t map_start, map_end; /* of the mapping */
	pid_t pid;		     /* whose memory; set by code_memory_compare() */
	uint32_t point;		     /* for the caller */
	uint8_t length;		     /* of the instruction; 0: not known */
	uint8_t state;		     /* the answer: enum code_state */
};

/*
 * Set `state` of each piece, all of which are of one process. Only pages that the process has
 * written to are read: any other page is the file's own. Returns 0 or a negative errno:
 * -ETIMEDOUT if the process does not let its memory be read, -ESRCH if it has ended.
 */
int code_memory_compare(pid_t pid, struct code_piece *pieces, size_t n);
/*
 * The same for pieces of several processes, whose `pid` the caller has set; those of one process
 * follow each other. It asks the reader once for up to 2048 of them. Pieces of a process that
 * does not let its memory be read, or has ended, become CODE_UNREADABLE.
 */
void code_memory_compare_all(struct code_piece *pieces, size_t n);

/* Differences of a whole mapping. */
struct code_survey {
	uint64_t map_start, map_end,
	    offset;	/* set by the caller: the mapping, its place in the file */
	uint32_t bytes; /* that differ; single breakpoints do not count */
	uint64_t first; /* offset of the first of them in the file */
};

/* Compare all pages of a mapping that the process has written to. Returns 0 or a negative errno. */
int code_memory_survey(pid_t pid, struct code_survey *survey);
