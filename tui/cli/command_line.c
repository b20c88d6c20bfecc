// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/command_line.h"

#include "analysis/base/syscall_names.h"
#include "analysis/descent/descent.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_FOR = 256,
	OPT_INTERVAL,
	OPT_TIMEOUT,
	OPT_RESOLUTION,
	OPT_OVERHEAD,
	OPT_FOLLOW,
	OPT_URETPROBE,
	OPT_JSON,
	OPT_JSON_LINES,
	OPT_BEGIN,
	OPT_END,
	OPT_QUIET,
	OPT_FORCE,
	OPT_PEAK,
	OPT_SLOWEST,
	OPT_START_OPS,
	OPT_DECISION_OPS,
	OPT_MAXCOUNT,
	OPT_DEPTH,
	OPT_SITES,
	OPT_LEVELS,
	OPT_OPEN,
	OPT_RSP,
	OPT_ASCII,
	OPT_SCRIPT,
	OPT_FORMAT,
	OPT_ALL_PEAKS,
	OPT_VERSION,
};

static const struct option long_options[] = {
    {"for", 1, NULL, OPT_FOR},
    {"interval", 1, NULL, OPT_INTERVAL},
    {"timeout", 1, NULL, OPT_TIMEOUT},
    {"resolution", 1, NULL, OPT_RESOLUTION},
    {"max-overhead", 1, NULL, OPT_OVERHEAD},
    {"follow", 0, NULL, OPT_FOLLOW},
    {"allow-uretprobe", 0, NULL, OPT_URETPROBE},
    {"json", 0, NULL, OPT_JSON},
    {"json-lines", 0, NULL, OPT_JSON_LINES},
    {"begin", 1, NULL, OPT_BEGIN},
    {"end", 1, NULL, OPT_END},
    {"of", 1, NULL, 'f'},
    {"quiet", 0, NULL, OPT_QUIET},
    {"force", 0, NULL, OPT_FORCE},
    {"peak", 1, NULL, OPT_PEAK},
    {"slowest", 1, NULL, OPT_SLOWEST},
    {"start-ops", 1, NULL, OPT_START_OPS},
    {"decision-ops", 1, NULL, OPT_DECISION_OPS},
    {"maxcount-percentage", 1, NULL, OPT_MAXCOUNT},
    {"max-depth", 1, NULL, OPT_DEPTH},
    {"max-sites", 1, NULL, OPT_SITES},
    {"level-by-level", 0, NULL, OPT_LEVELS},
    {"all-peaks", 0, NULL, OPT_ALL_PEAKS},
    {"open", 0, NULL, OPT_OPEN},
    {"rsp-compat", 0, NULL, OPT_RSP},
    {"ascii", 0, NULL, OPT_ASCII},
    {"script", 1, NULL, OPT_SCRIPT},
    {"format", 1, NULL, OPT_FORMAT},
    {"help", 0, NULL, 'h'},
    {"version", 0, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const struct {
	const char *word;
	enum verb verb;
} verbs[] = {
    {"watch", VERB_WATCH},	 {"descend", VERB_DESCEND}, {"chains", VERB_CHAINS},
    {"critical", VERB_CRITICAL}, {"record", VERB_RECORD},   {"resume", VERB_RESUME},
    {"diff", VERB_DIFF},	 {"export", VERB_EXPORT},   {"doctor", VERB_DOCTOR},
    {"help", VERB_HELP},	 {"version", VERB_VERSION},
};

static int fail(char *error, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail(char *error, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int number(const char *text, const char *what, double low, double high, double *out,
		  char *error, size_t n)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(v) || v < low || v > high)
		return fail(error, n, "%s must be a number from %g to %g (got '%s')", what, low,
			    high, text);
	*out = v;
	return 0;
}

static int whole(const char *text, const char *what, unsigned int low, unsigned int high,
		 unsigned int *out, char *error, size_t n)
{
	double v;
	int err = number(text, what, low, high, &v, error, n);

	if (!err && v != floor(v))
		return fail(error, n, "%s must be a whole number (got '%s')", what, text);
	if (!err)
		*out = (unsigned int)v;
	return err;
}

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

int op_spec_parse(struct op_spec *op, const char *text, char *error, size_t error_size)
{
	const char *at, *name = text;
	char *end;

	*op = (struct op_spec){.text = text};
	if (!strcmp(text, "syscalls"))
		op->kind = OP_ALL_SYSCALLS;
	else if (!strcmp(text, "block"))
		op->kind = OP_BLOCK;
	else if (!strcmp(text, "lock"))
		op->kind = OP_LOCK;
	else if (!strcmp(text, "runqueue"))
		op->kind = OP_RUNQUEUE;
	else
		op->kind = OP_FUNCTION;
	if (op->kind != OP_FUNCTION)
		return 0;
	if (!strncmp(text, "syscall:", 8) || !strncmp(text, "kernel:", 7)) {
		op->kind = text[0] == 's' ? OP_SYSCALL : OP_KERNEL;
		if (copy(op->name, strchr(text, ':') + 1, strlen(strchr(text, ':') + 1)))
			return fail(error, error_size,
				    "-f %s: give a name of at most 1023 characters after the colon",
				    text);
		if (op->kind == OP_SYSCALL && syscall_number(op->name) < 0 &&
		    strspn(op->name, "0123456789") != strlen(op->name)) {
			const char *near = syscall_nearest(op->name);

			return fail(error, error_size, "-f %.100s: no such system call%s%s%s", text,
				    near ? "; did you mean syscall:" : "", near ? near : "",
				    near ? "?" : "");
		}
		return 0;
	}
	if (!strncmp(text, "user:", 5))
		name = text + 5;
	at = module_part(name);
	if (at && copy(op->module, at + 1, strlen(at + 1)))
		return fail(error, error_size,
			    "-f %.100s: the module name is longer than 1023 characters; give the "
			    "file name without its path",
			    text);
	if (copy(op->name, name, at ? (size_t)(at - name) : strlen(name)))
		return fail(error, error_size,
			    "-f '%.100s' is not an operation; give a function, syscalls, "
			    "syscall:NAME, block, lock or runqueue",
			    text);
	if (at && op->name[0] == '0' && (op->name[1] == 'x' || op->name[1] == 'X')) {
		op->offset = strtoull(op->name, &end, 16);
		if (*end)
			return fail(error, error_size,
				    "-f %s: the offset is not hexadecimal; give 0xOFFSET@MODULE",
				    text);
		op->kind = OP_OFFSET;
	}
	return 0;
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
			return fail(
			    error, n,
			    "-p '%s' is not a list of pids; give them as in -p 123 or -p 123,456",
			    text);
		if (o->nr_pids == OPTIONS_MAX_PIDS)
			return fail(error, n,
				    "-p: more than %d pids given; watch fewer processes at once",
				    OPTIONS_MAX_PIDS);
		o->pids[o->nr_pids++] = (pid_t)pid;
		p = *end ? end + 1 : end;
	}
	return o->nr_pids ? 0
			  : fail(error, n, "-p: the list of pids is empty; give one as in -p 123");
}

static int op_add(struct options *o, const char *text, char *error, size_t n)
{
	if (o->nr_ops == OPTIONS_MAX_OPS)
		return fail(error, n, "-f: more than %d operations given; watch fewer at once",
			    OPTIONS_MAX_OPS);
	return op_spec_parse(&o->ops[o->nr_ops++], text, error, n);
}

/* Parse "2.5ms", "30 ms" or "24us" into ns; 0 if it is no latency. A number without a unit has the
 * unit `unit`, or is an error if that is "". */
static uint64_t latency(const char *text, const char *unit, const char **end)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	const size_t nr = sizeof(units) / sizeof(units[0]);
	char *after;
	double v = strtod(text, &after);

	if (after == text || !isfinite(v) || v <= 0)
		return 0;
	*end = after;
	while (*after == ' ')
		after++;
	/* first the units in the text, then `unit` */
	for (size_t i = 0; i < 2 * nr; i++) {
		const char *name = units[i % nr].name;

		if (i < nr ? strncmp(after, name, strlen(name)) : strcmp(unit, name))
			continue;
		*end = i < nr ? after + strlen(name) : *end;
		v *= units[i % nr].ns;
		return v >= 1 && v < 1e18 ? (uint64_t)(v + 0.5) : 0;
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

/* Parse --peak: a number from 1, a latency, or a range of latencies. In a range, the first latency
 * may lack its unit. */
static int peak_parse(struct options *o, const char *text, char *e, size_t n)
{
	const char *rest, *dash = strchr(text, '-');
	unsigned int peak;

	o->question.peak = 0;
	o->question.peak_low_ns = o->question.peak_high_ns = 0;
	if (*text && strspn(text, "0123456789") == strlen(text)) {
		if (whole(text, "--peak", 1, 64, &peak, e, n))
			return fail(e, n,
				    "--peak must be a peak's number from 1 to 64 (got %s); a "
				    "latency needs a unit, as in --peak %sus",
				    text, text);
		o->question.peak = (int)peak;
		return 0;
	}
	if (dash && dash > text) {
		o->question.peak_low_ns = latency(text, unit_of_text(text), &rest);
		if (o->question.peak_low_ns && rest + strspn(rest, " ") == dash)
			o->question.peak_high_ns =
			    latency(dash + 1 + strspn(dash + 1, " "), "", &rest);
	} else {
		o->question.peak_low_ns = o->question.peak_high_ns = latency(text, "", &rest);
	}
	if (!o->question.peak_low_ns || !o->question.peak_high_ns || *rest ||
	    (dash && o->question.peak_low_ns >= o->question.peak_high_ns))
		return fail(e, n,
			    "--peak '%s' is not a peak; give its number (3), a latency inside it "
			    "(2.5ms) or a range of latencies (2ms-4ms)",
			    text);
	return 0;
}

static int option_number(struct options *o, int opt, const char *arg, char *e, size_t n)
{
	int err;

	switch (opt) {
	case OPT_FOR:
		return number(arg, "--for", 0.01, 1e7, &o->for_s, e, n);
	case OPT_INTERVAL:
		return number(arg, "--interval", 0.05, 3600, &o->interval_s, e, n);
	case OPT_TIMEOUT:
		return number(arg, "--timeout", 0.1, 1e6, &o->question.timeout_s, e, n);
	case OPT_RESOLUTION:
		err = whole(arg, "--resolution", 1, 8, &o->resolution, e, n);
		if (!err && o->resolution & (o->resolution - 1))
			return fail(e, n, "--resolution must be 1, 2, 4 or 8 (got %s)", arg);
		return err;
	case OPT_OVERHEAD:
		return number(arg, "--max-overhead", 0.01, 100, &o->max_overhead, e, n);
	case OPT_PEAK:
		return peak_parse(o, arg, e, n);
	case OPT_SLOWEST:
		return number(arg, "--slowest", 1e-6, 100, &o->question.slowest, e, n);
	case OPT_START_OPS:
		o->question.start_ops_given = true;
		return whole(arg, "--start-ops", 1, 1000000, &o->question.start_ops, e, n);
	case OPT_DECISION_OPS:
		return whole(arg, "--decision-ops", 1, 1000000, &o->question.decision_ops, e, n);
	case OPT_MAXCOUNT:
		return number(arg, "--maxcount-percentage", 0.001, 1,
			      &o->question.maxcount_percentage, e, n);
	case OPT_DEPTH:
		return whole(arg, "--max-depth", 1, DESCENT_MAX_DEPTH, &o->question.max_depth, e,
			     n);
	case OPT_SITES:
		return whole(arg, "--max-sites", 1, DESCENT_MAX_SITES, &o->question.max_sites, e,
			     n);
	default:
		return -ENOENT;
	}
}

static int option_flag(struct options *o, int opt)
{
	switch (opt) {
	case OPT_FOLLOW:
		o->follow = true;
		return 0;
	case OPT_URETPROBE: /* accepted for compatibility: return addresses are never replaced */
	case OPT_RSP:	    /* accepted for compatibility: nothing depends on it yet */
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_JSON_LINES:
		o->json_lines = true;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		return 0;
	case OPT_FORCE:
		o->force = true;
		return 0;
	case OPT_LEVELS:
		o->question.level_by_level = true;
		return 0;
	case OPT_ALL_PEAKS:
		o->all_peaks = true;
		return 0;
	case OPT_OPEN:
		o->open = true;
		return 0;
	case OPT_ASCII:
		o->ascii = true;
		return 0;
	case 'h':
		o->verb = VERB_HELP;
		return 0;
	case OPT_VERSION:
		o->verb = VERB_VERSION;
		return 0;
	default:
		return -ENOENT;
	}
}

static int option_take(struct options *o, int opt, char **argv, char *e, size_t n)
{
	int err = option_number(o, opt, optarg, e, n);

	if (err == -ENOENT)
		err = option_flag(o, opt);
	if (err != -ENOENT)
		return err;
	switch (opt) {
	case 'p':
		return pids_parse(o, optarg, e, n);
	case 'n':
		o->name = optarg;
		return *optarg
			   ? 0
			   : fail(e, n,
				  "-n: the process name is empty; give one as in -n redis-server");
	case 'f':
		return op_add(o, optarg, e, n);
	case 'o':
		o->output = optarg;
		return 0;
	case 'r':
		if (o->verb == VERB_SCREEN)
			o->verb = VERB_REPLAY;
		if (o->nr_files == 2)
			return fail(e, n, "-r: too many session files given; give one");
		o->files[o->nr_files++] = optarg;
		return 0;
	case OPT_BEGIN:
		o->has_begin = true;
		return op_spec_parse(&o->begin_op, optarg, e, n);
	case OPT_END:
		o->has_end = true;
		return op_spec_parse(&o->end_op, optarg, e, n);
	case OPT_SCRIPT:
		o->script = optarg;
		return 0;
	case OPT_FORMAT:
		o->format = optarg;
		return 0;
	case ':':
		return fail(e, n, "option '%s' needs a value (see peaktop --help)",
			    argv[optind - 1]);
	default:
		return fail(e, n, "unknown option '%s' (see peaktop --help)", argv[optind - 1]);
	}
}

static bool can_be_edge(const struct op_spec *op)
{
	return op->kind == OP_FUNCTION || op->kind == OP_OFFSET || op->kind == OP_KERNEL ||
	       op->kind == OP_SYSCALL;
}

static int phases_check(struct options *o, char *e, size_t n)
{
	if (!o->has_begin && !o->has_end)
		return 0;
	if (!o->has_begin || !o->has_end)
		return fail(e, n,
			    "%s OP is missing: a phase needs both --begin OP and --end OP (use the "
			    "same OP twice for what begins inside its calls)",
			    o->has_begin ? "--end" : "--begin");
	if (!can_be_edge(&o->begin_op) || !can_be_edge(&o->end_op))
		return fail(e, n, "%s %.100s cannot limit a phase; give a function or syscall:NAME",
			    can_be_edge(&o->begin_op) ? "--end" : "--begin",
			    can_be_edge(&o->begin_op) ? o->end_op.text : o->begin_op.text);
	if (o->verb != VERB_SCREEN && o->verb != VERB_WATCH && o->verb != VERB_RECORD &&
	    o->verb != VERB_DESCEND)
		return fail(
		    e, n,
		    "--begin and --end work only with watch, record, descend and the live screen");
	if (o->nr_files)
		return fail(e, n,
			    "--begin and --end cannot be used with a saved session: its phases "
			    "were chosen when it was recorded");
	return 0;
}

static int check(struct options *o, char *e, size_t n)
{
	bool target = o->nr_pids || o->name || o->command;
	int kinds = (o->nr_pids > 0) + (o->name != NULL) + (o->command != NULL);

	if (kinds > 1)
		return fail(
		    e, n,
		    "more than one kind of target given; give one of -p PID, -n NAME or -- CMD");
	if (o->command && !o->command[0])
		return fail(e, n, "no command follows --; give one as in -- sleep 1");
	if (phases_check(o, e, n))
		return -EINVAL;
	switch (o->verb) {
	case VERB_WATCH:
	case VERB_DESCEND:
	case VERB_CHAINS:
	case VERB_CRITICAL:
	case VERB_RECORD:
		if (!target && !((o->verb == VERB_WATCH || o->verb == VERB_DESCEND) && o->nr_files))
			return fail(e, n, "no target given; give -p PID, -n NAME or -- CMD");
		if (o->verb == VERB_RECORD && !o->output)
			return fail(e, n, "record: no output file given; give -o FILE");
		return 0;
	case VERB_RESUME:
		if (!target || o->nr_files != 1)
			return fail(e, n,
				    "resume: give a session file and a target, as in peaktop "
				    "resume FILE -p PID");
		return 0;
	case VERB_DIFF:
		return o->nr_files == 2
			   ? 0
			   : fail(e, n, "diff: give two session files, as in peaktop diff OLD NEW");
	case VERB_EXPORT:
		return o->nr_files == 1 && o->format
			   ? 0
			   : fail(e, n,
				  "export: give a session file and a format, as in peaktop export "
				  "FILE --format json");
	case VERB_REPLAY:
		return target ? fail(e, n,
				     "-r FILE shows a saved session and cannot be combined with a "
				     "target; remove -p, -n or -- CMD")
			      : 0;
	default:
		return 0;
	}
}

/*
 * A descent decides at the end of each slice, so slices of a second would make it slow. A walk
 * prints one line of --json-lines per interval; --open has no slices.
 */
static double default_interval_s(const struct options *o)
{
	bool walks = !o->nr_ops && o->json_lines;

	return o->verb == VERB_DESCEND && !o->open && !walks ? 0.25 : 1;
}

static void defaults(struct options *o)
{
	*o = (struct options){.resolution = 4,
			      .max_overhead = 1,
			      .question = {.timeout_s = 30,
					   .start_ops = 100,
					   .decision_ops = 20,
					   .maxcount_percentage = 0.5,
					   .max_sites = 64}};
}

int options_parse(struct options *o, int argc, char **argv, char *error, size_t error_size)
{
	int opt, err, first = 1;

	defaults(o);
	if (argc > 1 && argv[1][0] != '-') {
		size_t i;

		for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
			if (!strcmp(argv[1], verbs[i].word))
				break;
		}
		if (i == sizeof(verbs) / sizeof(verbs[0]))
			return fail(error, error_size, "unknown verb '%s' (see peaktop --help)",
				    argv[1]);
		o->verb = verbs[i].verb;
		first = 2;
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
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":p:n:f:o:r:h", long_options, NULL)) != -1) {
		err = option_take(o, opt, argv, error, error_size);
		if (err)
			return err;
	}
	for (int i = optind; i < argc; i++) {
		if (o->nr_files == 2 ||
		    (o->verb != VERB_RESUME && o->verb != VERB_DIFF && o->verb != VERB_EXPORT))
			return fail(error, error_size,
				    "unexpected argument '%s' (see peaktop --help)", argv[i]);
		o->files[o->nr_files++] = argv[i];
	}
	if (!o->interval_s)
		o->interval_s = default_interval_s(o);
	return check(o, error, error_size);
}
