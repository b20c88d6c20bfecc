// SPDX-License-Identifier: GPL-2.0-or-later
/* Channels over a socket pair: order, descriptors, bounds, a hostile peer. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/session/record_codec.h"
#include "collect/process/channel.h"

enum { MAX_SEND = 256 << 10 };

static struct channel *left, *right;
static int open_before;

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int setup(void **state)
{
	int pair[2];

	open_before = count_open();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	left = channel_new(pair[0], MAX_SEND);
	right = channel_new(pair[1], MAX_SEND);
	assert_non_null(left);
	assert_non_null(right);
	return 0;
}

/* Whatever a test does, no descriptor may be left over. */
static int teardown(void **state)
{
	channel_free(left);
	channel_free(right);
	left = right = NULL;
	assert_int_equal(count_open(), open_before);
	return 0;
}

/* A file that can be told from others by its size. */
static int file_of_size(int size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static int size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (int)st.st_size;
}

static struct record ack(uint32_t epoch)
{
	return (struct record){.type = REC_ACK, .ack = {.epoch = epoch}};
}

static struct record file(uint32_t module)
{
	return (struct record){.type = REC_FILE, .file = {.module = module}};
}

/* Next record, reading as long as there is something. */
static int take(struct channel *c, const struct record **rec, int *fd)
{
	int ret;

	if (left && right)
		channel_flush(c == left ? right : left);
	while (!(ret = channel_next(c, rec, fd))) {
		ret = channel_fill(c);
		if (ret <= 0)
			return ret;
	}
	return ret;
}

static void test_records_arrive_in_order(void **state)
{
	const struct record *rec;
	uint32_t i;
	int fd;

	for (i = 0; i < 1000; i++) {
		struct record r = ack(i);

		assert_int_equal(channel_send(left, &r, -1), 0);
	}
	for (i = 0; i < 1000; i++) {
		assert_int_equal(take(right, &rec, &fd), 1);
		assert_int_equal(rec->type, REC_ACK);
		assert_int_equal(rec->ack.epoch, i);
		assert_int_equal(fd, -1);
	}
	assert_int_equal(take(right, &rec, &fd), 0);
}

static void test_descriptors_stay_with_their_frames(void **state)
{
	const struct record *rec;
	uint32_t i;
	int fd;

	for (i = 0; i < 200; i++) {
		struct record r = i % 3 ? ack(i) : file(i);
		int give = i % 3 ? -1 : file_of_size((int)i + 1);

		assert_int_equal(channel_send(left, &r, give), 0);
		if (i % 7)
			continue;
		while (channel_next(right, &rec, &fd) == 1)
			if (fd >= 0) {
				assert_int_equal(size_of(fd), rec->file.module + 1);
				close(fd);
			}
		channel_fill(right);
	}
	for (;;) {
		if (take(right, &rec, &fd) != 1)
			break;
		if (rec->type == REC_FILE) {
			assert_int_equal(size_of(fd), rec->file.module + 1);
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
			close(fd);
		} else {
			assert_int_equal(fd, -1);
		}
		i = rec->type == REC_FILE ? rec->file.module : rec->ack.epoch;
	}
	assert_int_equal(i, 199);
}

static void test_descriptor_and_record_must_agree(void **state)
{
	struct record r = file(1), other = ack(1), refused = file(1);
	int fd = file_of_size(1);

	refused.file.error = -ENOENT;
	assert_int_equal(channel_send(left, &r, -1), -EINVAL);
	assert_int_equal(channel_send(left, &other, fd), -EINVAL);
	assert_int_equal(channel_send(left, &refused, fd), -EINVAL);
	assert_int_equal(channel_send(left, &refused, -1), 0);
	close(fd);
}

static void test_full_queue_refuses_and_recovers(void **state)
{
	char text[FRAME_MAX_TEXT + 1];
	struct record r = {.type = REC_NOTE, .note.text = text};
	const struct record *rec;
	unsigned int sent = 0, got = 0, refused = 0, round;
	int fd, err;

	memset(text, 'x', FRAME_MAX_TEXT);
	text[FRAME_MAX_TEXT] = '\0';
	for (round = 0; round < 5; round++) {
		while (!(err = channel_send(left, &r, -1))) {
			r.note.level = ++sent;
			assert_true(sent < 100000);
		}
		assert_int_equal(err, -EAGAIN);
		refused++;
		assert_true(channel_pending(left));
		assert_int_equal(channel_flush(left), 1);
		while (take(right, &rec, &fd) == 1)
			assert_int_equal(rec->note.level, got++);
		assert_true(channel_flush(left) >= 0);
	}
	while (channel_flush(left) == 1 || take(right, &rec, &fd) == 1)
		while (take(right, &rec, &fd) == 1)
			got++;
	assert_int_equal(refused, 5);
	assert_false(channel_pending(left));
	assert_in_range(got, sent - 1, sent);
}

static void test_many_descriptors_wait_for_the_reader(void **state)
{
	const struct record *rec;
	int sent = 0, got = 0, fd, give;

	while (got < 500) {
		struct record r = file((uint32_t)sent);

		while (sent < 500) {
			give = file_of_size(sent + 1);
			r = file((uint32_t)sent);
			if (channel_send(left, &r, give)) {
				close(give);
				break;
			}
			sent++;
		}
		channel_flush(left);
		assert_true(channel_fill(right) >= 0);
		while (channel_next(right, &rec, &fd) == 1) {
			assert_int_equal(rec->file.module, got);
			assert_int_equal(size_of(fd), ++got);
			close(fd);
		}
	}
}

static void test_largest_frame(void **state)
{
	static struct rec_site sites[FRAME_MAX_SITES];
	struct record r = {.type = REQ_ARM};
	const struct record *rec;
	uint32_t i;
	int fd, ret;

	for (i = 0; i < FRAME_MAX_SITES; i++)
		sites[i] = (struct rec_site){.offset = UINT64_MAX, .ret = UINT64_MAX, .hits = i};
	r.arm.sites = sites;
	r.arm.nr_sites = FRAME_MAX_SITES;
	assert_int_equal(channel_send(left, &r, -1), 0);
	do {
		channel_flush(left);
		ret = take(right, &rec, &fd);
	} while (!ret);
	assert_int_equal(ret, 1);
	assert_int_equal(rec->arm.nr_sites, FRAME_MAX_SITES);
	assert_int_equal(rec->arm.sites[4095].hits, 4095);
}

static void test_record_larger_than_the_queue(void **state)
{
	int pair[2];
	char text[200];
	struct record r = {.type = REC_NOTE, .note.text = text};
	struct channel *small;

	memset(text, 'x', 199);
	text[199] = '\0';
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	small = channel_new(pair[0], 100);
	assert_int_equal(channel_send(small, &r, -1), -E2BIG);
	text[20] = '\0';
	assert_int_equal(channel_send(small, &r, -1), 0);
	channel_free(small);
	close(pair[1]);
}

static void test_end_of_peer(void **state)
{
	struct record r = ack(5);
	const struct record *rec;
	int fd;

	assert_int_equal(channel_send(left, &r, -1), 0);
	assert_int_equal(channel_flush(left), 0);
	channel_free(left);
	left = NULL;
	assert_int_equal(take(right, &rec, &fd), 1);
	assert_int_equal(rec->ack.epoch, 5);
	assert_int_equal(take(right, &rec, &fd), -EPIPE);
	assert_int_equal(channel_fill(right), -EPIPE);
	channel_send(right, &r, -1);
	assert_int_equal(channel_flush(right), -EPIPE);
	assert_int_equal(channel_send(right, &r, -1), -EPIPE);
}

static void test_descriptor_is_closed_when_peer_is_gone(void **state)
{
	struct record r = file(1);

	channel_free(left);
	left = NULL;
	assert_int_equal(channel_send(right, &r, file_of_size(1)), 0);
	assert_int_equal(channel_flush(right), -EPIPE);
}

static void test_cut_off_frame(void **state)
{
	const struct record *rec;
	int fd;

	assert_int_equal(write(channel_fd(left), "\1\0\0\0\4\0\0\0", 8), 8);
	channel_free(left);
	left = NULL;
	assert_int_equal(take(right, &rec, &fd), -EPIPE);
}

static void test_garbage(void **state)
{
	const struct record *rec;
	int fd;

	assert_int_equal(write(channel_fd(left), "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(take(right, &rec, &fd), -EBADMSG);
}

/* Bytes and any number of descriptors with them, as a hostile peer would send. */
static void send_with_fds(const void *bytes, size_t n, int nr)
{
	char control[CMSG_SPACE(32 * sizeof(int))] = {0};
	struct iovec iov = {(void *)(uintptr_t)bytes, n};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = CMSG_SPACE((size_t)nr * sizeof(int))};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fds[32], i;

	for (i = 0; i < nr; i++)
		fds[i] = file_of_size(i + 1);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN((size_t)nr * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, (size_t)nr * sizeof(int));
	assert_int_equal(sendmsg(channel_fd(left), &msg, 0), (ssize_t)n);
	for (i = 0; i < nr; i++)
		close(fds[i]);
}

static void test_extra_descriptors_are_closed(void **state)
{
	struct record r = ack(1), f = file(4);
	const struct record *rec;
	struct buf out;
	int fd, before = count_open();

	buf_init(&out, 4096);
	assert_int_equal(frame_encode(&out, &r, 0), 0);
	send_with_fds(out.data, out.len, 5);
	assert_int_equal(channel_send(left, &f, file_of_size(77)), 0);
	assert_int_equal(take(right, &rec, &fd), 1);
	assert_int_equal(rec->type, REC_ACK);
	assert_int_equal(fd, -1);
	/* The frame that has one gets its own, not one of the five. */
	assert_int_equal(take(right, &rec, &fd), 1);
	assert_int_equal(rec->type, REC_FILE);
	assert_int_equal(size_of(fd), 77);
	close(fd);
	assert_int_equal(take(right, &rec, &fd), 0);
	assert_int_equal(count_open(), before);
	buf_release(&out);
}

static void test_too_many_descriptors_at_once(void **state)
{
	struct record r = ack(1);
	const struct record *rec;
	struct buf out;
	int fd;

	buf_init(&out, 4096);
	assert_int_equal(frame_encode(&out, &r, 0), 0);
	send_with_fds(out.data, out.len, 30);
	assert_int_equal(take(right, &rec, &fd), -EMFILE);
	buf_release(&out);
}

static void test_missing_descriptor(void **state)
{
	struct record f = file(4);
	const struct record *rec;
	struct buf out;
	int fd;

	buf_init(&out, 4096);
	assert_int_equal(frame_encode(&out, &f, 0), 0);
	assert_int_equal(write(channel_fd(left), out.data, out.len), (ssize_t)out.len);
	assert_int_equal(take(right, &rec, &fd), -EBADMSG);
	buf_release(&out);
}

static void test_unknown_types_are_skipped(void **state)
{
	static const struct struct_layout nothing = {0};
	struct record r = ack(9);
	const struct record *rec;
	int fd;

	assert_int_equal(channel_send_raw(left, 0x90, 0, &nothing, NULL, file_of_size(3)), 0);
	assert_int_equal(channel_send_raw(left, 0x7000, 0, &nothing, NULL, -1), 0);
	assert_int_equal(channel_send(left, &r, -1), 0);
	assert_int_equal(take(right, &rec, &fd), 1);
	assert_int_equal(rec->ack.epoch, 9);
	assert_int_equal(channel_send_raw(left, 0x7000, FRAME_CRITICAL, &nothing, NULL, -1), 0);
	assert_int_equal(take(right, &rec, &fd), -ENOTSUP);
}

/* Bytes that dribble in one at a time give the same records. */
static void test_one_byte_at_a_time(void **state)
{
	const struct record *rec;
	struct buf out;
	unsigned int got = 0, i;
	size_t pos;
	int fd;

	buf_init(&out, 1 << 16);
	for (i = 0; i < 20; i++) {
		struct record r = ack(i);

		assert_int_equal(frame_encode(&out, &r, i), 0);
	}
	for (pos = 0; pos < out.len; pos++) {
		assert_int_equal(write(channel_fd(left), out.data + pos, 1), 1);
		assert_int_equal(channel_fill(right), 1);
		while (channel_next(right, &rec, &fd) == 1)
			assert_int_equal(rec->ack.epoch, got++);
	}
	assert_int_equal(got, 20);
	buf_release(&out);
}

#define channel_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    channel_test(test_records_arrive_in_order),
	    channel_test(test_descriptors_stay_with_their_frames),
	    channel_test(test_descriptor_and_record_must_agree),
	    channel_test(test_full_queue_refuses_and_recovers),
	    channel_test(test_many_descriptors_wait_for_the_reader),
	    channel_test(test_largest_frame),
	    channel_test(test_record_larger_than_the_queue),
	    channel_test(test_end_of_peer),
	    channel_test(test_descriptor_is_closed_when_peer_is_gone),
	    channel_test(test_cut_off_frame),
	    channel_test(test_garbage),
	    channel_test(test_extra_descriptors_are_closed),
	    channel_test(test_too_many_descriptors_at_once),
	    channel_test(test_missing_descriptor),
	    channel_test(test_unknown_types_are_skipped),
	    channel_test(test_one_byte_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
