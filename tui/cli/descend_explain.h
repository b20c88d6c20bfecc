/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says in one line why a descent has no answer (verb_descend.c). */
#pragma once

#include "tui/engine/front.h"
#include "tui/report/output_descend_parts.h"

struct descend_end {
	struct descend_report report; /* of the first part */
	struct front *front;
	const struct options *options;
	unsigned int needed; /* calls before it begins */
	bool resumes;	     /* a saved descent was to go on */
};

void descend_explain(const struct descend_end *e);
