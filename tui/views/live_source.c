// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/engine/descent_driver.h"
#include "tui/engine/front.h"
#include "tui/views/views.h"

enum { SOURCE_BYTES = 8 << 20, PATH_BYTES = 4200, TITLE_BYTES = 2 * PATH_BYTES + 64 };

/* Read a whole file; NULL with errno. The name comes from the target and is untrusted, so only
 * regular files are read. */
static char *read_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	ssize_t got;
	size_t n = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st)) {
		close(fd);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > SOURCE_BYTES) {
		close(fd);
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		return NULL;
	}
	text = malloc((size_t)st.st_size + 1);
	while (text && n < (size_t)st.st_size &&
	       (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
		n += (size_t)got;
	close(fd);
	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!text[i])
			text[i] = '?';
	}
	text[n] = '\0';
	return text;
}

static bool has_line(const char *text, uint32_t line)
{
	for (; line > 1 && (text = strchr(text, '\n')); line--)
		text++;
	return text && (*text || line == 1);
}

/* Read the source file with the compiler's name. If it does not exist, try the last parts of its
 * path below the current folder. `found` gets the name of the file that was read. */
static char *find_source(const char *path, uint32_t line, char *found, size_t size)
{
	char *text = read_source(path);
	int err = errno;

	snprintf(found, size, "%s", path);
	for (const char *at = path; !text && (at = strchr(at, '/')); at++) {
		while (*at == '/')
			at++;
		/* a bare file name could belong to another program */
		if (!strchr(at, '/') || !strncmp(at, "../", 3))
			break;
		text = read_source(at);
		if (text && !has_line(text, line)) {
			free(text);
			text = NULL;
		}
		if (text)
			snprintf(found, size, "%s", at);
	}
	if (!text)
		errno = err;
	return text;
}

static bool show_source(struct live_source *l, const char *path, uint32_t line)
{
	char found[PATH_BYTES], title[TITLE_BYTES];
	char *text = find_source(path, line, found, sizeof(found));

	if (!text) {
		snprintf(l->no_source, sizeof(l->no_source), "%s:%u: %s", path, line,
			 strerror(errno));
		return false;
	}
	if (strcmp(found, path) != 0)
		snprintf(title, sizeof(title), "%s:%u (the program was compiled from %s)", found,
			 line, path);
	else
		snprintf(title, sizeof(title), "%s:%u", path, line);
	screen_show_source(l->screen, title, text, line);
	free(text);
	return true;
}

/* The share of one instruction in the samples of its function; 0: none. */
static double share_at(const struct descent_result *r, uint32_t module, uint64_t offset)
{
	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];
		uint64_t all = 0, here = 0;

		for (unsigned int k = 0; k < p->nr_pcs; k++) {
			all += p->pcs[k].ns;
			if (p->pcs[k].place.module == module && p->pcs[k].place.offset == offset)
				here += p->pcs[k].ns;
		}
		if (here)
			return (double)here / (double)all;
	}
	return 0;
}

static void show_code(struct live_source *l, const struct parsed_code *a)
{
	struct screen_insn *insns = calloc(a->nr + 1, sizeof(*insns));
	struct screen_code c = {.start = a->start, .site = a->site, .nr = a->nr, .insns = insns};
	struct descent_result r = {0};
	char title[TITLE_BYTES];

	if (!insns)
		return;
	if (l->driver && driver_asked(l->driver) && descent_result(driver_descent(l->driver), &r))
		r = (struct descent_result){0};
	for (uint32_t i = 0; i < a->nr; i++) {
		const struct parsed_insn *from = &a->insns[i];

		insns[i] = (struct screen_insn){.offset = from->offset,
						.text = from->text,
						.file = from->file,
						.line = from->line,
						.loop = from->flags & INSN_OF_LOOP,
						.jumped_to = from->flags & INSN_JUMPED_TO,
						.share = share_at(&r, a->module, from->offset)};
	}
	snprintf(title, sizeof(title), "%s%s%s%s%s", a->function[0] ? a->function : "code",
		 l->driver ? " in " : "", l->driver ? driver_module(l->driver, a->module) : "",
		 l->no_source[0] ? "; no source: " : "", l->no_source);
	c.title = title;
	screen_show_code(l->screen, &c);
	descent_result_release(&r);
	free(insns);
}

static void take_code(void *ctx, const struct parsed_code *a)
{
	struct live_source *l = ctx;
	char line[TITLE_BYTES];

	if (!a->error && a->nr) {
		show_code(l, a);
		return;
	}
	snprintf(line, sizeof(line), "%s%scannot show the code: %s", l->no_source,
		 l->no_source[0] ? "; " : "", a->reason);
	screen_message(l->screen, NOTE_WARNING, line);
}

void live_source_show(struct live_source *l, const struct screen_action *a)
{
	char line[TITLE_BYTES];

	l->no_source[0] = '\0';
	if (a->type == SCREEN_SOURCE && a->text[0] && show_source(l, a->text, a->line))
		return;
	if (l->front && front_ask_code(l->front, a->module, a->offset, take_code, l))
		return;
	snprintf(line, sizeof(line), "%s%s%s", l->no_source, l->no_source[0] ? "; " : "",
		 l->front ? "the code cannot be read" : "a saved session contains no code");
	screen_message(l->screen, NOTE_WARNING, line);
}
