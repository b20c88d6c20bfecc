// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/live_write.h"

#include "analysis/base/buf.h"
#include "tui/cli/config.h"
#include "tui/report/output.h"
#include "tui/screen/screen.h"

static void write_text(struct screen *s, const char *path)
{
	SCOPED_BUF(b, 1 << 20);
	char line[512];
	FILE *out;
	int err = screen_text(s, &b);

	out = err ? NULL : fopen(path, "wxe");
	if (out) {
		fwrite(b.data ? b.data : "", 1, b.len, out);
		err = fclose(out) ? errno : 0;
	} else if (!err) {
		err = errno;
	}
	if (err)
		snprintf(line, sizeof(line), "cannot write %s: %s", path,
			 strerror(err < 0 ? -err : err));
	else
		snprintf(line, sizeof(line), "view written to %s", path);
	screen_message(s, err ? NOTE_ERROR : NOTE_INFO, line);
}

static void write_configuration(struct screen *s, const char *settings)
{
	char line[1024];
	int err = config_save(settings, line, sizeof(line));

	screen_message(s, err ? NOTE_ERROR : NOTE_INFO, line);
}

static void write_snapshot(struct screen *s, struct front *f, const char *path)
{
	char line[512];
	int err = f ? front_snapshot(f, path) : -ENODATA;

	if (err)
		snprintf(line, sizeof(line), "cannot write %s: %s", path, strerror(-err));
	else
		snprintf(line, sizeof(line), "snapshot written to %s; open it with peaktop -r",
			 path);
	screen_message(s, err ? NOTE_ERROR : NOTE_INFO, line);
}

/* It goes into the recording, which w copies. */
static void set_bookmark(struct screen *s, struct front *f, const struct screen_action *a)
{
	front_bookmark(f, a->at_ns, a->end_ns, a->text);
	screen_message(s, NOTE_INFO, "bookmark set; w writes it with the session, v lists it");
}

void live_write(struct screen *s, struct front *f, const struct screen_action *a)
{
	if (a->type == SCREEN_SNAPSHOT_WRITE)
		write_snapshot(s, f, a->text);
	else if (a->type == SCREEN_BOOKMARK)
		set_bookmark(s, f, a);
	else if (a->type == SCREEN_CONFIGURE)
		write_configuration(s, a->text);
	else
		write_text(s, a->text);
}

void live_write_state(struct screen *s, struct model *m, const struct options *o, bool redirected)
{
	struct output_options oo = {.resolution = o->resolution, .ascii = o->ascii};

	if (!redirected) {
		screen_message(s, NOTE_INFO,
			       "SIGUSR1 prints the state to standard error only if that is "
			       "redirected: start peaktop with 2>FILE");
		return;
	}
	output_state_head(m, now_ns(), stderr);
	output_watch_text(m, &oo, stderr);
}
