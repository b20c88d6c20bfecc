/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls by number, of the machine that peaktop was built for. */
#ifndef PEAKTOP_SYSCALL_NAMES_H
#define PEAKTOP_SYSCALL_NAMES_H

/* "read" for 0; NULL if the number is not known. */
const char *syscall_name(unsigned int nr);
/* The number of a name; -ENOENT. */
int syscall_number(const char *name);
/* The known name that differs least from `name`; NULL if none is near (edit_distance.h). */
const char *syscall_nearest(const char *name);

#endif
