/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start time of a process as the kernel keeps it, and as /proc/PID/stat shows it (field 22). */
#ifndef PEAKTOP_PROCESS_START_H
#define PEAKTOP_PROCESS_START_H

#include <stdint.h>

/*
 * Clock ticks that /proc/PID/stat shows for a process that began `since_boot_ns` after boot, with
 * `ticks_per_s` ticks a second, in a time namespace that adds `offset_ns`.
 */
uint64_t process_start_ticks(uint64_t since_boot_ns, uint64_t ticks_per_s, int64_t offset_ns);

#endif
