/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of paths. */
#pragma once

/* The last part of a path; the whole of it if it has no '/'. */
static inline const char *path_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The length of a path without " (deleted)", which the kernel appends. */
static inline size_t path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path), end = sizeof(deleted) - 1;

	return n > end && !strcmp(path + n - end, deleted) ? n - end : n;
}
