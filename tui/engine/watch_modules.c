// SPDX-License-Identifier: GPL-2.0-or-later
/* Get the files of the target from the collector and hand them to the parser. */
#include <unistd.h>

#include "analysis/base/array.h"
#include "tui/engine/front_state.h"

enum { COVERAGE_PART = 512 }; /* functions planned in one request */

static void module_ask(struct front *f, uint32_t module)
{
	struct record rec = {.type = REQ_FILE};

	f->files.modules[module - 1].stage = MODULE_ASKED;
	rec.req_file = (struct req_file){.module = module, .build_id = "", .name = ""};
	front_request(f, &rec);
}

void modules_want(struct front *f)
{
	if (f->files.wanted)
		return;
	f->files.wanted = true;
	for (uint32_t m = 1; m <= f->files.nr_modules; m++) {
		if (f->files.modules[m - 1].stage == MODULE_NEW)
			module_ask(f, m);
	}
}

const char *module_name(const struct front *f, uint32_t module)
{
	return module && module <= f->files.nr_modules && f->files.modules[module - 1].name
		   ? f->files.modules[module - 1].name
		   : "";
}

void watches_module(struct front *f, const struct rec_module *m)
{
	struct front_module *mod;

	if (m->module != f->files.nr_modules + 1 || f->files.nr_modules == FRONT_MAX_MODULES)
		return;
	mod = &f->files.modules[f->files.nr_modules++];
	*mod = (struct front_module){.path = strdup(m->path), .name = driver_module_label(m)};
	if (f->files.wanted)
		module_ask(f, f->files.nr_modules);
}

void watches_mapping(struct front *f, const struct rec_mapping *m)
{
	f->files.mappings_version++;
	if (m->gone) {
		for (size_t i = 0; i < f->files.nr_mappings; i++) {
			struct front_mapping *fm = &f->files.mappings[i];

			if (fm->pid == m->pid && fm->start == m->start && fm->end == m->end &&
			    fm->copied == m->copied) {
				fm->gone = front_snapshots_pending(f) || front_traces_pending(f);
				if (!fm->gone)
					*fm = f->files.mappings[--f->files.nr_mappings];
				return;
			}
		}
		return;
	}
	/* Drop unmapped mappings (kept for older stacks) that overlap the new one. */
	for (size_t i = f->files.nr_mappings; i > 0; i--) {
		const struct front_mapping *fm = &f->files.mappings[i - 1];

		if (fm->gone && fm->pid == m->pid && fm->start < m->end && m->start < fm->end)
			f->files.mappings[i - 1] = f->files.mappings[--f->files.nr_mappings];
	}
	array_append(f->files.mappings, f->files.nr_mappings, f->files.cap_mappings,
		     FRONT_MAX_MAPPINGS,
		     (struct front_mapping){.pid = m->pid,
					    .module = m->module,
					    .start = m->start,
					    .end = m->end,
					    .offset = m->offset,
					    .copied = m->copied});
	for (size_t i = 0; m->copied && i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];

		if (w->stage == WATCH_ARMED && w->module == m->module)
			watch_is_copied(f, w);
	}
}

bool watch_is_copied(struct front *f, struct watch *w)
{
	const struct front_mapping *copy = NULL;
	char text[512];
	bool mapped = false;

	for (size_t i = 0; i < f->files.nr_mappings; i++) {
		const struct front_mapping *m = &f->files.mappings[i];

		if (m->gone || m->module != w->module || w->offset < m->offset ||
		    w->offset - m->offset >= m->end - m->start)
			continue;
		mapped |= !m->copied;
		if (m->copied)
			copy = m;
	}
	if (copy && !mapped && w->stage != WATCH_ARMED) {
		watch_refuse(f, w,
			     "%s: the text of %s was copied to anonymous memory at 0x%" PRIx64
			     "; its functions cannot be probed; system calls, libraries and "
			     "samples work",
			     w->text, module_name(f, w->module), copy->start);
		return true;
	}
	if (!copy || w->said_copied)
		return false;
	w->said_copied = true;
	snprintf(
	    text, sizeof(text),
	    "%.200s: process %u has copied the text of %.100s to anonymous memory at 0x%" PRIx64
	    "; its calls there cannot be probed and do not count",
	    w->text, copy->pid, module_name(f, w->module), copy->start);
	front_note(f, NOTE_WARNING, text);
	return false;
}

void mappings_purge(struct front *f)
{
	for (size_t i = f->files.nr_mappings; i > 0; i--) {
		if (!f->files.mappings[i - 1].gone)
			continue;
		f->files.mappings[i - 1] = f->files.mappings[--f->files.nr_mappings];
		f->files.mappings_version++;
	}
}

bool module_is_mapped(const struct front *f, uint32_t module)
{
	return any_of(i, f->files.nr_mappings,
		      f->files.mappings[i].module == module && !f->files.mappings[i].gone);
}

/* Forget the modules that `module` has replaced: earlier ones of the same path that no target maps
 * any more, because the file was overwritten or another one was renamed to it. Look their functions
 * up again. */
static void modules_replace(struct front *f, uint32_t module)
{
	for (uint32_t m = 1; m < module; m++) {
		struct front_module *old = &f->files.modules[m - 1];

		if (old->stage == MODULE_GONE || !old->path ||
		    strcmp(old->path, f->files.modules[module - 1].path) != 0 ||
		    module_is_mapped(f, m))
			continue;
		old->stage = MODULE_GONE;
		parser_forget(f->parser, m);
		watches_moved(f, m);
	}
}

/* Note, once for each module, why there are no source lines although there is debug information. */
static void say_unread(struct front *f, struct front_module *m, const char *why)
{
	char text[512];

	if (!why || !why[0] || m->unread)
		return;
	m->unread = true;
	snprintf(text, sizeof(text),
		 "the debug information of %.200s %s, which this libdw cannot read: no source "
		 "lines and no inlined functions of it; unpack its sections with objcopy, or build "
		 "it with gcc -gdwarf-5 -gz=zlib",
		 m->name, why);
	front_note(f, NOTE_WARNING, text);
}

/* The parser has read the file of a module. */
static void module_read(void *ctx, uint64_t module, const struct parsed *answer)
{
	const struct parsed_module *a = &answer->module;
	struct record rec = {.type = REQ_DEBUG_FILE}, build = {.type = REC_BUILD_ID};
	struct front *f = ctx;
	struct front_module *m = &f->files.modules[module - 1];

	watches_wake(f);
	if (!a->error)
		say_unread(f, m, a->unread);
	if (m->stage != MODULE_ADDED)
		return;
	if (m->path)
		modules_replace(f, (uint32_t)module);
	if (a->error) {
		m->stage = MODULE_BROKEN;
		return;
	}
	build.build_id = (struct rec_build_id){.module = (uint32_t)module, .build_id = a->build_id};
	if (a->build_id[0])
		front_feed(f, &build);
	if (!a->wants_debug || (!a->build_id[0] && !a->debuglink[0])) {
		m->stage = MODULE_READY;
		return;
	}
	m->stage = MODULE_DEBUG_ASKED;
	rec.req_file =
	    (struct req_file){.module = a->module, .build_id = a->build_id, .name = a->debuglink};
	front_request(f, &rec);
}

void watches_file(struct front *f, const struct rec_file *file, int fd)
{
	const struct parser_reply reply = {module_read, f, file->module};
	struct front_module *m;

	if (!file->module || file->module > f->files.nr_modules || !f->parser) {
		if (fd >= 0)
			close(fd);
		return;
	}
	m = &f->files.modules[file->module - 1];
	if (file->debug) {
		/* Without a debug file, use the names in the module itself. */
		m->stage = MODULE_READY;
		if (fd >= 0) {
			parser_add_debug(f->parser, file->module, fd, &reply);
			close(fd);
		}
		return;
	}
	if (fd < 0) {
		m->stage = MODULE_BROKEN;
		m->locked = file->error == -ETIMEDOUT;
		return;
	}
	m->stage = MODULE_ADDED;
	if (parser_add_module(f->parser, file->module, fd, m->name, &reply) < 0)
		m->stage = MODULE_BROKEN;
	close(fd);
}

void front_modules_release(struct front *f)
{
	for (uint32_t i = 0; i < f->files.nr_modules; i++) {
		free(f->files.modules[i].path);
		free(f->files.modules[i].name);
	}
	free(f->files.mappings);
}

/* A closed socket brings no files: what was asked of the collector is not awaited any more. */
static bool is_settled(const struct front *f, const struct front_module *m)
{
	return m->stage >= MODULE_READY || (f->collector.closed && m->stage != MODULE_ADDED);
}

bool modules_awaited(const struct front *f)
{
	return f->files.wanted &&
	       any_of(m, f->files.nr_modules, !is_settled(f, &f->files.modules[m]));
}

bool modules_settled(const struct front *f)
{
	return f->files.wanted && f->files.nr_modules && !modules_awaited(f);
}

void front_read_modules(struct front *f)
{
	modules_want(f);
}

bool front_modules_read(const struct front *f)
{
	return modules_settled(f);
}

uint32_t front_nr_modules(const struct front *f)
{
	return f->files.nr_modules;
}

const char *front_module_path(const struct front *f, uint32_t module)
{
	const struct front_module *m = &f->files.modules[module - 1];

	return m->stage == MODULE_READY && m->path && m->path[0] == '/' ? m->path : NULL;
}

bool front_ask_coverage(struct front *f, uint32_t module, uint64_t cursor,
			const struct parser_reply *reply)
{
	struct parse_request req = {.module = module, .cursor = cursor, .max = COVERAGE_PART};

	return front_ask(f, PARSE_COVERAGE, &req, reply);
}
