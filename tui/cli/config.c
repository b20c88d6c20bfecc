// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/config.h"

#include "analysis/base/format.h"
#include "tui/cli/command_line.h"
#include "tui/cli/option_table.h"
#include "tui/report/sanitise.h"
#include "tui/screen/keys.h"
#include "tui/views/op_rows.h"

/* Options whose default may stand in the file. A file must not change what a verb answers, or in
 * which format, because scripts read that. */
static const char *const option_names[] = {
    "max-overhead", "interval",	 "resolution",	   "follow",	"for",	 "timeout",  "start-ops",
    "decision-ops", "max-sites", "level-by-level", "all-peaks", "ascii", "no-mouse",
};
enum { NR_OPTION_NAMES = sizeof(option_names) / sizeof(option_names[0]) };

#define DUMP_HINT "peaktop --dump-config prints all settings"

void config_init(struct config *c)
{
	memset(c, 0, sizeof(*c));
	options_defaults(&c->defaults);
}

static const struct option_row *option_named(const char *name)
{
	for (size_t i = 0; i < NR_OPTION_NAMES; i++)
		for (size_t k = 0; !strcmp(option_names[i], name) && k < nr_option_rows; k++)
			if (!strcmp(option_rows[k].name, name))
				return &option_rows[k];
	return NULL;
}

/* Write "line N: " and what is wrong; the text of the file in it is sanitised. */
static int fail(unsigned int line, char *error, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int fail(unsigned int line, char *error, size_t n, const char *fmt, ...)
{
	char raw[2 * CONFIG_MAX_LINE], safe[4 * CONFIG_MAX_LINE];

	format_arguments(raw, sizeof(raw), fmt);
	sanitise(safe, sizeof(safe), raw);
	snprintf(error, n, "line %u: %s", line, safe);
	return -EINVAL;
}

/* The index of a word in a list, -1: it is not in there. */
static int index_of(const char *word, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i], word))
			return i;
	return -1;
}

/* "a, b, c" */
static char *join(const char *const *list, int n, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (int i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", list[i]);
	return out;
}

static int theme_take(struct config *c, const char *value, unsigned int line, char *e, size_t n)
{
	const char *names[WISHES];
	char list[128];

	for (int i = 0; i < WISHES; i++) {
		names[i] = theme_wish_name((enum theme_wish)i);
		if (strcmp(names[i], value))
			continue;
		c->theme = (enum theme_wish)i;
		return 0;
	}
	return fail(line, e, n, "unknown theme '%s'; choose one of %s", value,
		    join(names, WISHES, list, sizeof(list)));
}

static int columns_take(struct config *c, char *value, unsigned int line, char *e, size_t n)
{
	char list[256], *save = NULL, *word;
	enum op_column order[NR_COLUMNS];
	uint32_t columns = 0;
	int i, nr = 0;

	if (!strcmp(value, "auto")) {
		c->columns = 0;
		c->column_order = 0;
		return 0;
	}
	for (word = strtok_r(value, " \t,", &save); word; word = strtok_r(NULL, " \t,", &save)) {
		i = index_of(word, op_column_names, NR_COLUMNS);
		if (i < 0)
			return fail(line, e, n, "unknown column '%s'; choose from %s, or auto",
				    word, join(op_column_names, NR_COLUMNS, list, sizeof(list)));
		if (!(columns & 1U << i))
			order[nr++] = (enum op_column)i;
		columns |= 1U << i;
	}
	if (!columns)
		return fail(line, e, n, "no column is named; choose from %s, or auto",
			    join(op_column_names, NR_COLUMNS, list, sizeof(list)));
	c->columns = columns;
	c->column_order = op_columns_pack(order, nr);
	return 0;
}

static int sort_take(struct config *c, char *value, unsigned int line, char *e, size_t n)
{
	char list[128], *save = NULL, *word = strtok_r(value, " \t", &save);
	const char *direction = strtok_r(NULL, " \t", &save), *odd;
	int i = word ? index_of(word, row_order_names, NR_ORDERS) : -1;

	if (i < 0)
		return fail(line, e, n, "the list cannot be sorted by '%s'; choose one of %s",
			    word ? word : "", join(row_order_names, NR_ORDERS, list, sizeof(list)));
	odd = direction && strcmp(direction, "reverse") ? direction : strtok_r(NULL, " \t", &save);
	if (direction && odd)
		return fail(line, e, n,
			    "after the column to sort by only one 'reverse' may stand (got '%s')",
			    odd);
	c->sort = i + 1;
	c->reverse = direction != NULL;
	return 0;
}

static int key_take(struct config *c, const char *name, char *value, unsigned int line, char *e,
		    size_t n)
{
	enum request request = request_named(name);
	struct config_keys keys = {.line = line};
	char *save = NULL, *word;
	int key;

	if (request == REQUEST_NONE)
		return fail(line, e, n, "there is no key named '%s'; " DUMP_HINT, name);
	if (!keys_can_bind(request))
		return fail(line, e, n, "the keys of '%s' cannot be changed; remove the line",
			    name);
	for (word = strtok_r(value, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		key = key_parse(word);
		if (key <= 0)
			return fail(line, e, n,
				    "unknown key '%s'; use a character, or a name such as Ctrl-L, "
				    "F5, PgUp, Enter, Space",
				    word);
		if (keys.n == CONFIG_MAX_KEYS)
			return fail(line, e, n, "'key.%s' has more than %d keys; remove some", name,
				    CONFIG_MAX_KEYS);
		keys.key[keys.n++] = key;
	}
	if (!keys.n)
		return fail(line, e, n, "'key.%s' has no key; give at least one", name);
	c->keys[request] = keys;
	return 0;
}

static int option_take(struct config *c, const char *name, const char *value, unsigned int line,
		       char *e, size_t n)
{
	const struct option_row *row = option_named(name);
	char why[512], list[256];

	if (!row)
		return fail(line, e, n,
			    "'option.%s' cannot be set here; options with a default: %s", name,
			    join(option_names, NR_OPTION_NAMES, list, sizeof(list)));
	if (row->kind == OPTION_FLAG) {
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return fail(line, e, n, "'option.%s' must be yes or no (got '%s')", name,
				    value);
		*(bool *)((char *)&c->defaults + row->offset) = !strcmp(value, "yes");
		return 0;
	}
	if (option_value_parse(&c->defaults, row, value, why, sizeof(why)))
		return fail(line, e, n, "%s", why);
	return 0;
}

static int setting_take(struct config *c, const char *name, char *value, unsigned int line, char *e,
			size_t n)
{
	if (!strcmp(name, "theme"))
		return theme_take(c, value, line, e, n);
	if (!strcmp(name, "columns"))
		return columns_take(c, value, line, e, n);
	if (!strcmp(name, "sort"))
		return sort_take(c, value, line, e, n);
	if (!strncmp(name, "key.", 4))
		return key_take(c, name + 4, value, line, e, n);
	if (!strncmp(name, "option.", 7))
		return option_take(c, name + 7, value, line, e, n);
	return fail(line, e, n, "unknown setting '%s'; " DUMP_HINT, name);
}

/* Cut blanks at both ends. */
static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r'))
		n--;
	text[n] = '\0';
	return text;
}

static int line_take(struct config *c, char *text, unsigned int line, char *e, size_t n)
{
	char *name = trim(text), *value;

	if (!*name || *name == '#')
		return 0;
	value = strchr(name, '=');
	if (!value)
		return fail(line, e, n,
			    "'%s' is no setting; write SETTING = VALUE, or begin a "
			    "comment with #",
			    name);
	*value++ = '\0';
	name = trim(name);
	value = trim(value);
	if (!*name || !*value)
		return fail(line, e, n, "the %s is missing; write SETTING = VALUE",
			    *name ? "value" : "name of the setting");
	return setting_take(c, name, value, line, e, n);
}

int config_parse(struct config *c, const char *text, size_t n, char *error, size_t error_size)
{
	const char *end = text + n, *stop;
	char line[CONFIG_MAX_LINE];
	unsigned int number = 0;
	int err;

	if (n > CONFIG_MAX_BYTES)
		return fail(1, error, error_size, "the file has more than %d bytes; shorten it",
			    CONFIG_MAX_BYTES);
	for (; text < end; text = stop + 1) {
		stop = memchr(text, '\n', (size_t)(end - text));
		if (!stop)
			stop = end;
		number++;
		if ((size_t)(stop - text) >= sizeof(line))
			return fail(number, error, error_size,
				    "the line has more than %d bytes; shorten it",
				    CONFIG_MAX_LINE - 1);
		if (memchr(text, '\0', (size_t)(stop - text)))
			return fail(number, error, error_size,
				    "the line contains a NUL byte; this is no text file");
		memcpy(line, text, (size_t)(stop - text));
		line[stop - text] = '\0';
		err = line_take(c, line, number, error, error_size);
		if (err)
			return err;
	}
	return 0;
}

void config_take_given(struct config *c, const struct options *o)
{
	static const size_t size[] = {[OPTION_FLAG] = sizeof(bool),
				      [OPTION_NUMBER] = sizeof(double),
				      [OPTION_WHOLE] = sizeof(unsigned int)};

	for (int i = 0; i < NR_OPTION_NAMES; i++) {
		const struct option_row *row = option_named(option_names[i]);

		if (row && o->given & 1ull << (row - option_rows))
			memcpy((char *)&c->defaults + row->offset, (const char *)o + row->offset,
			       size[row->kind]);
	}
}

/* A view may have more keys of its own, which naming the usual ones does not take away. */
static bool is_built_in(enum request request, const struct config_keys *keys)
{
	int key[CONFIG_MAX_KEYS];

	return keys_built_in(request, key, CONFIG_MAX_KEYS) == keys->n &&
	       !memcmp(key, keys->key, keys->n * sizeof(key[0]));
}

int config_apply(struct config *c, char *error, size_t error_size)
{
	enum request both[2];
	unsigned int first, second;
	char why[256];

	c->defaults.theme = (int)c->theme;
	c->defaults.columns = c->columns;
	c->defaults.column_order = c->column_order;
	c->defaults.sort = c->sort;
	c->defaults.reverse = c->reverse;
	for (int i = 1; i < REQUEST_MAX; i++)
		if (c->keys[i].n && !is_built_in((enum request)i, &c->keys[i]))
			keys_bind((enum request)i, c->keys[i].key, c->keys[i].n);
	if (!keys_conflict(why, sizeof(why), both))
		return 0;
	keys_reset();
	first = c->keys[both[0]].line;
	second = c->keys[both[1]].line;
	return fail(first > second ? first : second, error, error_size, "%s", why);
}

static void dump_keys(const struct config *c, struct buf *out)
{
	char name[32];

	buf_puts(out, "\n# Keys: a character, or Ctrl-X, F1-F12, Enter, Tab, Space, Esc, Up, PgDn, "
		      "Home, Del ...\n");
	for (int i = 1; i < REQUEST_MAX; i++) {
		const struct request_info *info = request_info((enum request)i);
		struct config_keys keys = c->keys[i];

		if (!keys_can_bind((enum request)i))
			continue;
		if (!keys.n)
			keys.n = keys_built_in((enum request)i, keys.key, CONFIG_MAX_KEYS);
		buf_printf(out, "# %s\nkey.%s =", info->help, info->name);
		for (unsigned int k = 0; k < keys.n; k++)
			buf_printf(out, " %s", key_name(keys.key[k], name, sizeof(name)));
		buf_puts(out, "\n");
	}
}

static void dump_options(const struct config *c, struct buf *out)
{
	buf_puts(out, "\n# Defaults of options; an option on the command line has precedence.\n");
	for (int i = 0; i < NR_OPTION_NAMES; i++) {
		const struct option_row *row = option_named(option_names[i]);
		const char *member = (const char *)&c->defaults + (row ? row->offset : 0);
		double number;

		if (!row)
			continue;
		number = row->kind == OPTION_NUMBER  ? *(const double *)member
			 : row->kind == OPTION_WHOLE ? *(const unsigned int *)member
						     : 0;
		buf_printf(out, "# %s\n", row->help);
		if (row->kind == OPTION_FLAG)
			buf_printf(out, "option.%s = %s\n", row->name,
				   *(const bool *)member ? "yes" : "no");
		else if (number < row->low) /* each verb has a default of its own */
			buf_printf(out, "# option.%s = %s\n", row->name, row->value);
		else
			buf_printf(out, "option.%s = %.10g\n", row->name, number);
	}
}

int config_dump(const struct config *c, struct buf *out)
{
	const char *names[WISHES];
	enum op_column order[NR_COLUMNS];
	char list[256];

	for (int i = 0; i < WISHES; i++)
		names[i] = theme_wish_name((enum theme_wish)i);
	buf_puts(out, "# peaktop reads this file from $XDG_CONFIG_HOME/peaktop/config "
		      "(~/.config/peaktop/config).\n\n");
	buf_printf(out, "# One of %s.\ntheme = %s\n", join(names, WISHES, list, sizeof(list)),
		   theme_wish_name(c->theme));
	buf_printf(out,
		   "\n# Columns of the list of operations from left to right, or auto: %s.\n"
		   "columns =",
		   join(op_column_names, NR_COLUMNS, list, sizeof(list)));
	op_columns_unpack(c->column_order, order);
	for (int i = 0; i < NR_COLUMNS; i++)
		if (c->columns & 1U << order[i])
			buf_printf(out, " %s", op_column_names[order[i]]);
	buf_printf(out, "%s\n", c->columns ? "" : " auto");
	buf_printf(out, "\n# Sort by one of %s; \"reverse\" may follow.\nsort = %s%s\n",
		   join(row_order_names, NR_ORDERS, list, sizeof(list)),
		   row_order_names[c->sort ? c->sort - 1 : BY_TIME], c->reverse ? " reverse" : "");
	dump_options(c, out);
	dump_keys(c, out);
	return out->err;
}
