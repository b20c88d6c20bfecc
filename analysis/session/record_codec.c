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
	FIELDS(rec_meta, version, host, kernel, boot_id, realtime_ns, monotonic_ns, cpus),
	FIELDS(rec_meta, interval_ns, command, resolution, budget_ppm, shown));

static STRUCT_TABLE(rec_target,
	FIELDS(rec_target, pid, ns_pid, started_ns, uid, comm, exe, threads, requested));

static STRUCT_TABLE(rec_target_end,
	FIELDS(rec_target_end, pid, at_ns, has_status, status, started, has_probes, probes),
	FIELDS(rec_target_end, unprobed_ns));

static STRUCT_TABLE(rec_module,
	FIELDS(rec_module, module, dev, inode, path, size, name));

static STRUCT_TABLE(rec_mapping,
	FIELDS(rec_mapping, pid, module, start, end, offset, gone, copied));

STRUCT_TABLE(rec_op,
	FIELDS(rec_op, op, layer, name, label, requested, module, module_id, offset),
	FIELDS(rec_op, placement, syscall_nr, size));

static STRUCT_TABLE(rec_profile,
	FIELDS(rec_profile, op, start_ns, end_ns, calls, sum_ns, min_ns, max_ns, abnormal),
	FIELDS(rec_profile, open, oldest_open_ns, unseen, armed_ns, correction_ns),
	BUCKETS,
	FIELDS(rec_profile, cpu_ns, armed_cpu_ns, probe_ns, run_calls, run_ns, switch_calls),
	FIELDS(rec_profile, switch_cpu_ns, cycle_calls, cycles, gaps, gap_cpu_ns),
	FIELDS(rec_profile, gap_sleeper_cpu_ns, gap_sleeps, ticks, ticks_in, error_ns, program_ns),
	FIELDS(rec_profile, callers));

static STRUCT_TABLE(rec_sample,
	FIELDS(rec_sample, op, tid, start_ns, latency_ns, known, ret),
	NUMBERS(rec_sample, args, SAMPLE_ARGS),
	FIELDS(rec_sample, oncpu_ns, runqueue_ns, minor_faults, major_faults, migrations, sleeps),
	FIELDS(rec_sample, preempted, chance_ppm, interrupt_ns, steal_ns),
	NUMBERS(rec_sample, members, SAMPLE_MEMBERS),
	FIELDS(rec_sample, text));

static STRUCT_TABLE(rec_open,
	FIELDS(rec_open, op, pid, tid, comm, start_ns, age_ns, known),
	NUMBERS(rec_open, args, SAMPLE_ARGS));

static STRUCT_TABLE(rec_tick,
	FIELDS(rec_tick, slice, start_ns, end_ns, layers));

static STRUCT_TABLE(rec_cost,
	FIELDS(rec_cost, at_ns, hits, ns, target_cpu_ns, host_cpu_ns, other_ns, own_cpu_ns),
	FIELDS(rec_cost, step_ns, allowed_ns, attach_ns, wall_ns, start_cpu_ns),
	FIELDS(rec_cost, kernel_ns));

static STRUCT_TABLE(rec_loss,
	FIELDS(rec_loss, records, samples, stacks, tainted_ns, activations));

static STRUCT_TABLE(rec_note,
	FIELDS(rec_note, level, text));

STRUCT_TABLE(rec_site,
	FIELDS(rec_site, op, module, offset, role, class, cfa, ret, state),
	FIELDS(rec_site, hits, ret_valid, args, flags));

static STRUCT_TABLE(rec_ack,
	FIELDS(rec_ack, epoch, at_ns));

static STRUCT_TABLE(rec_refused,
	FIELDS(rec_refused, epoch, op, error, reason));

static STRUCT_TABLE(rec_check,
	FIELDS(rec_check, name, ok, needed_for, remedy));

static STRUCT_TABLE(rec_constant,
	FIELDS(rec_constant, name, low_ns, high_ns, measured));

static STRUCT_TABLE(rec_mark,
	FIELDS(rec_mark, at_ns, label, end_ns));

STRUCT_TABLE(rec_symbol,
	FIELDS(rec_symbol, module, offset, symbol, function, file, line, parameters));

static STRUCT_TABLE(rec_code,
	FIELDS(rec_code, module, offset));

static STRUCT_TABLE(rec_descent,
	FIELDS(rec_descent, op),
	STRUCT(rec_descent, function, &rec_code_layout),
	FIELDS(rec_descent, low_ns, high_ns, start_ops, decision_ops, maxcount_ppm, max_depth),
	FIELDS(rec_descent, max_sites, level_by_level, minor_fault_ns, step_ns, resumes, choice),
	FIELDS(rec_descent, sampled, part, mean_ns, kernel_ns));

static STRUCT_TABLE(rec_open_ask,
	FIELDS(rec_open_ask, requested, syscall),
	STRUCT(rec_open_ask, function, &rec_code_layout));

static STRUCT_TABLE(rec_question,
	FIELDS(rec_question, op, peak, peak_low_ns, peak_high_ns, slowest_ppm, start_ops),
	FIELDS(rec_question, start_ops_given, decision_ops, maxcount_ppm, max_depth, max_sites),
	FIELDS(rec_question, level_by_level));

static STRUCT_TABLE(rec_part,
	FIELDS(rec_part, kind, few, low_ns, high_ns, calls, time_ns));

static STRUCT_TABLE(rec_parts,
	FIELDS(rec_parts, op, calls, time_ns, covered_ns),
	ARRAY(rec_parts, parts, nr_parts, FIELD_STRUCTS, FRAME_MAX_PARTS, &rec_part_layout));

static STRUCT_TABLE(rec_call_site,
	FIELDS(rec_call_site, offset, ret, kind, flags, block),
	STRUCT(rec_call_site, callee, &rec_code_layout),
	FIELDS(rec_call_site, inside_ns, total_ns));

static STRUCT_TABLE(rec_callees,
	STRUCT(rec_callees, function, &rec_code_layout),
	FIELDS(rec_callees, error, total),
	ARRAY(rec_callees, sites, nr_sites, FIELD_STRUCTS, FRAME_MAX_SITES, &rec_call_site_layout));

STRUCT_TABLE(rec_operand,
	FIELDS(rec_operand, kind, base, index, scale, disp));

static STRUCT_TABLE(rec_indirect_callees,
	FIELDS(rec_indirect_callees, node, error),
	ARRAY(rec_indirect_callees, callees, nr_callees, FIELD_STRUCTS, FRAME_MAX_CALLEES, &rec_code_layout));

static STRUCT_TABLE(rec_inline,
	FIELDS(rec_inline, function, file, line, inlined));

static STRUCT_TABLE(rec_inlines,
	STRUCT(rec_inlines, place, &rec_code_layout),
	ARRAY(rec_inlines, calls, nr_calls, FIELD_STRUCTS, FRAME_MAX_INLINES, &rec_inline_layout),
	FIELDS(rec_inlines, loop_call, loop_first, loop_last));

static STRUCT_TABLE(rec_call_node,
	FIELDS(rec_call_node, node, count, max_ns, sum_ns, blocked_ns, runqueue_ns, interrupt_ns),
	FIELDS(rec_call_node, fault_ns));

static STRUCT_TABLE(rec_host_wait,
	FIELDS(rec_host_wait, kind, ns, pid, name, detail, tid));

static STRUCT_TABLE(rec_call,
	FIELDS(rec_call, epoch, op, pid, tid, start_ns, latency_ns, raw_ns, outcome),
	FIELDS(rec_call, known, oncpu_ns, blocked_ns, runqueue_ns, preempted_ns, interrupt_ns),
	FIELDS(rec_call, preemptions, minor_faults, major_faults, fault_ns, preempted_by_pid),
	FIELDS(rec_call, preempted_by, interrupt, interrupt_name, chance_ppm),
	ARRAY(rec_call, nodes, nr_nodes, FIELD_STRUCTS, FRAME_MAX_FNODES, &rec_call_node_layout),
	ARRAY(rec_call, waits, nr_waits, FIELD_STRUCTS, FRAME_MAX_HOST_WAITS, &rec_host_wait_layout),
	FIELDS(rec_call, handlers, handler_signal),
	STRUCT(rec_call, handler, &rec_code_layout));

static STRUCT_TABLE(rec_frame,
	FIELDS(rec_frame, module, offset, function));

static STRUCT_TABLE(rec_sleep,
	FIELDS(rec_sleep, syscall, call),
	NUMBERS(rec_sleep, args, WAITS_ARGS),
	FIELDS(rec_sleep, object, name, flags, bracket, interrupt, waker_pid, waker_tid, waker),
	FIELDS(rec_sleep, holder, slept_ns, asked_ns, slack_ns, retransmits, doing, work, about),
	FIELDS(rec_sleep, queued, room, overflows));

static STRUCT_TABLE(rec_witness,
	FIELDS(rec_witness, op, tid, at_ns, weight_ns, kind),
	STRUCT(rec_witness, sleep, &rec_sleep_layout),
	ARRAY(rec_witness, frames, nr_frames, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	FIELDS(rec_witness, epoch, node, partial),
	ARRAY(rec_witness, kernel, nr_kernel, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	ARRAY(rec_witness, callers, nr_callers, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	FIELDS(rec_witness, functions));

static STRUCT_TABLE(rec_clock,
	FIELDS(rec_clock, at_ns, realtime_ns));

static STRUCT_TABLE(rec_slow_call,
	STRUCT(rec_slow_call, call, &rec_call_layout),
	FIELDS(rec_slow_call, usual_ns, limit_ns, known),
	NUMBERS(rec_slow_call, args, SAMPLE_ARGS),
	FIELDS(rec_slow_call, missing),
	ARRAY(rec_slow_call, sleeps, nr_sleeps, FIELD_STRUCTS, SLOW_CALL_SLEEPS, &rec_witness_layout),
	FIELDS(rec_slow_call, blocked));

static STRUCT_TABLE(rec_fnode,
	FIELDS(rec_fnode, op, node, parent),
	STRUCT(rec_fnode, site, &rec_code_layout),
	STRUCT(rec_fnode, callee, &rec_code_layout),
	FIELDS(rec_fnode, last_site, state, maxcount, votes),
	NUMBERS(rec_fnode, own, FNODE_CANDIDATES),
	FIELDS(rec_fnode, decisions, armed, records, called, sum_ns, max_sum_ns, max_ns),
	FIELDS(rec_fnode, blocked_ns, fault_ns, loop_ns, repeated_ns));

static STRUCT_TABLE(rec_build_id,
	FIELDS(rec_build_id, module, build_id));

static STRUCT_TABLE(rec_fnode_lost,
	FIELDS(rec_fnode_lost, epoch, node, reason));

static STRUCT_TABLE(rec_walk,
	FIELDS(rec_walk, maxcount_ppm, max_depth, min_snapshots, stop));

static STRUCT_TABLE(rec_thread_snapshot,
	FIELDS(rec_thread_snapshot, reason, round, pid, tid, comm, at_ns, weight_ns, kind),
	FIELDS(rec_thread_snapshot, state),
	STRUCT(rec_thread_snapshot, sleep, &rec_sleep_layout),
	NUMBERS(rec_thread_snapshot, args, SAMPLE_ARGS),
	FIELDS(rec_thread_snapshot, serves, asleep_ns, open_ns, op, kernel, stop, stop_text),
	ARRAY(rec_thread_snapshot, frames, nr_frames, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	FIELDS(rec_thread_snapshot, awaits));

static STRUCT_TABLE(rec_thread,
	FIELDS(rec_thread, pid, tid, comm, at_ns, wall_ns, cpu_ns, runqueue_ns, ended),
	FIELDS(rec_thread, quota_ns, quota_of, quota_detail, faults, unseen_cpu_ns, unseen_faults,
	       fault_low_ns),
	FIELDS(rec_thread, fault_high_ns, joined_ns, left_out));

static STRUCT_TABLE(rec_new_return,
	FIELDS(rec_new_return, op, pid, address));

static STRUCT_TABLE(rec_file,
	FIELDS(rec_file, module, error, debug));

static STRUCT_TABLE(rec_stack,
	FIELDS(rec_stack, op, epoch, pid, tid, at_ns, weight_ns, kind),
	STRUCT(rec_stack, sleep, &rec_sleep_layout),
	FIELDS(rec_stack, node, cfa, found_start_ns),
	ARRAY(rec_stack, regs, nr_regs, FIELD_U64S, 32, NULL),
	ARRAY(rec_stack, words, nr_words, FIELD_U64S, 4096, NULL),
	ARRAY(rec_stack, kernel, nr_kernel, FIELD_STRUCTS, FRAME_MAX_STACK, &rec_frame_layout),
	FIELDS(rec_stack, functions));

static STRUCT_TABLE(rec_raw_snapshot,
	STRUCT(rec_raw_snapshot, snapshot, &rec_thread_snapshot_layout),
	ARRAY(rec_raw_snapshot, regs, nr_regs, FIELD_U64S, 32, NULL),
	ARRAY(rec_raw_snapshot, words, nr_words, FIELD_U64S, 4096, NULL),
	FIELDS(rec_raw_snapshot, switches),
	ARRAY(rec_raw_snapshot, pieces, nr_pieces, FIELD_U64S, STACK_PIECES_WORDS, NULL));

static STRUCT_TABLE(rec_stack_piece,
	FIELDS(rec_stack_piece, tid, wanted, address),
	ARRAY(rec_stack_piece, words, nr_words, FIELD_U64S, STACK_PIECE_WORDS, NULL));

static STRUCT_TABLE(rec_bye,
	FIELDS(rec_bye, error));

static STRUCT_TABLE(rec_phases,
	FIELDS(rec_phases, begin, end, seen, ns, blind));

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
	    [REC_BOOKMARK] = &rec_mark_layout,
	    [REC_SYMBOL] = &rec_symbol_layout,
	    [REC_DESCENT] = &rec_descent_layout,
	    [REC_PARTS] = &rec_parts_layout,
	    [REC_CALLEES] = &rec_callees_layout,
	    [REC_INDIRECT_CALLEES] = &rec_indirect_callees_layout,
	    [REC_CALL] = &rec_call_layout,
	    [REC_WITNESS] = &rec_witness_layout,
	    [REC_FNODE] = &rec_fnode_layout,
	    [REC_FNODE_LOST] = &rec_fnode_lost_layout,
	    [REC_BUILD_ID] = &rec_build_id_layout,
	    [REC_SAVED_PROFILE] = &rec_profile_layout,
	    [REC_PHASES] = &rec_phases_layout,
	    [REC_CLOCK] = &rec_clock_layout,
	    [REC_SLOW_CALL] = &rec_slow_call_layout,
	    [REC_QUESTION] = &rec_question_layout,
	    [REC_OPEN_ASK] = &rec_open_ask_layout,
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
	    [REC_STACK_PIECE] = &rec_stack_piece_layout,
	};

	if (type < sizeof(layouts) / sizeof(layouts[0]) && layouts[type])
		return layouts[type];
	return waits_layout(type) ? waits_layout(type) : request_layout(type);
}
