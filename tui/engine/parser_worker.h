/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the parser worker comes into being. */
#ifndef PEAKTOP_PARSER_WORKER_H
#define PEAKTOP_PARSER_WORKER_H

#include <sys/types.h>

/*
 * Fork a process that has nothing but `socket`, enters SANDBOX_PARSER and
 * serves. In a session of its own, so that keys of the terminal do not reach
 * it; dies with this process. Its pid, or a negative errno.
 */
pid_t parser_worker_fork(int socket);

#endif
