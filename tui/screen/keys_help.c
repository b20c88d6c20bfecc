// SPDX-License-Identifier: GPL-2.0-or-later
/* The keys of requests as text: hints, help, the tables of docs/tui.md. */
#include "analysis/base/array.h"
#include "tui/screen/keys_private.h"

/* REQUEST_LIST with its group titles, for the help. */
static const struct {
	const char *group; /* a title, or NULL */
	enum request request;
} listing[] = {
#define PEAKTOP_GROUP(title) {(title), REQUEST_NONE},
#define PEAKTOP_REQUEST(id, text, about) {NULL, REQUEST_##id},
    REQUEST_LIST(PEAKTOP_GROUP, PEAKTOP_REQUEST)
#undef PEAKTOP_GROUP
#undef PEAKTOP_REQUEST
};

/* True if the binding takes effect in a view with the table `view`, i.e. the view has no own
 * binding of the key. In the picker most characters belong to the filter. */
static bool reaches(enum keymap view, const struct binding *b)
{
	if (view == b->map)
		return true;
	if (keys_request_only(view, b->key) != REQUEST_NONE)
		return false;
	if (view == KEYMAP_PICKER && b->map == KEYMAP_ALL)
		return b->request != REQUEST_WATCH && b->request != REQUEST_LAYERS &&
		       b->request != REQUEST_EVENTS && b->request != REQUEST_THREADS &&
		       b->request != REQUEST_CHAINS && b->request != REQUEST_CRITICAL &&
		       b->request != REQUEST_WALK &&
		       (b->key < ' ' || b->key > '~' || strchr("q?/", b->key));
	return true;
}

static char *keys_reaching(enum keymap view, enum keymap map, enum request request, char *out,
			   size_t max)
{
	char name[32], last[32];
	size_t at = 0;

	if (max)
		out[0] = '\0';
	for (size_t i = 0; i < keys_nr_bindings(); i++) {
		const struct binding *b = keys_binding(i);
		int n;

		if (b->map != map || b->request != request || at >= max || !reaches(view, b))
			continue;
		key_name(b->key, name, sizeof(name));
		if (b->last)
			n = snprintf(out + at, max - at, "%s%s-%s", at ? ", " : "", name,
				     key_name(b->last, last, sizeof(last)));
		else
			n = snprintf(out + at, max - at, "%s%s", at ? ", " : "", name);
		at += (size_t)n;
	}
	return out;
}

char *keys_of(enum keymap map, enum request request, char *out, size_t max)
{
	return keys_reaching(map, map, request, out, max);
}

/* Pass the requests of one table to `line`, with a title line before each group. */
static void help_of(enum keymap view, enum keymap map, keys_line_fn *line, void *ctx)
{
	const char *group = NULL;
	char keys[64];

	for (size_t i = 0; i < ARRAY_SIZE(listing); i++) {
		const struct request_info *info = request_info(listing[i].request);

		if (listing[i].group) {
			group = listing[i].group;
			continue;
		}
		keys_reaching(view, map, listing[i].request, keys, sizeof(keys));
		if (!keys[0])
			continue;
		if (group && map == KEYMAP_ALL)
			line(ctx, &(struct keys_line){map, REQUEST_NONE, "", "", group});
		group = NULL;
		line(ctx,
		     &(struct keys_line){map, listing[i].request, keys, info->name, info->help});
	}
}

static void title_line(enum keymap map, keys_line_fn *line, void *ctx)
{
	line(ctx, &(struct keys_line){map, REQUEST_NONE, "", "", keys_title(map)});
}

void keys_help(enum keymap map, bool replay, keys_line_fn *line, void *ctx)
{
	bool own = false;

	for (size_t i = 0; i < keys_nr_bindings(); i++)
		own |= keys_binding(i)->map == map;
	if (own && map != KEYMAP_ALL) {
		title_line(map, line, ctx);
		help_of(map, map, line, ctx);
	}
	if (replay) {
		title_line(KEYMAP_REPLAY, line, ctx);
		help_of(map, KEYMAP_REPLAY, line, ctx);
	}
	help_of(map, KEYMAP_ALL, line, ctx);
	title_line(KEYMAP_PROMPT, line, ctx);
	help_of(KEYMAP_PROMPT, KEYMAP_PROMPT, line, ctx);
	title_line(KEYMAP_MENU, line, ctx);
	help_of(KEYMAP_MENU, KEYMAP_MENU, line, ctx);
}
