// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/descent_part_rows.h"

enum { TEXT_BYTES = 1 << 16 };

static const char *text_of(const struct buf *b)
{
	return b->data ? b->data : "";
}

void part_rows_add(const struct descend_report *whole, const struct descent_driver *shown,
		   struct part_rows *rows, struct screen_descent *d)
{
	const struct rec_parts *parts = driver_parts(whole->driver);

	*rows = (struct part_rows){.operation = {.max = TEXT_BYTES}};
	d->operation = "";
	if (!report_has_parts(whole))
		return;
	report_parts_heading(&rows->operation, whole);
	d->operation = text_of(&rows->operation);
	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		rows->calls[i].max = rows->answer[i].max = TEXT_BYTES;
		report_part_calls(&rows->calls[i], parts, &parts->parts[i]);
		report_part_answer(&rows->answer[i], whole, i + 1);
		rows->part[i] = (struct screen_descent_part){
		    .share = report_share(parts->parts[i].time_ns, parts->time_ns),
		    .calls = text_of(&rows->calls[i]),
		    .answer = text_of(&rows->answer[i])};
	}
	d->parts = rows->part;
	d->nr_parts = parts->nr_parts;
	d->part = driver_asked(shown)->part;
}

void part_rows_release(struct part_rows *rows)
{
	buf_release(&rows->operation);
	for (uint32_t i = 0; i < FRAME_MAX_PARTS; i++) {
		buf_release(&rows->calls[i]);
		buf_release(&rows->answer[i]);
	}
}
