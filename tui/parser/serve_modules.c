// SPDX-License-Identifier: GPL-2.0-or-later
#include <malloc.h>
#include <unistd.h>

#include "analysis/code/source_module.h"
#include "tui/parser/serve_internal.h"

/* Free modules if more bytes are in use: well below the 2 GiB of address space that the sandbox
 * allows. */
enum { MEMORY_HIGH = 768 << 20 };

const char *module_error_text(int error)
{
	switch (error) {
	case 0:
		return "";
	case -ENOENT:
		return "unknown module";
	case -ENOEXEC:
		return "not an ELF file, or its headers are damaged";
	case -EXDEV:
		return "a 32-bit program or library";
	case -ENOTSUP:
		return "for another kind of processor";
	case -ENOMEM:
		return "parsing it needs more memory than the parser may use";
	case -ESTALE:
		return "this debug file belongs to another build";
	case -EEXIST:
		return "the module already has a debug file";
	default:
		return strerror(-error);
	}
}

static void forget_planner(struct server_module *m)
{
	coverage_end(m->coverage);
	placer_free(m->placer);
	m->coverage = NULL;
	m->placer = NULL;
}

/* Free everything that can be created again from the file. */
static void forget(struct server_module *m)
{
	forget_planner(m);
	module_source_free(m->source);
	module_free(m->module);
	m->source = NULL;
	m->module = NULL;
}

void server_module_release(struct server_module *m)
{
	if (!m->number)
		return;
	forget(m);
	close(m->fd);
	if (m->debug_fd >= 0)
		close(m->debug_fd);
	free(m->name);
	*m = (struct server_module){0};
}

static struct server_module *lookup(struct server *s, uint32_t number)
{
	if (!number || number >= PARSE_MAX_MODULES || !s->modules[number].number)
		return NULL;
	return &s->modules[number];
}

bool server_is_vdso(const struct server *s, uint32_t number)
{
	return number < PARSE_MAX_MODULES && s->modules[number].number &&
	       !strcmp(s->modules[number].name, "[vdso]");
}

uint32_t server_next_module(const struct server *s, uint32_t number)
{
	while (++number < PARSE_MAX_MODULES)
		if (s->modules[number].number)
			return number;
	return 0;
}

static int open_module(struct server_module *m)
{
	int err;

	if (m->module)
		return 0;
	err = module_is_perf_map_name(m->name) ? module_open_perf_map(&m->module, m->fd)
					       : module_open(&m->module, m->fd);
	if (!err)
		err = module_set_name(m->module, m->name);
	/* m->debug_fd was checked when it was handed over: one that does not match was refused. */
	if (!err && m->debug_fd >= 0)
		err = module_add_debug(m->module, m->debug_fd);
	if (err) {
		module_free(m->module);
		m->module = NULL;
	}
	return err;
}

static struct server_module *get(struct server *s, uint32_t number, int *error, const char **reason)
{
	struct server_module *m = lookup(s, number);

	if (m && m->module && module_perf_map_grew(m->module, s->requests - m->opened)) {
		forget(m);
		server_unwind_forget(s, number);
	}
	if (m && !m->module)
		m->opened = s->requests;
	*error = m ? open_module(m) : -ENOENT;
	*reason = module_error_text(*error);
	if (*error)
		return NULL;
	m->used = s->requests;
	return m;
}

struct module *server_module(struct server *s, uint32_t number, int *error, const char **reason)
{
	struct server_module *m = get(s, number, error, reason);

	return m ? m->module : NULL;
}

static bool same_policy(const struct place_policy *a, const struct place_policy *b)
{
	return a->max_skip == b->max_skip && a->max_sites == b->max_sites &&
	       a->no_stepped == b->no_stepped && a->shadow_stack == b->shadow_stack &&
	       a->long_nops_stepped == b->long_nops_stepped && a->allow_nop5 == b->allow_nop5;
}

struct placer *server_placer(struct server *s, uint32_t number, int *error, const char **reason)
{
	struct server_module *m = get(s, number, error, reason);
	const struct parse_request *r = &s->request;
	const struct place_policy policy = {
	    .max_skip = r->max_skip ? r->max_skip : 8,
	    .max_sites = r->max_sites ? r->max_sites : 64,
	    .no_stepped = r->policy & POLICY_NO_STEPPED,
	    .shadow_stack = r->policy & POLICY_SHADOW_STACK,
	    .long_nops_stepped = r->policy & POLICY_LONG_NOPS_STEPPED,
	    .allow_nop5 = r->policy & POLICY_ALLOW_NOP5,
	};

	if (!m)
		return NULL;
	if (!m->source)
		m->source = module_source_new(m->module);
	if (m->placer && !same_policy(placer_policy(m->placer), &policy))
		forget_planner(m);
	if (m->source && !m->placer)
		m->placer = placer_new(module_source(m->source), &policy);
	if (!m->placer) {
		*error = -ENOMEM;
		*reason = module_error_text(*error);
	}
	return m->placer;
}

struct server_module *server_coverage(struct server *s, bool anew, int *error, const char **reason)
{
	struct placer *placer = server_placer(s, s->request.module, error, reason);
	struct server_module *m = lookup(s, s->request.module);

	if (!placer)
		return NULL;
	if (anew) {
		coverage_end(m->coverage);
		m->coverage = NULL;
	}
	if (!m->coverage)
		m->coverage = coverage_begin(placer);
	if (m->coverage)
		return m;
	*error = -ENOMEM;
	*reason = module_error_text(*error);
	return NULL;
}

static size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

void server_trim(struct server *s, uint32_t keep)
{
	struct server_module *oldest;

	while (memory_in_use() > MEMORY_HIGH) {
		oldest = NULL;
		for (uint32_t i = 0; i < PARSE_MAX_MODULES; i++) {
			struct server_module *m = &s->modules[i];

			if (m->module && m->number != keep && (!oldest || m->used < oldest->used))
				oldest = m;
		}
		if (!oldest)
			return;
		forget(oldest);
	}
}

/* Answer with the properties of a module, or with the error. */
static int answer_module(struct server *s, struct server_module *m, int error)
{
	struct parsed_module answer = {.error = error, .reason = module_error_text(error)};
	const struct module_identity *identity;
	char unread[64] = "";

	if (m && m->module) {
		identity = module_identity(m->module);
		answer.build_id = identity->build_id;
		answer.debuglink = identity->debuglink;
		answer.wants_debug = module_wants_debug(m->module);
		answer.position_independent = identity->type == MODULE_DYN;
		answer.has_symtab = identity->has_symtab;
		answer.has_dwarf = identity->has_dwarf;
		answer.has_eh_frame = identity->has_eh_frame;
		answer.size = identity->size;
		answer.truncated = module_truncated(m->module);
		module_lines_unread(m->module, unread, sizeof(unread));
	}
	answer.unread = unread;
	return server_answer(s, PARSED_MODULE, &answer);
}

int serve_add_module(struct server *s, int fd)
{
	uint32_t number = s->request.module;
	struct server_module *m;
	int err;

	if (!number || number >= PARSE_MAX_MODULES) {
		close(fd);
		return answer_module(s, NULL, -ENOENT);
	}
	m = &s->modules[number];
	server_module_release(m);
	*m = (struct server_module){.number = number, .fd = fd, .debug_fd = -1};
	m->name = strdup(s->request.text);
	err = m->name ? open_module(m) : -ENOMEM;
	m->opened = m->used = s->requests;
	if (!err)
		return answer_module(s, m, 0);
	server_module_release(m);
	return answer_module(s, NULL, err);
}

int serve_add_debug(struct server *s, int fd)
{
	const char *reason;
	int err;
	struct server_module *m = get(s, s->request.module, &err, &reason);

	if (m) {
		/* The planner and its source point into data that the debug file replaces. */
		forget_planner(m);
		module_source_free(m->source);
		m->source = NULL;
		err = module_add_debug(m->module, fd);
	}
	if (!err)
		m->debug_fd = fd;
	else
		close(fd);
	return answer_module(s, m, err);
}

int serve_forget(struct server *s)
{
	struct server_module *m = lookup(s, s->request.module);

	if (!m)
		return answer_module(s, NULL, -ENOENT);
	server_module_release(m);
	server_unwind_forget(s, s->request.module);
	return answer_module(s, NULL, 0);
}
