// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of the values of calls: the parser is asked for the parameters of watched functions,
 * and the collector to read what is behind those that are pointers. */

#include "analysis/base/parameters.h"
#include "tui/engine/front_state.h"

static struct rec_member place_of(const char *parameters, unsigned int entry, bool is_string)
{
	struct parameter p;

	if (!parameters_entry(parameters, entry, &p) || !p.place.is_known ||
	    (p.kind == PARAMETER_STRING) != is_string)
		return (struct rec_member){0};
	return (struct rec_member){.argument = p.place.argument,
				   .offset = p.place.offset,
				   .size = p.size,
				   .is_pointer = p.place.is_pointer};
}

static void ask_members(struct front *f, const struct watch *w, const char *parameters)
{
	struct rec_member list[PARAMETER_MEMBERS];
	struct record req = {.type = REQ_MEMBERS, .req_members = {.op = w->op, .members = list}};
	bool any = false;

	for (unsigned int i = 0; i < PARAMETER_MEMBERS; i++) {
		list[i] = place_of(parameters, PARAMETER_MEMBER + i, false);
		any |= list[i].size != 0;
	}
	req.req_members.nr_members = PARAMETER_MEMBERS;
	req.req_members.text = place_of(parameters, PARAMETER_TEXT, true);
	if (any || req.req_members.text.size)
		front_request(f, &req);
}

/* True if the value of this name, or the argument argN, is compared. */
static bool is_compared(const char *parameters, const char *name)
{
	struct parameter p;

	for (unsigned int i = PARAMETER_FIRST; i < PARAMETER_ENTRIES; i++) {
		bool has_entry = parameters_entry(parameters, i, &p);

		if (has_entry && p.kind != PARAMETER_UNKNOWN && !strcmp(p.name, name))
			return true;
		if (i < PARAMETER_MEMBER && !strncmp(name, "arg", 3) &&
		    name[3] == (char)('0' + i - PARAMETER_FIRST) && !name[4])
			return !has_entry || p.kind != PARAMETER_NONE;
	}
	return false;
}

/* Say which of the values of --value cannot be read. */
static void tell_missing(struct front *f, const struct watch *w, const char *parameters)
{
	char text[640];

	for (size_t i = 0; i < f->options->nr_values; i++) {
		const char *name = f->options->values[i];

		if (is_compared(parameters, name))
			continue;
		snprintf(
		    text, sizeof(text),
		    "--value %s: not known in %s: it has no such parameter or member that is a "
		    "number, or its debug information is missing or does not say where it is",
		    name, w->function && *w->function ? w->function : w->text);
		front_note(f, NOTE_WARNING, text);
	}
}

static void parameters_known(void *ctx, uint64_t tag, const struct parsed *answer)
{
	const struct parsed_symbols *a = &answer->symbols;
	struct front *f = ctx;

	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];
		const struct rec_symbol *symbol = NULL;

		if (w->module != (uint32_t)tag || w->values != VALUES_ASKED)
			continue;
		w->values = VALUES_KNOWN;
		for (uint32_t k = 0; k < a->nr && !symbol; k++)
			symbol = a->symbols[k].offset == w->offset ? &a->symbols[k] : NULL;
		if (symbol && symbol->parameters && symbol->parameters[0]) {
			front_feed(f, &(struct record){.type = REC_SYMBOL, .symbol = *symbol});
			ask_members(f, w, symbol->parameters);
		}
		tell_missing(f, w, symbol ? symbol->parameters : NULL);
	}
}

/* True if names for the values of its calls may be asked for. */
static bool lacks_values(const struct watch *w)
{
	return w->stage == WATCH_ARMED && w->module && !w->edge && w->values == VALUES_UNKNOWN;
}

/* Write the values that the user chose, separated by commas. */
static void list_values(const struct options *o, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < o->nr_values && used < size; i++)
		used +=
		    (size_t)snprintf(to + used, size - used, "%s%s", i ? "," : "", o->values[i]);
}

/* Ask for the parameters of all functions of a module at once, for which the parser reads its debug
 * information once. */
static void ask_parameters(struct front *f, uint32_t module)
{
	const struct parser_reply reply = {parameters_known, f, module};
	char values[OPTIONS_MAX_VALUES * PARAMETER_NAME] = "";
	uint64_t offsets[PARSE_MAX_OFFSETS];
	struct parse_request req = {.module = module, .text = values, .max = 1, .offsets = offsets};

	list_values(f->options, values, sizeof(values));
	for (size_t i = 0; i < f->watches.nr && req.nr_offsets < PARSE_MAX_OFFSETS; i++) {
		struct watch *w = f->watches.list[i];

		if (!lacks_values(w) || w->module != module)
			continue;
		offsets[req.nr_offsets++] = w->offset;
		w->values = VALUES_ASKED;
	}
	front_ask(f, PARSE_SYMBOLS, &req, &reply);
}

void watch_values_move(struct front *f)
{
	if (f->options->open || f->options->no_values)
		return;
	for (size_t i = 0; i < f->watches.nr; i++)
		if (lacks_values(f->watches.list[i]))
			ask_parameters(f, f->watches.list[i]->module);
}
