/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of sandbox_enter(). Private to sandbox*.c. */
#pragma once

#include "collect/process/sandbox.h"

/* Version of the kernel's Landlock interface, 0 if there is none. */
int landlock_version(void);
/* Restrict the process with Landlock. Returns 0 (also if the kernel has no Landlock) or a
 * negative errno. Needs no_new_privs. */
int landlock_enter(enum sandbox_kind kind);
