/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of a process or a thread on the live screen. */
#pragma once

#include "tui/engine/front.h"
#include "tui/screen/screen.h"

/* Ask the collector for this process. */
void live_pick(struct front *f, struct screen *s, uint32_t pid);
/* True if it has answered. The picker stays until it has accepted the process. */
bool live_picked(struct front *f, struct screen *s);
/* Watch the operation that the user has typed. */
void live_watch(struct front *f, struct screen *s, const char *text);
/* Count only the calls of this thread (0: of this process), or no longer. */
void live_choose_thread(struct front *f, struct screen *s, uint32_t pid, uint32_t tid);
