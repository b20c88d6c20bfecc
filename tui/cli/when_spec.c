// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of --when and --every. */

#include "analysis/base/array.h"
#include "analysis/base/duration.h"
#include "tui/cli/command_line.h"

#define SECOND_NS 1000000000ull
#define EVERY_NS (600 * SECOND_NS) /* the default of --every */

int when_spec_parse(struct options *o, const char *text, char *error, size_t n)
{
	o->when = text;
	return condition_parse(&o->condition, text, error, n);
}

int every_spec_parse(struct options *o, const char *text, char *error, size_t n)
{
	const char *end = "";

	o->every_ns = duration_parse(text, "", &end);
	if (!o->every_ns || *end || o->every_ns < SECOND_NS)
		return options_fail(error, n,
				    "--every '%s' is not a time of at least a second; give it as "
				    "in 10m",
				    text);
	return 0;
}

/* True if the options measure this operation already. */
static bool is_measured(const struct options *o, const struct op_spec *op)
{
	if (op->kind == OP_SYSCALL &&
	    (!o->nr_ops || any_of(i, o->nr_ops, o->ops[i].kind == OP_ALL_SYSCALLS)))
		return true;
	return any_of(i, o->nr_ops, !strcmp(o->ops[i].text, op->text));
}

/* Measure the operation of the condition, too. */
static int add_op(struct options *o, char *error, size_t n)
{
	struct op_spec *op = &o->ops[o->nr_ops ? o->nr_ops : 1];
	size_t at = (size_t)(strstr(o->when, o->condition.op) - o->when) + 1;
	char why[512];

	if (o->nr_ops >= OPTIONS_MAX_OPS)
		return options_fail(error, n,
				    "--when: more than %d operations given; watch fewer at once",
				    OPTIONS_MAX_OPS - 1);
	if (op_spec_parse(op, o->condition.op, why, sizeof(why)) || op->kind == OP_ALL_SYSCALLS ||
	    (op->kind == OP_URING && !op->name[0]))
		return options_fail(
		    error, n,
		    "--when '%.200s': position %zu: '%.200s' is not one operation; "
		    "give a function, syscall:NAME, block, lock, runqueue, net or io_uring:NAME",
		    o->when, at, o->condition.op);
	if (is_measured(o, op))
		return 0;
	/* what is measured without -f is still measured */
	if (!o->nr_ops && op_spec_parse(&o->ops[o->nr_ops++], "syscalls", error, n))
		return -EINVAL;
	o->nr_ops++;
	return 0;
}

int when_check(struct options *o, char *error, size_t n)
{
	if (!o->when)
		return o->every_ns || o->exec
			   ? options_fail(error, n, "%s works only together with --when; give both",
					  o->exec ? "--exec" : "--every")
			   : 0;
	if (!o->every_ns)
		o->every_ns = EVERY_NS;
	return o->condition.figure == CONDITION_LOAD ? 0 : add_op(o, error, n);
}
