/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The paths of separate debug files below a debug root (/usr/lib/debug). Build ids and names come
 * from files of the target and are untrusted: names that could lead out of the root are
 * rejected. */
#pragma once

/* ".build-id/ab/cdef.debug". Returns the length, or -EINVAL: not 3 to 128 lower-case hexadecimal
 * digits, or `out` is too small. */
int debug_path_of_build_id(const char *build_id, char *out, size_t n);

/* "usr/bin/NAME" for the module "/usr/bin/prog" and its debuglink NAME. Returns the length, or
 * -EINVAL: the module has no absolute path, the path has a component "..", the link is no plain
 * file name, or `out` is too small. */
int debug_path_of_link(const char *module_path, const char *link, char *out, size_t n);
