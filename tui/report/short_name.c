// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/short_name.h"

#include "analysis/base/short_name.h"
#include "tui/report/sanitise.h"

enum { MAX_NAME = 1 << 16 };

void report_short_name(struct buf *out, const char *name)
{
	SCOPED_BUF(b, MAX_NAME);

	short_name(&b, name);
	sanitise_append(out, b.data ? b.data : "", b.len);
}
