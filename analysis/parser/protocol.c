// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/parser/protocol.h"

#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"

// clang-format off

#define HEAD(s) FIELDS(s, id, module, offset, op, pid, error, reason)

/* Fields are appended, never inserted: see codec.h. */
static STRUCT_TABLE(parse_mapping,
	FIELDS(parse_mapping, module, start, end, offset));

static STRUCT_TABLE(parse_request,
	FIELDS(parse_request, id, module, offset, text, max, cursor, op, policy),
	FIELDS(parse_request, max_skip, max_sites),
	ARRAY(parse_request, offsets, nr_offsets, FIELD_U64S, PARSE_MAX_OFFSETS, NULL),
	FIELDS(parse_request, pid),
	ARRAY(parse_request, mappings, nr_mappings, FIELD_STRUCTS, PARSE_MAX_MAPPINGS,
	      &parse_mapping_layout),
	ARRAY(parse_request, regs, nr_regs, FIELD_U64S, PARSE_MAX_REGS, NULL),
	ARRAY(parse_request, words, nr_words, FIELD_U64S, PARSE_MAX_WORDS, NULL),
	ARRAY(parse_request, pieces, nr_pieces, FIELD_U64S, STACK_PIECES_WORDS, NULL));

static STRUCT_TABLE(parsed_module,
	HEAD(parsed_module),
	FIELDS(parsed_module, build_id, debuglink, wants_debug, position_independent, has_symtab),
	FIELDS(parsed_module, has_dwarf, has_eh_frame, size, truncated, unread));

static STRUCT_TABLE(parsed_function,
	FIELDS(parsed_function, module, offset, size, symbol, function, ifunc, source, source_name),
	FIELDS(parsed_function, exported));

static STRUCT_TABLE(parsed_functions,
	HEAD(parsed_functions),
	FIELDS(parsed_functions, total, cursor),
	ARRAY(parsed_functions, functions, nr, FIELD_STRUCTS, PARSE_MAX_FUNCTIONS,
	      &parsed_function_layout));

static STRUCT_TABLE(parsed_symbols,
	HEAD(parsed_symbols),
	ARRAY(parsed_symbols, symbols, nr, FIELD_STRUCTS, PARSE_MAX_OFFSETS, &rec_symbol_layout));

static STRUCT_TABLE(parsed_plan,
	HEAD(parsed_plan),
	FIELDS(parsed_plan, why, text, price, needs_learning, callers, abnormal),
	ARRAY(parsed_plan, sites, nr_sites, FIELD_STRUCTS, FRAME_MAX_SITES, &rec_site_layout),
	FIELDS(parsed_plan, size));

static STRUCT_TABLE(parsed_share,
	FIELDS(parsed_share, reason, functions));

static STRUCT_TABLE(parsed_coverage,
	HEAD(parsed_coverage),
	FIELDS(parsed_coverage, cursor, functions, pairs),
	FIELDS(parsed_coverage, entry_emulated, entry_stepped, only_direct, only_direct_pairs),
	FIELDS(parsed_coverage, calls, calls_indirect, ends_emulated, ends_straight, ends_stepped),
	FIELDS(parsed_coverage, ends_none, text),
	ARRAY(parsed_coverage, shares, nr, FIELD_STRUCTS, PARSE_MAX_SHARES,
	      &parsed_share_layout));

static STRUCT_TABLE(parsed_mappings,
	HEAD(parsed_mappings),
	FIELDS(parsed_mappings, nr));

static STRUCT_TABLE(parsed_frame,
	FIELDS(parsed_frame, module, offset, function, cfa, flags));

static STRUCT_TABLE(parsed_frames,
	HEAD(parsed_frames),
	FIELDS(parsed_frames, stop, missing),
	ARRAY(parsed_frames, frames, nr, FIELD_STRUCTS, PARSE_MAX_FRAMES, &parsed_frame_layout));

static STRUCT_TABLE(parsed_inline,
	FIELDS(parsed_inline, function, file, line, inlined));

static STRUCT_TABLE(parsed_chain,
	FIELDS(parsed_chain, offset),
	ARRAY(parsed_chain, calls, nr, FIELD_STRUCTS, PARSE_MAX_INLINES, &parsed_inline_layout),
	FIELDS(parsed_chain, loop_call, loop_first, loop_last));

static STRUCT_TABLE(parsed_inlines,
	HEAD(parsed_inlines),
	ARRAY(parsed_inlines, chains, nr, FIELD_STRUCTS, PARSE_MAX_OFFSETS, &parsed_chain_layout));

static STRUCT_TABLE(parsed_insn,
	FIELDS(parsed_insn, offset, text, file, line, flags));

static STRUCT_TABLE(parsed_code,
	HEAD(parsed_code),
	FIELDS(parsed_code, function, start, size, total, site),
	ARRAY(parsed_code, insns, nr, FIELD_STRUCTS, PARSE_MAX_INSNS, &parsed_insn_layout));

static STRUCT_TABLE(parsed_at,
	FIELDS(parsed_at, id, module));

static STRUCT_TABLE(parsed_not,
	FIELDS(parsed_not, id, type, reason));

static STRUCT_TABLE(parsed_call_site,
	FIELDS(parsed_call_site, offset, ret, kind, flags, block, known, callee, import),
	FIELDS(parsed_call_site, why),
	STRUCT(parsed_call_site, start, &rec_site_layout),
	STRUCT(parsed_call_site, end, &rec_site_layout),
	STRUCT(parsed_call_site, operand, &rec_operand_layout));

static STRUCT_TABLE(parsed_call_sites,
	HEAD(parsed_call_sites),
	FIELDS(parsed_call_sites, total),
	ARRAY(parsed_call_sites, sites, nr, FIELD_STRUCTS, FRAME_MAX_SITES,
	      &parsed_call_site_layout));

// clang-format on

const struct struct_layout *parse_layout(unsigned int type)
{
	static const struct struct_layout *const answers[] = {
	    [PARSED_MODULE - PARSED_MODULE] = &parsed_module_layout,
	    [PARSED_FUNCTIONS - PARSED_MODULE] = &parsed_functions_layout,
	    [PARSED_SYMBOLS - PARSED_MODULE] = &parsed_symbols_layout,
	    [PARSED_PLAN - PARSED_MODULE] = &parsed_plan_layout,
	    [PARSED_COVERAGE - PARSED_MODULE] = &parsed_coverage_layout,
	    [PARSED_AT - PARSED_MODULE] = &parsed_at_layout,
	    [PARSED_NOT - PARSED_MODULE] = &parsed_not_layout,
	    [PARSED_CALL_SITES - PARSED_MODULE] = &parsed_call_sites_layout,
	    [PARSED_MAPPINGS - PARSED_MODULE] = &parsed_mappings_layout,
	    [PARSED_FRAMES - PARSED_MODULE] = &parsed_frames_layout,
	    [PARSED_INLINES - PARSED_MODULE] = &parsed_inlines_layout,
	    [PARSED_CODE - PARSED_MODULE] = &parsed_code_layout,
	};

	if (type >= PARSE_ADD_MODULE && type < PARSE_LAST)
		return &parse_request_layout;
	if (type >= PARSED_MODULE && type < PARSED_LAST)
		return answers[type - PARSED_MODULE];
	return NULL;
}
