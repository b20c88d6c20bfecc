/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of a fixed size between the collector and its helpers, optionally with a
 * descriptor. */
#pragma once

/* Send `size` bytes, and the descriptor `fd` unless it is negative. `flags` as for sendmsg(2).
 * Returns 0 or -EPIPE. */
int fd_message_send(int socket, void *data, size_t size, int fd, int flags);

/*
 * Receive exactly `size` bytes, and in *fd the descriptor that came with them (-1: none), which
 * the caller must close. `flags` as for recvmsg(2). Returns 0, -EINTR or -EPIPE.
 */
int fd_message_receive(int socket, void *data, size_t size, int *fd, int flags);
