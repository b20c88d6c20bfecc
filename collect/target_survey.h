/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `doctor TARGET`: what limits the measurement of these targets on this host. */
#pragma once

struct collector;

/* Send a REC_CHECK that is not ok for each limit, and those of code_survey() and of the rights. */
void target_survey(struct collector *c);
