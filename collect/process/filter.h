/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filters of system calls of all processes. What is listed is allowed. What no correct program
 * of ours would ever try ends the process. All the rest fails with EPERM, so that a library that
 * tries something optional does without.
 */
#ifndef PEAKTOP_FILTER_H
#define PEAKTOP_FILTER_H

enum filter_kind { FILTER_PARSER, FILTER_FRONT, FILTER_COLLECTOR, FILTER_OPENER };

/*
 * Install the filter, for the collector and the opener in all threads of the process. Needs
 * no_new_privs. 0 or a negative errno.
 */
int filter_enter(enum filter_kind kind);

#endif
