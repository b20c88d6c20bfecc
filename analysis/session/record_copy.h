/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of records and of other structs that have a layout. What a received record points to is
 * valid only while the record is handled; whoever keeps it for longer keeps a copy.
 *
 * A copy is one block of memory with everything that it points to: free() it. Texts are cut as in
 * struct_encode(), and NULL becomes "". NULL: out of memory.
 */
#pragma once

#include "analysis/session/codec.h"
#include "analysis/session/record.h"

void *struct_copy(const struct struct_layout *layout, const void *object);
struct record *record_copy(const struct record *rec);
