// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/base/parameters.h"
#include "analysis/code/entry_args.h"
#include "tui/parser/serve_internal.h"

enum {
	NEAREST_DEFAULT = 8,
	PARAMETERS_MAX_INFO = 32 << 20, /* names of values are not worth more memory */
	ANSWER_TEXT = FRAME_MAX_PAYLOAD - (64 << 10), /* bytes of names in one answer */
};

/* The functions found so far, and the number of all matches. */
struct found_functions {
	struct parsed_function functions[PARSE_MAX_FUNCTIONS];
	unsigned int cost[PARSE_MAX_FUNCTIONS]; /* NEAREST: lower is nearer */
	uint32_t nr, max;
	uint64_t total;
};

/* An empty list in the memory of the request; NULL: there is none left. */
static struct found_functions *found_new(struct server *s)
{
	struct found_functions *found = arena_alloc(&s->arena, sizeof(*found));

	if (found)
		found->nr = found->total = 0;
	return found;
}

static uint32_t wanted(const struct server *s, uint32_t otherwise)
{
	uint32_t max = s->request.max ? s->request.max : otherwise;

	return max < PARSE_MAX_FUNCTIONS ? max : PARSE_MAX_FUNCTIONS;
}

/* Copy a text of a module: a request about many modules may free the module before it is answered.
 */
static const char *keep(struct server *s, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	char *copy = n ? arena_alloc(&s->arena, n + 1) : NULL;

	if (!copy)
		return "";
	memcpy(copy, text, n + 1);
	return copy;
}

static struct parsed_function describe(struct server *s, struct module *m, uint32_t number,
				       const struct module_function *f)
{
	return (struct parsed_function){
	    .module = number,
	    .offset = f->offset,
	    .size = f->size,
	    .symbol = keep(s, f->symbol),
	    .function = keep(s, module_function_name(m, f)),
	    .ifunc = f->ifunc,
	    .source = f->source,
	    .source_name = function_source_name((enum function_source)f->source),
	    .exported = f->exported,
	};
}

static int answer_functions(struct server *s, struct found_functions *found, uint64_t cursor,
			    int error, const char *reason)
{
	struct parsed_functions answer = {
	    .error = error,
	    .reason = reason,
	    .total = found->total,
	    .cursor = cursor,
	    .nr = found->nr,
	    .functions = found->functions,
	};
	int err;

	while ((err = server_answer(s, PARSED_FUNCTIONS, &answer)) == -E2BIG && answer.nr)
		answer.nr /= 2;
	return err;
}

/* Iterate over the modules of a request: the one that it names, or all in turn. In the latter case
 * announce each module to the client (PARSED_AT). Begin with `number` 0; returns false at the
 * end. */
static bool next_module(struct server *s, uint32_t *number, struct module **m, int *error,
			const char **reason)
{
	struct parsed_at at = {.id = s->request.id};

	if (s->request.module) {
		if (*number)
			return false;
		*number = s->request.module;
		*m = server_module(s, *number, error, reason);
		return *m;
	}
	while ((*number = server_next_module(s, *number))) {
		/* skip the vDSO: its functions have the names of those of the C library that call
		 * it */
		if (server_is_vdso(s, *number))
			continue;
		at.module = *number;
		if (server_send(s, PARSED_AT, &at) || channel_flush(s->channel) < 0)
			return false;
		/* Skip a module that cannot be read. */
		*m = server_module(s, *number, error, reason);
		*error = 0;
		*reason = "";
		if (*m)
			return true;
	}
	return false;
}

/* A search of one module for functions that a name means: module_find(). */
typedef int (*module_search_fn)(struct module *m, const char *name,
				const struct module_function **out, size_t max);

/* Answer with what `search` finds in the modules of the request. */
static int serve_matches(struct server *s, module_search_fn search)
{
	const struct module_function *matches[PARSE_MAX_FUNCTIONS];
	struct found_functions *found = found_new(s);
	uint32_t number = 0, max = wanted(s, PARSE_MAX_FUNCTIONS);
	const char *reason = "";
	struct module *m = NULL;
	int n, error = 0, too_large = 0;

	if (!found)
		return -ENOMEM;
	while (next_module(s, &number, &m, &error, &reason)) {
		n = search(m, s->request.text, matches, PARSE_MAX_FUNCTIONS);
		if (n < 0 && s->request.module) {
			error = n;
			reason = module_error_text(n);
		}
		if (n == -E2BIG)
			too_large = n;
		found->total += n > 0 ? (uint64_t)n : 0;
		for (int i = 0; i < n && i < PARSE_MAX_FUNCTIONS && found->nr < max; i++)
			found->functions[found->nr++] = describe(s, m, number, matches[i]);
		server_trim(s, number);
	}
	return answer_functions(s, found, 0, error ? error : too_large, reason);
}

int serve_find(struct server *s)
{
	return serve_matches(s, module_find);
}

int serve_inlined(struct server *s)
{
	return serve_matches(s, module_inlined_into);
}

/* Insert a function into the list of the `max` nearest, sorted by cost. Equal costs keep their
 * order. */
static void insert_by_cost(struct found_functions *found, struct parsed_function f,
			   unsigned int cost)
{
	uint32_t i;

	if (found->nr < found->max)
		found->nr++;
	else if (cost >= found->cost[found->nr - 1])
		return;
	for (i = found->nr - 1; i > 0 && found->cost[i - 1] > cost; i--) {
		found->functions[i] = found->functions[i - 1];
		found->cost[i] = found->cost[i - 1];
	}
	found->functions[i] = f;
	found->cost[i] = cost;
}

int serve_nearest(struct server *s)
{
	const struct module_function *matches[PARSE_MAX_FUNCTIONS];
	unsigned int costs[PARSE_MAX_FUNCTIONS];
	struct found_functions *found = found_new(s);
	const char *reason = "";
	struct module *m = NULL;
	uint32_t number = 0;
	int n, error = 0;

	if (!found)
		return -ENOMEM;
	found->max = wanted(s, NEAREST_DEFAULT);
	while (next_module(s, &number, &m, &error, &reason)) {
		n = module_nearest(m, s->request.text, matches, costs, found->max);
		found->total += n > 0 ? (uint64_t)n : 0;
		for (int i = 0; i < n; i++)
			insert_by_cost(found, describe(s, m, number, matches[i]), costs[i]);
		server_trim(s, number);
	}
	return answer_functions(s, found, 0, error, reason);
}

/* A cursor has the number of the module in its upper half, and the index of the function in its
 * lower half. */
static uint64_t cursor_of(uint32_t module, size_t function)
{
	return (uint64_t)module << 32 | (uint32_t)function;
}

/* Append the functions of one module from *index on. False if the answer is full. */
static bool list_module(struct server *s, struct found_functions *found, struct module *m,
			uint32_t number, size_t *index)
{
	const struct module_function *matches[PARSE_MAX_FUNCTIONS];
	size_t i, n, end = module_nr_functions(m);

	while (*index < end) {
		if (found->nr == found->max)
			return false;
		n = module_search(m, s->request.text, index, matches, found->max - found->nr);
		for (i = 0; i < n; i++)
			found->functions[found->nr++] = describe(s, m, number, matches[i]);
	}
	return true;
}

int serve_list(struct server *s)
{
	struct found_functions *found = found_new(s);
	uint32_t number = 0, from = (uint32_t)(s->request.cursor >> 32);
	size_t index = (uint32_t)s->request.cursor;
	const char *reason = "";
	struct module *m = NULL;
	uint64_t cursor = 0;
	int error = 0;

	if (!found)
		return -ENOMEM;
	found->max = wanted(s, PARSE_MAX_FUNCTIONS);
	if (!s->request.module && from)
		number = from - 1;
	while (next_module(s, &number, &m, &error, &reason)) {
		if (number != from)
			index = 0;
		if (!list_module(s, found, m, number, &index)) {
			cursor = cursor_of(number, index);
			break;
		}
		server_trim(s, number);
	}
	found->total = found->nr;
	return answer_functions(s, found, cursor, error, reason);
}

int serve_ifunc(struct server *s)
{
	const struct module_function *targets[PARSE_MAX_FUNCTIONS], *f = NULL;
	struct found_functions *found = found_new(s);
	const char *reason;
	struct module *m;
	int error, n;

	if (!found)
		return -ENOMEM;
	m = server_module(s, s->request.module, &error, &reason);
	if (m)
		f = module_function_at_offset(m, s->request.offset);
	if (m && (!f || !f->ifunc)) {
		error = -EINVAL;
		reason = "not an indirect function";
	}
	if (error)
		return answer_functions(s, found, 0, error, reason);
	n = module_ifunc_targets(m, f, targets, PARSE_MAX_FUNCTIONS);
	if (n < 0)
		return answer_functions(s, found, 0, n, module_error_text(n));
	found->total = (uint64_t)n;
	for (int i = 0; i < n && i < PARSE_MAX_FUNCTIONS; i++)
		found->functions[found->nr++] = describe(s, m, s->request.module, targets[i]);
	return answer_functions(s, found, 0, 0, "");
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Without debug information: in which registers no parameter can be, because nobody reads them. */
static void parameters_by_code(struct server *s, uint64_t vaddr, struct buf *to)
{
	const char *reason;
	int error;
	struct placer *p = server_placer(s, s->request.module, &error, &reason);
	uint8_t args = p ? code_entry_args(p, vaddr) : ENTRY_ARGS_UNKNOWN;

	if (args == ENTRY_ARGS_UNKNOWN)
		return;
	parameters_begin(to, "", PARAMETER_UNKNOWN, 0);
	for (unsigned int i = 0; i < SAMPLE_ARGS; i++)
		parameters_begin(to, "", args & 1U << i ? PARAMETER_UNKNOWN : PARAMETER_NONE, 0);
}

static const char *parameters_of(struct server *s, struct module *m,
				 const struct module_function *f)
{
	SCOPED_BUF(text, PARAMETERS_MAX);

	module_parameters(m, f, s->request.text[0] ? s->request.text : NULL, &text);
	if (!text.len && !module_identity(m)->is_go)
		parameters_by_code(s, f->vaddr, &text);
	return keep(s, text.data);
}

static struct rec_symbol symbol_at(struct server *s, struct module *m, uint64_t offset)
{
	struct rec_symbol symbol = {.module = s->request.module, .offset = offset};
	const struct module_function *f = module_function_at_offset(m, offset);
	uint64_t vaddr;

	if (f) {
		symbol.symbol = f->symbol;
		symbol.function = module_function_name(m, f);
		if (s->request.max && f->offset == offset)
			symbol.parameters = parameters_of(s, m, f);
	}
	if (!module_vaddr_of(m, offset, &vaddr) &&
	    module_line(m, vaddr, &symbol.file, &symbol.line))
		symbol.file = NULL;
	return symbol;
}

int serve_symbols(struct server *s)
{
	const struct parse_request *r = &s->request;
	struct parsed_symbols answer = {.error = 0};
	struct module *m;
	size_t text = 0;
	uint64_t to_read = 0;
	int err;
	struct rec_symbol *symbols = arena_alloc(&s->arena, (r->nr_offsets + 1) * sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	m = server_module(s, r->module, &answer.error, &answer.reason);
	if (m && r->max)
		to_read = module_lines_to_read(m);
	if (to_read > PARAMETERS_MAX_INFO)
		m = NULL;
	for (uint32_t i = 0; m && i < r->nr_offsets; i++) {
		symbols[i] = symbol_at(s, m, r->offsets[i]);
		text += text_size(symbols[i].symbol) + text_size(symbols[i].function) +
			text_size(symbols[i].file) + text_size(symbols[i].parameters);
		/* No room in the answer: report the place as unknown; the client may ask again. */
		if (text > ANSWER_TEXT)
			symbols[i] =
			    (struct rec_symbol){.module = r->module, .offset = r->offsets[i]};
	}
	answer.nr = m ? r->nr_offsets : 0;
	answer.symbols = symbols;
	err = server_answer(s, PARSED_SYMBOLS, &answer);
	/* the debug information was read for the parameters alone: free its memory */
	if (m && to_read)
		module_unload_lines(m);
	return err;
}
