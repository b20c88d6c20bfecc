/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first steps of the collector: raise its priority, report why the BPF programs cannot be
 * loaded, start the command and drop privileges. Each may take seconds on a busy host. */
#ifndef PEAKTOP_COLLECT_BEGIN_H
#define PEAKTOP_COLLECT_BEGIN_H

#include <stdbool.h>

struct collector;

/* Name this process, and ignore the signals of the terminal. */
void begin_process(void);
/* Raise the priority of this process, unless the user has set a nice value. */
void begin_hurry(struct collector *c);
/* Send REC_REFUSED with the reason why the BPF programs cannot be loaded. */
void begin_load_refused(struct collector *c, int err);
/* Start the command, if any, and drop privileges. Returns 0 or a negative errno. */
int begin_launch_and_limit(struct collector *c);
/* True if the front process has closed its socket. */
bool begin_front_is_gone(const struct collector *c);

#endif
