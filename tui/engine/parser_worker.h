/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the process of the parser worker. */
#pragma once

/* Fork a process that closes everything but `socket`, enters SANDBOX_PARSER and answers requests.
 * It has a session of its own, so that Ctrl-C in the terminal does not reach it, and dies with this
 * process. Returns its pid or a negative errno. */
pid_t parser_worker_fork(int socket);
