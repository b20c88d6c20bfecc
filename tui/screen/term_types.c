// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/term_types.h"

#include <stddef.h>
#include <string.h>

static const char *const xterms[] = {"xterm-256color", "xterm", NULL};
static const char *const screens[] = {"screen-256color", "screen", NULL};

static const struct {
	const char *begin; /* of the names of the family */
	const char *const *like;
} families[] = {
    {"xterm", xterms},	 {"alacritty", xterms}, {"foot", xterms},    {"ghostty", xterms},
    {"iterm", xterms},	 {"kitty", xterms},	{"konsole", xterms}, {"mintty", xterms},
    {"rio", xterms},	 {"vte", xterms},	{"gnome", xterms},   {"wezterm", xterms},
    {"screen", screens}, {"tmux", screens},
};

const char *const *term_types_like(const char *type)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (!strncmp(type, families[i].begin, strlen(families[i].begin)))
			return families[i].like;
	}
	return NULL;
}
