/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the kernel in which no probe is ever placed. */
#pragma once

/* Why this function must not be probed, in words; NULL: peaktop has no objection. The kernel has a
 * list of its own and refuses what is in it. */
const char *kernel_never_probed(const char *function);
