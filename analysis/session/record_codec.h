/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of each type of record in the payload of its frame. */
#pragma once

#include "analysis/session/codec.h"
#include "analysis/session/record.h"

/* The layout of a type of record. Its offsets are relative to &record->meta, the first byte
 * of the union. NULL if this version does not support the type. */
const struct struct_layout *record_layout(unsigned int type);
/* Parts of record_layout(): the layouts of requests, and of the records of record_waits.h. */
const struct struct_layout *request_layout(unsigned int type);
const struct struct_layout *waits_layout(unsigned int type);

/* The layouts of structs inside other records. */
extern const struct struct_layout rec_op_layout;
extern const struct struct_layout rec_site_layout;
extern const struct struct_layout rec_symbol_layout;
extern const struct struct_layout rec_operand_layout;
