// SPDX-License-Identifier: GPL-2.0-or-later
#include <locale.h>
#include <signal.h>

#include "collect/collector.h"
#include "tui/cli/command_line.h"
#include "tui/cli/complete.h"
#include "tui/cli/config.h"
#include "tui/cli/live.h"
#include "tui/cli/option_table.h"
#include "tui/cli/verbs.h"
#include "tui/engine/front.h"

static void say_nothing(int number)
{
	(void)number;
}

/* SIGUSR1 asks a measuring verb to print its state. Everywhere else the signal must not end
 * peaktop. A handler that does nothing is better than SIG_IGN, because exec resets it: a command
 * starts with the default action. */
static void survive_questions(void)
{
	struct sigaction a = {.sa_handler = say_nothing, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &a, NULL);
}

/* Print the settings that are in effect. */
static int dump_config(struct config *c, const struct options *o)
{
	SCOPED_BUF(out, 1 << 20);
	int err;

	config_take_given(c, o);
	err = config_dump(c, &out);
	if (!err && out.data)
		fputs(out.data, stdout);
	return err || fflush(stdout) ? EXIT_NO_ANSWER : 0;
}

/* Read the configuration. Returns 0, or EXIT_USAGE with a line in `error`. */
static int configure(struct config *c, char *error, size_t n)
{
	char warning[512];

	if (config_load(c, error, n, warning, sizeof(warning)))
		return EXIT_USAGE;
	if (warning[0])
		verb_complain(warning);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct collector_entry entry = {.run = collector_run,
						     .doctor = collector_doctor};
	static struct config config;
	struct options o;
	char error[512], wrong[1024];
	int status;

	/* Not LC_NUMERIC: numbers are read and printed with a point in every locale. */
	setlocale(LC_CTYPE, "");
	if (argc > 1 && !strcmp(argv[1], "--dump-options")) {
		options_dump(stdout);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--complete")) {
		complete_print(argc - 2, argv + 2, stdout);
		return 0;
	}
	survive_questions();
	front_use_collector(&entry);
	config_init(&config);
	status = configure(&config, wrong, sizeof(wrong));
	if (options_parse_from(&o, &config.defaults, argc, argv, error, sizeof(error))) {
		verb_complain(error);
		return EXIT_USAGE;
	}
	if (o.help || o.verb == VERB_HELP)
		return verb_help(o.verb);
	if (status && !o.version) { /* help and version work with any configuration */
		verb_complain(wrong);
		return status;
	}
	if (o.dump_config)
		return dump_config(&config, &o);
	switch (o.version ? VERB_VERSION : o.verb) {
	case VERB_VERSION:
		printf("peaktop %s\n", PEAKTOP_VERSION);
		return 0;
	case VERB_SCREEN:
		return live_run(&o);
	case VERB_WATCH:
		return verb_watch(&o);
	case VERB_DESCEND:
		return verb_descend(&o);
	case VERB_RESUME:
		return verb_resume(&o);
	case VERB_CHAINS:
	case VERB_CRITICAL:
		return verb_waits(&o);
	case VERB_RECORD:
		return verb_record(&o);
	case VERB_EXPORT:
		return verb_export(&o);
	case VERB_WHY:
		return verb_why(&o);
	case VERB_DIFF:
		return verb_diff(&o);
	case VERB_REPLAY:
		return o.script ? verb_script(&o) : live_run(&o);
	case VERB_DOCTOR:
		return options_have_target(&o) ? verb_coverage(&o) : verb_doctor(&o);
	default:
		return EXIT_USAGE;
	}
}
