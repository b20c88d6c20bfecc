// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds, reads and writes the configuration, if it may be trusted. */
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/cli/config.h"

/* $XDG_CONFIG_HOME/peaktop/config; the specification ignores a path that is not absolute. False:
 * there is no such path. */
static bool find_path(char *out, size_t n)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int len = -1;

	if (config && config[0] == '/')
		len = snprintf(out, n, "%s/peaktop/config", config);
	else if (home && home[0] == '/')
		len = snprintf(out, n, "%s/.config/peaktop/config", home);
	return len > 0 && (size_t)len < n;
}

/* Why the file may not be read: who can write it decides what a program of root does. NULL: it
 * may. */
static const char *distrust(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_uid != geteuid() && st->st_uid != getuid())
		return "it belongs to another user; copy it to your own configuration";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "other users may write it; run chmod go-w on it";
	return NULL;
}

static int read_all(int fd, char *out, size_t max, size_t *n)
{
	ssize_t got = 1;

	for (*n = 0; *n < max && got > 0; *n += got > 0 ? (size_t)got : 0)
		got = read(fd, out + *n, max - *n);
	return got < 0 ? -errno : 0;
}

static int parse_fd(struct config *c, int fd, const char *path, char *error, size_t error_size)
{
	char *text = malloc(CONFIG_MAX_BYTES + 1), why[2048];
	size_t n = 0;
	int err = text ? read_all(fd, text, CONFIG_MAX_BYTES + 1, &n) : -ENOMEM;

	if (err) {
		snprintf(error, error_size, "cannot read the configuration %.200s: %s", path,
			 strerror(-err));
		err = -EINVAL;
	} else {
		err = config_parse(c, text, n, why, sizeof(why));
		if (!err)
			err = config_apply(c, why, sizeof(why));
		if (err)
			snprintf(error, error_size, "%.200s, %.800s", path, why);
	}
	free(text);
	return err;
}

static int read_file(struct config *c, const char *path, char *error, size_t error_size,
		     char *warning, size_t warning_size)
{
	/* not blocking: a FIFO must not hang peaktop */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err;
	const char *why;
	struct stat st;

	warning[0] = '\0';
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ENOENT;
	/* HOME is of another user, e.g. after su: whether there is a file cannot be known */
	if (fd < 0 && errno == EACCES && stat(path, &st) < 0)
		return -ENOENT;
	err = fd < 0 || fstat(fd, &st) < 0 ? errno : 0;
	why = err ? strerror(err) : distrust(&st);
	if (why) {
		snprintf(warning, warning_size, "the configuration %.200s is ignored: %s", path,
			 why);
		err = 0;
	} else {
		err = parse_fd(c, fd, path, error, error_size);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

int config_load(struct config *c, char *error, size_t error_size, char *warning,
		size_t warning_size)
{
	char path[PATH_MAX];
	int err;

	warning[0] = '\0';
	if (!find_path(path, sizeof(path)))
		return 0;
	err = read_file(c, path, error, error_size, warning, warning_size);
	return err == -ENOENT ? 0 : err;
}

/* Why nothing may be written below the folder of all configurations. As root with another user's
 * HOME, that user could put a symbolic link in the way, and could not read what is written. NULL:
 * it may. */
static const char *distrust_folders(const char *path)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	char folder[PATH_MAX];
	struct stat st;

	snprintf(folder, sizeof(folder), "%s", path);
	for (int levels = config && config[0] == '/' ? 2 : 3; levels > 0; levels--) {
		*strrchr(folder, '/') = '\0';
		if (!lstat(folder[0] ? folder : "/", &st) && st.st_uid != geteuid())
			return "its folder belongs to another user; set HOME to your own";
		if (!folder[0])
			break;
	}
	return NULL;
}

/* The present text, and how the file is called without symbolic links. A file that does not exist
 * is empty. Returns NULL or why it cannot be changed. */
static const char *read_present(char *path, char *text, size_t *n, mode_t *mode)
{
	char real[PATH_MAX];
	const char *why = NULL;
	struct stat st;
	int fd, err;

	*n = 0;
	*mode = S_IRUSR | S_IWUSR;
	if (realpath(path, real))
		memcpy(path, real, sizeof(real));
	else if (!lstat(path, &st))
		return "it is a symbolic link to a file that is not there";
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? NULL : strerror(errno);
	if (fstat(fd, &st) < 0)
		why = strerror(errno);
	else
		why = distrust(&st);
	if (!why && !(st.st_mode & S_IWUSR))
		why = "it may not be written; run chmod u+w on it";
	if (!why) {
		*mode = st.st_mode & 0777;
		err = read_all(fd, text, CONFIG_MAX_BYTES + 1, n);
		if (err)
			why = strerror(-err);
		else if (*n > CONFIG_MAX_BYTES)
			why = "it has too many bytes; shorten it";
	}
	close(fd);
	return why;
}

/* Make the folder of the file and the one above it. */
static void make_folders(const char *path)
{
	char folder[PATH_MAX];
	char *last, *above;

	snprintf(folder, sizeof(folder), "%s", path);
	last = strrchr(folder, '/');
	*last = '\0';
	above = strrchr(folder, '/');
	if (above && above > folder) {
		*above = '\0';
		mkdir(folder, S_IRWXU);
		*above = '/';
	}
	mkdir(folder, S_IRWXU);
}

static int write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		data += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* Replace the file in one step: a reader sees the old text or the new one. */
static int replace(const char *path, mode_t mode, const struct buf *text)
{
	char name[PATH_MAX + 8], folder[PATH_MAX];
	int fd, err;

	snprintf(name, sizeof(name), "%s.XXXXXX", path);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text->data, text->len);
	if (!err && (fchmod(fd, mode) || fsync(fd)))
		err = -errno;
	close(fd);
	if (!err && rename(name, path))
		err = -errno;
	if (err) {
		unlink(name);
		return err;
	}
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd); /* the file is complete; only a power failure could bring the old one */
		close(fd);
	}
	return 0;
}

/* Lock the folder of the file: of two that change it at the same time, the second would drop what
 * the first one wrote. Returns the lock, to be closed, or -1 with the reason in *why. */
static int lock_folder(const char *path, const char **why)
{
	char folder[PATH_MAX];
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	*why = fd >= 0 && errno == EWOULDBLOCK ? "another peaktop is writing it; try again"
					       : strerror(errno);
	if (fd >= 0)
		close(fd);
	return -1;
}

int config_save(const char *settings, char *line, size_t size)
{
	char path[PATH_MAX], *text = malloc(CONFIG_MAX_BYTES + 1);
	const char *why = NULL;
	SCOPED_BUF(out, 2 * CONFIG_MAX_BYTES);
	mode_t mode;
	size_t n;
	int err, lock = -1;

	if (!text || !find_path(path, sizeof(path))) {
		err = text ? -ENOENT : -ENOMEM;
		snprintf(line, size, "cannot write the configuration: %s",
			 text ? "neither XDG_CONFIG_HOME nor HOME is an absolute path"
			      : strerror(ENOMEM));
		free(text);
		return err;
	}
	why = distrust_folders(path);
	if (!why) {
		make_folders(path);
		lock = lock_folder(path, &why);
	}
	if (!why)
		why = read_present(path, text, &n, &mode);
	err = why ? -EPERM : config_edit(text, n, settings, &out);
	if (!err)
		err = replace(path, mode, &out);
	if (err)
		snprintf(line, size, "cannot write the configuration %.400s: %s", path,
			 why ? why : strerror(-err));
	else
		snprintf(line, size, "written to %.400s", path);
	if (lock >= 0)
		close(lock);
	free(text);
	return err;
}
