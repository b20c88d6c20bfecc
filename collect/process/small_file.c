// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/process/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "analysis/base/format.h"

enum { PATH_BYTES = 128 };

static ssize_t read_path(char *out, size_t n, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	ssize_t r = 0;

	if (fd < 0)
		return -errno;
	while (got < n - 1 && (r = read(fd, out + got, n - 1 - got)) > 0)
		got += (size_t)r;
	if (r < 0)
		r = -errno;
	close(fd);
	if (r >= 0 || got)
		out[got] = '\0';
	return r < 0 ? r : (ssize_t)got;
}

ssize_t small_file_read(char *out, size_t n, const char *path, ...)
{
	char at[PATH_BYTES];

	format_arguments(at, sizeof(at), path);
	return read_path(out, n, at);
}

ssize_t small_file_line(char *out, size_t n, const char *path, ...)
{
	char at[PATH_BYTES];
	ssize_t len;

	format_arguments(at, sizeof(at), path);
	len = read_path(out, n, at);
	if (len > 0 && out[len - 1] == '\n')
		out[--len] = '\0';
	return len;
}

ssize_t small_file_link(char *out, size_t n, const char *path, ...)
{
	char at[PATH_BYTES];
	ssize_t len;

	format_arguments(at, sizeof(at), path);
	len = readlink(at, out, n - 1);
	out[len > 0 ? len : 0] = '\0';
	return len < 0 ? -errno : len;
}

FILE *small_file_open(const char *path, ...)
{
	char at[PATH_BYTES];

	format_arguments(at, sizeof(at), path);
	return fopen(at, "re");
}
