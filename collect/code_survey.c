// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/code_survey.h"

#include "collect/code_memory.h"
#include "collect/modules.h"
#include "collect/state.h"
#include "collect/stream.h"

static void send_check(struct collector *c, bool ok, const char *needed_for, const char *remedy)
{
	send_record(c, &(struct record){.type = REC_CHECK,
					.check = {.name = "code in memory is that of the files",
						  .ok = ok,
						  .needed_for = needed_for,
						  .remedy = remedy}});
}

/* True if the mapping was changed or could not be compared. */
static bool mapping_survey(struct collector *c, const struct file_mapping *m)
{
	struct code_survey v = {.map_start = m->start, .map_end = m->end, .offset = m->offset};
	const char *path = c->files.modules[m->module - 1].path;
	int err = code_memory_survey(m->pid, &v);
	char text[TARGET_PATH + 256];

	if (!err && !v.bytes)
		return false;
	if (err) {
		snprintf(text, sizeof(text),
			 "probes in %s, in process %d: its code cannot be read (%s)", path, m->pid,
			 strerror(-err));
		send_check(c, false, text, "try again later");
		return true;
	}
	snprintf(
	    text, sizeof(text),
	    "probes in %s, in process %d: %u bytes differ from the file, the first at 0x%" PRIx64,
	    path, m->pid, v.bytes, v.first);
	send_check(c, false, text,
		   "functions that were changed there are refused; watch their callers, or measure "
		   "without -f: samples name them");
	return true;
}

void code_survey(struct collector *c)
{
	bool found = false;

	for (unsigned int i = 0; i < c->files.nr_mappings; i++) {
		const struct file_mapping *m = &c->files.mappings[i];

		if (!m->copied && module_has_file(c, m->module))
			found |= mapping_survey(c, m);
	}
	if (!found)
		send_check(c, true, "probes in functions of the target", "");
}
