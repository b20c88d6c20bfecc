/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of terminals that understand each other. */
#ifndef PEAKTOP_TERM_TYPES_H
#define PEAKTOP_TERM_TYPES_H

/*
 * The types to try, NULL-terminated, for a terminal whose own type this host does not know: over
 * SSH the terminal description of xterm-kitty is often missing. Only for families whose members all
 * understand these types; NULL: the type belongs to no such family.
 */
const char *const *term_types_like(const char *type);

#endif
