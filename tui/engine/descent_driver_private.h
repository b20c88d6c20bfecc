/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the driver of a descent share.
 *
 * descent_driver.c          records, actions
 * descent_driver_callees.c  call sites of functions, imports, places of fnodes
 * descent_driver_names.c    names of places
 * descent_driver_parts.c    answers of earlier descents into parts of the operation
 * descent_driver_inlines.c  inlined calls at places
 */
#pragma once

#include "analysis/descent/first_hop.h"
#include "analysis/latency/profile.h"
#include "analysis/session/frame.h"
#include "tui/engine/descent_driver.h"
#include "tui/engine/name_requests.h"

enum {
	DRIVER_MAX_FUNCTIONS = 4096,
	DRIVER_MAX_IMPORTS = 16384,
	DRIVER_MAX_ENTRIES = 4096,
	DRIVER_MAX_SYMBOLS = 32768,
	DRIVER_MAX_MODULES = 4096,
	DRIVER_MAX_STARTS = 256,
	DRIVER_MAX_INLINES = 8192,
};

enum lookup { LOOKUP_ASKED = 0, LOOKUP_KNOWN };

/* The call sites of one function. */
struct callees {
	struct rec_code function;
	enum lookup state;
	bool reported; /* REC_CALLEES is in the stream */
	int32_t error;
	uint32_t total, nr;
	struct parsed_call_site *sites; /* ascending; imports are owned */
	uint32_t *import;		/* per site: index in `imports` + 1, or 0 */
};

/* A function that other modules define. */
struct import {
	char *name;
	enum lookup state;
	struct rec_code code; /* module 0: not found, or ambiguous */
};

/* The entry site of a function. */
struct entry {
	struct rec_code function;
	enum lookup state;
	bool valid;
	struct rec_site site;
};

/* What was measured of an operation before its descent began. */
struct start {
	uint32_t op;
	struct profile profile;
};

/* The inlined calls at a place. */
struct driver_inlines {
	struct rec_code place;
	struct rec_inlines *answer; /* NULL: requested, and no answer yet */
};

/* The answer of a descent into a part, which is over. */
struct driver_part {
	struct rec_descent ask;
	struct descent_result result;
	struct hops *hops;	     /* NULL: there was no descent into this part */
	struct descent_driver *view; /* as driver_part() returns it */
};

/* Several descents, one after the other, into the parts of an operation. */
struct driver_parts {
	struct rec_parts all; /* its `parts` is `list` */
	struct rec_part list[FRAME_MAX_PARTS];
	struct driver_part over[FRAME_MAX_PARTS];
};

struct descent_driver {
	struct driver_host host;
	bool live;
	struct descent *descent;
	struct hops *hops;
	struct rec_descent ask;
	bool asked, over;
	struct rec_question question; /* op 0: none */
	struct driver_waited beside;
	struct driver_parts *parts;	   /* NULL: the stream has had none; shared by all views */
	const struct descent_result *kept; /* of a view: its answer */
	bool arm_waits;			   /* arming waits for entries of callees */
	bool unacknowledged;		   /* no REC_ACK yet for the last arming */
	bool contradicted;		   /* it was noted that saved votes were dropped */
	uint32_t epoch;
	uint32_t nr_armed;
	struct descent_armed armed[DESCENT_MAX_SITES];

	struct start *starts;
	size_t nr_starts, cap_starts;

	struct callees *functions;
	size_t nr_functions, cap_functions;
	struct import *imports;
	size_t nr_imports, cap_imports;
	struct entry *entries;
	size_t nr_entries, cap_entries;

	struct driver_symbol *symbols; /* ascending (module, offset) */
	size_t nr_symbols, cap_symbols;
	struct name_requests *names;	/* NULL for a replay */
	struct driver_inlines *inlines; /* sorted by place */
	size_t nr_inlines, cap_inlines;
	unsigned int inlines_asked;
	struct driver_module {
		char *name; /* without folder; NULL: not known */
		struct module_origin id;
	} * modules;  /* by number */
	char *kernel; /* its release; NULL: not known */
	uint32_t nr_modules, cap_modules;
};

/* Answer DESCENT_EXPAND with REC_CALLEES, at once or when the parser has answered. */
void callees_want(struct descent_driver *d, struct rec_code function);
/* The call site at this place, if the call sites of its function are known. */
const struct parsed_call_site *callees_site(const struct descent_driver *d, struct rec_code site);
/* The entry site of a function, which is requested if it is new. NULL with *wait set: the answer is
 * pending. NULL without: there is no entry site. */
const struct rec_site *entry_want(struct descent_driver *d, struct rec_code function, bool *wait);
void callees_release(struct descent_driver *d);

void parts_take(struct descent_driver *d, const struct rec_parts *parts);
/* Before the descent changes to `ask`: keep the answer of the present one, or forget all. */
void parts_turn(struct descent_driver *d, const struct rec_descent *ask);
void parts_release(struct descent_driver *d);

void names_symbol(struct descent_driver *d, const struct rec_symbol *s);
void names_module(struct descent_driver *d, const struct rec_module *m);
void names_kernel(struct descent_driver *d, const struct rec_meta *m);
void names_build_id(struct descent_driver *d, const struct rec_build_id *b);
void names_release(struct descent_driver *d);

/* Request the inlined calls that the result needs. True: no request is outstanding. */
bool inlines_ask(struct descent_driver *d, const struct descent_result *r);
void inlines_take(struct descent_driver *d, const struct rec_inlines *r);
void inlines_release(struct descent_driver *d);

/* descent_driver.c: send the pending armed set if the entries of all its callees are known. */
void driver_arm(struct descent_driver *d);
