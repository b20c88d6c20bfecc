// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/parser/protocol.h"

#include "analysis/session/field_table.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_codec.h"

// clang-format off

/* Fields are appended, never inserted: see codec.h. */
static STRUCT_TABLE(parse_mapping,
	U32(parse_mapping, module),
	U64(parse_mapping, start),
	U64(parse_mapping, end),
	U64(parse_mapping, offset));

static STRUCT_TABLE(parse_request,
	U32(parse_request, id),
	U32(parse_request, module),
	U64(parse_request, offset),
	TEXT(parse_request, text),
	U32(parse_request, max),
	U64(parse_request, cursor),
	U32(parse_request, op),
	U32(parse_request, policy),
	U32(parse_request, max_skip),
	U32(parse_request, max_sites),
	ARRAY(parse_request, offsets, nr_offsets, FIELD_U64S, PARSE_MAX_OFFSETS, NULL),
	U32(parse_request, pid),
	ARRAY(parse_request, mappings, nr_mappings, FIELD_STRUCTS, PARSE_MAX_MAPPINGS,
	      &parse_mapping_layout),
	ARRAY(parse_request, regs, nr_regs, FIELD_U64S, PARSE_MAX_REGS, NULL),
	ARRAY(parse_request, words, nr_words, FIELD_U64S, PARSE_MAX_WORDS, NULL));

static STRUCT_TABLE(parsed_module,
	U32(parsed_module, id),
	U32(parsed_module, module),
	I32(parsed_module, error),
	TEXT(parsed_module, reason),
	TEXT(parsed_module, build_id),
	TEXT(parsed_module, debuglink),
	U32(parsed_module, wants_debug),
	U32(parsed_module, position_independent),
	U32(parsed_module, has_symtab),
	U32(parsed_module, has_dwarf),
	U32(parsed_module, has_eh_frame),
	U64(parsed_module, size),
	U32(parsed_module, truncated));

static STRUCT_TABLE(parsed_function,
	U32(parsed_function, module),
	U64(parsed_function, offset),
	U64(parsed_function, size),
	TEXT(parsed_function, symbol),
	TEXT(parsed_function, function),
	U32(parsed_function, ifunc),
	U32(parsed_function, source),
	TEXT(parsed_function, source_name),
	U32(parsed_function, exported));

static STRUCT_TABLE(parsed_functions,
	U32(parsed_functions, id),
	I32(parsed_functions, error),
	TEXT(parsed_functions, reason),
	U64(parsed_functions, total),
	U64(parsed_functions, cursor),
	ARRAY(parsed_functions, functions, nr, FIELD_STRUCTS, PARSE_MAX_FUNCTIONS,
	      &parsed_function_layout));

static STRUCT_TABLE(parsed_symbols,
	U32(parsed_symbols, id),
	I32(parsed_symbols, error),
	TEXT(parsed_symbols, reason),
	ARRAY(parsed_symbols, symbols, nr, FIELD_STRUCTS, PARSE_MAX_OFFSETS, &rec_symbol_layout));

static STRUCT_TABLE(parsed_plan,
	U32(parsed_plan, id),
	U32(parsed_plan, module),
	U64(parsed_plan, offset),
	U32(parsed_plan, op),
	I32(parsed_plan, error),
	U32(parsed_plan, why),
	TEXT(parsed_plan, text),
	TEXT(parsed_plan, price),
	U32(parsed_plan, needs_learning),
	U32(parsed_plan, callers),
	U32(parsed_plan, abnormal),
	ARRAY(parsed_plan, sites, nr_sites, FIELD_STRUCTS, FRAME_MAX_SITES, &rec_site_layout),
	U64(parsed_plan, size));

static STRUCT_TABLE(parsed_share,
	TEXT(parsed_share, reason),
	U64(parsed_share, functions));

static STRUCT_TABLE(parsed_coverage,
	U32(parsed_coverage, id),
	U32(parsed_coverage, module),
	I32(parsed_coverage, error),
	TEXT(parsed_coverage, reason),
	U64(parsed_coverage, cursor),
	U64(parsed_coverage, functions),
	U64(parsed_coverage, pairs),
	U64(parsed_coverage, entry_emulated),
	U64(parsed_coverage, entry_stepped),
	U64(parsed_coverage, only_direct),
	U64(parsed_coverage, only_direct_pairs),
	U64(parsed_coverage, calls),
	U64(parsed_coverage, calls_indirect),
	U64(parsed_coverage, ends_emulated),
	U64(parsed_coverage, ends_straight),
	U64(parsed_coverage, ends_stepped),
	U64(parsed_coverage, ends_none),
	TEXT(parsed_coverage, text),
	ARRAY(parsed_coverage, shares, nr, FIELD_STRUCTS, PARSE_MAX_SHARES,
	      &parsed_share_layout));

static STRUCT_TABLE(parsed_mappings,
	U32(parsed_mappings, id),
	U32(parsed_mappings, pid),
	I32(parsed_mappings, error),
	TEXT(parsed_mappings, reason),
	U32(parsed_mappings, nr));

static STRUCT_TABLE(parsed_frame,
	U32(parsed_frame, module),
	U64(parsed_frame, offset),
	U64(parsed_frame, function),
	U64(parsed_frame, cfa),
	U32(parsed_frame, flags));

static STRUCT_TABLE(parsed_frames,
	U32(parsed_frames, id),
	U32(parsed_frames, pid),
	I32(parsed_frames, error),
	TEXT(parsed_frames, reason),
	U32(parsed_frames, stop),
	U64(parsed_frames, missing),
	ARRAY(parsed_frames, frames, nr, FIELD_STRUCTS, PARSE_MAX_FRAMES, &parsed_frame_layout));

static STRUCT_TABLE(parsed_inline,
	TEXT(parsed_inline, function),
	TEXT(parsed_inline, file),
	U32(parsed_inline, line),
	U32(parsed_inline, inlined));

static STRUCT_TABLE(parsed_chain,
	U64(parsed_chain, offset),
	ARRAY(parsed_chain, calls, nr, FIELD_STRUCTS, PARSE_MAX_INLINES, &parsed_inline_layout),
	U32(parsed_chain, loop_call),
	U32(parsed_chain, loop_first),
	U32(parsed_chain, loop_last));

static STRUCT_TABLE(parsed_inlines,
	U32(parsed_inlines, id),
	U32(parsed_inlines, module),
	I32(parsed_inlines, error),
	TEXT(parsed_inlines, reason),
	ARRAY(parsed_inlines, chains, nr, FIELD_STRUCTS, PARSE_MAX_OFFSETS, &parsed_chain_layout));

static STRUCT_TABLE(parsed_insn,
	U64(parsed_insn, offset),
	TEXT(parsed_insn, text),
	TEXT(parsed_insn, file),
	U32(parsed_insn, line),
	U32(parsed_insn, flags));

static STRUCT_TABLE(parsed_code,
	U32(parsed_code, id),
	U32(parsed_code, module),
	U64(parsed_code, offset),
	I32(parsed_code, error),
	TEXT(parsed_code, reason),
	TEXT(parsed_code, function),
	U64(parsed_code, start),
	U64(parsed_code, size),
	U32(parsed_code, total),
	U32(parsed_code, site),
	ARRAY(parsed_code, insns, nr, FIELD_STRUCTS, PARSE_MAX_INSNS, &parsed_insn_layout));

static STRUCT_TABLE(parsed_at,
	U32(parsed_at, id),
	U32(parsed_at, module));

static STRUCT_TABLE(parsed_not,
	U32(parsed_not, id),
	U32(parsed_not, type),
	TEXT(parsed_not, reason));

static STRUCT_TABLE(parsed_call_site,
	U64(parsed_call_site, offset),
	U64(parsed_call_site, ret),
	U32(parsed_call_site, kind),
	U32(parsed_call_site, flags),
	U32(parsed_call_site, block),
	U32(parsed_call_site, known),
	U64(parsed_call_site, callee),
	TEXT(parsed_call_site, import),
	U32(parsed_call_site, why),
	STRUCT(parsed_call_site, start, &rec_site_layout),
	STRUCT(parsed_call_site, end, &rec_site_layout),
	STRUCT(parsed_call_site, operand, &rec_operand_layout));

static STRUCT_TABLE(parsed_call_sites,
	U32(parsed_call_sites, id),
	U32(parsed_call_sites, module),
	U64(parsed_call_sites, offset),
	I32(parsed_call_sites, error),
	TEXT(parsed_call_sites, reason),
	U32(parsed_call_sites, total),
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
