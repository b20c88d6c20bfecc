/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of the server.
 *
 * serve.c          requests, answers, the loop
 * serve_modules.c  the modules that the client handed over
 * serve_names.c    FIND, NEAREST, INLINED, LIST, IFUNC, SYMBOLS
 * serve_plan.c     PLAN, PLAN_RETURN, COVERAGE
 * serve_call_sites.c  CALL_SITES, SLOTS
 * serve_unwind.c   MAPPINGS, UNWIND
 * serve_inlines.c  INLINES
 * serve_code.c     CODE
 */
#pragma once

#include "analysis/code/coverage.h"
#include "analysis/code/placement.h"
#include "analysis/module/module.h"
#include "analysis/parser/protocol.h"
#include "analysis/session/codec.h"
#include "tui/parser/serve.h"

struct module_source; /* source_module.c */
struct server_unwind; /* serve_unwind.c */

struct server_module {
	uint32_t number;  /* 0: free */
	int fd, debug_fd; /* debug_fd -1: none */
	char *name;
	uint64_t used;	 /* number of the request that last needed this module */
	uint64_t opened; /* number of the request for which it was opened */
	/* created when needed, freed when memory is short */
	struct module *module;
	struct module_source *source;
	struct placer *placer;
	struct coverage_run *coverage; /* refers to `placer` */
};

struct server {
	struct server_module modules[PARSE_MAX_MODULES]; /* by number */
	uint32_t nr_modules;
	uint64_t requests;
	struct channel *channel; /* of the current request */
	struct arena arena;	 /* memory of the current answer */
	struct parse_request request;
	struct server_unwind *unwind; /* NULL before the first request that needs it */
};

/* Queue a message that is no answer. 0 or a negative errno; -E2BIG: too large, nothing was queued.
 */
int server_send(struct server *s, enum parse_type type, const void *message);
/* Queue an answer, after what it repeats of the request was filled in. Returns as server_send(). */
int server_answer(struct server *s, enum parse_type type, void *answer);

/* ---- serve_modules.c ---- */
int serve_add_module(struct server *s, int fd);
int serve_add_debug(struct server *s, int fd);
int serve_forget(struct server *s);
/* The module with this number, opened if it is not open. NULL with `error` and `reason` on failure.
 */
struct module *server_module(struct server *s, uint32_t number, int *error, const char **reason);
/* The planner of a module, with the policy of the request. NULL as in server_module(). */
struct placer *server_placer(struct server *s, uint32_t number, int *error, const char **reason);
/* A module with its coverage count, started again if `anew`, else continued. NULL as in
 * server_module(). */
struct server_module *server_coverage(struct server *s, bool anew, int *error, const char **reason);
/* True for the vDSO: its code has names and frames, but it cannot be probed. */
bool server_is_vdso(const struct server *s, uint32_t number);
/* The module after `number` (0: the first); 0 at the end. */
uint32_t server_next_module(const struct server *s, uint32_t number);
/* If much memory is in use, free the data of the least recently used modules except `keep`. */
void server_trim(struct server *s, uint32_t keep);
void server_module_release(struct server_module *m);
/* The message for an error of module_open() and similar functions. */
const char *module_error_text(int error);

/* ---- serve_names.c ---- */
int serve_find(struct server *s);
int serve_nearest(struct server *s);
int serve_inlined(struct server *s);
int serve_list(struct server *s);
int serve_ifunc(struct server *s);
int serve_symbols(struct server *s);

/* ---- serve_plan.c ---- */
int serve_plan(struct server *s);
int serve_plan_return(struct server *s);
int serve_coverage(struct server *s);
/* Find the module, the planner and the virtual address of the request's offset. 0, or a negative
 * errno with `reason`. */
int server_locate(struct server *s, struct module **m, struct placer **p, uint64_t *vaddr,
		  const char **reason);
/* Convert a place into a site of the request's module and operation. */
struct rec_site server_site(const struct server *s, const struct module *m, const struct place *p);

/* ---- serve_call_sites.c ---- */
int serve_call_sites(struct server *s);
int serve_slots(struct server *s);

/* ---- serve_unwind.c ---- */
int serve_mappings(struct server *s);
int serve_unwind(struct server *s);
/* Drop the unwinder's data of a module whose file or debug file has changed. */
void server_unwind_forget(struct server *s, uint32_t module);
void server_unwind_free(struct server *s);

/* ---- serve_inlines.c ---- */
int serve_inlines(struct server *s);

/* ---- serve_code.c ---- */
int serve_code(struct server *s);
