/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames over a connected SOCK_STREAM unix socket, buffered on both sides,
 * never blocking, with a file descriptor beside a frame where it has one.
 *
 * All processes (collector, front, parser) talk through this, hence its place
 * here; it does no I/O but on the one socket it is handed, opens nothing and
 * knows no time. The peer is not trusted: descriptors that no frame asks for
 * are closed, a frame whose descriptor did not come is an error. Once a
 * function has returned an error other than -EAGAIN, -E2BIG or -EINVAL, the
 * stream is of no further use.
 */
#ifndef PEAKTOP_CHANNEL_H
#define PEAKTOP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"

struct channel;

/*
 * Takes over `fd` and closes it in channel_free(). At most `max_send` bytes
 * wait to be sent. NULL: no memory (then `fd` is still the caller's).
 */
struct channel *channel_new(int fd, size_t max_send);
void channel_free(struct channel *c);
int channel_fd(const struct channel *c);

/*
 * Queue one record; channel_flush() sends it (call it once per round of your
 * loop; a queue that grows is sent without being asked). A record whose frame has
 * FRAME_HAS_FD needs fd >= 0, all others fd == -1 (else -EINVAL). On success
 * the channel owns `fd` and closes it once it is sent.
 * -EAGAIN: the queue is full, the record was not taken; -E2BIG: it never fits
 * into one; -ENOMEM. That the peer is gone (-EPIPE) shows at the next call.
 */
int channel_send(struct channel *c, const struct record *rec, int fd);
/* The same for a frame of any kind; FRAME_HAS_FD is set if fd >= 0. */
int channel_send_raw(struct channel *c, uint16_t type, uint16_t flags,
		     const struct struct_layout *layout, const void *object, int fd);
/* Send what is queued. 0 all sent, 1 some is left (wait for POLLOUT), -EPIPE or other. */
int channel_flush(struct channel *c);
bool channel_pending(const struct channel *c); /* something is queued */

/*
 * Read what there is, up to some 256 KiB. 1: bytes came, 0: none there, -EPIPE:
 * the peer has closed (frames read before are still given), or another errno.
 * Invalidates what channel_next() gave.
 */
int channel_fill(struct channel *c);

/*
 * The next record that was read; records of unknown types are skipped, their
 * descriptors closed. 1 with *rec (valid until the next call with this
 * channel) and *fd (the caller's from now on; -1 if none); 0 when more must be
 * read; -EBADMSG, -ENOTSUP (unknown critical type), -ENOMEM.
 */
int channel_next(struct channel *c, const struct record **rec, int *fd);
/* The next frame of any kind. */
int channel_next_raw(struct channel *c, struct raw_frame *frame, int *fd);

#endif
