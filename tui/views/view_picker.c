// SPDX-License-Identifier: GPL-2.0-or-later
/* The process picker: the list of processes, filtered by the text that the user types. */
#include "tui/views/view_picker.h"
#include "tui/report/sanitise.h"
#include "tui/views/views.h"

static void picker_close(struct view *v)
{
	struct view_picker *p = (struct view_picker *)v;

	free(p->all);
	free(p->shown);
	free(p);
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct view_picker *p = ctx;
	const struct picker_entry *a = &p->all[*(const size_t *)pa],
				  *b = &p->all[*(const size_t *)pb];
	int c = 0;

	switch (p->order) {
	case BY_USER:
		c = strcmp(a->user, b->user);
		break;
	case BY_CPU:
		c = a->cpu < b->cpu ? 1 : a->cpu > b->cpu ? -1 : 0;
		break;
	case BY_STATE:
		c = (a->state != 'R') - (b->state != 'R');
		if (!c)
			c = a->state - b->state;
		break;
	case BY_THREADS:
		c = a->threads < b->threads ? 1 : a->threads > b->threads ? -1 : 0;
		break;
	case BY_COMMAND:
		c = strcmp(a->command, b->command);
		break;
	case BY_PID:
	case NR_ORDERS:
		break;
	}
	if (!c)
		c = a->pid < b->pid ? -1 : a->pid > b->pid;
	return p->reverse ? -c : c;
}

/* Does the name of the process or of its program begin with the text? */
static bool name_begins(const struct picker_entry *p, const char *text)
{
	size_t program = strcspn(p->command, " "), len = strlen(text);
	const char *name = strrchr(p->command, '(');

	while (program && p->command[program - 1] != '/')
		program--;
	return !strncmp(p->command + program, text, len) || (name && !strncmp(name + 1, text, len));
}

/* A filter that begins with ^ is the begin of a name. */
static bool matches(const struct picker_entry *p, const char *text)
{
	char pid[16];

	if (text[0] == '^')
		return name_begins(p, text + 1);
	snprintf(pid, sizeof(pid), "%u", p->pid);
	return !text[0] || strcasestr(p->command, text) || strcasestr(p->user, text) ||
	       strstr(pid, text) == pid;
}

static void follow_selection(struct view_picker *p)
{
	p->selected = p->list.n ? p->all[p->shown[p->list.selected]].pid : 0;
	p->ended = 0;
}

/* Filter and sort. The cursor stays on its process, or on its row if the process is not listed. */
static void arrange(struct view_picker *p)
{
	size_t n = 0;

	p->nr_hidden = 0;
	for (size_t i = 0; i < p->nr; i++) {
		if (!matches(&p->all[i], p->filter))
			continue;
		if (p->all[i].kernel && !p->kernel)
			p->nr_hidden++;
		else
			p->shown[n++] = i;
	}
	if (n)
		qsort_r(p->shown, n, sizeof(*p->shown), compare, p);
	list_resize(&p->list, (int)n);
	if (!p->selected)
		list_select(&p->list, 0);
	for (size_t i = 0; p->selected && i < n; i++)
		if (p->all[p->shown[i]].pid == p->selected)
			list_select(&p->list, (int)i);
	/* the first list is in no useful order: nothing is chosen yet */
	if (n && (p->selected || p->has_shares))
		p->selected = p->all[p->shown[p->list.selected]].pid;
}

static void fill(struct picker_entry *to, const struct picker_process *from)
{
	char raw[COMMAND_MAX];

	*to = (struct picker_entry){.pid = from->pid,
				    .threads = from->threads,
				    .cpu = from->cpu_percent,
				    .state =
					from->state > ' ' && from->state < 127 ? from->state : '?',
				    .permitted = from->permitted,
				    .kernel = from->kernel};
	sanitise(to->user, sizeof(to->user), from->user);
	if (from->cmdline[0])
		snprintf(raw, sizeof(raw), "%s", from->cmdline);
	else
		snprintf(raw, sizeof(raw), "[%s]", from->comm);
	sanitise(to->command, sizeof(to->command), raw);
	/* the arguments may not contain the process name */
	if (from->cmdline[0] && !strstr(from->cmdline, from->comm)) {
		snprintf(raw, sizeof(raw), "%s (%.64s)", from->cmdline, from->comm);
		sanitise(to->command, sizeof(to->command), raw);
	}
}

static void picker_set(struct view *v, const struct picker_process *list, size_t n)
{
	struct view_picker *p = (struct view_picker *)v;
	struct picker_entry *all;
	size_t *shown, i;
	uint32_t selected;

	if (n > PROCESSES_MAX)
		n = PROCESSES_MAX;
	all = malloc((n + 1) * sizeof(*all));
	shown = malloc((n + 1) * sizeof(*shown));
	if (!all || !shown) {
		free(all);
		free(shown);
		return;
	}
	free(p->all);
	free(p->shown);
	p->all = all;
	p->shown = shown;
	p->nr = n;
	p->known = true;
	for (i = 0; i < n; i++) {
		fill(&p->all[i], &list[i]);
		p->has_shares |= list[i].cpu_percent >= 0;
	}
	selected = p->selected;
	arrange(p);
	if (selected && selected != p->selected)
		p->ended = selected;
}

static void filter_changed(struct view_picker *p)
{
	p->selected = p->ended = 0;
	arrange(p);
}

/* Characters go to the filter; the first takes the place of one that the user did not type. While
 * the filter is empty and `/` was not pressed, q and ? are commands. */
static bool picker_key(struct view *v, int key)
{
	struct view_picker *p = (struct view_picker *)v;
	size_t n = strlen(p->filter);

	if (key < ' ' || key > '~')
		return false;
	if (!n && !p->typing && (key == 'q' || key == '?'))
		return false;
	if (!n && !p->typing && (key == '/' || key == ' ')) {
		p->typing = key == '/';
		return true;
	}
	if (p->given)
		n = 0;
	p->given = false;
	if (n + 1 < sizeof(p->filter)) {
		p->filter[n] = (char)key;
		p->filter[n + 1] = '\0';
		filter_changed(p);
	}
	return true;
}

static bool drop_filter(struct view_picker *p, bool all)
{
	size_t n = strlen(p->filter);

	if (!n && !p->typing)
		return false;
	p->given = false;
	if (!n || all)
		p->typing = false;
	p->filter[n && !all ? n - 1 : 0] = '\0';
	filter_changed(p);
	return true;
}

static void pick(struct view_picker *p)
{
	const struct picker_entry *at = p->list.n ? &p->all[p->shown[p->list.selected]] : NULL;
	char text[128];

	if (!at)
		return;
	if (p->ended) { /* do not attach to a process that the user did not choose */
		snprintf(text, sizeof(text),
			 "process %u has ended; the cursor is now on process %u", p->ended,
			 at->pid);
		screen_message(p->view.screen, NOTE_WARNING, text);
		p->ended = 0;
		return;
	}
	if (at->kernel) {
		snprintf(text, sizeof(text),
			 "pid %u is a kernel thread: it has no functions or system calls to watch",
			 at->pid);
		screen_message(p->view.screen, NOTE_ERROR, text);
		return;
	}
	if (at->state == 'Z') {
		snprintf(text, sizeof(text),
			 "process %u has ended; its parent has not taken its exit status yet",
			 at->pid);
		screen_message(p->view.screen, NOTE_ERROR, text);
		return;
	}
	if (!at->permitted) {
		snprintf(text, sizeof(text),
			 "pid %u: not permitted to this user; choose another one, or be root",
			 at->pid);
		screen_message(p->view.screen, NOTE_ERROR, text);
		return;
	}
	screen_act(p->view.screen,
		   (struct screen_action){.type = SCREEN_PICK_TARGET, .pid = at->pid});
}

static bool picker_request(struct view *v, enum request request, int key)
{
	struct view_picker *p = (struct view_picker *)v;
	struct rect body = screen_body(v->screen->cols, v->screen->rows);

	if (list_request(&p->list, request, body.h - 2)) {
		follow_selection(p);
		return true;
	}
	switch (request) {
	case REQUEST_OPEN:
		pick(p);
		return true;
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		p->order = (p->order + (request == REQUEST_RIGHT ? 1 : NR_ORDERS - 1)) % NR_ORDERS;
		arrange(p);
		return true;
	case REQUEST_REVERSE:
		p->reverse = !p->reverse;
		arrange(p);
		return true;
	case REQUEST_KERNEL_THREADS:
		p->kernel = !p->kernel;
		arrange(p);
		return true;
	case REQUEST_SEARCH: /* the function key for search; `/` is handled in picker_key() */
		p->typing = true;
		return true;
	case REQUEST_ERASE:
	case REQUEST_ERASE_ALL:
		drop_filter(p, request == REQUEST_ERASE_ALL);
		return true;
	case REQUEST_BACK:
		return drop_filter(p, true);
	case REQUEST_PAUSE:
	case REQUEST_WATCH:
	case REQUEST_LAYERS:
		screen_message(v->screen, NOTE_INFO, "choose a process first");
		return true;
	default:
		return false;
	}
}

/* True while characters that are keys elsewhere go to the filter. */
static bool picker_types(const struct view *v)
{
	const struct view_picker *p = (const struct view_picker *)v;

	return p->typing || p->filter[0];
}

static bool picker_offers(const struct view *v, enum request request)
{
	const struct view_picker *p = (const struct view_picker *)v;
	const struct picker_entry *at = p->list.n ? &p->all[p->shown[p->list.selected]] : NULL;

	switch (request) {
	case REQUEST_OPEN:
		return at && at->permitted && !at->kernel;
	case REQUEST_ERASE:
	case REQUEST_ERASE_ALL:
	case REQUEST_BACK:
		return picker_types(v);
	case REQUEST_PAUSE:
	case REQUEST_WATCH:
	case REQUEST_LAYERS:
	case REQUEST_FIND_NEXT:
	case REQUEST_FIND_PREVIOUS:
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
	case REQUEST_COSTLIEST:
	case REQUEST_SNAPSHOT:
	case REQUEST_VIEW_TEXT:
		return false;
	default:
		return true;
	}
}

static bool picker_click(struct view *v, int target, int x, int y)
{
	struct view_picker *p = (struct view_picker *)v;

	if (target < p->list.n) {
		list_select(&p->list, target);
		follow_selection(p);
		return true;
	}
	if (target < TARGET_HEADING)
		return false;
	if (p->order == (enum picker_order)(target - TARGET_HEADING))
		p->reverse = !p->reverse;
	p->order = (enum picker_order)(target - TARGET_HEADING);
	arrange(p);
	return false;
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "watch"},
    {REQUEST_ERASE, "erase"},
    {REQUEST_BACK, "clear the filter"},
    {REQUEST_RIGHT, "sort"},
    {REQUEST_REVERSE, "reverse"},
    {REQUEST_KERNEL_THREADS, "kernel threads"},
    {REQUEST_HELP, "help"},
    {REQUEST_CLOSE, "quit"},
    {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "processes",
    .keymap = KEYMAP_PICKER,
    .hints = hints,
    .close = picker_close,
    .draw = view_picker_draw,
    .key = picker_key,
    .types = picker_types,
    .offers = picker_offers,
    .request = picker_request,
    .click = picker_click,
    .height = view_picker_height,
    .processes = picker_set,
};

struct view *view_picker_new(struct screen *s)
{
	struct view_picker *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->view.methods = &methods;
	p->view.screen = s;
	p->order = BY_CPU;
	if (s->options.filter) {
		p->given = true;
		p->filter[0] = '^';
		sanitise(p->filter + 1, sizeof(p->filter) - 1, s->options.filter);
	}
	screen_act(s, (struct screen_action){.type = SCREEN_REFRESH_PROCESSES});
	return &p->view;
}
