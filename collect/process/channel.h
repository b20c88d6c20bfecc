/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends and receives frames over a connected SOCK_STREAM unix socket, optionally with a file
 * descriptor per frame. Both directions are buffered and never block.
 *
 * All processes (collector, front, parser) use this. It does I/O only on the socket that it was
 * given, opens nothing and uses no clock. The peer is not trusted: descriptors that no frame
 * asks for are closed, and a frame without its descriptor is an error. Once a function has
 * returned an error other than -EAGAIN, -E2BIG or -EINVAL, the stream cannot be used any more.
 */
#pragma once

#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"

struct channel;

/*
 * Create a channel that owns `fd` and closes it in channel_free(). At most `max_send` bytes may
 * be queued. Returns NULL if there is no memory; then the caller still owns `fd`.
 */
struct channel *channel_new(int fd, size_t max_send);
void channel_free(struct channel *c);
int channel_fd(const struct channel *c);

/*
 * Queue one record; channel_flush() sends it (call that once per turn of the event loop; a long
 * queue is also sent without it). A record whose frame has FRAME_HAS_FD needs fd >= 0, all
 * others fd == -1 (else -EINVAL). On success the channel owns `fd` and closes it once it is
 * sent. Returns 0; -EAGAIN if the queue is full and the record was not taken; -E2BIG if the
 * record can never fit; -ENOMEM. If the peer is gone, the next call returns -EPIPE.
 */
int channel_send(struct channel *c, const struct record *rec, int fd);
/* Queue a frame of any kind; FRAME_HAS_FD is set if fd >= 0. */
int channel_send_raw(struct channel *c, uint16_t type, uint16_t flags,
		     const struct struct_layout *layout, const void *object, int fd);
/* Send what is queued. Returns 0 if all was sent, 1 if some is left (wait for POLLOUT), -EPIPE
 * or another negative errno. */
int channel_flush(struct channel *c);
bool channel_pending(const struct channel *c); /* true if bytes are queued */

/*
 * Read the available bytes, up to about 256 KiB. Returns 1 if there were some, 0 if not, -EPIPE
 * if the peer has closed the socket (frames read before remain available), or another negative
 * errno. Invalidates the results of channel_next().
 */
int channel_fill(struct channel *c);

/*
 * Get the next record that was read. Records of unknown types are skipped, and their
 * descriptors closed. Returns 1 with *rec (valid until the next call with this channel) and *fd
 * (owned by the caller; -1 if none); 0 if more must be read; -EBADMSG, -ENOTSUP (unknown
 * critical type) or -ENOMEM.
 */
int channel_next(struct channel *c, const struct record **rec, int *fd);
/* Get the next frame of any kind. */
int channel_next_raw(struct channel *c, struct raw_frame *frame, int *fd);
