/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the places of a saved descent are in this run. A module of the session is the module of
 * this run with the same build id. If there is none, it is the one with the same file name: another
 * build, in which functions are found again by their names, and call sites by their distance from
 * the begin of their function. */
#pragma once

#include "tui/engine/descent_driver.h"

struct saved_places;

/* True if these are the same file. Without build ids, files of the same name and size count as the
 * same. */
bool module_is_same(const struct module_origin *a, const struct module_origin *b);
/* True if the files have the same name: the same program, perhaps of another build. */
bool module_name_is_same(const char *path, const char *other);

/* `saved` has the modules of the session and the names of its functions, and must outlive the
 * result. NULL: out of memory. */
struct saved_places *saved_places_new(const struct descent_driver *saved);
void saved_places_free(struct saved_places *p);

/* Find the modules among those of this run. */
void saved_places_modules(struct saved_places *p, const struct descent_driver *live);
/* True if the module of this run is another build. */
bool saved_places_is_rebuilt(const struct saved_places *p, uint32_t saved);

/* Ask the parser for a function by its name, if its module was built anew. `p` must outlive the
 * parser. A function without a name, or whose name is ambiguous, counts as gone. */
void saved_places_want(struct saved_places *p, struct rec_code function,
		       const struct driver_host *host);
/* True if no answer is outstanding. */
bool saved_places_ready(const struct saved_places *p);

/* Of the functions other than `but` that were asked for by name in its module, how many this run
 * has. *of: how many were asked for; 0 if the module is the same build. */
unsigned int saved_places_found(const struct saved_places *p, struct rec_code but,
				unsigned int *of);

/* Replace a function of the session with that of this run. False: it is gone. */
bool saved_places_function(const struct saved_places *p, struct rec_code *function);
/* Replace a call site, or its offset alone, in `caller`, a function of the session. False: the
 * caller is gone. */
bool saved_places_site(const struct saved_places *p, struct rec_code caller, struct rec_code *site);
