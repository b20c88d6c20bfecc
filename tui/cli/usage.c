// SPDX-License-Identifier: GPL-2.0-or-later
/* The help texts, made from the tables of verbs and options. */
#include "tui/cli/usage.h"

#include "tui/cli/option_table.h"

enum { WIDTH = 80, TEXT_AT = 28 };

/* Append `text`, broken between words. The cursor is in column `at`; further lines begin in column
 * `indent`. */
static void put_wrapped(struct buf *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + 1 + len > WIDTH) {
			buf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			buf_putc(out, ' ');
			at++;
		}
		buf_append(out, text, len);
		at += len;
		text += len + (text[len] == ' ');
	}
	buf_putc(out, '\n');
}

/* Append "  LEFT    TEXT"; a long `left` has a line of its own. */
static void put_row(struct buf *out, const char *left, const char *text)
{
	size_t len = strlen(left) + 2;

	buf_printf(out, "  %s", left);
	if (len + 2 > TEXT_AT) {
		buf_putc(out, '\n');
		len = 0;
	}
	buf_printf(out, "%*s", (int)(TEXT_AT - len), "");
	put_wrapped(out, text, TEXT_AT, TEXT_AT);
}

static void put_option(struct buf *out, const struct option_row *row)
{
	SCOPED_BUF(left, 256);

	if (row->letter)
		buf_printf(&left, "-%c, ", row->letter);
	buf_printf(&left, "--%s%s%s", row->name, row->value ? " " : "",
		   row->value ? row->value : "");
	put_row(out, left.data ? left.data : row->name, row->help);
}

/* Append the options that one of the forms uses, below the headings of their groups. */
static void put_options(struct buf *out, uint32_t forms)
{
	const uint32_t target = option_row_of(OPT_PIDS)->forms;

	for (int group = 0; group < NR_OPTION_GROUPS; group++) {
		bool headed = false;

		for (size_t i = 0; i < nr_option_rows; i++) {
			const struct option_row *row = &option_rows[i];

			if ((int)row->group != group || !(row->forms & forms))
				continue;
			if (!headed)
				buf_printf(out, "\n%s:\n", option_group_names[group]);
			headed = true;
			put_option(out, row);
		}
		if (group == GROUP_TARGET && headed && forms & target)
			put_row(
			    out, "PID|NAME",
			    "a pid, or the name of a process or its begin, a unit (nginx.service) "
			    "or a container");
		if (group == GROUP_TARGET && headed && forms & target)
			put_row(out, "-- COMMAND [ARGUMENT...]",
				"start this command as the invoking user and measure it from its "
				"first instruction; must be last");
	}
}

static void put_operations(struct buf *out)
{
	buf_puts(out, "\nOP: syscalls | syscall:NAME | FUNC | FUNC@MODULE | 0xOFFSET@MODULE |\n"
		      "    kernel:FUNC | block | lock | runqueue\n");
}

static void put_examples(struct buf *out, const struct verb_row *row)
{
	for (size_t i = 0; row->examples[i]; i++)
		buf_printf(out, "  %s\n", row->examples[i]);
}

static void put_verb(struct buf *out, const struct verb_row *row)
{
	for (size_t i = 0; row->synopsis[i]; i++)
		buf_printf(out, "%s peaktop %s%s%s\n", i ? "      " : "Usage:", row->word,
			   *row->word ? " " : "", row->synopsis[i]);
	buf_putc(out, '\n');
	put_wrapped(out, row->about, 0, 0);
	put_options(out, row->forms);
	if (row->forms & option_row_of(OPT_OP)->forms)
		put_operations(out);
	buf_puts(out, "\nExamples:\n");
	put_examples(out, row);
}

static void put_all(struct buf *out)
{
	buf_puts(out, "peaktop " PEAKTOP_VERSION " - a top for latency\n\n");
	for (size_t i = 0; i < nr_verb_rows; i++) {
		const struct verb_row *row = &verb_rows[i];

		for (size_t k = 0; row->help && row->synopsis[k]; k++)
			buf_printf(out, "  peaktop %s%s%s\n", row->word, *row->word ? " " : "",
				   row->synopsis[k]);
		if (row->help)
			buf_printf(out, "%*s%s\n", 8, "", row->help);
	}
	put_operations(out);
	put_options(out, ~0u);
	buf_puts(out, "\nExamples:\n");
	for (size_t i = 0; i < nr_verb_rows; i++)
		put_examples(out, &verb_rows[i]);
	buf_puts(out, "\npeaktop VERB --help lists the options of one verb.\n");
}

int usage_text(enum verb verb, struct buf *out)
{
	const struct verb_row *row = verb_row_of(verb);

	if (*row->word && row->about)
		put_verb(out, row);
	else
		put_all(out);
	return out->err;
}
