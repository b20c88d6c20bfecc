/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code reader: a process without privileges that finds instruction boundaries for the
 * collector (analysis/code/boundary.h). It gets the file of one module.
 */
#pragma once

enum { CODE_READER_MAX_ASKED = 512, CODE_READER_LENGTH_SHIFT = 4 };

/*
 * Answer queries about the file `fd` on `socket` (SOCK_SEQPACKET). A query is an array of at
 * most CODE_READER_MAX_ASKED uint64_t, offsets in the file. The answer has one byte for each
 * offset: an enum boundary in its lower four bits and, if an instruction begins there, the length
 * of the instruction in its upper four bits. Enters the parser's sandbox first. Returns 0 at the
 * end of the socket, or a negative errno if the sandbox fails.
 */
int code_reader_serve(int socket, int fd);
