// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/term_types.h"

#include <unistd.h>

#include <curses.h>

#include "tui/screen/curses.h"
#include "tui/screen/screen.h"

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

int term_check(const struct term_options *o, const char *type, struct termios *settings,
	       char *error, size_t size)
{
	if (!type || !*type || !strcmp(type, "dumb")) {
		snprintf(error, size, "the screen needs a terminal, but TERM is %s: " TERM_INSTEAD,
			 type && *type ? type : "not set");
		return -ENODEV;
	}
	if (!isatty(o->in_fd) || !isatty(o->out_fd) || tcgetattr(o->out_fd, settings) < 0) {
		snprintf(error, size,
			 "the screen needs a terminal, but standard %s is not one: " TERM_INSTEAD,
			 isatty(o->in_fd) ? "output" : "input");
		return -ENOTTY;
	}
	return 0;
}

int term_key_of(wint_t code)
{
	static const struct {
		wint_t code;
		int key;
	} table[] = {
	    {KEY_UP, SCREEN_KEY_UP},
	    {KEY_DOWN, SCREEN_KEY_DOWN},
	    {KEY_LEFT, SCREEN_KEY_LEFT},
	    {KEY_RIGHT, SCREEN_KEY_RIGHT},
	    {KEY_HOME, SCREEN_KEY_HOME},
	    {KEY_END, SCREEN_KEY_END},
	    {KEY_FIND, SCREEN_KEY_HOME},
	    {KEY_SELECT, SCREEN_KEY_END},
	    {KEY_PPAGE, SCREEN_KEY_PAGE_UP},
	    {KEY_NPAGE, SCREEN_KEY_PAGE_DOWN},
	    {KEY_IC, SCREEN_KEY_INSERT},
	    {KEY_DC, SCREEN_KEY_DELETE},
	    {KEY_BACKSPACE, SCREEN_KEY_BACKSPACE},
	    {KEY_BTAB, SCREEN_KEY_BACKTAB},
	    {KEY_ENTER, '\r'},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].code == code)
			return table[i].key;
	if (code >= KEY_F(1) && code <= KEY_F(12))
		return SCREEN_KEY_F1 + (int)(code - KEY_F(1));
	return TERM_NOTHING;
}
