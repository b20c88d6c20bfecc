// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/record_codec.h"

#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "bpf/buckets.h"

_Static_assert((int)FRAME_MAX_TEXT == (int)CODEC_MAX_TEXT, "one limit for text");

// clang-format off
#define BUCKETS \
	{.kind = FIELD_BUCKETS, \
	 .offset = offsetof(struct rec_profile, bucket), \
	 .offset_count = offsetof(struct rec_profile, nr_buckets), \
	 .offset_second = offsetof(struct rec_profile, count), \
	 .maximum = PT_BUCKETS}
/* The order is the order on the wire: append, never insert. */
static STRUCT_TABLE(rec_meta,
	TEXT(rec_meta, version),
	TEXT(rec_meta, host),
	TEXT(rec_meta, kernel),
	TEXT(rec_meta, boot_id),
	U64(rec_meta, realtime_ns),
	U64(rec_meta, monotonic_ns),
	U32(rec_meta, cpus),
	U64(rec_meta, interval_ns),
	TEXT(rec_meta, command),
	U32(rec_meta, resolution),
	U32(rec_meta, budget_ppm));

static STRUCT_TABLE(rec_target,
	U32(rec_target, pid),
	U32(rec_target, ns_pid),
	U64(rec_target, started_ns),
	U32(rec_target, uid),
	TEXT(rec_target, comm),
	TEXT(rec_target, exe),
	U32(rec_target, threads),
	U32(rec_target, requested));

static STRUCT_TABLE(rec_target_end,
	U32(rec_target_end, pid),
	U64(rec_target_end, at_ns),
	U32(rec_target_end, has_status),
	U32(rec_target_end, status));

static STRUCT_TABLE(rec_module,
	U32(rec_module, module),
	U64(rec_module, dev),
	U64(rec_module, inode),
	TEXT(rec_module, path),
	U64(rec_module, size));

static STRUCT_TABLE(rec_mapping,
	U32(rec_mapping, pid),
	U32(rec_mapping, module),
	U64(rec_mapping, start),
	U64(rec_mapping, end),
	U64(rec_mapping, offset),
	U32(rec_mapping, gone));

STRUCT_TABLE(rec_op,
	U32(rec_op, op),
	U32(rec_op, layer),
	TEXT(rec_op, name),
	TEXT(rec_op, label),
	TEXT(rec_op, requested),
	TEXT(rec_op, module),
	U32(rec_op, module_id),
	U64(rec_op, offset),
	TEXT(rec_op, placement),
	U32(rec_op, syscall_nr),
	U64(rec_op, size));

static STRUCT_TABLE(rec_profile,
	U32(rec_profile, op),
	U64(rec_profile, start_ns),
	U64(rec_profile, end_ns),
	U64(rec_profile, calls),
	U64(rec_profile, sum_ns),
	U64(rec_profile, min_ns),
	U64(rec_profile, max_ns),
	U64(rec_profile, abnormal),
	U64(rec_profile, open),
	U64(rec_profile, oldest_open_ns),
	U64(rec_profile, unseen),
	U64(rec_profile, armed_ns),
	U64(rec_profile, correction_ns),
	BUCKETS,
	U64(rec_profile, cpu_ns),
	U64(rec_profile, armed_cpu_ns),
	U64(rec_profile, probe_ns),
	U64(rec_profile, run_calls),
	U64(rec_profile, run_ns),
	U64(rec_profile, switch_calls),
	U64(rec_profile, switch_cpu_ns),
	U64(rec_profile, cycle_calls),
	U64(rec_profile, cycles),
	U64(rec_profile, gaps),
	U64(rec_profile, gap_cpu_ns),
	U64(rec_profile, gap_sleeper_cpu_ns),
	U64(rec_profile, gap_sleeps),
	U64(rec_profile, ticks),
	U64(rec_profile, ticks_in),
	U64(rec_profile, error_ns),
	U64(rec_profile, program_ns));

static STRUCT_TABLE(rec_sample,
	U32(rec_sample, op),
	U32(rec_sample, tid),
	U64(rec_sample, start_ns),
	U64(rec_sample, latency_ns),
	U32(rec_sample, known),
	I64(rec_sample, ret),
	NUMBERS(rec_sample, args, SAMPLE_ARGS),
	U64(rec_sample, oncpu_ns),
	U64(rec_sample, runqueue_ns),
	U64(rec_sample, minor_faults),
	U64(rec_sample, major_faults),
	U64(rec_sample, migrations),
	U64(rec_sample, sleeps),
	U64(rec_sample, preempted),
	U64(rec_sample, chance_ppm),
	U64(rec_sample, interrupt_ns),
	U64(rec_sample, steal_ns));

static STRUCT_TABLE(rec_open,
	U32(rec_open, op),
	U32(rec_open, pid),
	U32(rec_open, tid),
	TEXT(rec_open, comm),
	U64(rec_open, start_ns),
	U64(rec_open, age_ns),
	U32(rec_open, known),
	NUMBERS(rec_open, args, SAMPLE_ARGS));

static STRUCT_TABLE(rec_tick,
	U64(rec_tick, slice),
	U64(rec_tick, start_ns),
	U64(rec_tick, end_ns),
	U32(rec_tick, layers));

static STRUCT_TABLE(rec_cost,
	U64(rec_cost, at_ns),
	U64(rec_cost, hits),
	U64(rec_cost, ns),
	U64(rec_cost, target_cpu_ns),
	U64(rec_cost, host_cpu_ns),
	U64(rec_cost, other_ns),
	U64(rec_cost, own_cpu_ns),
	U64(rec_cost, step_ns),
	U64(rec_cost, allowed_ns),
	U64(rec_cost, attach_ns),
	U64(rec_cost, wall_ns),
	U64(rec_cost, start_cpu_ns));

static STRUCT_TABLE(rec_loss,
	U64(rec_loss, records),
	U64(rec_loss, samples),
	U64(rec_loss, stacks),
	U64(rec_loss, tainted_ns),
	U64(rec_loss, activations));

static STRUCT_TABLE(rec_note,
	U32(rec_note, level),
	TEXT(rec_note, text));

STRUCT_TABLE(rec_site,
	U32(rec_site, op),
	U32(rec_site, module),
	U64(rec_site, offset),
	U32(rec_site, role),
	U32(rec_site, class),
	I64(rec_site, cfa),
	U64(rec_site, ret),
	U32(rec_site, state),
	U64(rec_site, hits),
	U32(rec_site, ret_valid),
	U32(rec_site, args),
	U32(rec_site, flags));

static STRUCT_TABLE(rec_ack,
	U32(rec_ack, epoch),
	U64(rec_ack, at_ns));

static STRUCT_TABLE(rec_refused,
	U32(rec_refused, epoch),
	U32(rec_refused, op),
	I32(rec_refused, error),
	TEXT(rec_refused, reason));

static STRUCT_TABLE(rec_check,
	TEXT(rec_check, name),
	U32(rec_check, ok),
	TEXT(rec_check, needed_for),
	TEXT(rec_check, remedy));

static STRUCT_TABLE(rec_constant,
	TEXT(rec_constant, name),
	U64(rec_constant, low_ns),
	U64(rec_constant, high_ns),
	U32(rec_constant, measured));

static STRUCT_TABLE(rec_mark,
	U64(rec_mark, at_ns),
	TEXT(rec_mark, label));

STRUCT_TABLE(rec_symbol,
	U32(rec_symbol, module),
	U64(rec_symbol, offset),
	TEXT(rec_symbol, symbol),
	TEXT(rec_symbol, function),
	TEXT(rec_symbol, file),
	U32(rec_symbol, line));

static STRUCT_TABLE(rec_code,
	U32(rec_code, module),
	U64(rec_code, offset));

static STRUCT_TABLE(rec_descent,
	U32(rec_descent, op),
	STRUCT(rec_descent, function, &rec_code_layout),
	U64(rec_descent, low_ns),
	U64(rec_descent, high_ns),
	U32(rec_descent, start_ops),
	U32(rec_descent, decision_ops),
	U32(rec_descent, maxcount_ppm),
	U32(rec_descent, max_depth),
	U32(rec_descent, max_sites),
	U32(rec_descent, level_by_level),
	U64(rec_descent, minor_fault_ns),
	U64(rec_descent, step_ns));

static STRUCT_TABLE(rec_call_site,
	U64(rec_call_site, offset),
	U64(rec_call_site, ret),
	U32(rec_call_site, kind),
	U32(rec_call_site, flags),
	U32(rec_call_site, block),
	STRUCT(rec_call_site, callee, &rec_code_layout),
	U64(rec_call_site, inside_ns),
	U64(rec_call_site, total_ns));

static STRUCT_TABLE(rec_callees,
	STRUCT(rec_callees, function, &rec_code_layout),
	I32(rec_callees, error),
	U32(rec_callees, total),
	ARRAY(rec_callees, sites, nr_sites, FIELD_STRUCTS, FRAME_MAX_SITES, &rec_call_site_layout));

STRUCT_TABLE(rec_operand,
	U32(rec_operand, kind),
	U32(rec_operand, base),
	U32(rec_operand, index),
	U32(rec_operand, scale),
	I64(rec_operand, disp));

static STRUCT_TABLE(rec_indirect_callees,
	U32(rec_indirect_callees, node),
	I32(rec_indirect_callees, error),
	ARRAY(rec_indirect_callees, callees, nr_callees, FIELD_STRUCTS, FRAME_MAX_CALLEES, &rec_code_layout));

static STRUCT_TABLE(rec_inline,
	TEXT(rec_inline, function),
	TEXT(rec_inline, file),
	U32(rec_inline, line),
	U32(rec_inline, inlined));

static STRUCT_TABLE(rec_inlines,
	STRUCT(rec_inlines, place, &rec_code_layout),
	ARRAY(rec_inlines, calls, nr_calls, FIELD_STRUCTS, FRAME_MAX_INLINES, &rec_inline_layout),
	U32(rec_inlines, loop_call),
	U32(rec_inlines, loop_first),
	U32(rec_inlines, loop_last));

static STRUCT_TABLE(rec_call_node,
	U32(rec_call_node, node), U64(rec_call_node, count),
	U64(rec_call_node, max_ns), U64(rec_call_node, sum_ns),
	U64(rec_call_node, blocked_ns), U64(rec_call_node, runqueue_ns),
	U64(rec_call_node, interrupt_ns), U64(rec_call_node, fault_ns));

static STRUCT_TABLE(rec_host_wait,
	U32(rec_host_wait, kind), U64(rec_host_wait, ns),
	U32(rec_host_wait, pid), TEXT(rec_host_wait, name),
	TEXT(rec_host_wait, detail), U32(rec_host_wait, tid));

static STRUCT_TABLE(rec_call,
	U32(rec_call, epoch),
	U32(rec_call, op),
	U32(rec_call, pid),
	U32(rec_call, tid),
	U64(rec_call, start_ns),
	U64(rec_call, latency_ns),
	U64(rec_call, raw_ns),
	U32(rec_call, outcome),
	U32(rec_call, known),
	U64(rec_call, oncpu_ns),
	U64(rec_call, blocked_ns),
	U64(rec_call, runqueue_ns),
	U64(rec_call, preempted_ns),
	U64(rec_call, interrupt_ns),
	U64(rec_call, preemptions),
	U64(rec_call, minor_faults),
	U64(rec_call, major_faults),
	U64(rec_call, fault_ns),
	U32(rec_call, preempted_by_pid),
	TEXT(rec_call, preempted_by),
	U32(rec_call, interrupt),
	TEXT(rec_call, interrupt_name),
	U64(rec_call, chance_ppm),
	ARRAY(rec_call, nodes, nr_nodes, FIELD_STRUCTS, FRAME_MAX_FNODES, &rec_call_node_layout),
	ARRAY(rec_call, waits, nr_waits, FIELD_STRUCTS, FRAME_MAX_HOST_WAITS, &rec_host_wait_layout),
	U32(rec_call, handlers),
	U32(rec_call, handler_signal),
	STRUCT(rec_call, handler, &rec_code_layout));

static STRUCT_TABLE(rec_frame,
	U32(rec_frame, module),
	U64(rec_frame, offset),
	U64(rec_frame, function));

static STRUCT_TABLE(rec_sleep,
	I32(rec_sleep, syscall), TEXT(rec_sleep, call),
	U32(rec_sleep, object), TEXT(rec_sleep, name),
	U32(rec_sleep, ended_by), U32(rec_sleep, waker_pid),
	U32(rec_sleep, waker_tid), TEXT(rec_sleep, waker),
	U64(rec_sleep, lock), TEXT(rec_sleep, holder),
	U32(rec_sleep, exclusive), U64(rec_sleep, slept_ns),
	U64(rec_sleep, asked_ns), U64(rec_sleep, slack_ns),
	U32(rec_sleep, retransmits), TEXT(rec_sleep, doing),
	TEXT(rec_sleep, about));

static STRUCT_TABLE(rec_witness,
	U32(rec_witness, op),
	U32(rec_witness, tid),
	U64(rec_witness, at_ns),
	U64(rec_witness, weight_ns),
	U32(rec_witness, kind),
	STRUCT(rec_witness, sleep, &rec_sleep_layout),
	ARRAY(rec_witness, frames, nr_frames, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	U32(rec_witness, epoch),
	U32(rec_witness, node),
	U32(rec_witness, partial),
	ARRAY(rec_witness, kernel, nr_kernel, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	ARRAY(rec_witness, callers, nr_callers, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout));

static STRUCT_TABLE(rec_fnode,
	U32(rec_fnode, op),
	U32(rec_fnode, node),
	U32(rec_fnode, parent),
	STRUCT(rec_fnode, site, &rec_code_layout),
	STRUCT(rec_fnode, callee, &rec_code_layout),
	U64(rec_fnode, last_site),
	U32(rec_fnode, state),
	U64(rec_fnode, maxcount),
	U64(rec_fnode, votes),
	NUMBERS(rec_fnode, own, FNODE_CANDIDATES),
	U64(rec_fnode, decisions),
	U64(rec_fnode, armed),
	U64(rec_fnode, records),
	U64(rec_fnode, called),
	U64(rec_fnode, sum_ns),
	U64(rec_fnode, max_sum_ns),
	U64(rec_fnode, max_ns),
	U64(rec_fnode, blocked_ns),
	U64(rec_fnode, fault_ns),
	U64(rec_fnode, loop_ns),
	U64(rec_fnode, repeated_ns));

static STRUCT_TABLE(rec_fnode_lost,
	U32(rec_fnode_lost, epoch),
	U32(rec_fnode_lost, node),
	U32(rec_fnode_lost, reason));

static STRUCT_TABLE(rec_walk,
	U32(rec_walk, maxcount_ppm),
	U32(rec_walk, max_depth),
	U32(rec_walk, min_snapshots),
	U32(rec_walk, stop));

static STRUCT_TABLE(rec_thread_snapshot,
	U32(rec_thread_snapshot, reason),
	U32(rec_thread_snapshot, round),
	U32(rec_thread_snapshot, pid),
	U32(rec_thread_snapshot, tid),
	TEXT(rec_thread_snapshot, comm),
	U64(rec_thread_snapshot, at_ns),
	U64(rec_thread_snapshot, weight_ns),
	U32(rec_thread_snapshot, kind),
	U32(rec_thread_snapshot, state),
	STRUCT(rec_thread_snapshot, sleep, &rec_sleep_layout),
	NUMBERS(rec_thread_snapshot, args, SAMPLE_ARGS),
	U32(rec_thread_snapshot, serves),
	U64(rec_thread_snapshot, asleep_ns),
	U64(rec_thread_snapshot, open_ns),
	U32(rec_thread_snapshot, op),
	TEXT(rec_thread_snapshot, kernel),
	U32(rec_thread_snapshot, stop),
	TEXT(rec_thread_snapshot, stop_text),
	ARRAY(rec_thread_snapshot, frames, nr_frames, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	U32(rec_thread_snapshot, awaits));

static STRUCT_TABLE(rec_thread,
	U32(rec_thread, pid),
	U32(rec_thread, tid),
	TEXT(rec_thread, comm),
	U64(rec_thread, at_ns),
	U64(rec_thread, wall_ns),
	U64(rec_thread, cpu_ns),
	U64(rec_thread, runqueue_ns),
	U32(rec_thread, ended));

static STRUCT_TABLE(rec_new_return,
	U32(rec_new_return, op),
	U32(rec_new_return, pid),
	U64(rec_new_return, address));

static STRUCT_TABLE(rec_file,
	U32(rec_file, module),
	I32(rec_file, error),
	U32(rec_file, debug));

static STRUCT_TABLE(rec_stack,
	U32(rec_stack, op),
	U32(rec_stack, epoch),
	U32(rec_stack, pid),
	U32(rec_stack, tid),
	U64(rec_stack, at_ns),
	U64(rec_stack, weight_ns),
	U32(rec_stack, kind),
	STRUCT(rec_stack, sleep, &rec_sleep_layout),
	U32(rec_stack, node),
	U64(rec_stack, cfa),
	ARRAY(rec_stack, regs, nr_regs, FIELD_U64S, 32, NULL),
	ARRAY(rec_stack, words, nr_words, FIELD_U64S, 4096, NULL),
	ARRAY(rec_stack, kernel, nr_kernel, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout));

static STRUCT_TABLE(rec_raw_snapshot,
	STRUCT(rec_raw_snapshot, snapshot, &rec_thread_snapshot_layout),
	ARRAY(rec_raw_snapshot, regs, nr_regs, FIELD_U64S, 32, NULL),
	ARRAY(rec_raw_snapshot, words, nr_words, FIELD_U64S, 4096, NULL));

static STRUCT_TABLE(rec_bye,
	I32(rec_bye, error));

static STRUCT_TABLE(rec_phases,
	TEXT(rec_phases, begin),
	TEXT(rec_phases, end),
	U64(rec_phases, seen),
	U64(rec_phases, ns),
	U32(rec_phases, blind));

// clang-format on

/* The layout of records without fields. */
static const struct struct_layout empty_layout = {0};

const struct struct_layout *record_layout(unsigned int type)
{
	static const struct struct_layout *const layouts[] = {
	    [REC_META] = &rec_meta_layout,
	    [REC_TARGET] = &rec_target_layout,
	    [REC_TARGET_END] = &rec_target_end_layout,
	    [REC_MODULE] = &rec_module_layout,
	    [REC_MAPPING] = &rec_mapping_layout,
	    [REC_OP] = &rec_op_layout,
	    [REC_PROFILE] = &rec_profile_layout,
	    [REC_SAMPLE] = &rec_sample_layout,
	    [REC_OPEN] = &rec_open_layout,
	    [REC_TICK] = &rec_tick_layout,
	    [REC_COST] = &rec_cost_layout,
	    [REC_LOSS] = &rec_loss_layout,
	    [REC_NOTE] = &rec_note_layout,
	    [REC_SITE] = &rec_site_layout,
	    [REC_ACK] = &rec_ack_layout,
	    [REC_REFUSED] = &rec_refused_layout,
	    [REC_CHECK] = &rec_check_layout,
	    [REC_CONSTANT] = &rec_constant_layout,
	    [REC_MARK] = &rec_mark_layout,
	    [REC_SYMBOL] = &rec_symbol_layout,
	    [REC_DESCENT] = &rec_descent_layout,
	    [REC_CALLEES] = &rec_callees_layout,
	    [REC_INDIRECT_CALLEES] = &rec_indirect_callees_layout,
	    [REC_CALL] = &rec_call_layout,
	    [REC_WITNESS] = &rec_witness_layout,
	    [REC_FNODE] = &rec_fnode_layout,
	    [REC_FNODE_LOST] = &rec_fnode_lost_layout,
	    [REC_PHASES] = &rec_phases_layout,
	    [REC_INLINES] = &rec_inlines_layout,
	    [REC_WALK] = &rec_walk_layout,
	    [REC_THREAD_SNAPSHOT] = &rec_thread_snapshot_layout,
	    [REC_THREAD] = &rec_thread_layout,
	    [REC_NEW_RETURN] = &rec_new_return_layout,
	    [REC_FILE] = &rec_file_layout,
	    [REC_BYE] = &rec_bye_layout,
	    [REC_ALIVE] = &empty_layout,
	    [REC_STACK] = &rec_stack_layout,
	    [REC_RAW_SNAPSHOT] = &rec_raw_snapshot_layout,
	};

	if (type < sizeof(layouts) / sizeof(layouts[0]) && layouts[type])
		return layouts[type];
	return waits_layout(type) ? waits_layout(type) : request_layout(type);
}
