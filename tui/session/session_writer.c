// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/session/ring_writer.h"
#include "tui/session/session_file.h"

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
	char *created;	/* the name of a provisional file, which is removed unless it is kept */
	char *replaces; /* the older session whose place a kept file takes; NULL: none */
	char *moved;	/* the new name of the older session of a ring; NULL: none */
	int older;	/* with `replaces`: that file, locked until then */
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

/* 0 if this file may be replaced: it is a session, or empty. */
static int check_replaceable(int fd)
{
	uint8_t bytes[CONTAINER_HEADER_SIZE];
	struct container_header header;
	struct stat st;
	ssize_t n;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	n = pread(fd, bytes, sizeof(bytes), 0);
	if (n < 0)
		return -errno;
	err = container_header_decode(bytes, (size_t)n, &header);
	return err == -ENOEXEC ? -EEXIST : 0;
}

static int lock(int fd)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/*
 * Open an existing file that may be replaced, and lock it. `flags`: more flags of open(). Returns
 * it, or a negative errno. O_NONBLOCK: do not block on a pipe of that name before it is refused.
 */
static int open_target(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | flags), err;

	if (fd < 0)
		return -errno;
	err = check_replaceable(fd);
	if (!err)
		err = lock(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int open_new(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = lock(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * 1 if the file of this name may be replaced and no other writer uses it; 0 if there is none.
 * `flags`: more flags of open().
 */
static int check_target(const char *path, int flags)
{
	int fd = open_target(path, flags);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	close(fd);
	return 1;
}

/* Rename an older session to `name`; NULL: remove it. Returns 1, 0 if there is none, or a negative
 * errno. */
static int put_away(const char *path, const char *name)
{
	int err = check_target(path, O_NOFOLLOW);

	if (err <= 0)
		return err == -ELOOP ? -EINVAL : err;
	return (name ? rename(path, name) : unlink(path)) ? -errno : 1;
}

int session_writer_create_again(struct session_writer **out, const char *path)
{
	int fd = put_away(path, NULL);

	if (fd >= 0)
		fd = open_new(path);
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
	moved = put_away(path, older);
	fd = moved < 0 ? moved : open_new(path);
	if (fd < 0)
		return fd;
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

/* Create a temporary file in the folder of `path`, locked as one of that name; it can be renamed to
 * `path`. */
static int temporary_beside(const char *path, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int n = snprintf(name, PATH_MAX, "%.*s.peaktop-XXXXXX", slash ? (int)(slash + 1 - path) : 0,
			 path);
	int fd;

	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0 || lock(fd))
		return -errno;
	return fd;
}

/* Sync the folder of a path: only then its new name is on the disk. */
static int sync_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, err = 0;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Some file systems cannot sync a folder (EINVAL); the data itself is already synced. */
	if (fsync(fd) && errno != EINVAL)
		err = -errno;
	close(fd);
	return err;
}

int session_writer_create_provisional(struct session_writer **out, const char *path, bool replace)
{
	int older = replace ? open_target(path, 0) : -ENOENT, fd, err;
	char name[PATH_MAX], *created = NULL, *replaces = older >= 0 ? strdup(path) : NULL;

	if (older < 0 && older != -ENOENT)
		return older;
	fd = older >= 0 ? temporary_beside(path, name) : open_new(path);
	if (fd >= 0)
		created = strdup(older >= 0 ? name : path);
	err = fd < 0 ? fd : writer_begin(out, fd);
	if (!err) {
		(*out)->created = created;
		(*out)->replaces = replaces;
		(*out)->older = older;
		if (created && (replaces || older < 0))
			return 0;
		session_writer_abandon(*out);
		return -ENOMEM;
	}
	if (created)
		unlink(created);
	if (older >= 0)
		close(older);
	free(created);
	free(replaces);
	return err;
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
		sync_folder(w->created);
}

/*
 * Let a kept file take the place of the older session, unless writing it failed: then it is
 * removed, and the older one stays.
 */
static int take_place(struct session_writer *w, int err)
{
	if (!w->kept || !w->replaces)
		return err;
	if (!err && rename(w->created, w->replaces))
		err = -errno;
	w->kept = !err;
	return err ? err : sync_folder(w->replaces);
}

int session_writer_keep_now(struct session_writer *w)
{
	int err;

	session_writer_keep(w);
	err = take_place(w, 0);
	if (err || !w->replaces)
		return err;
	close(w->older);
	free(w->replaces);
	w->replaces = NULL;
	return 0;
}

bool session_writer_take_limited(struct session_writer *w)
{
	return w->ring && ring_writer_take_limited(w->ring);
}

int session_writer_spool(struct session_writer **out, const char *folder)
{
	char inside[PATH_MAX], name[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return writer_begin(out, fd);
	/* Not every file system supports O_TMPFILE. */
	if (snprintf(inside, sizeof(inside), "%s/", folder) >= (int)sizeof(inside))
		return -ENAMETOOLONG;
	fd = temporary_beside(inside, name);
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

int session_writer_save_as(struct session_writer *w, const char *path)
{
	int fd, err = check_target(path, 0);
	char name[PATH_MAX];

	if (err < 0)
		return err;
	fd = temporary_beside(path, name);
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
		err = sync_folder(path);
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
	err = take_place(w, first ? first : err);
	session_writer_abandon(w);
	return err;
}
