// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/theme.h"

#define NONE .fg = -1, .bg = -1
#define HEAT(n) ROLE_HEAT_1 + (n)-1

/*
 * xterm's 256 colours. The colours of the heatmap rise in lightness (53 61 67 73 79 121 191 226),
 * so that they can be read without distinguishing hues.
 */
static const struct style style_256[ROLE_MAX] = {
    [ROLE_TEXT] = {NONE},
    [ROLE_DIM] = {.fg = 244, .bg = -1},
    [ROLE_TITLE] = {NONE, .bold = true},
    [ROLE_HEADING] = {.fg = 244, .bg = -1, .underline = true},
    [ROLE_FOCUS] = {NONE, .bold = true, .underline = true},
    [ROLE_STATUS] = {NONE, .reverse = true},
    [ROLE_LIVE] = {NONE, .reverse = true, .bold = true},
    [ROLE_PAUSED] = {.fg = 16, .bg = 220, .bold = true},
    [ROLE_REPLAY] = {.fg = 16, .bg = 79, .bold = true},
    [ROLE_SELECTED] = {NONE, .bold = true},
    [ROLE_WARNING] = {.fg = 172, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 231, .bg = 160, .bold = true},
    [ROLE_KEY] = {NONE, .bold = true},
    [ROLE_BAR] = {.fg = 67, .bg = -1},
    [ROLE_BAR_CHOSEN] = {.fg = 172, .bg = -1},
    [ROLE_PEAK] = {.fg = 244, .bg = -1},
    [ROLE_PEAK_CHOSEN] = {.fg = 172, .bg = -1, .bold = true},
    [ROLE_MATCH] = {NONE, .bold = true, .underline = true},
    [ROLE_PROMPT] = {NONE, .bold = true},
    [ROLE_POPUP] = {NONE},
    [HEAT(1)] = {.fg = 231, .bg = 53, .blank = true},
    [HEAT(2)] = {.fg = 231, .bg = 61, .blank = true},
    [HEAT(3)] = {.fg = 231, .bg = 67, .blank = true},
    [HEAT(4)] = {.fg = 16, .bg = 73, .blank = true},
    [HEAT(5)] = {.fg = 16, .bg = 79, .blank = true},
    [HEAT(6)] = {.fg = 16, .bg = 121, .blank = true},
    [HEAT(7)] = {.fg = 16, .bg = 191, .blank = true},
    [HEAT(8)] = {.fg = 16, .bg = 226, .blank = true},
};

/*
 * The eight colours of every colour terminal, with bold for brighter ones. Heatmap levels also
 * differ in their shade characters.
 */
static const struct style style_16[ROLE_MAX] = {
    [ROLE_TEXT] = {NONE},
    [ROLE_DIM] = {NONE},
    [ROLE_TITLE] = {NONE, .bold = true},
    [ROLE_HEADING] = {NONE, .underline = true},
    [ROLE_FOCUS] = {NONE, .bold = true, .underline = true},
    [ROLE_STATUS] = {NONE, .reverse = true},
    [ROLE_LIVE] = {NONE, .reverse = true, .bold = true},
    [ROLE_PAUSED] = {.fg = 0, .bg = 3},
    [ROLE_REPLAY] = {.fg = 0, .bg = 6},
    [ROLE_SELECTED] = {NONE, .bold = true},
    [ROLE_WARNING] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 7, .bg = 1, .bold = true},
    [ROLE_KEY] = {NONE, .bold = true},
    [ROLE_BAR] = {.fg = 6, .bg = -1},
    [ROLE_BAR_CHOSEN] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_PEAK] = {NONE},
    [ROLE_PEAK_CHOSEN] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_MATCH] = {NONE, .bold = true, .underline = true},
    [ROLE_PROMPT] = {NONE, .bold = true},
    [ROLE_POPUP] = {NONE},
    [HEAT(1)] = {.fg = 4, .bg = -1},
    [HEAT(2)] = {.fg = 5, .bg = -1},
    [HEAT(3)] = {.fg = 6, .bg = -1},
    [HEAT(4)] = {.fg = 6, .bg = -1, .bold = true},
    [HEAT(5)] = {.fg = 2, .bg = -1},
    [HEAT(6)] = {.fg = 2, .bg = -1, .bold = true},
    [HEAT(7)] = {.fg = 3, .bg = -1, .bold = true},
    [HEAT(8)] = {.fg = 7, .bg = -1, .bold = true},
};

static const struct style style_mono[ROLE_MAX] = {
    [ROLE_TEXT] = {NONE},
    [ROLE_DIM] = {NONE},
    [ROLE_TITLE] = {NONE, .bold = true},
    [ROLE_HEADING] = {NONE, .underline = true},
    [ROLE_FOCUS] = {NONE, .bold = true, .underline = true},
    [ROLE_STATUS] = {NONE, .reverse = true},
    [ROLE_LIVE] = {NONE, .reverse = true, .bold = true},
    [ROLE_PAUSED] = {NONE, .reverse = true, .bold = true},
    [ROLE_REPLAY] = {NONE, .reverse = true, .bold = true},
    [ROLE_SELECTED] = {NONE, .bold = true},
    [ROLE_WARNING] = {NONE, .bold = true},
    [ROLE_ALERT] = {NONE, .bold = true, .reverse = true},
    [ROLE_KEY] = {NONE, .bold = true},
    [ROLE_BAR] = {NONE},
    [ROLE_BAR_CHOSEN] = {NONE, .bold = true},
    [ROLE_PEAK] = {NONE},
    [ROLE_PEAK_CHOSEN] = {NONE, .bold = true},
    [ROLE_MATCH] = {NONE, .bold = true, .underline = true},
    [ROLE_PROMPT] = {NONE, .bold = true},
    [ROLE_POPUP] = {NONE},
    [HEAT(1)] = {NONE},
    [HEAT(2)] = {NONE, .bold = true},
    [HEAT(3)] = {NONE},
    [HEAT(4)] = {NONE, .bold = true},
    [HEAT(5)] = {NONE},
    [HEAT(6)] = {NONE, .bold = true},
    [HEAT(7)] = {NONE},
    [HEAT(8)] = {NONE, .bold = true},
};

enum theme theme_for(int colors, bool no_color)
{
	if (no_color || colors < 8)
		return THEME_MONO;
	return colors < 256 ? THEME_16 : THEME_256;
}

struct style theme_style(enum theme theme, enum role role)
{
	const struct style *table = theme == THEME_256	? style_256
				    : theme == THEME_16 ? style_16
							: style_mono;

	return (unsigned int)role < ROLE_MAX ? table[role] : table[ROLE_TEXT];
}

static const char *const glyphs[GLYPH_MAX][2] = {
    [GLYPH_HLINE] = {"─", "-"},		 [GLYPH_VLINE] = {"│", "|"},
    [GLYPH_VLINE_CHOSEN] = {"┃", ":"},	 [GLYPH_TOP_LEFT] = {"┌", "+"},
    [GLYPH_TOP_RIGHT] = {"┐", "+"},	 [GLYPH_BOTTOM_LEFT] = {"└", "+"},
    [GLYPH_BOTTOM_RIGHT] = {"┘", "+"},	 [GLYPH_TICK] = {"┤", "+"},
    [GLYPH_BRACKET_TOP] = {"┐", "\\"},	 [GLYPH_BRACKET_MIDDLE] = {"│", "|"},
    [GLYPH_BRACKET_MODE] = {"├", "|"},	 [GLYPH_BRACKET_BOTTOM] = {"┘", "/"},
    [GLYPH_BRACKET_SINGLE] = {"]", "]"}, [GLYPH_BAR] = {"█", "#"},
    [GLYPH_BAR_HALF] = {"▌", "#"},	 [GLYPH_DOT] = {"·", "|"},
    [GLYPH_DESCENDING] = {"↓", "v"},	 [GLYPH_ASCENDING] = {"↑", "^"},
    [GLYPH_HATCH] = {"╱", "/"},
};

const char *theme_glyph(enum glyph glyph, bool ascii)
{
	return (unsigned int)glyph < GLYPH_MAX ? glyphs[glyph][ascii] : "?";
}

const char *theme_shade(unsigned int level, bool ascii)
{
	static const char *const shade[HEAT_LEVELS + 1] = {" ", "░", "░", "▒", "▒",
							   "▓", "▓", "█", "█"};
	static const char *const plain[HEAT_LEVELS + 1] = {" ", ".", ":", "-", "=",
							   "+", "*", "#", "#"};

	if (level > HEAT_LEVELS)
		level = HEAT_LEVELS;
	return ascii ? plain[level] : shade[level];
}

const char *theme_spark(unsigned int level, bool ascii)
{
	static const char *const block[HEAT_LEVELS + 1] = {" ", "▁", "▂", "▃", "▄",
							   "▅", "▆", "▇", "█"};

	if (level > HEAT_LEVELS)
		level = HEAT_LEVELS;
	return ascii ? theme_shade(level, true) : block[level];
}
