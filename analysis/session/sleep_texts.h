/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the texts of a sleep. The texts of a received record are only valid while the record
 * is handled; whoever keeps the sleep for longer keeps these copies with it. */
#pragma once

#include "analysis/session/record.h"

struct sleep_texts {
	char call[32], name[256], waker[96], holder[96], doing[96], about[96], interrupt[96];
};

/* Copies all texts of `s` to `texts`, cut if too long, and points `s` to the copies. */
void sleep_texts_keep(struct sleep_texts *texts, struct rec_sleep *s);
/* Points `s` to `texts`; for a copy of a kept sleep together with its texts. */
void sleep_texts_point(const struct sleep_texts *texts, struct rec_sleep *s);
