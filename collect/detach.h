/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes probes in threads of their own, and counts the CPU time that probes cost peaktop. */
#pragma once

/* Queue the descriptor of a link for closing. Returns false if there is no thread or no room: then
 * the caller must close it. */
bool detach_later(int fd);

/* CPU time that this process has spent on attaching and removing probes, ns. The thread that does
 * it calls attach_cpu_begin() before and attach_cpu_end(), with what that returned, after it. */
uint64_t attach_cpu_ns(void);
uint64_t attach_cpu_begin(void);
void attach_cpu_end(uint64_t since);
