// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/keys_private.h"

#include <ctype.h>
#include <strings.h>

#include "analysis/base/array.h"
#include "tui/report/sanitise.h"

static const struct request_info infos[REQUEST_MAX] = {[REQUEST_NONE] = {"", "", ""},
#define PEAKTOP_GROUP(title)
#define PEAKTOP_REQUEST(id, text, about) [REQUEST_##id] = {.name = (text), .help = (about)},
						       REQUEST_LIST(PEAKTOP_GROUP, PEAKTOP_REQUEST)
#undef PEAKTOP_GROUP
#undef PEAKTOP_REQUEST
};

const struct request_info *request_info(enum request request)
{
	return &infos[(unsigned int)request < REQUEST_MAX ? request : REQUEST_NONE];
}

static const struct binding built_in[] = {
    {KEYMAP_ALL, 'k', 0, REQUEST_UP},
    {KEYMAP_ALL, SCREEN_KEY_UP, 0, REQUEST_UP},
    {KEYMAP_ALL, 'j', 0, REQUEST_DOWN},
    {KEYMAP_ALL, SCREEN_KEY_DOWN, 0, REQUEST_DOWN},
    {KEYMAP_ALL, 'h', 0, REQUEST_LEFT},
    {KEYMAP_ALL, SCREEN_KEY_LEFT, 0, REQUEST_LEFT},
    {KEYMAP_ALL, 'l', 0, REQUEST_RIGHT},
    {KEYMAP_ALL, SCREEN_KEY_RIGHT, 0, REQUEST_RIGHT},
    {KEYMAP_ALL, 'g', 0, REQUEST_FIRST},
    {KEYMAP_ALL, SCREEN_KEY_HOME, 0, REQUEST_FIRST},
    {KEYMAP_ALL, 'G', 0, REQUEST_LAST},
    {KEYMAP_ALL, SCREEN_KEY_END, 0, REQUEST_LAST},
    {KEYMAP_ALL, KEY_CONTROL('U'), 0, REQUEST_HALF_UP},
    {KEYMAP_ALL, KEY_CONTROL('D'), 0, REQUEST_HALF_DOWN},
    {KEYMAP_ALL, SCREEN_KEY_PAGE_UP, 0, REQUEST_PAGE_UP},
    {KEYMAP_ALL, KEY_CONTROL('B'), 0, REQUEST_PAGE_UP},
    {KEYMAP_ALL, SCREEN_KEY_PAGE_DOWN, 0, REQUEST_PAGE_DOWN},
    {KEYMAP_ALL, KEY_CONTROL('F'), 0, REQUEST_PAGE_DOWN},
    {KEYMAP_ALL, '\t', 0, REQUEST_NEXT_PANE},
    {KEYMAP_ALL, SCREEN_KEY_BACKTAB, 0, REQUEST_PREVIOUS_PANE},
    {KEYMAP_ALL, '>', 0, REQUEST_COSTLIEST},
    {KEYMAP_ALL, '\r', 0, REQUEST_OPEN},
    {KEYMAP_ALL, 'q', 0, REQUEST_CLOSE},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 9, 0, REQUEST_CLOSE},
    {KEYMAP_ALL, 27, 0, REQUEST_BACK},
    {KEYMAP_ALL, KEY_CONTROL('C'), 0, REQUEST_QUIT},
    {KEYMAP_ALL, '?', 0, REQUEST_HELP},
    {KEYMAP_ALL, SCREEN_KEY_F1, 0, REQUEST_HELP},
    {KEYMAP_ALL, 'i', 0, REQUEST_INFORMATION},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 1, 0, REQUEST_INFORMATION},
    {KEYMAP_ALL, 'v', 0, REQUEST_EVENTS},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 5, 0, REQUEST_EVENTS},
    {KEYMAP_ALL, 'S', 0, REQUEST_SLOW_CALLS},
    {KEYMAP_ALL, 'y', 0, REQUEST_WHY},
    {KEYMAP_ALL, 'W', 0, REQUEST_CHAINS},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 6, 0, REQUEST_CHAINS},
    {KEYMAP_ALL, 'X', 0, REQUEST_CRITICAL},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 7, 0, REQUEST_CRITICAL},
    {KEYMAP_ALL, 'o', 0, REQUEST_WALK},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 11, 0, REQUEST_WALK},
    {KEYMAP_ALL, 'H', 0, REQUEST_THREADS},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 10, 0, REQUEST_THREADS},
    {KEYMAP_ALL, ' ', 0, REQUEST_PAUSE},
    {KEYMAP_ALL, KEY_CONTROL('L'), 0, REQUEST_REPAINT},
    {KEYMAP_ALL, KEY_CONTROL('Z'), 0, REQUEST_SUSPEND},
    {KEYMAP_ALL, '/', 0, REQUEST_SEARCH},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 2, 0, REQUEST_SEARCH},
    {KEYMAP_ALL, 'n', 0, REQUEST_FIND_NEXT},
    {KEYMAP_ALL, 'N', 0, REQUEST_FIND_PREVIOUS},
    {KEYMAP_ALL, 'f', 0, REQUEST_WATCH},
    {KEYMAP_ALL, '+', 0, REQUEST_WATCH},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 3, 0, REQUEST_WATCH},
    {KEYMAP_ALL, 'L', 0, REQUEST_LAYERS},
    {KEYMAP_ALL, SCREEN_KEY_F1 + 4, 0, REQUEST_LAYERS},
    {KEYMAP_ALL, '[', 0, REQUEST_EARLIER},
    {KEYMAP_ALL, ']', 0, REQUEST_LATER},
    {KEYMAP_ALL, '(', 0, REQUEST_SHORTER_SPAN},
    {KEYMAP_ALL, ')', 0, REQUEST_LONGER_SPAN},
    {KEYMAP_ALL, '0', 0, REQUEST_NOW},
    {KEYMAP_ALL, 'D', 0, REQUEST_COMPARE},
    {KEYMAP_ALL, 'B', 0, REQUEST_BOOKMARK},
    {KEYMAP_ALL, '\'', 0, REQUEST_NEXT_BOOKMARK},
    {KEYMAP_ALL, 'w', 0, REQUEST_SNAPSHOT},
    {KEYMAP_ALL, 'P', 0, REQUEST_VIEW_TEXT},

    /* the picker takes characters for its filter, so its keys are few */
    {KEYMAP_PICKER, SCREEN_KEY_UP, 0, REQUEST_UP},
    {KEYMAP_PICKER, KEY_CONTROL('P'), 0, REQUEST_UP},
    {KEYMAP_PICKER, SCREEN_KEY_DOWN, 0, REQUEST_DOWN},
    {KEYMAP_PICKER, KEY_CONTROL('N'), 0, REQUEST_DOWN},
    {KEYMAP_PICKER, SCREEN_KEY_LEFT, 0, REQUEST_LEFT},
    {KEYMAP_PICKER, SCREEN_KEY_RIGHT, 0, REQUEST_RIGHT},
    {KEYMAP_PICKER, '\t', 0, REQUEST_RIGHT},
    {KEYMAP_PICKER, KEY_CONTROL('R'), 0, REQUEST_REVERSE},
    {KEYMAP_PICKER, KEY_CONTROL('K'), 0, REQUEST_KERNEL_THREADS},
    {KEYMAP_PICKER, '\r', 0, REQUEST_OPEN},
    {KEYMAP_PICKER, SCREEN_KEY_BACKSPACE, 0, REQUEST_ERASE},
    {KEYMAP_PICKER, KEY_CONTROL('W'), 0, REQUEST_ERASE_ALL},

    {KEYMAP_OPERATIONS, '-', 0, REQUEST_UNWATCH},
    {KEYMAP_OPERATIONS, SCREEN_KEY_DELETE, 0, REQUEST_UNWATCH},
    {KEYMAP_OPERATIONS, 'a', 0, REQUEST_ASK_AGAIN},
    {KEYMAP_OPERATIONS, 's', 0, REQUEST_SPAN},
    {KEYMAP_OPERATIONS, 'R', 0, REQUEST_REVERSE},
    {KEYMAP_OPERATIONS, KEY_CONTROL('R'), 0, REQUEST_REVERSE}, /* in a replay */
    {KEYMAP_OPERATIONS, 'F', 0, REQUEST_COLUMNS},

    {KEYMAP_OPERATION, '1', '9', REQUEST_CHOOSE_PEAK},
    {KEYMAP_OPERATION, 'e', 0, REQUEST_EXPAND},
    {KEYMAP_OPERATION, 'c', 0, REQUEST_COLLAPSE},
    {KEYMAP_OPERATION, 'E', 0, REQUEST_EXPAND_ALL},
    {KEYMAP_OPERATION, 'C', 0, REQUEST_COLLAPSE_ALL},
    {KEYMAP_OPERATION, 'A', 0, REQUEST_ALL_PEAKS},
    {KEYMAP_OPERATION, '{', 0, REQUEST_SHORTER},
    {KEYMAP_OPERATION, '}', 0, REQUEST_LONGER},
    {KEYMAP_OPERATION, '0', 0, REQUEST_FIT},
    {KEYMAP_OPERATION, 'z', 0, REQUEST_ZOOM_IN},
    {KEYMAP_OPERATION, 'Z', 0, REQUEST_ZOOM_OUT},
    {KEYMAP_OPERATION, 'm', 0, REQUEST_MAP},
    {KEYMAP_OPERATION, 'a', 0, REQUEST_ASK_AGAIN},

    {KEYMAP_DESCENT, 'e', 0, REQUEST_EXPAND},
    {KEYMAP_DESCENT, 'c', 0, REQUEST_COLLAPSE},
    {KEYMAP_DESCENT, 'E', 0, REQUEST_EXPAND_ALL},
    {KEYMAP_DESCENT, 'C', 0, REQUEST_COLLAPSE_ALL},
    {KEYMAP_DESCENT, 'a', 0, REQUEST_ASK_AGAIN},
    {KEYMAP_DESCENT, 'd', 0, REQUEST_CODE},
    {KEYMAP_DESCENT, '1', '9', REQUEST_CHOOSE_PEAK},

    {KEYMAP_THREADS, ' ', 0, REQUEST_CHOOSE_THREAD},
    {KEYMAP_THREADS, 'U', 0, REQUEST_ALL_THREADS},

    {KEYMAP_WAITS, 'p', 0, REQUEST_PER_PROCESS},
    {KEYMAP_WAITS, 'z', 0, REQUEST_ZOOM_IN},
    {KEYMAP_WAITS, 'Z', 0, REQUEST_ZOOM_OUT},

    {KEYMAP_COLUMNS, ' ', 0, REQUEST_SHOW_COLUMN},
    {KEYMAP_COLUMNS, 'K', 0, REQUEST_COLUMN_LEFT},
    {KEYMAP_COLUMNS, '<', 0, REQUEST_COLUMN_LEFT},
    {KEYMAP_COLUMNS, 'J', 0, REQUEST_COLUMN_RIGHT},
    {KEYMAP_COLUMNS, '>', 0, REQUEST_COLUMN_RIGHT},
    {KEYMAP_COLUMNS, 's', 0, REQUEST_SORT_COLUMN},
    {KEYMAP_COLUMNS, 'R', 0, REQUEST_REVERSE},
    {KEYMAP_COLUMNS, 'a', 0, REQUEST_USUAL_COLUMNS},
    {KEYMAP_COLUMNS, 'W', 0, REQUEST_SAVE_COLUMNS},
    {KEYMAP_COLUMNS, 'F', 0, REQUEST_COLUMNS},

    {KEYMAP_REPLAY, 't', 0, REQUEST_STEP},
    {KEYMAP_REPLAY, 'T', 0, REQUEST_STEP_BACK},
    {KEYMAP_REPLAY, 'b', 0, REQUEST_JUMP},
    {KEYMAP_REPLAY, 'r', 0, REQUEST_REWIND},
    {KEYMAP_REPLAY, 'R', 0, REQUEST_RESUME},
    {KEYMAP_DESCENT, 'R', 0, REQUEST_RESUME},

    {KEYMAP_PROMPT, '\r', 0, REQUEST_ACCEPT},
    {KEYMAP_PROMPT, 27, 0, REQUEST_CANCEL},
    {KEYMAP_PROMPT, KEY_CONTROL('C'), 0, REQUEST_CANCEL},
    {KEYMAP_PROMPT, SCREEN_KEY_DOWN, 0, REQUEST_NEXT},
    {KEYMAP_PROMPT, KEY_CONTROL('N'), 0, REQUEST_NEXT},
    {KEYMAP_PROMPT, SCREEN_KEY_UP, 0, REQUEST_PREVIOUS},
    {KEYMAP_PROMPT, KEY_CONTROL('P'), 0, REQUEST_PREVIOUS},
    {KEYMAP_PROMPT, '\t', 0, REQUEST_COMPLETE},
    {KEYMAP_PROMPT, SCREEN_KEY_LEFT, 0, REQUEST_CURSOR_LEFT},
    {KEYMAP_PROMPT, SCREEN_KEY_RIGHT, 0, REQUEST_CURSOR_RIGHT},
    {KEYMAP_PROMPT, SCREEN_KEY_HOME, 0, REQUEST_CURSOR_HOME},
    {KEYMAP_PROMPT, KEY_CONTROL('A'), 0, REQUEST_CURSOR_HOME},
    {KEYMAP_PROMPT, SCREEN_KEY_END, 0, REQUEST_CURSOR_END},
    {KEYMAP_PROMPT, KEY_CONTROL('E'), 0, REQUEST_CURSOR_END},
    {KEYMAP_PROMPT, SCREEN_KEY_BACKSPACE, 0, REQUEST_ERASE},
    {KEYMAP_PROMPT, SCREEN_KEY_DELETE, 0, REQUEST_ERASE_NEXT},
    {KEYMAP_PROMPT, KEY_CONTROL('D'), 0, REQUEST_ERASE_NEXT},
    {KEYMAP_PROMPT, KEY_CONTROL('W'), 0, REQUEST_ERASE_WORD},
    {KEYMAP_PROMPT, KEY_CONTROL('U'), 0, REQUEST_ERASE_ALL},
    {KEYMAP_PROMPT, KEY_CONTROL('L'), 0, REQUEST_REPAINT},
    {KEYMAP_PROMPT, KEY_CONTROL('Z'), 0, REQUEST_SUSPEND},

    {KEYMAP_MENU, 'k', 0, REQUEST_UP},
    {KEYMAP_MENU, SCREEN_KEY_UP, 0, REQUEST_UP},
    {KEYMAP_MENU, 'j', 0, REQUEST_DOWN},
    {KEYMAP_MENU, SCREEN_KEY_DOWN, 0, REQUEST_DOWN},
    {KEYMAP_MENU, ' ', 0, REQUEST_TOGGLE},
    {KEYMAP_MENU, '1', '0' + LAYER_MAX, REQUEST_TOGGLE},
    {KEYMAP_MENU, '\r', 0, REQUEST_ACCEPT},
    {KEYMAP_MENU, 27, 0, REQUEST_CANCEL},
    {KEYMAP_MENU, 'q', 0, REQUEST_CANCEL},
    {KEYMAP_MENU, 'L', 0, REQUEST_CANCEL},
    {KEYMAP_MENU, KEY_CONTROL('C'), 0, REQUEST_QUIT},
    {KEYMAP_MENU, KEY_CONTROL('L'), 0, REQUEST_REPAINT},
    {KEYMAP_MENU, KEY_CONTROL('Z'), 0, REQUEST_SUSPEND},
};

enum { MAX_BINDINGS = 2 * ARRAY_SIZE(built_in) };
/* The bindings in effect, once keys_bind() has changed them; until then nr_changed is 0. */
static struct binding changed[MAX_BINDINGS];
static size_t nr_changed;

size_t keys_nr_bindings(void)
{
	return nr_changed ? nr_changed : ARRAY_SIZE(built_in);
}

const struct binding *keys_binding(size_t i)
{
	return nr_changed ? &changed[i] : &built_in[i];
}

/* Map the different codes that terminals send for a key to one. */
static int canonical(int key)
{
	switch (key) {
	case '\n':
		return '\r';
	case 8:
	case 127:
		return SCREEN_KEY_BACKSPACE;
	default:
		return key;
	}
}

enum request keys_request_only(enum keymap map, int key)
{
	key = canonical(key);
	for (size_t i = 0; i < keys_nr_bindings(); i++) {
		const struct binding *b = keys_binding(i);

		if (b->map == map && key >= b->key && key <= (b->last ? b->last : b->key))
			return b->request;
	}
	return REQUEST_NONE;
}

enum request keys_request(enum keymap map, bool replay, int key)
{
	enum request request = replay ? keys_request_only(KEYMAP_REPLAY, key) : REQUEST_NONE;

	if (request == REQUEST_NONE)
		request = keys_request_only(map, key);
	if (request == REQUEST_NONE)
		request = keys_request_only(KEYMAP_ALL, key);
	return request;
}

const char *keys_title(enum keymap map)
{
	static const char *const titles[KEYMAP_MAX] = {
	    [KEYMAP_ALL] = "Everywhere",
	    [KEYMAP_PICKER] = "Process picker",
	    [KEYMAP_OPERATIONS] = "Operations",
	    [KEYMAP_OPERATION] = "Heat map and peaks",
	    [KEYMAP_DESCENT] = "Descent",
	    [KEYMAP_PAGER] = "Text",
	    [KEYMAP_WAITS] = "Waits",
	    [KEYMAP_THREADS] = "Threads",
	    [KEYMAP_COLUMNS] = "Menu of columns",
	    [KEYMAP_REPLAY] = "Replay",
	    [KEYMAP_PROMPT] = "Prompt",
	    [KEYMAP_MENU] = "Layers menu",
	};

	return (unsigned int)map < KEYMAP_MAX ? titles[map] : "";
}

enum request request_named(const char *name)
{
	for (int i = 1; i < REQUEST_MAX; i++)
		if (!strcmp(infos[i].name, name))
			return (enum request)i;
	return REQUEST_NONE;
}

static bool fixed_map(enum keymap map)
{
	return map == KEYMAP_PROMPT || map == KEYMAP_MENU;
}

bool keys_can_bind(enum request request)
{
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		if (built_in[i].request == request && !fixed_map(built_in[i].map))
			return !built_in[i].last;
	return false;
}

static bool built_in_everywhere(enum request request)
{
	return any_of(i, ARRAY_SIZE(built_in),
		      built_in[i].request == request && built_in[i].map == KEYMAP_ALL);
}

unsigned int keys_built_in(enum request request, int *key, unsigned int max)
{
	bool everywhere = built_in_everywhere(request);
	unsigned int n = 0, k;

	for (size_t i = 0; i < ARRAY_SIZE(built_in) && n < max; i++) {
		const struct binding *b = &built_in[i];

		if (b->request != request || fixed_map(b->map) ||
		    (everywhere && b->map != KEYMAP_ALL))
			continue;
		for (k = 0; k < n && key[k] != b->key; k++)
			;
		if (k == n)
			key[n++] = b->key;
	}
	return n;
}

/* False for characters in the picker, because they are typed into its filter. */
static bool usable(enum keymap map, int key)
{
	return map != KEYMAP_PICKER || key < ' ' || key == 127 ||
	       (key >= SCREEN_KEY_UP && key <= SCREEN_KEY_F12);
}

/* Bind a request anew in one table. If none of the keys is usable there, nothing changes. */
static void bind_in(enum keymap map, enum request request, const int *key, unsigned int n)
{
	size_t kept = 0;
	unsigned int usable_keys = 0;
	bool bound = false;

	for (unsigned int i = 0; i < n; i++)
		usable_keys += usable(map, key[i]);
	for (size_t i = 0; i < nr_changed; i++)
		bound |= changed[i].map == map && changed[i].request == request;
	if (!bound || !usable_keys)
		return;
	for (size_t i = 0; i < nr_changed; i++)
		if (changed[i].map != map || changed[i].request != request)
			changed[kept++] = changed[i];
	nr_changed = kept;
	for (unsigned int i = 0; i < n && nr_changed < MAX_BINDINGS; i++)
		if (usable(map, key[i]))
			changed[nr_changed++] =
			    (struct binding){map, canonical(key[i]), 0, request};
}

void keys_bind(enum request request, const int *key, unsigned int n)
{
	if (!keys_can_bind(request))
		return;
	if (!nr_changed) {
		memcpy(changed, built_in, sizeof(built_in));
		nr_changed = ARRAY_SIZE(built_in);
	}
	for (int map = 0; map < KEYMAP_MAX; map++)
		if (!fixed_map((enum keymap)map))
			bind_in((enum keymap)map, request, key, n);
}

void keys_reset(void)
{
	nr_changed = 0;
}

bool keys_conflict(char *out, size_t size, enum request both[2])
{
	char name[32];

	for (size_t i = 0; i < keys_nr_bindings(); i++) {
		for (size_t k = i + 1; k < keys_nr_bindings(); k++) {
			const struct binding *a = keys_binding(i), *b = keys_binding(k);

			if (a->map != b->map || a->request == b->request ||
			    b->key > (a->last ? a->last : a->key) ||
			    a->key > (b->last ? b->last : b->key))
				continue;
			both[0] = a->request;
			both[1] = b->request;
			snprintf(out, size,
				 "the key %s is both key.%s and key.%s (%s); give one of them "
				 "another key",
				 key_name(b->key, name, sizeof(name)), infos[a->request].name,
				 infos[b->request].name, keys_title(a->map));
			return true;
		}
	}
	return false;
}

static const struct {
	int key;
	const char *name;
} names[] = {
    {'\r', "Enter"},
    {'\t', "Tab"},
    {27, "Esc"},
    {' ', "Space"},
    {SCREEN_KEY_UP, "Up"},
    {SCREEN_KEY_DOWN, "Down"},
    {SCREEN_KEY_LEFT, "Left"},
    {SCREEN_KEY_RIGHT, "Right"},
    {SCREEN_KEY_HOME, "Home"},
    {SCREEN_KEY_END, "End"},
    {SCREEN_KEY_PAGE_UP, "PgUp"},
    {SCREEN_KEY_PAGE_DOWN, "PgDn"},
    {SCREEN_KEY_INSERT, "Ins"},
    {SCREEN_KEY_DELETE, "Del"},
    {SCREEN_KEY_BACKSPACE, "Backspace"},
    {SCREEN_KEY_BACKTAB, "Shift-Tab"},
};

char *key_name(int key, char *out, size_t size)
{
	key = canonical(key);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].key == key) {
			snprintf(out, size, "%s", names[i].name);
			return out;
		}
	}
	if (key >= SCREEN_KEY_F1 && key <= SCREEN_KEY_F12)
		snprintf(out, size, "F%d", key - SCREEN_KEY_F1 + 1);
	else if (key > 0 && key < ' ')
		snprintf(out, size, "Ctrl-%c", '@' + key);
	else if (key > ' ' && key < 127)
		snprintf(out, size, "%c", key);
	else
		snprintf(out, size, "U+%04X", (unsigned int)key);
	return out;
}

int key_parse(const char *name)
{
	size_t i, len = strlen(name);
	uint32_t cp;
	char *end;
	long n;

	if (!len)
		return -1;
	if (utf8_decode(name, len, &cp) == len)
		return (int)cp;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(names[i].name, name))
			return names[i].key;
	if (len == 6 && !strncasecmp(name, "Ctrl-", 5) && name[5] >= '@' && name[5] <= 'z')
		return KEY_CONTROL(name[5]);
	if ((name[0] == 'F' || name[0] == 'f') && (len == 2 || len == 3)) {
		n = strtol(name + 1, NULL, 10);
		if (n >= 1 && n <= 12)
			return SCREEN_KEY_F1 + (int)n - 1;
	}
	if (!strncasecmp(name, "U+", 2) && isxdigit((unsigned char)name[2])) {
		n = strtol(name + 2, &end, 16);
		return *end || n > 0x10ffff ? -1 : (int)n;
	}
	return -1;
}
