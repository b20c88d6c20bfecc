// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/session/session_names.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/session/container.h"

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

/* Lock a file that was created as `fd` (-1: with errno); remove it if that fails. */
static int lock_new(int fd, const char *path)
{
	int err;

	if (fd < 0)
		return -errno;
	err = lock(fd);
	if (!err)
		return fd;
	unlink(path);
	close(fd);
	return err;
}

int session_open_target(const char *path, int flags)
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

int session_open_new(const char *path)
{
	return lock_new(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), path);
}

int session_check_target(const char *path, int flags)
{
	int fd = session_open_target(path, flags);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	close(fd);
	return 1;
}

int session_put_away(const char *path, const char *name)
{
	int err = session_check_target(path, O_NOFOLLOW);

	if (err <= 0)
		return err == -ELOOP ? -EINVAL : err;
	return (name ? rename(path, name) : unlink(path)) ? -errno : 1;
}

int session_temporary_beside(const char *path, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int n = snprintf(name, PATH_MAX, "%.*s.peaktop-XXXXXX", slash ? (int)(slash + 1 - path) : 0,
			 path);

	return n >= PATH_MAX ? -ENAMETOOLONG : lock_new(mkostemp(name, O_CLOEXEC), name);
}

int session_sync_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, err = 0;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* a folder may be one to write into, but not to be read */
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	/* Some file systems cannot sync a folder (EINVAL); the data itself is already synced. */
	if (fsync(fd) && errno != EINVAL)
		err = -errno;
	close(fd);
	return err;
}
