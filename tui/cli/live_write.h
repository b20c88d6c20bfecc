/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that the live screen writes. A message on the screen says how it went. */
#ifndef PEAKTOP_LIVE_WRITE_H
#define PEAKTOP_LIVE_WRITE_H

struct front;
struct screen;

/* The view that is shown, as text. An existing file is not overwritten. */
void live_write_text(struct screen *s, const char *path);
/* The session so far. */
void live_write_snapshot(struct screen *s, struct front *f, const char *path);

#endif
