// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/theme.h"

#define NONE .fg = -1, .bg = -1
#define HEAT(n) ROLE_HEAT_1 + (n)-1

/* The roles that need no colour and look the same in every theme. */
// clang-format off
#define COLOURLESS \
	[ROLE_TEXT] = {NONE}, \
	[ROLE_TITLE] = {NONE, .bold = true}, \
	[ROLE_FOCUS] = {NONE, .bold = true, .underline = true}, \
	[ROLE_STATUS] = {NONE, .reverse = true}, \
	[ROLE_LIVE] = {NONE, .reverse = true, .bold = true}, \
	[ROLE_SELECTED] = {NONE, .bold = true}, \
	[ROLE_KEY] = {NONE, .bold = true}, \
	[ROLE_MATCH] = {NONE, .bold = true, .underline = true}, \
	[ROLE_PROMPT] = {NONE, .bold = true}, \
	[ROLE_POPUP] = {NONE}
// clang-format on

/* xterm's 256 colours. The colours of the heatmap rise in lightness (53 61 67 73 79 121 191 226),
 * so that they can be read without distinguishing hues. */
static const struct style style_256[ROLE_MAX] = {
    COLOURLESS,
    [ROLE_DIM] = {.fg = 244, .bg = -1},
    [ROLE_HEADING] = {.fg = 244, .bg = -1, .underline = true},
    [ROLE_PAUSED] = {.fg = 16, .bg = 220, .bold = true},
    [ROLE_REPLAY] = {.fg = 16, .bg = 79, .bold = true},
    [ROLE_WARNING] = {.fg = 172, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 231, .bg = 160, .bold = true},
    [ROLE_BAR] = {.fg = 67, .bg = -1},
    [ROLE_BAR_CHOSEN] = {.fg = 172, .bg = -1},
    [ROLE_PEAK] = {.fg = 244, .bg = -1},
    [ROLE_PEAK_CHOSEN] = {.fg = 172, .bg = -1, .bold = true},
    [HEAT(1)] = {.fg = 231, .bg = 53, .blank = true},
    [HEAT(2)] = {.fg = 231, .bg = 61, .blank = true},
    [HEAT(3)] = {.fg = 231, .bg = 67, .blank = true},
    [HEAT(4)] = {.fg = 16, .bg = 73, .blank = true},
    [HEAT(5)] = {.fg = 16, .bg = 79, .blank = true},
    [HEAT(6)] = {.fg = 16, .bg = 121, .blank = true},
    [HEAT(7)] = {.fg = 16, .bg = 191, .blank = true},
    [HEAT(8)] = {.fg = 16, .bg = 226, .blank = true},
};

/* The eight colours of every colour terminal, with bold for brighter ones. Heatmap levels also
 * differ in their shade characters. */
static const struct style style_8[ROLE_MAX] = {
    COLOURLESS,
    [ROLE_DIM] = {NONE},
    [ROLE_HEADING] = {NONE, .underline = true},
    [ROLE_PAUSED] = {.fg = 0, .bg = 3},
    [ROLE_REPLAY] = {.fg = 0, .bg = 6},
    [ROLE_WARNING] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 7, .bg = 1, .bold = true},
    [ROLE_BAR] = {.fg = 6, .bg = -1},
    [ROLE_BAR_CHOSEN] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_PEAK] = {NONE},
    [ROLE_PEAK_CHOSEN] = {.fg = 3, .bg = -1, .bold = true},
    [HEAT(1)] = {.fg = 4, .bg = -1},
    [HEAT(2)] = {.fg = 5, .bg = -1},
    [HEAT(3)] = {.fg = 6, .bg = -1},
    [HEAT(4)] = {.fg = 6, .bg = -1, .bold = true},
    [HEAT(5)] = {.fg = 2, .bg = -1},
    [HEAT(6)] = {.fg = 2, .bg = -1, .bold = true},
    [HEAT(7)] = {.fg = 3, .bg = -1, .bold = true},
    [HEAT(8)] = {.fg = 7, .bg = -1, .bold = true},
};

/* The sixteen colours: bright ones instead of bold text. */
static const struct style style_16[ROLE_MAX] = {
    COLOURLESS,
    [ROLE_DIM] = {.fg = 8, .bg = -1},
    [ROLE_HEADING] = {.fg = 8, .bg = -1, .underline = true},
    [ROLE_PAUSED] = {.fg = 0, .bg = 11},
    [ROLE_REPLAY] = {.fg = 0, .bg = 14},
    [ROLE_WARNING] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 15, .bg = 1, .bold = true},
    [ROLE_BAR] = {.fg = 6, .bg = -1},
    [ROLE_BAR_CHOSEN] = {.fg = 11, .bg = -1},
    [ROLE_PEAK] = {.fg = 8, .bg = -1},
    [ROLE_PEAK_CHOSEN] = {.fg = 11, .bg = -1, .bold = true},
    [HEAT(1)] = {.fg = 4, .bg = -1},
    [HEAT(2)] = {.fg = 12, .bg = -1},
    [HEAT(3)] = {.fg = 6, .bg = -1},
    [HEAT(4)] = {.fg = 14, .bg = -1},
    [HEAT(5)] = {.fg = 2, .bg = -1},
    [HEAT(6)] = {.fg = 10, .bg = -1},
    [HEAT(7)] = {.fg = 11, .bg = -1},
    [HEAT(8)] = {.fg = 15, .bg = -1},
};

/* For the colour-blind, 256 colours: blue and yellow, which nearly everyone distinguishes, and
 * never red against green. The heatmap follows the palette cividis (Nunez, Anderton, Renslow, PLoS
 * ONE 2018): from dark blue through grey to yellow, with rising lightness. */
static const struct style style_blind[ROLE_MAX] = {
    COLOURLESS,
    [ROLE_DIM] = {.fg = 244, .bg = -1},
    [ROLE_HEADING] = {.fg = 244, .bg = -1, .underline = true},
    [ROLE_PAUSED] = {.fg = 231, .bg = 25, .bold = true},
    [ROLE_REPLAY] = {.fg = 16, .bg = 153, .bold = true},
    [ROLE_WARNING] = {.fg = 178, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 16, .bg = 220, .bold = true},
    [ROLE_BAR] = {.fg = 67, .bg = -1},
    [ROLE_BAR_CHOSEN] = {.fg = 220, .bg = -1},
    [ROLE_PEAK] = {.fg = 244, .bg = -1},
    [ROLE_PEAK_CHOSEN] = {.fg = 220, .bg = -1, .bold = true},
    [HEAT(1)] = {.fg = -1, .bg = 17, .blank = true},
    [HEAT(2)] = {.fg = -1, .bg = 24, .blank = true},
    [HEAT(3)] = {.fg = -1, .bg = 60, .blank = true},
    [HEAT(4)] = {.fg = -1, .bg = 243, .blank = true},
    [HEAT(5)] = {.fg = -1, .bg = 246, .blank = true},
    [HEAT(6)] = {.fg = -1, .bg = 143, .blank = true},
    [HEAT(7)] = {.fg = -1, .bg = 185, .blank = true},
    [HEAT(8)] = {.fg = -1, .bg = 228, .blank = true},
};

/* The same with eight colours. */
static const struct style style_blind_8[ROLE_MAX] = {
    COLOURLESS,
    [ROLE_DIM] = {NONE},
    [ROLE_HEADING] = {NONE, .underline = true},
    [ROLE_PAUSED] = {.fg = 7, .bg = 4},
    [ROLE_REPLAY] = {.fg = 0, .bg = 6},
    [ROLE_WARNING] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_ALERT] = {.fg = 0, .bg = 3, .bold = true},
    [ROLE_BAR] = {.fg = 4, .bg = -1, .bold = true},
    [ROLE_BAR_CHOSEN] = {.fg = 3, .bg = -1, .bold = true},
    [ROLE_PEAK] = {NONE},
    [ROLE_PEAK_CHOSEN] = {.fg = 3, .bg = -1, .bold = true},
    [HEAT(1)] = {.fg = 4, .bg = -1},
    [HEAT(2)] = {.fg = 4, .bg = -1, .bold = true},
    [HEAT(3)] = {.fg = 6, .bg = -1},
    [HEAT(4)] = {.fg = 6, .bg = -1, .bold = true},
    [HEAT(5)] = {.fg = 7, .bg = -1},
    [HEAT(6)] = {.fg = 7, .bg = -1, .bold = true},
    [HEAT(7)] = {.fg = 3, .bg = -1},
    [HEAT(8)] = {.fg = 3, .bg = -1, .bold = true},
};

static const struct style style_mono[ROLE_MAX] = {
    COLOURLESS,
    [ROLE_DIM] = {NONE},
    [ROLE_HEADING] = {NONE, .underline = true},
    [ROLE_PAUSED] = {NONE, .reverse = true, .bold = true},
    [ROLE_REPLAY] = {NONE, .reverse = true, .bold = true},
    [ROLE_WARNING] = {NONE, .bold = true},
    [ROLE_ALERT] = {NONE, .bold = true, .reverse = true},
    [ROLE_BAR] = {NONE},
    [ROLE_BAR_CHOSEN] = {NONE, .bold = true},
    [ROLE_PEAK] = {NONE},
    [ROLE_PEAK_CHOSEN] = {NONE, .bold = true},
    [HEAT(1)] = {NONE},
    [HEAT(2)] = {NONE, .bold = true},
    [HEAT(3)] = {NONE},
    [HEAT(4)] = {NONE, .bold = true},
    [HEAT(5)] = {NONE},
    [HEAT(6)] = {NONE, .bold = true},
    [HEAT(7)] = {NONE},
    [HEAT(8)] = {NONE, .bold = true},
};

static const char *const wish_names[WISHES] = {
    [WISH_AUTO] = "auto",
    [WISH_MONO] = "mono",
    [WISH_8] = "8",
    [WISH_16] = "16",
    [WISH_256] = "256",
    [WISH_TRUE] = "true",
    [WISH_BLIND] = "colorblind",
};

const char *theme_wish_name(enum theme_wish wish)
{
	return (unsigned int)wish < WISHES ? wish_names[wish] : "?";
}

enum theme theme_for(enum theme_wish wish, int colors, bool no_color)
{
	static const int most[WISHES] = {[WISH_MONO] = 1, [WISH_8] = 8, [WISH_16] = 16};

	if (most[wish] && most[wish] < colors)
		colors = most[wish];
	if (no_color || colors < 8)
		return THEME_MONO;
	if (wish == WISH_BLIND)
		return colors < 256 ? THEME_BLIND_8 : THEME_BLIND;
	return colors < 16 ? THEME_8 : colors < 256 ? THEME_16 : THEME_256;
}

struct style theme_style(enum theme theme, enum role role)
{
	static const struct style *const tables[] = {
	    [THEME_256] = style_256,	 [THEME_16] = style_16,		  [THEME_8] = style_8,
	    [THEME_BLIND] = style_blind, [THEME_BLIND_8] = style_blind_8, [THEME_MONO] = style_mono,
	};
	const struct style *table = tables[theme];

	return (unsigned int)role < ROLE_MAX ? table[role] : table[ROLE_TEXT];
}

int theme_rgb(int color)
{
	static const int basic[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
				      0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
				      0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
	static const int step[6] = {0, 95, 135, 175, 215, 255};
	int grey;

	if (color < 0 || color > 255)
		return -1;
	if (color < 16)
		return basic[color];
	if (color < 232)
		return step[(color - 16) / 36] << 16 | step[(color - 16) / 6 % 6] << 8 |
		       step[(color - 16) % 6];
	grey = 8 + 10 * (color - 232);
	return grey << 16 | grey << 8 | grey;
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
