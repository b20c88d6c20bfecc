/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and numbers of system calls on the architecture that peaktop was built for. */
#pragma once

/* "read" for 0; NULL if the number is not known. */
const char *syscall_name(unsigned int nr);
/* The number of a system call, or -ENOENT. */
int syscall_number(const char *name);
/* The system call with the most similar name; NULL if none is similar (edit_distance.h). */
const char *syscall_nearest(const char *name);
