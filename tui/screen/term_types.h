/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a terminal is: its type, whether it can be used, and the names of its keys. */
#pragma once

#include <termios.h>
#include <wchar.h>

struct term_options;

/* The end of each refusal of a terminal. */
#define TERM_INSTEAD "use peaktop watch, descend or record instead, with --json for programs"

/* The types to try, NULL-terminated, for a terminal whose own type this host does not know: over
 * SSH the terminal description of xterm-kitty is often missing. Only for families whose members all
 * understand these types; NULL: the type belongs to no such family. */
const char *const *term_types_like(const char *type);
/* Check that the descriptors are a terminal with a type, and read its settings. Returns as
 * term_open(). */
int term_check(const struct term_options *o, const char *type, struct termios *settings,
	       char *error, size_t size);
/* The key (enum screen_key) of a code of curses; TERM_NOTHING if it has no meaning here. */
int term_key_of(wint_t code);
