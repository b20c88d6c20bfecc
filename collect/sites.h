/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site table, which functions, descents and the search for callees share. */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

struct site_table {
	uint32_t used[PT_SITES / 32], last;
};

/* Allocate and free an entry of the site table. Returns its index or -ENOSPC. */
int site_index_take(struct collector *c);
void site_index_drop(struct collector *c, uint32_t i);
/* True if the site is inside code that a target maps. */
bool site_is_mapped(const struct collector *c, const struct rec_site *s);
bool target_maps(const struct collector *c, pid_t pid, uint32_t module);
