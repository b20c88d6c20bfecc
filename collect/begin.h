/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first steps of the collector. Each may take seconds on a busy host. */
#pragma once

struct collector;

/* Name this process, and ignore the signals of the terminal. */
void begin_process(void);
/* Raise the priority of this process and of those that it forks from now on, unless the user has
 * set a nice value or does not want it. */
void begin_hurry(struct collector *c);
/* Load and attach the BPF programs, start the command, drop privileges, measure what probes cost,
 * and add the targets. A failure was sent as REC_REFUSED. Returns 0 or a negative errno. */
int collector_begin(struct collector *c);
