// SPDX-License-Identifier: GPL-2.0-or-later
/* Search for functions with names like the text that the user types. */

#include "tui/engine/front_state.h"

enum { SEARCH_MAX = 48 };

static void candidates_free(struct function_candidate *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free((char *)(uintptr_t)list[i].name);
		free((char *)(uintptr_t)list[i].module);
		free((char *)(uintptr_t)list[i].text);
	}
	free(list);
}

/* Copy the answer into a list with all its texts. NULL: out of memory. */
static struct function_candidate *candidates_of(const struct front *f,
						const struct parsed_functions *a)
{
	struct function_candidate *list = calloc(a->nr ? a->nr : 1, sizeof(*list));
	char text[2 * OPTIONS_NAME];
	bool complete = list;

	for (uint32_t i = 0; complete && i < a->nr; i++) {
		const struct parsed_function *fn = &a->functions[i];
		const char *module = module_name(f, fn->module);

		if (fn->symbol[0])
			snprintf(text, sizeof(text), "%s@%s", fn->symbol, module);
		else
			snprintf(text, sizeof(text), "0x%" PRIx64 "@%s", fn->offset, module);
		list[i].name = strdup(fn->function[0] ? fn->function : fn->symbol);
		list[i].module = strdup(module);
		list[i].text = strdup(text);
		complete = list[i].name && list[i].module && list[i].text;
	}
	if (complete || !list)
		return list;
	candidates_free(list, a->nr);
	return NULL;
}

static void answered(void *ctx, uint64_t number, const struct parsed *answer)
{
	struct front *f = ctx;
	struct front_search *s = &f->search;
	struct function_candidate *list;

	/* The user has changed the text since this request. */
	if (number != s->number)
		return;
	s->asked = false;
	list = candidates_of(f, &answer->functions);
	if (!list) {
		front_message(f, "out of memory: the functions cannot be listed");
		return;
	}
	candidates_free(s->list, s->nr);
	s->list = list;
	s->nr = answer->functions.nr;
	free(s->answered);
	s->answered = s->text;
	s->text = NULL;
	s->fresh = true;
}

static void ask_nearest(struct front *f)
{
	struct front_search *s = &f->search;
	const struct parser_reply reply = {answered, f, s->number};
	/* PARSE_NEAREST ranks by similarity, which suits a user who types a name; PARSE_LIST sorts
	 * by address. */
	struct parse_request req = {.text = s->text, .max = SEARCH_MAX};

	if (s->text && s->text[0] && !s->asked && modules_settled(f))
		s->asked = front_ask(f, PARSE_NEAREST, &req, &reply);
}

void front_search(struct front *f, const char *text)
{
	struct front_search *s = &f->search;

	modules_want(f);
	free(s->text);
	s->text = strdup(text);
	s->number++;
	s->asked = false;
	if (!s->text)
		front_message(f, "out of memory: the functions cannot be listed");
	ask_nearest(f);
}

bool front_take_candidates(struct front *f, const char **searched,
			   const struct function_candidate **list, size_t *nr)
{
	struct front_search *s = &f->search;

	/* if the text came before the modules were read, ask now */
	ask_nearest(f);
	if (!s->fresh)
		return false;
	s->fresh = false;
	*searched = s->answered;
	*list = s->list;
	*nr = s->nr;
	return true;
}

void search_release(struct front *f)
{
	candidates_free(f->search.list, f->search.nr);
	free(f->search.text);
	free(f->search.answered);
}
