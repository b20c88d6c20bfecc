// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/verb_open.h"

#include <errno.h>
#include <stdio.h>

#include "tui/front.h"
#include "tui/output_open.h"
#include "tui/verbs.h"
#include "tui/walker.h"

enum { TURN_MS = 50 };

static void complain(const char *line)
{
	fprintf(stderr, "peaktop: %s\n", line);
}

static bool until(struct front *f, uint64_t end)
{
	const char *line;

	while ((line = front_next_message(f)))
		complain(line);
	return !front_over(f) && front_now_ns() < end;
}

static void look_now(struct front *f, struct open_report *r, const struct options *o)
{
	uint64_t end = front_now_ns() + (uint64_t)(o->timeout_s * 1e9);
	uint32_t round;

	while (!front_ready(f) && !front_nothing_to_do(f) && until(f, end))
		front_turn(f, NULL, 0, TURN_MS);
	if (!front_ready(f) || !front_found(f, &r->ask.function))
		return;
	round = front_look(f, 0);
	while (!front_looks_told(f, round) && until(f, end))
		front_turn(f, NULL, 0, TURN_MS);
	while (!walker_names_open(front_walker(f), r->calls) && until(f, end))
		front_turn(f, NULL, 0, TURN_MS);
}

int verb_open(struct options *o)
{
	struct front_options fo = {.options = o, .record = o->output};
	struct output_options oo = {.resolution = o->resolution, .ascii = o->ascii};
	struct open_report r = {.what = o->nr_ops ? o->ops[0].text : NULL};
	struct front *f;
	const char *line;
	char error[512];
	int status, err;

	if (o->nr_ops > 1 || (o->nr_ops && o->ops[0].kind != OP_FUNCTION && o->ops[0].kind != OP_OFFSET && o->ops[0].kind != OP_SYSCALL)) {
		complain("descend --open: give one function or one syscall:NAME with -f, or none for all threads");
		return EXIT_USAGE;
	}
	if (o->command || o->peak || o->slowest > 0) {
		complain("descend --open: asks what runs now: -p PID or -n NAME, without --peak and --slowest");
		return EXIT_USAGE;
	}
	if (o->name && (status = target_by_name(o)))
		return status;
	status = front_start(&f, &fo, error, sizeof(error));
	if (status) {
		complain(error);
		return status;
	}
	r.model = front_model(f);
	r.names = front_descend(f);
	r.calls = front_open_calls(f);
	if (o->nr_ops && o->ops[0].kind == OP_SYSCALL)
		r.ask.syscall = o->ops[0].name;
	look_now(f, &r, o);
	until(f, 0);
	if (!front_over(f)) {
		front_stop(f);
		while (front_turn(f, NULL, 0, TURN_MS) != -ENOTCONN)
			;
	}
	status = front_failure(f, &line);
	if (status)
		complain(line);
	else if (front_nothing_to_do(f) || !open_report_nr(&r))
		status = EXIT_NO_ANSWER;
	err = !model_meta(r.model)	     ? 0 :
	      o->json || o->json_lines	     ? output_open_json(&r, &oo, stdout) :
	      o->quiet || front_nothing_to_do(f) ? 0 :
						   output_open_text(&r, &oo, stdout);
	if (!err && o->output)
		err = front_recording_close(f);
	front_free(f);
	return status ? status : output_status(err);
}
