// SPDX-License-Identifier: GPL-2.0-or-later
/* The layouts of the front's requests, and of the record that repeats one. */
#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"

// clang-format off
/* The order is the order on the wire: append, never insert. */
static STRUCT_TABLE(req_phases,
	FIELDS(req_phases, begin_op, end_op, begin_call, end_call, begin, end));

static STRUCT_TABLE(req_layers,
	FIELDS(req_layers, mask));

static STRUCT_TABLE(req_arm,
	FIELDS(req_arm, epoch),
	STRUCT(req_arm, op, &rec_op_layout),
	ARRAY(req_arm, sites, nr_sites, FIELD_STRUCTS, FRAME_MAX_SITES, &rec_site_layout),
	FIELDS(req_arm, drop_exits, keep_exits));

static STRUCT_TABLE(req_fnode,
	FIELDS(req_fnode, node, parent),
	STRUCT(req_fnode, start, &rec_site_layout),
	STRUCT(req_fnode, end, &rec_site_layout),
	FIELDS(req_fnode, only_return));

static STRUCT_TABLE(req_descend,
	FIELDS(req_descend, epoch, op, low_ns, high_ns, stop, sampled),
	ARRAY(req_descend, nodes, nr_nodes, FIELD_STRUCTS, FRAME_MAX_FNODES, &req_fnode_layout));

static STRUCT_TABLE(req_disarm,
	FIELDS(req_disarm, epoch, op));

static STRUCT_TABLE(req_file,
	FIELDS(req_file, module, build_id, name));

static STRUCT_TABLE(req_learn,
	FIELDS(req_learn, op, node, parent),
	STRUCT(req_learn, site, &rec_site_layout),
	STRUCT(req_learn, operand, &rec_operand_layout));

static STRUCT_TABLE(req_target,
	FIELDS(req_target, pid));

static STRUCT_TABLE(req_waits,
	FIELDS(req_waits, epoch, stop, window_ns, hops, spare));

static STRUCT_TABLE(req_thread_snapshots,
	FIELDS(req_thread_snapshots, reason, round, op, stop));

static STRUCT_TABLE(req_stack_piece,
	FIELDS(req_stack_piece, pid, tid, switches, sp, address));

static STRUCT_TABLE(rec_chosen,
	FIELDS(rec_chosen, id, is_process));

static STRUCT_TABLE(rec_choice,
	FIELDS(rec_choice, at_ns, threads, chosen_threads),
	ARRAY(rec_choice, chosen, nr_chosen, FIELD_STRUCTS, FRAME_MAX_CHOSEN, &rec_chosen_layout));
static STRUCT_TABLE(req_keep,
	FIELDS(req_keep, op, least_ns, only_calls));

static STRUCT_TABLE(rec_member,
	FIELDS(rec_member, argument, offset, size, is_pointer));

static STRUCT_TABLE(req_members,
	FIELDS(req_members, op),
	ARRAY(req_members, members, nr_members, FIELD_STRUCTS, SAMPLE_MEMBERS, &rec_member_layout),
	STRUCT(req_members, text, &rec_member_layout));

// clang-format on

/* The layout of requests without fields. */
static const struct struct_layout empty_layout = {0};

const struct struct_layout *request_layout(unsigned int type)
{
	static const struct struct_layout *const layouts[] = {
	    [REQ_HEARTBEAT] = &empty_layout,
	    [REQ_LAYERS] = &req_layers_layout,
	    [REQ_ARM] = &req_arm_layout,
	    [REQ_DISARM] = &req_disarm_layout,
	    [REQ_FILE] = &req_file_layout,
	    [REQ_DEBUG_FILE] = &req_file_layout,
	    [REQ_STOP] = &empty_layout,
	    [REQ_GO] = &empty_layout,
	    [REQ_DESCEND] = &req_descend_layout,
	    [REQ_TARGET] = &req_target_layout,
	    [REQ_PHASES] = &req_phases_layout,
	    [REQ_THREAD_SNAPSHOTS] = &req_thread_snapshots_layout,
	    [REQ_LEARN] = &req_learn_layout,
	    [REQ_WAITS] = &req_waits_layout,
	    [REQ_STACK_PIECE] = &req_stack_piece_layout,
	    [REQ_KEEP] = &req_keep_layout,
	    [REQ_MEMBERS] = &req_members_layout,
	    [REC_CHOICE] = &rec_choice_layout,
	    [REQ_CHOICE] = &rec_choice_layout,
	};

	return type < sizeof(layouts) / sizeof(layouts[0]) ? layouts[type] : NULL;
}
