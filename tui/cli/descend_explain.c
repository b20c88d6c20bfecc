// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/descend_explain.h"

#include "tui/cli/verbs.h"

/* The descent has not begun. The counts lack calls that began before peaktop: a program's main
 * loop, or a call that hangs. */
static void explain_no_begin(const struct descend_end *e, char *line, size_t n)
{
	const struct model *m = e->report.model;
	const struct op *op = model_op_by_number(e->report.model, e->report.op);
	unsigned long long seen = op ? op->seen_calls : 0;
	bool ended = model_nr_targets(m) && model_target_ended(m, 0);
	const char *name = e->options->ops[0].text;
	SCOPED_BUF(b, 1 << 16);
	bool left = report_left(&b, op);

	if (ended && seen >= e->needed)
		snprintf(line, n,
			 "%s: the target ended after %llu calls, before the cause of a peak could "
			 "be measured; run a longer workload",
			 name, seen);
	else if (seen >= e->needed)
		snprintf(line, n,
			 "%s: no answer: the measurement ended after %llu calls, before %s; let it "
			 "run for longer",
			 name, seen,
			 e->resumes ? "the saved descent could go on"
				    : "the calls to explain were chosen");
	else
		snprintf(line, n, "%s: not enough calls: saw %llu of the %u needed%s%s%s; try %s",
			 name, seen, e->needed, ended ? " before the target ended" : "",
			 left ? "; " : "", left && b.data ? b.data : "",
			 seen || left || ended
			     ? "a longer --timeout or fewer --start-ops"
			     : "a longer --timeout, or --open to see calls that began earlier");
}

/* What lets a saved descent go on that ended because of what was saved; "" for other ends. */
static const char *way_out(const struct descend_end *e, const struct descent_result *result)
{
	return e->resumes && result->status == DESCENT_CHANGED && result->since_saved
		   ? "; --even-if-changed goes on nevertheless"
		   : "";
}

static int explain_no_cause(const struct descend_end *e, char *line, size_t n)
{
	const char *name = e->options->ops[0].text;
	struct descent_result result;
	int err = report_result(&e->report, &result);

	if (err)
		return err;
	if (result.refused[0])
		snprintf(line, n,
			 "%s: no answer, because its figures contradict each other: %s; run it "
			 "again",
			 name, result.refused);
	else
		snprintf(line, n, "%s: no answer: %s%s%s%s", name,
			 report_status(&e->report, &result), result.change[0] ? ": " : "",
			 result.change, way_out(e, &result));
	descent_result_release(&result);
	return 0;
}

void descend_explain(const struct descend_end *e)
{
	SCOPED_BUF(b, 1 << 16);
	char line[512];
	int err = 0;

	if (e->report.no_such_peak) {
		output_descend_sentence(&e->report, &b);
		snprintf(line, sizeof(line), "%s: %s", e->options->ops[0].text,
			 b.data ? b.data : "there is no such peak");
	} else if (phases_missing(e->front)) {
		snprintf(line, sizeof(line), "%s", phases_missing(e->front));
	} else if (!driver_asked(e->report.driver)) {
		explain_no_begin(e, line, sizeof(line));
	} else {
		err = explain_no_cause(e, line, sizeof(line));
	}
	if (!err)
		verb_complain(line);
}
