// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/command_line.h"

#include "analysis/base/array.h"
#include "analysis/base/format.h"
#include "tui/cli/kernel_set.h"
#include "tui/cli/option_table.h"

#include <getopt.h>
#include <math.h>

enum { FIRST_OPTION = 256, MAX_OPTIONS = 64 };

int options_fail(char *error, size_t n, const char *fmt, ...)
{
	format_arguments(error, n, fmt);
	return -EINVAL;
}

/* What an option is called in a message: -f or --for. */
static const char *called(const struct option_row *row, char *out, size_t n)
{
	if (row->letter)
		snprintf(out, n, "-%c", row->letter);
	else
		snprintf(out, n, "--%s", row->name);
	return out;
}

static int number(const struct option_row *row, const char *text, double *out, char *error,
		  size_t n)
{
	char name[64];
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(v) || v < row->low || v > row->high)
		return options_fail(error, n, "%s must be a number from %g to %g (got '%s')",
				    called(row, name, sizeof(name)), row->low, row->high, text);
	*out = v;
	return 0;
}

static int whole(const struct option_row *row, const char *text, unsigned int *out, char *error,
		 size_t n)
{
	char name[64];
	double v;
	int err = number(row, text, &v, error, n);

	if (!err && v != floor(v))
		return options_fail(error, n, "%s must be a whole number (got '%s')",
				    called(row, name, sizeof(name)), text);
	if (!err)
		*out = (unsigned int)v;
	return err;
}

static int pids_parse(struct options *o, const char *text, char *error, size_t n)
{
	const char *p = text;
	char *end;

	while (*p) {
		long pid;

		errno = 0;
		pid = strtol(p, &end, 10);
		if (errno || end == p || pid <= 0 || pid > 1 << 30 || (*end && *end != ',') ||
		    (*end == ',' && !end[1]))
			return options_fail(
			    error, n,
			    "-p '%s' is not a list of pids; give them as in -p 123 or -p 123,456",
			    text);
		if (o->nr_pids == OPTIONS_MAX_PIDS)
			return options_fail(
			    error, n, "-p: more than %d pids given; watch fewer processes at once",
			    OPTIONS_MAX_PIDS);
		o->pids[o->nr_pids++] = (pid_t)pid;
		p = *end ? end + 1 : end;
	}
	return o->nr_pids
		   ? 0
		   : options_fail(error, n, "-p: the list of pids is empty; give one as in -p 123");
}

static int op_add(struct options *o, const char *text, char *error, size_t n)
{
	if (o->nr_ops == OPTIONS_MAX_OPS)
		return options_fail(error, n,
				    "-f: more than %d operations given; watch fewer at once",
				    OPTIONS_MAX_OPS);
	if (o->verb != VERB_DESCEND && kernel_set_is(text))
		return kernel_set_add(o, text, "/proc/kallsyms", error, n);
	return op_spec_parse(&o->ops[o->nr_ops++], text, error, n);
}

/* Parse the value of an option that is a number or a text into its member of `o`. */
int option_value_parse(struct options *o, const struct option_row *row, const char *arg, char *e,
		       size_t n)
{
	void *member = (char *)o + row->offset;
	char name[64];

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_NUMBER:
		return number(row, arg, member, e, n);
	case OPTION_WHOLE:
		if (whole(row, arg, member, e, n))
			return -EINVAL;
		if (member == &o->resolution && o->resolution & (o->resolution - 1))
			return options_fail(e, n, "--resolution must be 1, 2, 4 or 8 (got %s)",
					    arg);
		o->question.start_ops_given |= member == &o->question.start_ops;
		return 0;
	default:
		*(const char **)member = arg;
		return *arg ? 0
			    : options_fail(e, n, "%s: the value is empty (see peaktop --help)",
					   called(row, name, sizeof(name)));
	}
}

static int option_take(struct options *o, const struct option_row *row, const char *arg, char *e,
		       size_t n)
{
	o->given |= 1ull << (row - option_rows);
	if (row->kind != OPTION_OTHER)
		return option_value_parse(o, row, arg, e, n);
	switch (row->id) {
	case OPT_PIDS:
		return pids_parse(o, arg, e, n);
	case OPT_FILE:
		if (o->verb == VERB_SCREEN)
			o->verb = VERB_REPLAY;
		if (o->nr_files == 2)
			return options_fail(e, n, "-r: too many session files given; give one");
		o->files[o->nr_files++] = arg;
		return 0;
	case OPT_OP:
		return op_add(o, arg, e, n);
	case OPT_BEGIN:
		o->has_begin = true;
		return op_spec_parse(&o->begin_op, arg, e, n);
	case OPT_END:
		o->has_end = true;
		return op_spec_parse(&o->end_op, arg, e, n);
	case OPT_VALUE:
		return value_spec_parse(o, arg, e, n);
	case OPT_PEAK:
		return peak_spec_parse(&o->question, arg, e, n);
	case OPT_RING:
		return ring_spec_parse(o, arg, e, n);
	case OPT_WHEN:
		return when_spec_parse(o, arg, e, n);
	case OPT_EVERY:
		return every_spec_parse(o, arg, e, n);
	case OPT_HELP:
		o->help = true;
		return 0;
	case OPT_VERSION:
		o->version = true;
		return 0;
	default:
		return 0;
	}
}

static bool can_be_edge(const struct op_spec *op)
{
	return op->kind == OP_FUNCTION || op->kind == OP_OFFSET || op->kind == OP_KERNEL ||
	       op->kind == OP_SYSCALL;
}

static int phases_check(const struct options *o, char *e, size_t n)
{
	if (!o->has_begin && !o->has_end)
		return 0;
	if (!o->has_begin || !o->has_end)
		return options_fail(
		    e, n,
		    "%s OP is missing: a phase needs both --begin OP and --end OP (use the "
		    "same OP twice for what begins inside its calls)",
		    o->has_begin ? "--end" : "--begin");
	if (!can_be_edge(&o->begin_op) || !can_be_edge(&o->end_op))
		return options_fail(
		    e, n, "%s %.100s cannot limit a phase; give a function or syscall:NAME",
		    can_be_edge(&o->begin_op) ? "--end" : "--begin",
		    can_be_edge(&o->begin_op) ? o->end_op.text : o->begin_op.text);
	return 0;
}

/* True if the length of a slice changes nothing but the time between two lines of --json-lines. */
static bool has_no_slices(const struct options *o, enum form form)
{
	return form == FORM_WALK || ((form == FORM_CHAINS || form == FORM_CRITICAL) && !o->nr_ops);
}

/* Refuse the options that the form asked for does not use. */
static int unused_check(const struct options *o, char *e, size_t n)
{
	enum form form = option_form(o);
	char users[256], name[64];

	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(o->given & 1ull << i) || row->forms & 1u << form)
			continue;
		option_users(row, users, sizeof(users));
		return options_fail(e, n, "%s cannot be used with %s; it works with %s",
				    called(row, name, sizeof(name)), option_form_name(form), users);
	}
	if (option_given(o, "interval") && !o->json_lines && has_no_slices(o, form))
		return options_fail(e, n,
				    "--interval works with %s only together with --json-lines or "
				    "-f OP; give one of them",
				    option_form_name(form));
	if (o->csv && (o->json || o->json_lines))
		return options_fail(e, n, "--csv and %s cannot be combined; give one of them",
				    o->json ? "--json" : "--json-lines");
	if (o->force && !o->output)
		return options_fail(e, n, "--force works only together with -o FILE; give both");
	return 0;
}

static const struct verb_row *verb_named(const char *word)
{
	return find_first(i, verb_rows, nr_verb_rows, *word && !strcmp(word, verb_rows[i].word));
}

/* Without a verb, the first word is the target: the second one is wrong, or the first. */
static int verb_unknown(const char *word, const char *second, char *e, size_t n)
{
	const char *near = verb_near(word);

	if (verb_named(word))
		second = word;
	if (verb_named(second))
		return options_fail(e, n,
				    "'%.100s' must come before everything else: peaktop %.100s ...",
				    second, second);
	return options_fail(e, n, "unknown verb '%.100s'%s%s%s (see peaktop --help)", word,
			    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int target_check(const struct options *o, char *e, size_t n)
{
	int kinds = (o->nr_pids > 0) + (o->name != NULL) + (o->unit != NULL) + (o->cgroup != NULL) +
		    (o->container != NULL) + (o->bare != NULL) + (o->command != NULL) + o->host;

	if (kinds > 1 && o->bare && o->verb == VERB_SCREEN)
		return verb_unknown(o->bare, o->bare, e, n);
	if (kinds > 1)
		return options_fail(
		    e, n,
		    "more than one kind of target given; give one of PID, NAME, -p, "
		    "-n, --unit, --cgroup, --container, --host and -- CMD");
	if (o->host && (o->thread || o->follow || !o->nr_ops ||
			any_of(i, o->nr_ops, o->ops[i].kind != OP_KERNEL)))
		return options_fail(
		    e, n, "--host works with -f kernel:FUNCTION only, without --thread, --follow");
	if (o->thread && o->command)
		return options_fail(e, n,
				    "--thread names a thread that runs already, so it cannot be "
				    "combined with -- CMD; remove one of them");
	if (o->command && !o->command[0])
		return options_fail(e, n, "no command follows --; give one as in -- sleep 1");
	if ((kinds || o->thread) && o->nr_files && o->verb != VERB_RESUME)
		return options_fail(
		    e, n,
		    "-r FILE shows a saved session and cannot be combined with a target; "
		    "remove one of them");
	return 0;
}

static int needs_check(const struct options *o, char *e, size_t n)
{
	bool target = options_have_target(o);

	switch (o->verb) {
	case VERB_WATCH:
	case VERB_DESCEND:
	case VERB_CHAINS:
	case VERB_CRITICAL:
	case VERB_RECORD:
		if (!target && (o->verb == VERB_RECORD || !o->nr_files))
			return options_fail(e, n, "no target given; give a PID, a NAME or -- CMD");
		if (o->verb == VERB_RECORD && !o->output)
			return options_fail(e, n, "record: no output file given; give -o FILE");
		return 0;
	case VERB_RESUME:
		if (!target || o->nr_files != 1)
			return options_fail(
			    e, n,
			    "resume: give a session file and a target, as in peaktop "
			    "resume FILE -p PID");
		return 0;
	case VERB_DIFF:
		return o->nr_files == 2
			   ? 0
			   : options_fail(
				 e, n, "diff: give two session files, as in peaktop diff OLD NEW");
	case VERB_WHY:
		return why_check(o, e, n);
	case VERB_EXPORT:
		return o->nr_files == 1 && o->format
			   ? 0
			   : options_fail(
				 e, n,
				 "export: give a session file and a format, as in peaktop export "
				 "FILE --format json");
	default:
		return 0;
	}
}

static int check(const struct options *o, char *e, size_t n)
{
	return target_check(o, e, n)
		   ?: unused_check(o, e, n)
		   ?: phases_check(o, e, n) ?: values_check(o, e, n) ?: needs_check(o, e, n);
}

/* A descent decides at the end of each slice, so slices of a second would make it slow. A walk
 * prints one line of --json-lines per interval; --open has no slices. */
static double default_interval_s(const struct options *o)
{
	bool walks = !o->nr_ops && o->json_lines;

	return o->verb == VERB_RESUME || (o->verb == VERB_DESCEND && !o->open && !walks) ? 0.25 : 1;
}

void options_defaults(struct options *o)
{
	*o = (struct options){.resolution = 4,
			      .max_overhead = 1,
			      .question = {.timeout_s = 30,
					   .start_ops = 100,
					   .decision_ops = 20,
					   .maxcount_percentage = 0.5,
					   .max_sites = 64}};
}

/* The tables of getopt_long(): the value of a row is FIRST_OPTION + its index. */
static void getopt_tables(struct option *list, char *letters)
{
	*letters++ = ':';
	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];

		list[i] =
		    (struct option){row->name, row->value != NULL, NULL, FIRST_OPTION + (int)i};
		if (!row->letter)
			continue;
		*letters++ = row->letter;
		if (row->value)
			*letters++ = ':';
	}
	list[nr_option_rows] = (struct option){0};
	*letters = '\0';
}

/* The row of an option that getopt_long() returned; NULL if it is not an option. */
static const struct option_row *row_of(int opt)
{
	if (opt >= FIRST_OPTION)
		return &option_rows[opt - FIRST_OPTION];
	return find_first(i, option_rows, nr_option_rows, option_rows[i].letter == opt);
}

/* Say what getopt_long() did not accept: it returned `opt`, which is ':' or '?'. */
static int option_refuse(int opt, char **argv, char *e, size_t n)
{
	const char *given = argv[optind - 1];
	char letter[3] = {'-', (char)optopt, '\0'};

	if (opt == ':')
		return options_fail(e, n, "option '%s' needs a value (see peaktop --help)", given);
	if (optopt >= FIRST_OPTION)
		return options_fail(e, n, "option '--%s' takes no value", row_of(optopt)->name);
	return options_fail(e, n, "unknown option '%s' (see peaktop --help)",
			    optopt ? letter : given);
}

static int options_take(struct options *o, int argc, char **argv, char *e, size_t n)
{
	struct option list[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 2];
	int opt;

	getopt_tables(list, letters);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, letters, list, NULL)) != -1) {
		const struct option_row *row = row_of(opt);
		int err = row ? option_take(o, row, optarg, e, n) : option_refuse(opt, argv, e, n);

		if (err)
			return err;
	}
	return 0;
}

/* Is the next argument a session file? */
static bool takes_file(const struct options *o)
{
	switch (o->verb) {
	case VERB_DIFF:
		return o->nr_files < 2;
	case VERB_EXPORT:
	case VERB_RESUME:
	case VERB_WHY:
		return o->nr_files < 1;
	default:
		return false;
	}
}

/* Take a target that was given by itself: pids, or a name. */
static int bare_take(struct options *o, const char *text, char *e, size_t n)
{
	if (*text && strspn(text, "0123456789,") == strlen(text))
		return pids_parse(o, text, e, n);
	o->bare = text;
	return *text ? 0 : options_fail(e, n, "the target is empty; give a pid or a name");
}

static int arguments_take(struct options *o, int argc, char **argv, char *e, size_t n)
{
	int err = 0;

	for (int i = optind; i < argc && !err; i++) {
		const struct verb_row *topic = o->verb == VERB_HELP ? verb_named(argv[i]) : NULL;

		if (topic) {
			o->verb = topic->verb;
			o->help = true;
			return 0;
		}
		if (takes_file(o))
			o->files[o->nr_files++] = argv[i];
		else if (option_row_of(OPT_PIDS)->forms & verb_row_of(o->verb)->forms && !o->bare &&
			 !o->nr_pids)
			err = bare_take(o, argv[i], e, n);
		else if (o->verb == VERB_SCREEN)
			err = verb_unknown(o->bare ? o->bare : argv[i], argv[i], e, n);
		else
			err = options_fail(e, n, "unexpected argument '%s' (see peaktop --help)",
					   argv[i]);
	}
	return err;
}

int options_parse_from(struct options *o, const struct options *defaults, int argc, char **argv,
		       char *error, size_t error_size)
{
	int err, first = 1;

	*o = *defaults;
	if (argc > 1 && argv[1][0] != '-') {
		const struct verb_row *verb = verb_named(argv[1]);

		if (verb) {
			o->verb = verb->verb;
			first = 2;
		}
	}
	/* getopt must not see the options of the command after -- */
	for (int i = first; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			o->command = argv + i + 1;
			argc = i;
			break;
		}
	}
	optind = first;
	err = options_take(o, argc, argv, error, error_size);
	if (!err && o->version && (optind < argc || o->command))
		return options_fail(error, error_size,
				    "-V prints the version and takes nothing beside it");
	if (err || o->help || o->version)
		return err;
	err = arguments_take(o, argc, argv, error, error_size);
	if (err || o->help)
		return err;
	if (!o->interval_s)
		o->interval_s = default_interval_s(o);
	return check(o, error, error_size) ?: when_check(o, error, error_size);
}
