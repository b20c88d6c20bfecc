// SPDX-License-Identifier: GPL-2.0-or-later
/* The view of a frame's code: lines of a source file, or instructions. */
#include "analysis/base/format.h"
#include "analysis/base/path.h"
#include "tui/report/sanitise.h"
#include "tui/screen/pager.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

/* Draw the pager with its first line, the file name, always visible. */
static void source_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct pager *p = (const struct pager *)v;

	if (p->nr_lines > r.h && p->list.selected > 0 && r.h > 2) {
		grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
		grid_put_cut(g, r.x + 1, r.y, r.w - 1, ROLE_HEADING,
			     p->text.data + p->line[0].text);
		r.y++;
		r.h--;
	}
	pager_draw(v, g, r);
}

static const struct view_methods source_methods = {
    .name = "source",
    .draw = source_draw,
    PAGER_METHODS,
};

/* Append a line with its number; tabs become blanks. */
static void add_line(struct pager *p, uint32_t number, const char *text, size_t bytes)
{
	char raw[1024], safe[2048], line[2080];
	size_t n = 0;

	for (size_t i = 0; i < bytes && n + 8 < sizeof(raw); i++) {
		if (text[i] == '\t') {
			do
				raw[n++] = ' ';
			while (n % 8);
		} else if (text[i] != '\r') {
			raw[n++] = text[i];
		}
	}
	raw[n] = '\0';
	sanitise(safe, sizeof(safe), raw);
	snprintf(line, sizeof(line), "%6u  %s", number, safe);
	pager_add(p, ROLE_TEXT, line);
}

void screen_show_source(struct screen *s, const char *title, const char *text, uint32_t line)
{
	struct pager *p = calloc(1, sizeof(*p));
	uint32_t number = 1, first = line > PAGER_MAX_LINES / 2 ? line - PAGER_MAX_LINES / 2 : 1;
	int height = screen_body(s->cols, s->rows).h;
	char safe[1024];

	if (!p) {
		screen_push(s, NULL);
		return;
	}
	pager_init(p, s, &source_methods);
	sanitise(safe, sizeof(safe), title);
	pager_add(p, ROLE_HEADING, safe);
	for (; *text; number++) {
		size_t n = strcspn(text, "\n");

		if (number == line)
			p->found = p->nr_lines;
		if (number >= first)
			add_line(p, number, text, n);
		text += n + (text[n] == '\n');
	}
	list_resize(&p->list, p->nr_lines);
	list_select(&p->list, p->found > height / 2 ? p->found - height / 2 : 0);
	screen_push(s, &p->view);
}

static void add_place(struct pager *p, const char *file, uint32_t line, bool shares)
{
	char raw[1024], safe[2048], text[2100];

	snprintf(raw, sizeof(raw), "%s", path_file(file));
	sanitise(safe, sizeof(safe), raw);
	snprintf(text, sizeof(text), "%*s%s:%u", 14 + (shares ? FORMAT_PERCENT_WIDTH : 0), "", safe,
		 line);
	pager_add(p, ROLE_DIM, text);
}

/* "38.2%  +0x1c | callq fetch" */
static void add_insn(struct pager *p, const struct screen_code *c, const struct screen_insn *insn,
		     bool shares, bool ascii)
{
	char at[24], share[48] = "", safe[2048], text[2200];

	sanitise(safe, sizeof(safe), insn->text);
	if (insn->offset >= c->start)
		snprintf(at, sizeof(at), "+0x%llx", (unsigned long long)(insn->offset - c->start));
	else
		snprintf(at, sizeof(at), "-0x%llx", (unsigned long long)(c->start - insn->offset));
	if (insn->share > 0)
		snprintf(share, sizeof(share), "%s", format_percent_fixed(insn->share).s);
	snprintf(text, sizeof(text), "%*s %9s %s%s %s", shares ? FORMAT_PERCENT_WIDTH : 0, share,
		 at, insn->jumped_to ? ">" : " ",
		 insn->loop ? theme_glyph(GLYPH_VLINE, ascii) : " ", safe);
	pager_add(p, insn->share >= 0.1 ? ROLE_PEAK_CHOSEN : ROLE_TEXT, text);
}

static const struct view_methods code_methods = {
    .name = "code",
    .draw = source_draw,
    PAGER_METHODS,
};

void screen_show_code(struct screen *s, const struct screen_code *c)
{
	struct pager *p = calloc(1, sizeof(*p));
	int height = screen_body(s->cols, s->rows).h;
	const char *file = "";
	uint32_t line = 0;
	bool shares = false;
	char safe[1024];

	if (!p) {
		screen_push(s, NULL);
		return;
	}
	pager_init(p, s, &code_methods);
	sanitise(safe, sizeof(safe), c->title);
	pager_add(p, ROLE_HEADING, safe);
	for (uint32_t i = 0; i < c->nr; i++)
		shares |= c->insns[i].share > 0;
	for (uint32_t i = 0; i < c->nr && i < SCREEN_MAX_INSNS; i++) {
		const struct screen_insn *insn = &c->insns[i];

		file = insn->file[0] ? insn->file : file;
		if (insn->line && (insn->line != line || insn->file[0]))
			add_place(p, file, insn->line, shares);
		line = insn->line ? insn->line : line;
		if (i == c->site)
			p->found = p->nr_lines;
		add_insn(p, c, insn, shares, s->options.ascii);
	}
	list_resize(&p->list, p->nr_lines);
	list_select(&p->list, p->found > height / 2 ? p->found - height / 2 : 0);
	screen_push(s, &p->view);
}
