/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads lengths of time as users write them. */
#pragma once

/* Parse "2.5ms", "30 ms", "24us" or "1m08s" into ns; 0 if it is no length of time. A number without
 * a unit has the unit `unit`, or is an error if that is "". *end: what follows, if it is one. */
uint64_t duration_parse(const char *text, const char *unit, const char **end);
