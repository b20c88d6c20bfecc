/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roles of text, their style on several kinds of terminal, and the glyphs with their ASCII
 * forms. Colours are numbers; curses is not used. */
#pragma once

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

enum theme { THEME_256, THEME_16, THEME_8, THEME_BLIND, THEME_BLIND_8, THEME_MONO };

/* The theme that the user chose. A terminal with fewer colours gets a theme that it can show. */
enum theme_wish {
	WISH_AUTO = 0,
	WISH_MONO,
	WISH_8,
	WISH_16,
	WISH_256,
	WISH_TRUE,  /* the colours of 256, on terminals that take red, green and blue */
	WISH_BLIND, /* for the colour-blind */
	WISHES
};
/* As in the configuration: "auto", "256". */
const char *theme_wish_name(enum theme_wish wish);

struct style {
	short fg, bg; /* -1: the terminal's own */
	bool bold, dim, reverse, underline;
	/* the background colour shows the level: draw a blank instead of the text, except in ASCII
	 */
	bool blank;
};

/* `colors` is the number of colours of the terminal. */
enum theme theme_for(enum theme_wish wish, int colors, bool no_color);
struct style theme_style(enum theme theme, enum role role);
/* The RGB value (0xrrggbb) of one of the 256 colours of xterm. -1, the default colour of the
 * terminal, has none: the result is -1. */
int theme_rgb(int color);

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
