/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads small files and links of the kernel, such as those of /proc and /sys. A path is a format
 * as of printf() of at most 127 bytes. None of these files makes its reader wait for a process.
 */
#pragma once

/* Read the whole file, cut off after n - 1 bytes. Returns its length, or a negative errno if the
 * file cannot be read: then `out` stays as it was, or has what was read before the error. */
ssize_t small_file_read(char *out, size_t n, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* The same without the end of the file's last line. */
ssize_t small_file_line(char *out, size_t n, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* Read where a link leads. Returns the length or a negative errno; "" after an error. */
ssize_t small_file_link(char *out, size_t n, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* Open the file for reading; NULL with errno if that fails. */
FILE *small_file_open(const char *path, ...) __attribute__((format(printf, 1, 2)));
