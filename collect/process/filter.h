/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seccomp filters of all processes. Listed calls are allowed. A call that no correct
 * process of peaktop makes kills the process. All other calls fail with EPERM, so that a
 * library that tries an optional call can do without it.
 */
#pragma once

enum filter_kind { FILTER_PARSER, FILTER_FRONT, FILTER_COLLECTOR, FILTER_OPENER };

/*
 * Install the filter permanently; for the collector and the opener, in all threads of the
 * process. Needs no_new_privs. Returns 0 or a negative errno.
 */
int filter_enter(enum filter_kind kind);
