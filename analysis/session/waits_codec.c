// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of record_waits.h on the wire. */
#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"

// clang-format off

/* The order is the order on the wire: append, never insert. */
static STRUCT_TABLE(rec_window,
	FIELDS(rec_window, at_ns, edge, cpu, sequence));

static STRUCT_TABLE(rec_task,
	FIELDS(rec_task, at_ns, start_ns, sequence, cpu, tid, pid, flags, state),
	FIELDS(rec_task, parent_start_ns, parent_tid, comm));

static STRUCT_TABLE(rec_switch,
	FIELDS(rec_switch, at_ns, prev_start_ns, next_start_ns, sequence, cpu, prev_tid, next_tid),
	FIELDS(rec_switch, state, kernel_stack, user_stack, irq_ns));

static STRUCT_TABLE(rec_asleep,
	FIELDS(rec_asleep, at_ns),
	NUMBERS(rec_asleep, args, WAITS_ARGS),
	FIELDS(rec_asleep, asked_ns, sequence, cpu, tid, syscall, object, flags));

static STRUCT_TABLE(rec_waking,
	FIELDS(rec_waking, at_ns, current_start_ns, wakee_start_ns, brackets, cause, sequence, cpu),
	FIELDS(rec_waking, current_tid, wakee_tid, kernel_stack));

static STRUCT_TABLE(rec_life,
	FIELDS(rec_life, at_ns, start_ns, child_start_ns, sequence, cpu, event, tid, child_tid),
	FIELDS(rec_life, child_pid, flags, comm));

static STRUCT_TABLE(rec_block,
	FIELDS(rec_block, at_ns, request, sector, start_ns, sequence, cpu, event, tid),
	FIELDS(rec_block, device, bytes, object, kind));

static STRUCT_TABLE(rec_work,
	FIELDS(rec_work, at_ns, work, start_ns, brackets, cause, sequence, cpu, tid),
	FIELDS(rec_work, event));

static STRUCT_TABLE(rec_run_sample,
	FIELDS(rec_run_sample, at_ns, sequence, cpu, tid, kernel_stack, user_stack, irq_ns));

static STRUCT_TABLE(rec_frame,
	FIELDS(rec_frame, module, offset, function));

static STRUCT_TABLE(rec_trace,
	FIELDS(rec_trace, trace, flags, pid, kernel),
	ARRAY(rec_trace, frames, nr_frames, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout));

static STRUCT_TABLE(rec_name,
	FIELDS(rec_name, kind, number, text));

static STRUCT_TABLE(rec_object,
	FIELDS(rec_object, object, kind, serves, name));

static STRUCT_TABLE(rec_steal,
	FIELDS(rec_steal, at_ns, ns, sequence, cpu));

static STRUCT_TABLE(rec_raw_trace,
	FIELDS(rec_raw_trace, trace, pid, tid),
	ARRAY(rec_raw_trace, regs, nr_regs, FIELD_U64S, 32, NULL),
	ARRAY(rec_raw_trace, words, nr_words, FIELD_U64S, 4096, NULL));

static STRUCT_TABLE(rec_followed,
	FIELDS(rec_followed, requested, op, low_ns, high_ns, peak, peak_low_ns, peak_high_ns));

// clang-format on

const struct struct_layout *waits_layout(unsigned int type)
{
	static const struct struct_layout *const layouts[] = {
	    [REC_WINDOW] = &rec_window_layout,
	    [REC_TASK] = &rec_task_layout,
	    [REC_SWITCH] = &rec_switch_layout,
	    [REC_ASLEEP] = &rec_asleep_layout,
	    [REC_WAKING] = &rec_waking_layout,
	    [REC_LIFE] = &rec_life_layout,
	    [REC_BLOCK] = &rec_block_layout,
	    [REC_WORK] = &rec_work_layout,
	    [REC_RUN_SAMPLE] = &rec_run_sample_layout,
	    [REC_TRACE] = &rec_trace_layout,
	    [REC_NAME] = &rec_name_layout,
	    [REC_OBJECT] = &rec_object_layout,
	    [REC_STEAL] = &rec_steal_layout,
	    [REC_RAW_TRACE] = &rec_raw_trace_layout,
	    [REC_FOLLOWED] = &rec_followed_layout,
	};

	return type < sizeof(layouts) / sizeof(layouts[0]) ? layouts[type] : NULL;
}
