/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measurement sleeps while the front sends no heartbeat. */
#pragma once

struct collector;

/* The front is stopped or hangs: remove all probes, because nobody could stop the measurement. */
void fall_asleep(struct collector *c);
/* Attach all of them again, and say for how long nothing was measured. */
void wake_up(struct collector *c);
