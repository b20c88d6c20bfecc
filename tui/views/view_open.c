// SPDX-License-Identifier: GPL-2.0-or-later
/* The view of open calls: threads, ages, what they wait for, stacks. */

#include "tui/screen/pager.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

static const struct view_methods methods = {
    .name = "open-calls",
    .draw = pager_draw,
    PAGER_METHODS,
};

void screen_show_open(struct screen *s, const char *lines)
{
	struct pager *p = calloc(1, sizeof(*p));
	int columns = s->cols - 2;
	char line[2048];
	bool first = true;

	if (!p) {
		screen_push(s, NULL);
		return;
	}
	pager_init(p, s, &methods);
	while (*lines) {
		size_t n = strcspn(lines, "\n"), indent = strspn(lines, " ");
		size_t kept = n < sizeof(line) ? n : sizeof(line) - 1;

		memcpy(line, lines, kept);
		line[kept] = '\0';
		/* do not wrap headings and frames; wrap the text about a thread's wait, which may
		 * be long */
		if (first || !n || (indent && strncmp(line + indent, "kernel:", 7) != 0))
			pager_add(p, first ? ROLE_HEADING : ROLE_TEXT, line);
		else
			pager_wrap(p, indent ? ROLE_DIM : ROLE_TEXT, line + indent, columns,
				   (int)indent);
		first = false;
		lines += n + (lines[n] == '\n');
	}
	list_resize(&p->list, p->nr_lines);
	screen_push(s, &p->view);
}
