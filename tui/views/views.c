// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/views.h"

const struct screen_views all_views = {
    .picker = view_picker_new,
    .operations = view_operations_new,
    .operation = view_operation_new,
    .help = view_help_new,
    .information = view_information_new,
    .events = view_events_new,
    .slow_calls = view_slow_new,
    .threads = view_threads_new,
    .waits = view_waits_new,
    .diff = view_diff_new,
};
