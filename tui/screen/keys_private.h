/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to keys.c (the tables) and keys_help.c (what is printed of them). */
#pragma once

#include "tui/screen/keys.h"

struct binding {
	enum keymap map;
	int key, last; /* all keys of key..last; last 0: `key` alone */
	enum request request;
};

/* The bindings in effect. */
size_t keys_nr_bindings(void);
const struct binding *keys_binding(size_t i);
/* The title of a table: "Everywhere", "Operations", ... */
const char *keys_title(enum keymap map);
