/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of sandbox_enter(). */
#ifndef PEAKTOP_SANDBOX_INTERNAL_H
#define PEAKTOP_SANDBOX_INTERNAL_H

#include "collect/process/sandbox.h"

/* Version of the kernel's Landlock interface, 0 if there is none. */
int landlock_version(void);
/* 0 also where the kernel has no Landlock. Needs no_new_privs. */
int landlock_enter(enum sandbox_kind kind);

#endif
