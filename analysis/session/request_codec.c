// SPDX-License-Identifier: GPL-2.0-or-later
/* The layouts of the front's requests, and of the record that repeats one. */
#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"

// clang-format off
/* The order is the order on the wire: append, never insert. */
static STRUCT_TABLE(req_phases,
	U32(req_phases, begin_op),
	U32(req_phases, end_op),
	U32(req_phases, begin_call),
	U32(req_phases, end_call),
	TEXT(req_phases, begin),
	TEXT(req_phases, end));

static STRUCT_TABLE(req_layers,
	U32(req_layers, mask));

static STRUCT_TABLE(req_arm,
	U32(req_arm, epoch),
	STRUCT(req_arm, op, &rec_op_layout),
	ARRAY(req_arm, sites, nr_sites, FIELD_STRUCTS, FRAME_MAX_SITES, &rec_site_layout),
	U32(req_arm, drop_exits),
	U32(req_arm, keep_exits));

static STRUCT_TABLE(req_fnode,
	U32(req_fnode, node),
	U32(req_fnode, parent),
	STRUCT(req_fnode, start, &rec_site_layout),
	STRUCT(req_fnode, end, &rec_site_layout),
	U64(req_fnode, only_return));

static STRUCT_TABLE(req_descend,
	U32(req_descend, epoch),
	U32(req_descend, op),
	U64(req_descend, low_ns),
	U64(req_descend, high_ns),
	U32(req_descend, stop),
	ARRAY(req_descend, nodes, nr_nodes, FIELD_STRUCTS, FRAME_MAX_FNODES, &req_fnode_layout));

static STRUCT_TABLE(req_disarm,
	U32(req_disarm, epoch),
	U32(req_disarm, op));

static STRUCT_TABLE(req_file,
	U32(req_file, module),
	TEXT(req_file, build_id),
	TEXT(req_file, name));

static STRUCT_TABLE(req_learn,
	U32(req_learn, op),
	U32(req_learn, node),
	U32(req_learn, parent),
	STRUCT(req_learn, site, &rec_site_layout),
	STRUCT(req_learn, operand, &rec_operand_layout));

static STRUCT_TABLE(req_target,
	U32(req_target, pid));

static STRUCT_TABLE(req_waits,
	U32(req_waits, epoch),
	U32(req_waits, stop),
	U64(req_waits, window_ns),
	U32(req_waits, hops),
	U32(req_waits, spare));

static STRUCT_TABLE(req_thread_snapshots,
	U32(req_thread_snapshots, reason),
	U32(req_thread_snapshots, round),
	U32(req_thread_snapshots, op),
	U32(req_thread_snapshots, stop));
static STRUCT_TABLE(rec_chosen,
	U32(rec_chosen, id),
	U32(rec_chosen, is_process));

static STRUCT_TABLE(rec_choice,
	U64(rec_choice, at_ns),
	U32(rec_choice, threads),
	U32(rec_choice, chosen_threads),
	ARRAY(rec_choice, chosen, nr_chosen, FIELD_STRUCTS, FRAME_MAX_CHOSEN, &rec_chosen_layout));
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
	    [REC_CHOICE] = &rec_choice_layout,
	    [REQ_CHOICE] = &rec_choice_layout,
	};

	return type < sizeof(layouts) / sizeof(layouts[0]) ? layouts[type] : NULL;
}
