/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration: theme, columns, sort order, keys, defaults of options. This part parses and
 * prints text; config_file.c finds and reads the file.
 *
 * Each line is `SETTING = VALUE`. Blank lines, and lines that begin with #, are ignored.
 */
#pragma once

#include "analysis/base/buf.h"
#include "tui/engine/options.h"
#include "tui/screen/request.h"
#include "tui/screen/theme.h"

enum {
	CONFIG_MAX_BYTES = 65536,
	CONFIG_MAX_LINE = 512,
	CONFIG_MAX_KEYS = 8, /* of one request */
};

/* The keys of one request; n 0: as built in. */
struct config_keys {
	unsigned int n, line; /* of the file */
	int key[CONFIG_MAX_KEYS];
};

struct config {
	enum theme_wish theme;
	uint32_t columns; /* as in struct screen_options */
	uint64_t column_order;
	int sort;
	bool reverse;
	struct config_keys keys[REQUEST_MAX];
	struct options defaults; /* only what config_option() knows is set from the file */
};

/* Set what is built in. */
void config_init(struct config *c);
/* Take the settings of a file. Returns 0, or -EINVAL with one line in `error` that begins with
 * "line N: " and says what is wrong and what to do. Then `c` is partly set. */
int config_parse(struct config *c, const char *text, size_t n, char *error, size_t error_size);
/* Settle what was parsed: put the settings of the screen into `defaults`, and give the keys to the
 * screen. Returns as config_parse(): two requests of one view may have the same key. */
int config_apply(struct config *c, char *error, size_t error_size);
/* Take the options that were given on the command line as the present settings. */
void config_take_given(struct config *c, const struct options *o);
/* Append the present settings in the format of the file. Returns 0 or a negative errno. */
int config_dump(const struct config *c, struct buf *out);

/* Append `text`, the contents of a file, with these settings, a line SETTING = VALUE each. The last
 * line of each setting is replaced, a missing one is added at the end; all other lines stay.
 * Returns 0, -EINVAL (the result has too many bytes) or -ENOMEM. */
int config_edit(const char *text, size_t n, const char *settings, struct buf *out);
/* Write settings into the user's file (config_edit()), which is replaced as a whole or stays as it
 * is. Returns 0 or a negative errno; `line` says in one line where they are, or what failed. */
int config_save(const char *settings, char *line, size_t size);

/* Read the user's file, if there is one. Returns 0 (also without a file), or -EINVAL with one line
 * in `error`: a wrong line. A file that may not be trusted, because it belongs to another user or
 * others may write it, is not read: then `warning` says so, else it is "". */
int config_load(struct config *c, char *error, size_t error_size, char *warning,
		size_t warning_size);
