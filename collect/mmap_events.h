/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes have mapped code, as the kernel's perf events tell (PERF_RECORD_MMAP). They cost
 * nothing but when code is mapped, and nobody is woken up: read them from time to time.
 */
#pragma once

/* Begin. What cannot be opened is left out: then mappings are found later, by modules_look(). */
void mmap_events_start(uint32_t cpus);
/* Call `mapped` for each event since the last call, with its time (CLOCK_MONOTONIC); with pid 0 if
 * events were lost. */
typedef void (*mmap_event_fn)(void *ctx, pid_t pid, uint64_t at);
void mmap_events_read(mmap_event_fn mapped, void *ctx);
void mmap_events_stop(void);
