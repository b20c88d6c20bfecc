/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the start time of a process from the kernel's nanoseconds to the ticks of /proc/PID/stat
 * (field 22). */
#pragma once

/* The start time that /proc/PID/stat shows, in clock ticks (`ticks_per_s` per second), for a
 * process that started `since_boot_ns` after boot, in a time namespace that adds `offset_ns`. */
uint64_t process_start_ticks(uint64_t since_boot_ns, uint64_t ticks_per_s, int64_t offset_ns);
