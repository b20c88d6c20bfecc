/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `doctor TARGET`: which files of the targets have code that was changed in memory. */
#pragma once

struct collector;

/* Send a REC_CHECK for each such file of each target, or one if there is none. */
void code_survey(struct collector *c);
