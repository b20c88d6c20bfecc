// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/process/channel.h"

#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_SIZE = 64 << 10,
	FILL_MAX = 256 << 10, /* limit per call, so that one peer cannot delay the others */
	FDS_PER_MESSAGE = 8,
	FDS_HELD = 64, /* descriptors received but not taken, or queued but not sent */
};

/* A descriptor, and the bytes [start, end) of the stream with one of which it is sent. */
struct travelling_fd {
	int fd;
	uint64_t start, end;
};

struct fd_queue {
	struct travelling_fd fds[FDS_HELD];
	size_t nr;
};

struct channel {
	int fd;
	uint32_t sequence;
	int broken; /* 0, or the negative errno after which nothing can be sent */
	struct buf out;
	size_t out_pos;	       /* position in `out` up to which everything is sent */
	uint64_t out_position; /* position of out.data[0] in the stream */
	struct fd_queue out_fds;
	struct buf in;
	size_t in_pos;
	uint64_t in_position;
	struct fd_queue in_fds;
	struct frame_decoder *decoder;
	struct frame frame;
};

static void queue_push(struct fd_queue *q, int fd, uint64_t start, uint64_t end)
{
	q->fds[q->nr++] = (struct travelling_fd){fd, start, end};
}

static int queue_pop(struct fd_queue *q)
{
	int fd = q->fds[0].fd;

	q->nr--;
	memmove(q->fds, q->fds + 1, q->nr * sizeof(q->fds[0]));
	return fd;
}

/* Close descriptors that came with bytes before `position`: no frame has asked for them. */
static void queue_drop(struct fd_queue *q, uint64_t position)
{
	while (q->nr && q->fds[0].end <= position)
		close(queue_pop(q));
}

struct channel *channel_new(int fd, size_t max_send)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->decoder = frame_decoder_new();
	if (!c->decoder) {
		free(c);
		return NULL;
	}
	c->fd = fd;
	buf_init(&c->out, max_send);
	buf_init(&c->in, FRAME_HEADER_SIZE + FRAME_MAX_PAYLOAD + READ_SIZE);
	return c;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	queue_drop(&c->out_fds, UINT64_MAX);
	queue_drop(&c->in_fds, UINT64_MAX);
	buf_release(&c->out);
	buf_release(&c->in);
	frame_decoder_free(c->decoder);
	close(c->fd);
	free(c);
}

int channel_fd(const struct channel *c)
{
	return c->fd;
}

bool channel_pending(const struct channel *c)
{
	return c->out_pos < c->out.len;
}

/* Remove the bytes that were sent. */
static void out_compact(struct channel *c)
{
	c->out_position += c->out_pos;
	buf_consume(&c->out, c->out_pos);
	c->out_pos = 0;
}

int channel_send_raw(struct channel *c, uint16_t type, uint16_t flags,
		     const struct struct_layout *layout, const void *object, int fd)
{
	uint64_t begin = c->out_position + c->out.len;
	int err;

	if (c->broken)
		return c->broken;
	if (fd >= 0 && c->out_fds.nr == FDS_HELD)
		channel_flush(c);
	if (fd >= 0 && c->out_fds.nr == FDS_HELD)
		return -EAGAIN;
	if (fd >= 0)
		flags |= FRAME_HAS_FD;
	err = raw_frame_encode(&c->out, type, flags, c->sequence, layout, object);
	if (err == -E2BIG && c->out_pos) {
		out_compact(c);
		err = raw_frame_encode(&c->out, type, flags, c->sequence, layout, object);
	}
	if (err == -E2BIG && c->out.len)
		return -EAGAIN;
	if (err)
		return err;
	c->sequence++;
	if (fd >= 0)
		queue_push(&c->out_fds, fd, begin, begin + 1);
	if (c->out.len - c->out_pos >= READ_SIZE)
		channel_flush(c);
	return 0;
}

int channel_send(struct channel *c, const struct record *rec, int fd)
{
	uint16_t flags;
	const struct struct_layout *layout = record_frame(rec, &flags);

	if (!layout || (fd >= 0) != !!(flags & FRAME_HAS_FD))
		return -EINVAL;
	return channel_send_raw(c, (uint16_t)rec->type, flags, layout, &rec->meta, fd);
}

/*
 * Call sendmsg() once, with the bytes up to the frame of the next descriptor. A descriptor is
 * sent with the first byte of its frame.
 */
static ssize_t send_some(struct channel *c, bool *with_fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	uint64_t position = c->out_position + c->out_pos;
	struct iovec iov = {c->out.data + c->out_pos, c->out.len - c->out_pos};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	const struct fd_queue *q = &c->out_fds;
	struct cmsghdr *cmsg;

	*with_fd = q->nr && q->fds[0].start == position;
	if (*with_fd) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &q->fds[0].fd, sizeof(int));
	}
	if (q->nr > *with_fd)
		iov.iov_len = (size_t)(q->fds[*with_fd].start - position);
	return sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int channel_flush(struct channel *c)
{
	bool with_fd;
	ssize_t n;

	while (!c->broken && channel_pending(c)) {
		n = send_some(c, &with_fd);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			c->broken = errno == ECONNRESET || errno == ENOTCONN ? -EPIPE : -errno;
			break;
		}
		if (with_fd)
			close(queue_pop(&c->out_fds));
		c->out_pos += (size_t)n;
	}
	if (!channel_pending(c) || c->out_pos >= READ_SIZE)
		out_compact(c);
	return c->broken ? c->broken : channel_pending(c);
}

/* Keep the descriptors that came with bytes [start, end) of the stream. */
static int take_fds(struct channel *c, struct msghdr *msg, uint64_t start, uint64_t end)
{
	size_t nr;
	int fd;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			queue_push(&c->in_fds, fd, start, end);
		}
	}
	/* If a descriptor was lost, the others would be assigned to the wrong frames. */
	return msg->msg_flags & MSG_CTRUNC ? -EMFILE : 0;
}

/* Call recvmsg() once. Returns the number of bytes, 0 if there are none, -EPIPE at the end of
 * the stream, or another negative errno. */
static ssize_t receive_some(struct channel *c)
{
	union {
		char bytes[CMSG_SPACE(FDS_PER_MESSAGE * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {c->in.data + c->in.len, READ_SIZE};
	struct msghdr msg = {
	    .msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = sizeof(control.bytes),
	};
	uint64_t start = c->in_position + c->in.len;
	ssize_t n;
	int err;

	do {
		n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	err = take_fds(c, &msg, start, start + (uint64_t)n);
	if (err)
		return err;
	if (!n)
		return -EPIPE;
	c->in.len += (size_t)n;
	c->in.data[c->in.len] = '\0';
	return n;
}

int channel_fill(struct channel *c)
{
	size_t total = 0;
	ssize_t n;
	int err;

	c->in_position += c->in_pos;
	buf_consume(&c->in, c->in_pos);
	c->in_pos = 0;
	while (total < FILL_MAX && c->in.max - c->in.len >= READ_SIZE &&
	       c->in_fds.nr + FDS_PER_MESSAGE <= FDS_HELD) {
		err = buf_reserve(&c->in, READ_SIZE);
		if (err)
			return err;
		n = receive_some(c);
		if (n < 0)
			return total && n == -EPIPE ? 1 : (int)n;
		if (!n)
			break;
		total += (size_t)n;
	}
	return total > 0;
}

int channel_next_raw(struct channel *c, struct raw_frame *frame, int *fd)
{
	uint64_t position = c->in_position + c->in_pos;
	int ret;

	*fd = -1;
	queue_drop(&c->in_fds, position);
	if (c->in_pos == c->in.len)
		return 0;
	ret = raw_frame_parse(c->in.data + c->in_pos, c->in.len - c->in_pos, frame);
	if (ret <= 0)
		return ret;
	if (frame->flags & FRAME_HAS_FD) {
		if (!c->in_fds.nr || c->in_fds.fds[0].start > position)
			return -EBADMSG;
		*fd = queue_pop(&c->in_fds);
	}
	c->in_pos += frame->size;
	return 1;
}

int channel_next(struct channel *c, const struct record **rec, int *fd)
{
	struct raw_frame raw;
	int ret;

	for (;;) {
		ret = channel_next_raw(c, &raw, fd);
		if (ret <= 0)
			return ret;
		ret = frame_decode_raw(c->decoder, &raw, &c->frame);
		if (ret == 1 && c->frame.known)
			break;
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		if (ret < 0)
			return ret;
	}
	*rec = &c->frame.rec;
	return 1;
}
