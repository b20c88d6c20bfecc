/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites are checked before a probe is put there: each must be the begin of an
 * instruction. The front names them, and a front that is taken over could name
 * the middle of an instruction, which a breakpoint would change into another
 * one. The file is read by a process without rights that knows this one module
 * (analysis/code/boundary.h), so that neither the front nor another file of the
 * target has a say in it. Answers are kept: a site is checked once.
 */
#ifndef PEAKTOP_SITE_CHECK_H
#define PEAKTOP_SITE_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct collector;
struct rec_site;

enum { SITE_CHECK_WAIT_MS = 5000 };

/*
 * Check sites in mapped code. Returns NULL if all of them may be probed, else the reason in
 * words, which is valid until the next call.
 */
const char *sites_check(struct collector *c, const struct rec_site *const *sites, size_t nr);
void site_check_release(struct collector *c);

#endif
