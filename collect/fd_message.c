// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fd_message.h"

#include <sys/socket.h>
#include <unistd.h>

union fd_message {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int fd_message_send(int socket, void *data, size_t size, int fd, int flags)
{
	union fd_message control = {{0}};
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL | flags) == (ssize_t)size ? 0 : -EPIPE;
}

int fd_message_receive(int socket, void *data, size_t size, int *fd, int flags)
{
	union fd_message control;
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	ssize_t got = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | flags);
	struct cmsghdr *c = got >= 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (got == (ssize_t)size)
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return got < 0 && errno == EINTR ? -EINTR : -EPIPE;
}
