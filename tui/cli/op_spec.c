// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of -f and --peak: which operation and which of its peaks. */

#include "analysis/base/duration.h"
#include "analysis/base/parameters.h"
#include "analysis/base/syscall_names.h"
#include "analysis/base/uring_names.h"
#include "tui/cli/command_line.h"
#include "tui/cli/kernel_set.h"

static int copy(char *out, const char *from, size_t len)
{
	if (!len || len >= OPTIONS_NAME)
		return -EINVAL;
	memcpy(out, from, len);
	out[len] = '\0';
	return 0;
}

/* The @ between FUNC and MODULE: the last @, unless another @ stands before it (a symbol version,
 * as in f@@V1). */
static const char *module_part(const char *text)
{
	const char *at = strrchr(text, '@');

	return at && at > text && at[-1] != '@' && at[1] ? at : NULL;
}

/* Parse an OP that is one word; true if it is one. */
static bool word_parse(struct op_spec *op, const char *text)
{
	static const struct {
		const char *word;
		enum op_kind kind;
	} words[] = {{"syscalls", OP_ALL_SYSCALLS}, {"block", OP_BLOCK}, {"block:queue", OP_BLOCK},
		     {"block:device", OP_BLOCK},    {"lock", OP_LOCK},	 {"runqueue", OP_RUNQUEUE},
		     {"io_uring", OP_URING},	    {"net", OP_NET},	 {"net:connect", OP_NET}};

	*op = (struct op_spec){.text = text, .kind = OP_FUNCTION};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i].word))
			continue;
		op->kind = words[i].kind;
		return true;
	}
	return false;
}

/* Parse io_uring:NAME. */
static int uring_parse(struct op_spec *op, const char *text, char *error, size_t n)
{
	const char *name = strchr(text, ':') + 1;

	op->kind = OP_URING;
	if (!copy(op->name, name, strlen(name)) &&
	    (uring_number(name) >= 0 || strspn(name, "0123456789") == strlen(name)))
		return 0;
	return options_fail(error, n,
			    "-f %.100s: io_uring has no such operation; give one of those in "
			    "io_uring_enter(2) in small letters, as in io_uring:read, or io_uring "
			    "for all",
			    text);
}

/* Parse syscall:NAME or kernel:NAME. */
static int prefixed_parse(struct op_spec *op, const char *text, char *error, size_t n)
{
	const char *name = strchr(text, ':') + 1, *near;

	op->kind = text[0] == 's' ? OP_SYSCALL : OP_KERNEL;
	if (copy(op->name, name, strlen(name)))
		return options_fail(error, n,
				    "-f %s: give a name of at most 1023 characters after the colon",
				    text);
	if (op->kind == OP_KERNEL && kernel_set_is(text))
		return options_fail(error, n,
				    "-f %.100s: name one function; only watch, record and the "
				    "screen take a pattern",
				    text);
	if (op->kind == OP_KERNEL || syscall_number(name) >= 0 ||
	    strspn(name, "0123456789") == strlen(name))
		return 0;
	near = syscall_nearest(name);
	return options_fail(error, n, "-f %.100s: no such system call%s%s%s", text,
			    near ? "; did you mean syscall:" : "", near ? near : "",
			    near ? "?" : "");
}

int op_spec_parse(struct op_spec *op, const char *text, char *error, size_t error_size)
{
	const char *at, *name = text;
	char *end;

	if (word_parse(op, text))
		return 0;
	if (!strncmp(text, "syscall:", 8) || !strncmp(text, "kernel:", 7))
		return prefixed_parse(op, text, error, error_size);
	if (!strncmp(text, "io_uring:", 9))
		return uring_parse(op, text, error, error_size);
	if (!strncmp(text, "user:", 5))
		name = text + 5;
	at = module_part(name);
	if (at && copy(op->module, at + 1, strlen(at + 1)))
		return options_fail(
		    error, error_size,
		    "-f %.100s: the module name is longer than 1023 characters; give the "
		    "file name without its path",
		    text);
	if (copy(op->name, name, at ? (size_t)(at - name) : strlen(name)))
		return options_fail(error, error_size,
				    "-f '%.100s' is not an operation; give a function, syscalls, "
				    "syscall:NAME, block, lock, runqueue, net or io_uring",
				    text);
	if (at && op->name[0] == '0' && (op->name[1] == 'x' || op->name[1] == 'X')) {
		op->offset = strtoull(op->name, &end, 16);
		if (*end)
			return options_fail(
			    error, error_size,
			    "-f %s: the offset is not hexadecimal; give 0xOFFSET@MODULE", text);
		op->kind = OP_OFFSET;
	}
	return 0;
}

/* The unit that a latency ends with. */
static const char *unit_of_text(const char *text)
{
	const char *at = text + strlen(text);

	while (at > text && (unsigned char)at[-1] > '9' && at[-1] != ' ')
		at--;
	return at;
}

int peak_spec_parse(struct descent_question *q, const char *text, char *e, size_t n)
{
	const char *rest, *dash = strchr(text, '-');
	unsigned long peak;

	q->peak = 0;
	q->peak_low_ns = q->peak_high_ns = 0;
	if (*text && strspn(text, "0123456789") == strlen(text)) {
		peak = strtoul(text, NULL, 10);
		if (!peak || peak > 64)
			return options_fail(
			    e, n,
			    "--peak must be a peak's number from 1 to 64 (got %s); a "
			    "latency needs a unit, as in --peak %sus",
			    text, text);
		q->peak = (int)peak;
		return 0;
	}
	if (dash && dash > text) {
		q->peak_low_ns = duration_parse(text, unit_of_text(text), &rest);
		if (q->peak_low_ns && rest + strspn(rest, " ") == dash)
			q->peak_high_ns =
			    duration_parse(dash + 1 + strspn(dash + 1, " "), "", &rest);
	} else {
		q->peak_low_ns = q->peak_high_ns = duration_parse(text, "", &rest);
	}
	if (!q->peak_low_ns || !q->peak_high_ns || *rest ||
	    (dash && q->peak_low_ns >= q->peak_high_ns))
		return options_fail(
		    e, n,
		    "--peak '%s' is not a peak; give its number (3), a latency inside it "
		    "(2.5ms) or a range of latencies (2ms-4ms)",
		    text);
	return 0;
}

int value_spec_parse(struct options *o, const char *text, char *error, size_t n)
{
	const char *arrow = strstr(text, "->");
	char name[PARAMETER_NAME] = "";

	if (arrow && (size_t)(arrow - text) < sizeof(name))
		memcpy(name, text, (size_t)(arrow - text));
	if (strlen(text) >= PARAMETER_NAME || !parameter_name_fits(arrow ? name : text) ||
	    (arrow && !parameter_name_fits(arrow + 2)))
		return options_fail(error, n,
				    "--value '%s' is not a parameter or a member behind one; give "
				    "it as in kind, req->len or arg0->len",
				    text);
	if (o->nr_values == OPTIONS_MAX_VALUES)
		return options_fail(error, n, "--value: more than %d values given; give fewer",
				    OPTIONS_MAX_VALUES);
	o->values[o->nr_values++] = text;
	return 0;
}

int values_check(const struct options *o, char *error, size_t n)
{
	if (!o->nr_values || !o->no_values)
		return 0;
	return options_fail(error, n,
			    "--value reads values, which --no-values forbids; remove one of them");
}
