/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session file that takes its name at once, as the recording of a measurement does. */
#ifndef PEAKTOP_TEST_SESSION_CREATE_H
#define PEAKTOP_TEST_SESSION_CREATE_H

#include "tui/session/session_file.h"

static inline int session_create(struct session_writer **out, const char *path)
{
	int err = session_writer_create_provisional(out, path, true);

	return err ? err : session_writer_keep_now(*out);
}

#endif
