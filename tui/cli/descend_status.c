// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/verb_descend.h"
#include "tui/engine/front.h"
#include "tui/report/output_descend_parts.h"

/* The exit status: is the result about one range of calls an answer? */
static int part_status(const struct descend_report *report, bool command)
{
	struct descent_result result;
	bool found;
	int status = EXIT_NO_ANSWER;

	if (report_result(report, &result))
		return EXIT_NO_ANSWER;
	found = result.nr_paths && (result.calls_used || result.sampled.samples);
	switch (result.status) {
	case DESCENT_ROOT_CAUSE:
	case DESCENT_DEPTH_REACHED:
		status = EXIT_ANSWERED;
		break;
	case DESCENT_IN_PROGRESS:
	case DESCENT_PARTLY:
		status = found ? EXIT_ANSWERED : EXIT_NO_ANSWER;
		break;
	case DESCENT_TARGET_END:
		status = found && command ? EXIT_ANSWERED : EXIT_NO_ANSWER;
		break;
	default:
		break;
	}
	descent_result_release(&result);
	return status;
}

int descend_status(const struct descend_report *report, bool command)
{
	const struct rec_parts *parts = driver_parts(report->driver);
	int status = EXIT_NO_ANSWER;
	struct descend_report part;

	if (report->no_such_peak || !driver_asked(report->driver))
		return EXIT_NO_ANSWER;
	if (!parts)
		return part_status(report, command);
	for (uint32_t i = 1; i <= parts->nr_parts && status; i++)
		if (report_part(report, i, &part))
			status = part_status(&part, command);
	return status;
}
