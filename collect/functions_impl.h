/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions.c and function_links.c share. */
#pragma once

#include "collect/functions.h"

#define FUNCTION_PATCHED "%s: the code in memory differs from its file; it is not probed"

static inline bool site_starts(const struct rec_site *s)
{
	return s->role == SITE_ENTRY || s->role == SITE_CALL;
}

/* ---- functions.c */
bool function_has_exits(const struct function *f);
/* Write all sites into the site table of the BPF programs. */
void function_sites_write(struct collector *c, struct function *f);
void function_returns_publish(struct collector *c, struct function *f);
void function_site_report(struct collector *c, const struct function *f,
			  const struct function_site *fs, uint32_t state);

/* ---- function_links.c */
/*
 * Attach the sites from `from` on in every target. Ends are attached first, so that no
 * activation begins that cannot end. With `uncovered`, skip files that already have links.
 * Returns 0 or the first error.
 */
int function_links_attach(struct collector *c, struct function *f, unsigned int from,
			  bool uncovered);
/*
 * Report the sites whose code was found to differ from the file. If none is left at which a call
 * can begin, end the measurement of the function, and return true.
 */
bool function_give_up_patched(struct collector *c, struct function *f);
/* True if a call can still begin at one of its sites. */
bool function_can_start(const struct function *f);
/* Attach the exits in every target. Returns 0 or the first error. */
int function_exits_attach(struct collector *c, struct function *f);
/* A burst of a descent may spend a part of the remaining budget. */
void function_burst_begins(const struct collector *c, struct function *f);
