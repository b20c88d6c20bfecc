// SPDX-License-Identifier: GPL-2.0-or-later
/* Changes single settings in the text of a configuration file. */

#include "tui/cli/config.h"

/* The end of the line at `text`, behind its line feed if it has one. */
static const char *line_end(const char *text, const char *end)
{
	const char *stop = memchr(text, '\n', (size_t)(end - text));

	return stop ? stop + 1 : end;
}

/* The bytes of the name of the setting in the line text..end, which `*name` is set to; 0: a comment
 * or no setting. */
static size_t setting_name(const char *text, const char *end, const char **name)
{
	const char *equals;

	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	equals = memchr(text, '=', (size_t)(end - text));
	*name = text;
	if (!equals || *text == '#')
		return 0;
	while (equals > text && (equals[-1] == ' ' || equals[-1] == '\t'))
		equals--;
	return (size_t)(equals - text);
}

/* The last line of `text` that sets what the line `like` sets; NULL: none. */
static const char *last_setting(const char *text, const char *end, const char *like,
				const char *like_end)
{
	const char *name, *found = NULL, *other;
	size_t n = setting_name(like, like_end, &name);

	for (; text < end; text = line_end(text, end))
		if (setting_name(text, line_end(text, end), &other) == n && !memcmp(other, name, n))
			found = text;
	return found;
}

int config_edit(const char *text, size_t n, const char *settings, struct buf *out)
{
	const char *end = text + n, *settings_end = settings + strlen(settings), *at, *like;
	const char *stop;

	for (at = text; at < end; at = stop) {
		const char *replaced_by = NULL;

		stop = line_end(at, end);
		for (like = settings; like < settings_end; like = line_end(like, settings_end))
			if (last_setting(text, end, like, line_end(like, settings_end)) == at)
				replaced_by = like;
		if (replaced_by)
			buf_printf(out, "%.*s\n", (int)strcspn(replaced_by, "\n"), replaced_by);
		else
			buf_append(out, at, (size_t)(stop - at));
	}
	if (out->len && out->data[out->len - 1] != '\n')
		buf_puts(out, "\n");
	for (like = settings; like < settings_end; like = line_end(like, settings_end))
		if (!last_setting(text, end, like, line_end(like, settings_end)))
			buf_printf(out, "%.*s\n", (int)strcspn(like, "\n"), like);
	if (!out->err && out->len > CONFIG_MAX_BYTES)
		return -EINVAL;
	return out->err;
}
