/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The roles of text, their style on three kinds of terminal, and the glyphs with their ASCII forms.
 * Colours are numbers; curses is not used.
 */
#ifndef PEAKTOP_THEME_H
#define PEAKTOP_THEME_H

#include <stdbool.h>

/* The meaning of the text in a cell. */
enum role {
	ROLE_TEXT = 0,
	ROLE_DIM,     /* secondary: units, hints, axes */
	ROLE_TITLE,   /* what this view is about */
	ROLE_HEADING, /* of a table or pane */
	ROLE_FOCUS,   /* heading of the pane that receives keys; heading of the sort column */
	ROLE_STATUS,  /* status line */
	ROLE_LIVE,
	ROLE_PAUSED,
	ROLE_REPLAY,
	ROLE_SELECTED, /* the row with the marker */
	ROLE_WARNING,
	ROLE_ALERT,
	ROLE_KEY,	  /* a key in a hint */
	ROLE_BAR,	  /* of a histogram */
	ROLE_BAR_CHOSEN,  /* ... inside the chosen peak */
	ROLE_PEAK,	  /* bracket and number */
	ROLE_PEAK_CHOSEN, /* of the chosen peak */
	ROLE_MATCH,	  /* found by `/` */
	ROLE_PROMPT,
	ROLE_POPUP,
	ROLE_HEAT_1, /* fewest calls */
	ROLE_HEAT_8 = ROLE_HEAT_1 + 7,
	ROLE_MAX
};

enum { HEAT_LEVELS = 8 };

enum theme { THEME_256, THEME_16, THEME_MONO };

struct style {
	short fg, bg; /* -1: the terminal's own */
	bool bold, dim, reverse, underline;
	/* the background colour shows the level: draw a blank instead of the text, except in ASCII
	 */
	bool blank;
};

/* `colors` is the number of colours of the terminal. */
enum theme theme_for(int colors, bool no_color);
struct style theme_style(enum theme theme, enum role role);

enum glyph {
	GLYPH_HLINE,
	GLYPH_VLINE,
	GLYPH_VLINE_CHOSEN, /* the axis beside the chosen peak */
	GLYPH_TOP_LEFT,	    /* corners of a frame */
	GLYPH_TOP_RIGHT,
	GLYPH_BOTTOM_LEFT,
	GLYPH_BOTTOM_RIGHT,
	GLYPH_TICK, /* on the vertical axis */
	GLYPH_BRACKET_TOP,
	GLYPH_BRACKET_MIDDLE,
	GLYPH_BRACKET_MODE, /* where the number stands */
	GLYPH_BRACKET_BOTTOM,
	GLYPH_BRACKET_SINGLE,
	GLYPH_BAR,
	GLYPH_BAR_HALF,
	GLYPH_DOT,	  /* between two items on one line */
	GLYPH_DESCENDING, /* the sort mark of a column */
	GLYPH_ASCENDING,
	GLYPH_HATCH, /* time that was not watched */
	GLYPH_MAX
};

const char *theme_glyph(enum glyph glyph, bool ascii);
/* For a level 1..8 of a heatmap cell; " " for 0. */
const char *theme_shade(unsigned int level, bool ascii);
/* For a level 1..8 of a sparkline column; " " for 0. */
const char *theme_spark(unsigned int level, bool ascii);

#endif
