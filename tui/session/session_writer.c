// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/session/ring_writer.h"
#include "tui/session/session_file.h"
#include "tui/session/session_names.h"

enum {
	MAX_CLOSE = 2 << 20, /* bytes reserved for index and end */
	COPY_SIZE = 256 << 10,
};

struct session_writer {
	int fd;
	int err; /* the first error: nothing is written after it */
	uint64_t offset, maximum;
	uint64_t records;
	uint32_t sequence;
	struct buf frame;
	struct container_indexer *indexer;
	struct ring_writer *ring; /* NULL: the file is no ring */
	bool kept;
	/* the name of a provisional file, which is removed unless it is kept; NULL: none */
	char *created;
	/* the older session whose place a kept file takes: by its name, or, if there is no file
	 * beside it, by its content; NULL: none */
	char *replaces;
	char *moved; /* the new name of the older session of a ring; NULL: none */
	int older;   /* with `replaces`: that file, locked until then */
};

int write_at(int fd, const void *data, size_t n, uint64_t offset, size_t *done)
{
	ssize_t ret;

	for (*done = 0; *done < n; *done += (size_t)ret) {
		ret = pwrite(fd, (const char *)data + *done, n - *done, (off_t)(offset + *done));
		if (ret < 0 && errno == EINTR)
			ret = 0;
		else if (ret <= 0)
			return ret < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Write all n bytes. If this fails, truncate the file to its previous length. */
static int write_whole(int fd, const void *data, size_t n, uint64_t offset)
{
	size_t done;
	int err = write_at(fd, data, n, offset, &done);

	/* If ftruncate() fails, too, the reader still detects the incomplete frame. */
	if (err && done && ftruncate(fd, (off_t)offset) < 0)
		return err;
	return err;
}

/* A writer without anything written. Takes `fd`, also if it returns NULL. */
static struct session_writer *writer_new(int fd)
{
	struct session_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		close(fd);
		return NULL;
	}
	w->fd = fd;
	w->maximum = SESSION_MAX_BYTES;
	buf_init(&w->frame, MAX_CLOSE);
	return w;
}

static int writer_begin(struct session_writer **out, int fd)
{
	uint8_t header[CONTAINER_HEADER_SIZE];
	struct session_writer *w = writer_new(fd);
	int err;

	if (!w)
		return -ENOMEM;
	container_header_encode(header);
	w->indexer = container_indexer_new();
	err = w->indexer ? write_whole(fd, header, sizeof(header), 0) : -ENOMEM;
	if (err) {
		session_writer_abandon(w);
		return err;
	}
	w->offset = sizeof(header);
	*out = w;
	return 0;
}

int session_writer_create_again(struct session_writer **out, const char *path)
{
	int fd = session_put_away(path, NULL);

	if (fd >= 0)
		fd = session_open_new(path);
	return fd < 0 ? fd : writer_begin(out, fd);
}

int session_writer_create_ring(struct session_writer **out, const char *path,
			       const struct session_ring *ring)
{
	struct session_writer *w;
	char older[PATH_MAX];
	int err, fd, moved;

	/* so that a recorder that is started again loses nothing */
	if (snprintf(older, sizeof(older), "%s.1", path) >= (int)sizeof(older))
		return -ENAMETOOLONG;
	moved = session_put_away(path, older);
	fd = moved < 0 ? moved : session_open_new(path);
	if (fd < 0) {
		if (moved > 0)
			rename(older, path);
		return fd;
	}
	w = writer_new(fd);
	if (!w)
		return -ENOMEM;
	w->kept = true;
	w->created = strdup(path);
	w->moved = moved ? strdup(older) : NULL;
	err = ring_writer_new(&w->ring, fd, ring);
	if (!err) {
		*out = w;
		return 0;
	}
	w->kept = false;
	session_writer_abandon(w);
	return err;
}

void session_writer_ring_provisional(struct session_writer *w)
{
	w->kept = false;
}

/* Can a file not be replaced by another one for this reason, so that only its content can? */
static bool is_fixed(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS || err == -EBUSY;
}

/* The same, for a file that exists, is `older`, and is not called by a symbolic link. */
static int create_replacing(struct session_writer **out, const char *path, int older)
{
	char name[PATH_MAX];
	int fd = session_temporary_beside(path, name), err;

	err = fd >= 0 ? writer_begin(out, fd) : is_fixed(fd) ? session_writer_spool(out, NULL) : fd;
	if (err) {
		if (fd >= 0)
			unlink(name);
		close(older);
		return err;
	}
	(*out)->older = older;
	(*out)->replaces = strdup(path);
	(*out)->created = fd >= 0 ? strdup(name) : NULL;
	if ((*out)->replaces && (fd < 0 || (*out)->created))
		return 0;
	if (fd >= 0)
		unlink(name);
	if (!(*out)->replaces)
		close(older);
	session_writer_abandon(*out);
	return -ENOMEM;
}

int session_writer_create_provisional(struct session_writer **out, const char *path, bool replace)
{
	int fd = replace ? session_open_target(path, 0) : -ENOENT, err;
	char real[PATH_MAX];

	if (fd >= 0) {
		if (realpath(path, real))
			return create_replacing(out, real, fd);
		err = -errno;
		close(fd);
		return err;
	}
	if (fd == -ENOENT)
		fd = session_open_new(path);
	err = fd < 0 ? fd : writer_begin(out, fd);
	if (err) {
		if (fd >= 0)
			unlink(path);
		return err;
	}
	(*out)->created = strdup(path);
	if ((*out)->created)
		return 0;
	unlink(path);
	session_writer_abandon(*out);
	return -ENOMEM;
}

void session_writer_keep(struct session_writer *w)
{
	w->kept = true;
}

/* Remove a provisional file that is not kept, if it is still the one of that name. */
static void remove_provisional(struct session_writer *w)
{
	struct stat here, made;

	if (!w->created || w->kept || fstat(w->fd, &made) || stat(w->created, &here) ||
	    here.st_ino != made.st_ino || here.st_dev != made.st_dev || unlink(w->created))
		return;
	/* if this fails, the older session keeps the name that it was given */
	if (w->moved && !rename(w->moved, w->created))
		session_sync_folder(w->created);
}

/* Append index and end to `fd`, then sync the file to the disk. */
static int finish(struct session_writer *w, int fd)
{
	int err;

	buf_reset(&w->frame);
	err = container_close_encode(&w->frame, container_indexer_index(w->indexer), w->offset,
				     w->sequence);
	if (!err)
		err = write_whole(fd, w->frame.data, w->frame.len, w->offset);
	if (!err && fsync(fd) && errno != EINVAL)
		err = -errno;
	return err;
}

static int copy_to(struct session_writer *w, int fd)
{
	char *bytes = malloc(COPY_SIZE);
	uint64_t offset = 0;
	size_t want;
	ssize_t n;
	int err = bytes ? 0 : -ENOMEM;

	while (!err && offset < w->offset) {
		want = w->offset - offset < COPY_SIZE ? (size_t)(w->offset - offset) : COPY_SIZE;
		n = pread(w->fd, bytes, want, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			err = n < 0 ? -errno : -EIO;
		else
			err = write_whole(fd, bytes, (size_t)n, offset);
		offset += n > 0 ? (uint64_t)n : 0;
	}
	free(bytes);
	return err;
}

/* Go on in the older file, whose content is replaced by what there is so far, if that fits. */
static int move_into_older(struct session_writer *w)
{
	struct stat st;
	int err;

	if (fstat(w->older, &st))
		return -errno;
	do
		err = -posix_fallocate(w->older, 0, (off_t)w->offset);
	while (err == -EINTR);
	if (ftruncate(w->older, err ? st.st_size : 0) && !err)
		err = -errno;
	if (!err)
		err = copy_to(w, w->older);
	if (err)
		return err;
	if (w->created)
		unlink(w->created);
	free(w->created);
	w->created = NULL;
	close(w->fd);
	w->fd = w->older;
	return 0;
}

/* Let a kept file take the place of the older session. */
static int take_place(struct session_writer *w)
{
	int err = !w->created ? -EACCES : rename(w->created, w->replaces) ? -errno : 0;
	bool moved = is_fixed(err);

	err = moved ? move_into_older(w) : err ? err : session_sync_folder(w->replaces);
	if (!moved || err)
		close(w->older);
	free(w->replaces);
	w->replaces = NULL;
	w->kept = !err;
	return err;
}

int session_writer_keep_now(struct session_writer *w)
{
	session_writer_keep(w);
	return w->replaces ? take_place(w) : 0;
}

bool session_writer_older_stays(const struct session_writer *w)
{
	return w->replaces;
}

bool session_writer_take_limited(struct session_writer *w)
{
	return w->ring && ring_writer_take_limited(w->ring);
}

int session_writer_spool(struct session_writer **out, const char *folder)
{
	char inside[PATH_MAX], name[PATH_MAX];
	int fd;

	if (!folder)
		folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return writer_begin(out, fd);
	/* Not every file system supports O_TMPFILE. */
	if (snprintf(inside, sizeof(inside), "%s/", folder) >= (int)sizeof(inside))
		return -ENAMETOOLONG;
	fd = session_temporary_beside(inside, name);
	if (fd < 0)
		return fd;
	unlink(name);
	return writer_begin(out, fd);
}

void session_writer_set_maximum(struct session_writer *w, uint64_t bytes)
{
	w->maximum = bytes;
}

uint64_t session_writer_bytes(const struct session_writer *w)
{
	return w->ring ? ring_writer_bytes(w->ring) : w->offset;
}

uint64_t session_writer_records(const struct session_writer *w)
{
	return w->records;
}

int session_writer_append(struct session_writer *w, const struct record *rec)
{
	if (w->err)
		return w->err;
	if (rec->type >= REC_SAVED_MAX)
		return 0;
	if (w->ring) {
		int ret = ring_writer_append(w->ring, rec);

		w->records += ret > 0;
		return ret < 0 ? ret : 0;
	}
	buf_reset(&w->frame);
	w->err = frame_encode(&w->frame, rec, w->sequence);
	if (!w->err && w->offset + w->frame.len > w->maximum)
		w->err = -EFBIG;
	if (!w->err)
		w->err = write_whole(w->fd, w->frame.data, w->frame.len, w->offset);
	if (!w->err)
		w->err = container_indexer_add(w->indexer, rec, w->offset);
	if (w->err)
		return w->err;
	w->offset += w->frame.len;
	w->sequence++;
	w->records++;
	if (rec->type == REC_MARK && fdatasync(w->fd) && errno != EINVAL)
		w->err = -errno;
	return w->err;
}

int session_writer_save_as(struct session_writer *w, const char *path)
{
	int fd, err = session_check_target(path, 0);
	char name[PATH_MAX], real[PATH_MAX];

	if (err < 0)
		return err;
	if (err && !realpath(path, real)) /* a symbolic link stays one */
		return -errno;
	path = err ? real : path;
	fd = session_temporary_beside(path, name);
	if (fd < 0)
		return fd;
	err = copy_to(w, fd);
	if (!err)
		err = finish(w, fd);
	if (!err && rename(name, path))
		err = -errno;
	if (err)
		unlink(name);
	else
		err = session_sync_folder(path);
	close(fd);
	return err;
}

void session_writer_abandon(struct session_writer *w)
{
	if (!w)
		return;
	remove_provisional(w);
	if (w->replaces)
		close(w->older);
	free(w->created);
	free(w->replaces);
	free(w->moved);
	ring_writer_free(w->ring);
	container_indexer_free(w->indexer);
	buf_release(&w->frame);
	close(w->fd);
	free(w);
}

int session_writer_close(struct session_writer *w)
{
	int err, first;

	if (!w)
		return 0;
	first = w->err;
	/* Write the index also after an error: MAX_CLOSE bytes are reserved for it. */
	err = w->ring ? ring_writer_close(w->ring) : finish(w, w->fd);
	err = first ? first : err;
	if (w->kept && w->replaces) {
		w->kept = !err;
		if (!err)
			err = take_place(w);
		if (!err && !w->created)
			err = finish(w, w->fd);
	}
	session_writer_abandon(w);
	return err;
}
