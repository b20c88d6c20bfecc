// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of record_waits.h on the wire. */
#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"

// clang-format off

/* The order is the order on the wire: append, never insert. */
static STRUCT_TABLE(rec_window,
	U64(rec_window, at_ns),
	U32(rec_window, edge),
	U32(rec_window, cpu),
	U32(rec_window, sequence));

static STRUCT_TABLE(rec_task,
	U64(rec_task, at_ns),
	U64(rec_task, start_ns),
	U32(rec_task, sequence),
	U32(rec_task, cpu),
	U32(rec_task, tid),
	U32(rec_task, pid),
	U32(rec_task, flags),
	U32(rec_task, state),
	U64(rec_task, parent_start_ns),
	U32(rec_task, parent_tid),
	TEXT(rec_task, comm));

static STRUCT_TABLE(rec_switch,
	U64(rec_switch, at_ns),
	U64(rec_switch, prev_start_ns),
	U64(rec_switch, next_start_ns),
	U32(rec_switch, sequence),
	U32(rec_switch, cpu),
	U32(rec_switch, prev_tid),
	U32(rec_switch, next_tid),
	U32(rec_switch, state),
	U32(rec_switch, kernel_stack),
	U32(rec_switch, user_stack),
	U32(rec_switch, irq_ns));

static STRUCT_TABLE(rec_asleep,
	U64(rec_asleep, at_ns),
	NUMBERS(rec_asleep, args, WAITS_ARGS),
	U64(rec_asleep, asked_ns),
	U32(rec_asleep, sequence),
	U32(rec_asleep, cpu),
	U32(rec_asleep, tid),
	I32(rec_asleep, syscall),
	U32(rec_asleep, object),
	U32(rec_asleep, flags));

static STRUCT_TABLE(rec_waking,
	U64(rec_waking, at_ns),
	U64(rec_waking, current_start_ns),
	U64(rec_waking, wakee_start_ns),
	U64(rec_waking, brackets),
	U64(rec_waking, cause),
	U32(rec_waking, sequence),
	U32(rec_waking, cpu),
	U32(rec_waking, current_tid),
	U32(rec_waking, wakee_tid),
	U32(rec_waking, kernel_stack));

static STRUCT_TABLE(rec_life,
	U64(rec_life, at_ns),
	U64(rec_life, start_ns),
	U64(rec_life, child_start_ns),
	U32(rec_life, sequence),
	U32(rec_life, cpu),
	U32(rec_life, event),
	U32(rec_life, tid),
	U32(rec_life, child_tid),
	U32(rec_life, child_pid),
	U32(rec_life, flags),
	TEXT(rec_life, comm));

static STRUCT_TABLE(rec_block,
	U64(rec_block, at_ns),
	U64(rec_block, request),
	U64(rec_block, sector),
	U64(rec_block, start_ns),
	U32(rec_block, sequence),
	U32(rec_block, cpu),
	U32(rec_block, event),
	U32(rec_block, tid),
	U32(rec_block, device),
	U32(rec_block, bytes),
	U32(rec_block, object));

static STRUCT_TABLE(rec_packet,
	U64(rec_packet, at_ns),
	U64(rec_packet, socket),
	U64(rec_packet, sender_start_ns),
	U64(rec_packet, sent_ns),
	U32(rec_packet, sequence),
	U32(rec_packet, cpu),
	U32(rec_packet, sender_tid),
	U32(rec_packet, object));

static STRUCT_TABLE(rec_work,
	U64(rec_work, at_ns),
	U64(rec_work, work),
	U64(rec_work, start_ns),
	U64(rec_work, brackets),
	U64(rec_work, cause),
	U32(rec_work, sequence),
	U32(rec_work, cpu),
	U32(rec_work, tid),
	U32(rec_work, event));

static STRUCT_TABLE(rec_contention,
	U64(rec_contention, at_ns),
	U64(rec_contention, lock),
	U32(rec_contention, sequence),
	U32(rec_contention, cpu),
	U32(rec_contention, tid),
	U32(rec_contention, flags));

static STRUCT_TABLE(rec_signal,
	U64(rec_signal, at_ns),
	U64(rec_signal, sender_start_ns),
	U64(rec_signal, receiver_start_ns),
	U32(rec_signal, sequence),
	U32(rec_signal, cpu),
	U32(rec_signal, sender_tid),
	U32(rec_signal, receiver_tid),
	U32(rec_signal, signal),
	U32(rec_signal, code));

static STRUCT_TABLE(rec_run_sample,
	U64(rec_run_sample, at_ns),
	U32(rec_run_sample, sequence),
	U32(rec_run_sample, cpu),
	U32(rec_run_sample, tid),
	U32(rec_run_sample, kernel_stack),
	U32(rec_run_sample, user_stack),
	U32(rec_run_sample, irq_ns));

static STRUCT_TABLE(rec_frame,
	U32(rec_frame, module),
	U64(rec_frame, offset),
	U64(rec_frame, function));

static STRUCT_TABLE(rec_trace,
	U32(rec_trace, trace),
	U32(rec_trace, flags),
	U32(rec_trace, pid),
	TEXT(rec_trace, kernel),
	ARRAY(rec_trace, frames, nr_frames, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout));

static STRUCT_TABLE(rec_name,
	U32(rec_name, kind),
	U32(rec_name, number),
	TEXT(rec_name, text));

static STRUCT_TABLE(rec_object,
	U32(rec_object, object),
	U32(rec_object, kind),
	U32(rec_object, serves),
	TEXT(rec_object, name));

static STRUCT_TABLE(rec_steal,
	U64(rec_steal, at_ns),
	U64(rec_steal, ns),
	U32(rec_steal, sequence),
	U32(rec_steal, cpu));

static STRUCT_TABLE(rec_past,
	U64(rec_past, from_ns),
	U64(rec_past, until_ns),
	U64(rec_past, start_ns),
	U64(rec_past, waker_start_ns),
	U64(rec_past, brackets),
	U32(rec_past, tid),
	U32(rec_past, waker_tid),
	U32(rec_past, state),
	U32(rec_past, kernel_stack),
	U32(rec_past, user_stack),
	I32(rec_past, syscall));

static STRUCT_TABLE(rec_raw_trace,
	U32(rec_raw_trace, trace),
	U32(rec_raw_trace, pid),
	U32(rec_raw_trace, tid),
	ARRAY(rec_raw_trace, regs, nr_regs, FIELD_U64S, 32, NULL),
	ARRAY(rec_raw_trace, words, nr_words, FIELD_U64S, 4096, NULL));

// clang-format on

const struct struct_layout *waits_layout(unsigned int type)
{
	static const struct struct_layout *const layouts[] = {
	    [REC_WINDOW] = &rec_window_layout, [REC_TASK] = &rec_task_layout,
	    [REC_SWITCH] = &rec_switch_layout, [REC_ASLEEP] = &rec_asleep_layout,
	    [REC_WAKING] = &rec_waking_layout, [REC_LIFE] = &rec_life_layout,
	    [REC_BLOCK] = &rec_block_layout,   [REC_PACKET] = &rec_packet_layout,
	    [REC_WORK] = &rec_work_layout,     [REC_CONTENTION] = &rec_contention_layout,
	    [REC_SIGNAL] = &rec_signal_layout, [REC_RUN_SAMPLE] = &rec_run_sample_layout,
	    [REC_TRACE] = &rec_trace_layout,   [REC_NAME] = &rec_name_layout,
	    [REC_OBJECT] = &rec_object_layout, [REC_STEAL] = &rec_steal_layout,
	    [REC_PAST] = &rec_past_layout,     [REC_RAW_TRACE] = &rec_raw_trace_layout,
	};

	return type < sizeof(layouts) / sizeof(layouts[0]) ? layouts[type] : NULL;
}
