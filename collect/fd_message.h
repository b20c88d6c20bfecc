/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of a fixed size between the collector and its helpers, each with a descriptor or
 * without. */
#ifndef PEAKTOP_FD_MESSAGE_H
#define PEAKTOP_FD_MESSAGE_H

#include <stddef.h>

/* Send `size` bytes, with a descriptor unless it is negative; `flags` as for sendmsg(2). 0 or
 * -EPIPE. */
int fd_message_send(int socket, void *data, size_t size, int fd, int flags);

/*
 * Receive exactly `size` bytes, and the descriptor that came with them in *fd (-1: none); `flags`
 * as for recvmsg(2). 0, -EINTR or -EPIPE.
 */
int fd_message_receive(int socket, void *data, size_t size, int *fd, int flags);

#endif
