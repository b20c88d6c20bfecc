// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/option_table.h"

#include "analysis/base/buf.h"
#include "analysis/base/edit_distance.h"
#include "analysis/descent/descent.h"

#define F(form) (1u << FORM_##form)
#define DESCENTS (F(DESCEND) | F(WALK) | F(OPEN))
#define CHAINS (F(CHAINS) | F(CRITICAL))
#define FILES (F(SCREEN_FILE) | F(WATCH_FILE) | F(DESCEND_FILE) | F(WAITS_FILE))
/* what measures a process */
#define LIVE (F(SCREEN) | F(WATCH) | DESCENTS | CHAINS | F(RECORD) | F(RESUME))
#define TARGETS (LIVE | F(COVERAGE))
/* what prints text or JSON */
#define PRINTS                                                                                     \
	((LIVE & ~F(SCREEN)) | F(WATCH_FILE) | F(DESCEND_FILE) | F(WAITS_FILE) | F(DIFF) |         \
	 F(WHY) | F(DOCTOR) | F(COVERAGE))
/* what shows a profile */
#define PROFILES                                                                                   \
	(F(SCREEN) | F(SCREEN_FILE) | F(WATCH) | F(WATCH_FILE) | F(DESCEND) | F(DESCEND_FILE) |    \
	 F(RECORD) | F(EXPORT))

#define FLAG(member) .kind = OPTION_FLAG, .offset = offsetof(struct options, member)
#define NUMBER(member, from, to)                                                                   \
	.kind = OPTION_NUMBER, .offset = offsetof(struct options, member), .low = (from),          \
	.high = (to)
#define WHOLE(member, from, to)                                                                    \
	.kind = OPTION_WHOLE, .offset = offsetof(struct options, member), .low = (from),           \
	.high = (to)
#define TEXT(member) .kind = OPTION_TEXT, .offset = offsetof(struct options, member)
/* clang-format off */
#define ROW(option_name, option_letter, option_value, option_grp, option_forms, option_help, ...)  \
	{.name = option_name, .letter = option_letter, .value = option_value,                      \
	 .group = GROUP_##option_grp, .forms = option_forms, .help = option_help, __VA_ARGS__}

const struct option_row option_rows[] = {
ROW("pid", 'p', "PID[,PID...]", TARGET, TARGETS, "measure these processes with all their threads",
    .id = OPT_PIDS),
ROW("name", 'n', "NAME", TARGET, TARGETS, "measure all processes with this name", TEXT(name)),
ROW("host", 0, NULL, TARGET, F(WATCH) | F(DESCEND),
    "measure kernel:FUNC in all processes and in the kernel's own threads", FLAG(host)),
ROW("unit", 0, "NAME", TARGET, TARGETS, "measure all processes of this systemd unit",
    TEXT(unit)),
ROW("cgroup", 0, "PATH", TARGET, TARGETS,
    "measure all processes of this control group and of those below it", TEXT(cgroup)),
ROW("container", 0, "ID|NAME", TARGET, TARGETS,
    "measure all processes of this container (docker, podman, containerd, lxc)", TEXT(container)),
ROW("thread", 0, "TID", TARGET, (LIVE & ~(F(OPEN) | F(RESUME))),
    "measure only this thread; its process need not be given", WHOLE(thread, 1, 4194304)),
ROW("replay", 'r', "FILE", TARGET, FILES | F(EXPORT),
    "show a saved session instead of a process; this needs no privileges", .id = OPT_FILE),

ROW("of", 'f', "OP", MEASURE, F(SCREEN) | F(WATCH) | F(DESCEND) | F(OPEN) | CHAINS | F(WAITS_FILE) | F(RECORD),
    "measure this operation; may be repeated (default: syscalls); chains and critical: only its "
    "calls", .id = OPT_OP),
ROW("begin", 0, "OP", MEASURE, F(SCREEN) | F(WATCH) | F(DESCEND) | F(RECORD) | F(RESUME),
    "count only what begins after a call of this operation began and before a call of --end ended",
    .id = OPT_BEGIN),
ROW("end", 0, "OP", MEASURE, F(SCREEN) | F(WATCH) | F(DESCEND) | F(RECORD) | F(RESUME),
    "the operation whose end is the end of a phase that --begin begins", .id = OPT_END),
ROW("value", 0, "EXPR", MEASURE, F(SCREEN) | F(WATCH) | F(DESCEND) | F(RECORD),
    "compare this value of the calls of a peak with that of the others: req->len or arg0->len; may "
    "be repeated (default: chosen by the types)", .id = OPT_VALUE),
ROW("no-values", 0, NULL, MEASURE, LIVE & ~F(OPEN),
    "do not record arguments and results of calls, nor what is behind them", FLAG(no_values)),
ROW("follow", 0, NULL, MEASURE, LIVE & ~F(OPEN), "also measure children of the target",
    FLAG(follow)),
ROW("for", 0, "SECONDS", MEASURE, F(WATCH) | F(WALK) | CHAINS | F(RECORD),
    "measure for this long (watch, chains, critical: 5; record: until Ctrl-C)", NUMBER(for_s, 0.01, 1e7)),
ROW("interval", 0, "SECONDS", MEASURE, LIVE & ~F(OPEN), "length of a slice (1; descend: 0.25)",
    NUMBER(interval_s, 0.05, 3600)),
ROW("resolution", 0, "1|2|4|8", MEASURE, PROFILES, "buckets per doubling of the latency (4)",
    WHOLE(resolution, 1, 8)),
ROW("max-overhead", 0, "PERCENT", MEASURE, LIVE | F(SCREEN_FILE),
    "limit for the time that probes take from the target, in percent of its CPU time or of one "
    "CPU, whichever is larger (1; 100 = no limit)", NUMBER(max_overhead, 0.01, 100)),
ROW("no-boost", 0, NULL, MEASURE, LIVE,
    "run peaktop's own processes at the priority of the shell, not at a higher one",
    FLAG(no_boost)),

ROW("peak", 0, "N|LATENCY|LOW-HIGH", DESCENT, F(DESCEND) | CHAINS | F(WAITS_FILE),
    "explain this peak: its number (3), a latency in it (2.5ms) or a range (2ms-4ms); default: "
    "all parts of the operation's time; chains and critical: all calls", .id = OPT_PEAK),
ROW("slowest", 0, "PERCENT|N", DESCENT, F(DESCEND) | F(WHY),
    "explain the slowest calls instead of a peak: this percentage of all calls; why: so many "
    "calls (5)", NUMBER(question.slowest, 1e-6, 100)),
ROW("at", 0, "TIME", DESCENT, F(WHY),
    "explain the calls that were open at this time: 03:12, 03:12:07 or 2026-11-27T03:12",
    TEXT(at)),
ROW("op", 0, "OP", DESCENT, F(WHY), "explain only calls of this operation", TEXT(op)),
ROW("timeout", 0, "SECONDS", DESCENT, DESCENTS | F(RESUME),
    "print the answer found so far after this long (30)", NUMBER(question.timeout_s, 0.1, 1e6)),
ROW("start-ops", 0, "N", DESCENT, F(DESCEND) | F(WALK) | F(RESUME),
    "calls to see before choosing a peak (100)", WHOLE(question.start_ops, 1, 1000000)),
ROW("decision-ops", 0, "N", DESCENT, F(DESCEND) | F(RESUME),
    "calls of the peak between two decisions (20)", WHOLE(question.decision_ops, 1, 1000000)),
ROW("maxcount-percentage", 0, "P", DESCENT, F(DESCEND) | F(WALK) | F(RESUME),
    "follow callees that have at least this part of the largest number of votes (0.5)",
    NUMBER(question.maxcount_percentage, 0.001, 1)),
ROW("max-depth", 0, "N", DESCENT, F(DESCEND) | F(WALK) | F(RESUME),
    "follow call paths to this depth (16; without -f no limit)",
    WHOLE(question.max_depth, 1, DESCENT_MAX_DEPTH)),
ROW("max-sites", 0, "N", DESCENT, F(DESCEND) | F(RESUME), "call sites to probe at once (64)",
    WHOLE(question.max_sites, 1, DESCENT_MAX_SITES)),
ROW("level-by-level", 0, NULL, DESCENT, F(DESCEND) | F(RESUME),
    "descend one level after the other, without skipping levels by stack samples",
    FLAG(question.level_by_level)),
ROW("even-if-changed", 0, NULL, DESCENT, F(RESUME),
    "go on although latencies are distributed in another way than in the session",
    FLAG(even_if_changed)),
ROW("open", 0, NULL, DESCENT, F(OPEN),
    "list the calls that threads are in now instead of finding a cause", FLAG(open)),

ROW("all-peaks", 0, NULL, OUTPUT, PROFILES, "also list small peaks and shadows of other peaks",
    FLAG(all_peaks)),
ROW("json", 0, NULL, OUTPUT, PRINTS, "print one JSON document at the end", FLAG(json)),
ROW("json-lines", 0, NULL, OUTPUT, PRINTS & ~(F(DIFF) | F(WHY) | F(DOCTOR) | F(COVERAGE)),
    "print one JSON document per slice or decision, each on one line", FLAG(json_lines)),
ROW("csv", 0, NULL, OUTPUT, F(WATCH) | F(WATCH_FILE),
    "print the table of operations and peaks as comma-separated values", FLAG(csv)),
ROW("top", 0, "N", OUTPUT, F(WATCH) | F(WATCH_FILE),
    "print only the N operations with the largest total time, in text, CSV and JSON",
    WHOLE(top, 1, 4096)),
ROW("format", 0, "json|folded", OUTPUT, F(EXPORT),
    "the format to convert to; folded: chains as folded stacks", TEXT(format)),
ROW("per-process", 0, NULL, OUTPUT, F(CHAINS) | F(WAITS_FILE),
    "chains: join the threads of a process", FLAG(per_process)),
ROW("view", 0, "NAME", OUTPUT, F(CHAINS) | F(WAITS_FILE),
    "chains: print the tree, accounting, timeline, flame (chart as text) or folded (stacks) (tree)",
    TEXT(view)),
ROW("output", 'o', "FILE", OUTPUT, DESCENTS | CHAINS | F(RECORD) | F(RESUME),
    "write the session to this file", TEXT(output)),
ROW("ring", 0, "SIZE|TIME", OUTPUT, F(RECORD),
    "bound the file of -o: keep the newest 64M (K, M, G) or the last 24h (m, h, d) and overwrite "
    "what is older", .id = OPT_RING),
ROW("when", 0, "CONDITION", OUTPUT, F(RECORD),
    "find the cause when this comes true, and keep the minute before: 'p99(OP) > 50ms for 5s'",
    .id = OPT_WHEN),
ROW("every", 0, "TIME", OUTPUT, F(RECORD), "with --when: find the cause at most once in this time (10m)",
    .id = OPT_EVERY),
ROW("exec", 0, "CMD", OUTPUT, F(RECORD),
    "run this command with the answer of --when on its standard input", TEXT(exec)),
ROW("force", 0, NULL, OUTPUT, DESCENTS | CHAINS | F(RECORD) | F(RESUME),
    "let -o replace an older session", FLAG(force)),
ROW("quiet", 0, NULL, OUTPUT, PRINTS | F(EXPORT), "print no remarks on standard error",
    FLAG(quiet)),
ROW("ascii", 0, NULL, OUTPUT, (PRINTS & ~(F(RECORD) | F(COVERAGE))) | F(SCREEN) | F(SCREEN_FILE),
    "draw with ASCII characters only", FLAG(ascii)),
ROW("no-mouse", 0, NULL, OUTPUT, F(SCREEN) | F(SCREEN_FILE),
    "leave the mouse to the terminal, e.g. to select text", FLAG(no_mouse)),
ROW("script", 0, "FILE", OUTPUT, F(SCREEN_FILE),
    "run the screen commands in this file without a terminal", TEXT(script)),

ROW("allow-uretprobe", 0, NULL, OTHER, LIVE,
    "accepted for compatibility: return addresses are never replaced", .id = OPT_IGNORED),
ROW("rsp-compat", 0, NULL, OTHER, CHAINS | F(WAITS_FILE),
    "follow only what lies within a wait, give or take 100 us, as the RSP paper does",
    FLAG(rsp_compat)),
ROW("dump-config", 0, NULL, OTHER, F(SCREEN),
    "print the present settings in the format of the configuration file", FLAG(dump_config)),
ROW("help", 'h', NULL, OTHER, ~0u, "print this text; after a verb: its options and examples",
    .id = OPT_HELP),
ROW("version", 'V', NULL, OTHER, ~0u, "print the version", .id = OPT_VERSION),
};
/* clang-format on */
const size_t nr_option_rows = sizeof(option_rows) / sizeof(option_rows[0]);
_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= 64, "options.given has a bit each");

const char *const option_group_names[NR_OPTION_GROUPS] = {
    "Target", "What to measure", "Descents", "Output", "Other",
};

const struct verb_row verb_rows[] = {
    {"",
     VERB_SCREEN,
     F(SCREEN) | F(SCREEN_FILE),
     {"[TARGET [-f OP]...]", "-r FILE", NULL},
     "the live screen; without TARGET, choose a process",
     "Show the latency profiles of a process and their peaks on a live screen. With -r, show a "
     "saved session on the same screen.",
     {"sudo peaktop -n redis-server", "peaktop -r night.peaktop", NULL}},
    {"watch",
     VERB_WATCH,
     F(WATCH) | F(WATCH_FILE),
     {"TARGET [-f OP]...", "-r FILE", NULL},
     "print latency profiles and their peaks",
     "Measure the operations of a process for some seconds; print how long they took, as "
     "histograms with their peaks.",
     {"sudo peaktop watch -p 1234 -f serve_request --for 10",
      "sudo peaktop watch -n postgres -f syscall:fsync --json", NULL}},
    {"descend",
     VERB_DESCEND,
     DESCENTS | F(DESCEND_FILE),
     {"TARGET [-f OP [--peak P]]", "TARGET [-f OP] --open", "-r FILE", NULL},
     "find the cause of a peak, or where a process spends its time",
     "With -f: find what takes the time in the calls of one peak of a function or system call. "
     "Without -f: find where the process spends its wall time, without probes. With --open: list "
     "the calls that threads are in now, for how long, and what they wait for.",
     {"sudo peaktop descend -p 1234 -f serve_request --peak 2.5ms",
      "sudo peaktop descend -n redis-server", NULL}},
    {"chains",
     VERB_CHAINS,
     F(CHAINS) | F(WAITS_FILE),
     {"TARGET [--of OP [--peak P]] [-o FILE]", "-r FILE [--of OP [--peak P]]", NULL},
     "show for whom a process waits, through all processes",
     "Trace the waits of a process for some seconds. Print for whom each thread waited, for whom "
     "that one waited, and so on down to code that ran or a device that worked, and account for "
     "all of its time. With -r, read a session that was saved with -o.",
     {"sudo peaktop chains -n redis-server", "sudo peaktop chains --json -- make", NULL}},
    {"critical",
     VERB_CRITICAL,
     F(CRITICAL) | F(WAITS_FILE),
     {"TARGET [--of OP [--peak P]] [-o FILE]", "-r FILE [--of OP [--peak P]]", NULL},
     "find the critical path of a process through all processes",
     "Trace the waits of a process for some seconds. Print what its longest path of runs and "
     "waits consists of, and what would be saved if a part of it took no time. With -r, read a "
     "session that was saved with -o.",
     {"sudo peaktop critical -- make -j4", "sudo peaktop critical -n postgres --for 10", NULL}},
    {"record",
     VERB_RECORD,
     F(RECORD),
     {"TARGET [-f OP]... -o FILE", NULL},
     "save a session without a screen",
     "Measure like watch and save the session in a file, until Ctrl-C or for the time of --for. "
     "With --ring, do so for weeks in a file of bounded size, and follow the target when it is "
     "started again. peaktop -r FILE shows the session.",
     {"sudo peaktop record -n postgres -o night.peaktop --for 3600",
      "sudo peaktop record -n redis-server --ring 64M -o redis.peaktop", NULL}},
    {"resume",
     VERB_RESUME,
     F(RESUME),
     {"FILE TARGET", NULL},
     "go on with a saved descent",
     "Go on with the descent that was saved in FILE, by descend -o or by w on the screen, where it "
     "stood. First compare the latencies of its function now with the saved ones; if they are "
     "distributed in another way, say so and end.",
     {"sudo peaktop resume slow.peaktop -p 1234",
      "sudo peaktop resume slow.peaktop redis-server --timeout 120 -o more.peaktop", NULL}},
    {"diff",
     VERB_DIFF,
     F(DIFF),
     {"FILE FILE", NULL},
     "show what changed between two saved sessions",
     "Compare the operations that two saved sessions of one program, the older first, have in "
     "common. Print which have other peaks, latencies or numbers of calls, beyond what chance "
     "explains.",
     {"peaktop diff monday.peaktop tuesday.peaktop",
      "peaktop diff before.peaktop after.peaktop --json", NULL}},
    {"why",
     VERB_WHY,
     F(WHY),
     {"FILE [--at TIME | --slowest N] [--op OP]", NULL},
     "explain slow calls that are over",
     "Explain calls that a ring kept (peaktop record --ring) because they were slower than usual: "
     "what each of them waited for. This needs no privileges.",
     {"peaktop why redis.peaktop --slowest 1", "peaktop why redis.peaktop --at 03:12 --op fsync",
      NULL}},
    {"export",
     VERB_EXPORT,
     F(EXPORT),
     {"FILE --format FORMAT", NULL},
     "convert a saved session",
     "Print a saved session in another format.",
     {"peaktop export night.peaktop --format json",
      "peaktop export night.peaktop --format json --all-peaks", NULL}},
    {"doctor",
     VERB_DOCTOR,
     F(DOCTOR) | F(COVERAGE),
     {"[TARGET]", NULL},
     "check what this kernel and these privileges allow",
     "Check what this kernel and these privileges allow, and say what is missing. With a target, "
     "print for each of its files how many functions can be watched.",
     {"sudo peaktop doctor", "sudo peaktop doctor -p 1234", NULL}},
    {"help", VERB_HELP, F(HELP), {NULL}, NULL, NULL, {NULL}},
    {"version", VERB_VERSION, F(HELP), {NULL}, NULL, NULL, {NULL}},
};
const size_t nr_verb_rows = sizeof(verb_rows) / sizeof(verb_rows[0]);

const struct verb_row *verb_row_of(enum verb verb)
{
	for (size_t i = 0; i < nr_verb_rows; i++) {
		if (verb_rows[i].verb == verb)
			return &verb_rows[i];
	}
	return &verb_rows[0]; /* VERB_REPLAY is a form of the screen */
}

const char *verb_near(const char *word)
{
	unsigned int best = edit_limit(strlen(word)) + 1;
	const char *near = NULL;

	for (size_t i = 0; i < nr_verb_rows; i++) {
		const char *name = verb_rows[i].word;
		unsigned int edits;

		if (!*name || !verb_rows[i].help)
			continue;
		edits = edit_distance(word, strlen(word), name, strlen(name), best);
		if (edits >= best)
			continue;
		best = edits;
		near = name;
	}
	return near;
}

const struct option_row *option_row_of(enum option_id id)
{
	size_t i = 0;

	while (i + 1 < nr_option_rows && option_rows[i].id != id)
		i++;
	return &option_rows[i];
}

bool option_given(const struct options *o, const char *name)
{
	for (size_t i = 0; i < nr_option_rows; i++) {
		if (!strcmp(option_rows[i].name, name))
			return o->given & 1ull << i;
	}
	return false;
}

enum form option_form(const struct options *o)
{
	bool target = options_have_target(o), file = o->nr_files && !target;

	switch (o->verb) {
	case VERB_SCREEN:
	case VERB_REPLAY:
		return file ? FORM_SCREEN_FILE : FORM_SCREEN;
	case VERB_WATCH:
		return file ? FORM_WATCH_FILE : FORM_WATCH;
	case VERB_DESCEND:
		return file	   ? FORM_DESCEND_FILE
		       : o->open   ? FORM_OPEN
		       : o->nr_ops ? FORM_DESCEND
				   : FORM_WALK;
	case VERB_CHAINS:
		return file ? FORM_WAITS_FILE : FORM_CHAINS;
	case VERB_CRITICAL:
		return file ? FORM_WAITS_FILE : FORM_CRITICAL;
	case VERB_RECORD:
		return FORM_RECORD;
	case VERB_RESUME:
		return FORM_RESUME;
	case VERB_DIFF:
		return FORM_DIFF;
	case VERB_EXPORT:
		return FORM_EXPORT;
	case VERB_WHY:
		return FORM_WHY;
	case VERB_DOCTOR:
		return target ? FORM_COVERAGE : FORM_DOCTOR;
	default:
		return FORM_HELP;
	}
}

const char *option_form_name(enum form form)
{
	static const char *const names[NR_FORMS] = {
	    [FORM_SCREEN] = "the live screen",
	    [FORM_SCREEN_FILE] = "peaktop -r FILE",
	    [FORM_WATCH] = "watch",
	    [FORM_WATCH_FILE] = "watch -r FILE",
	    [FORM_DESCEND] = "descend -f OP",
	    [FORM_WALK] = "descend without -f",
	    [FORM_OPEN] = "descend --open",
	    [FORM_DESCEND_FILE] = "descend -r FILE",
	    [FORM_CHAINS] = "chains",
	    [FORM_CRITICAL] = "critical",
	    [FORM_WAITS_FILE] = "chains and critical -r FILE",
	    [FORM_RECORD] = "record",
	    [FORM_RESUME] = "resume",
	    [FORM_DIFF] = "diff",
	    [FORM_WHY] = "why",
	    [FORM_EXPORT] = "export",
	    [FORM_DOCTOR] = "doctor",
	    [FORM_COVERAGE] = "doctor TARGET",
	    [FORM_HELP] = "help",
	};

	return names[form];
}

/* The name of a form in a list of those that use an option; NULL if another one stands for it. */
static const char *user_name(uint32_t forms, enum form form)
{
	const uint32_t walks = F(DESCEND) | F(WALK);
	/* Do not name a form if one of these is named: a verb also stands for its use with -r
	 * FILE, and "descend" for both of its forms. */
	const uint32_t same[NR_FORMS] = {
	    [FORM_SCREEN_FILE] = F(SCREEN),   [FORM_WATCH_FILE] = F(WATCH),
	    [FORM_DESCEND_FILE] = F(DESCEND), [FORM_WALK] = F(DESCEND),
	    [FORM_COVERAGE] = F(DOCTOR),      [FORM_WAITS_FILE] = F(CHAINS),
	};

	if (forms & same[form] || (form == FORM_OPEN && (forms & walks) == walks))
		return NULL;
	if ((form == FORM_DESCEND && (forms & walks) == walks) || forms == F(OPEN))
		return "descend";
	return option_form_name(form);
}

void option_users(const struct option_row *row, char *out, size_t n)
{
	const char *names[NR_FORMS];
	size_t nr = 0;
	SCOPED_BUF(b, n);

	for (enum form f = 0; f < NR_FORMS; f++) {
		if (f != FORM_HELP && row->forms & 1u << f && user_name(row->forms, f))
			names[nr++] = user_name(row->forms, f);
	}
	for (size_t i = 0; i < nr; i++)
		buf_printf(&b, "%s%s", !i ? "" : i + 1 < nr ? ", " : " and ", names[i]);
	snprintf(out, n, "%s", b.data ? b.data : "");
}
