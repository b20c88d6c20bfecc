/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of processes for the picker, read from /proc with the front's own rights. */
#ifndef PEAKTOP_PROCESSES_H
#define PEAKTOP_PROCESSES_H

struct screen;

/* Hand the present list to the screen. CPU shares are over the time since the last call. */
void processes_show(struct screen *s);

#endif
