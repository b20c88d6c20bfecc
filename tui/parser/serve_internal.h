/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the server share.
 *
 * serve.c          requests, answers, the loop
 * serve_modules.c  the modules it was handed
 * serve_names.c    FIND, NEAREST, LIST, IFUNC, SYMBOLS
 * serve_plan.c     PLAN, PLAN_RETURN, COVERAGE
 * serve_call_sites.c  CALL_SITES
 * serve_unwind.c   MAPPINGS, UNWIND
 * serve_inlines.c  INLINES
 * serve_code.c     CODE
 */
#ifndef PEAKTOP_CODE_SERVE_INTERNAL_H
#define PEAKTOP_CODE_SERVE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

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
	uint64_t used; /* when it was last needed, in requests */
	/* made when needed, given back when memory is short */
	struct module *module;
	struct module_source *source;
	struct placer *placer;
	struct coverage_run *coverage; /* of the planner */
};

struct server {
	struct server_module modules[PARSE_MAX_MODULES]; /* by number */
	uint32_t nr_modules;
	uint64_t requests;
	struct channel *channel; /* of the request in work */
	struct arena arena;	 /* of its answer */
	struct parse_request request;
	struct server_unwind *unwind; /* once asked for */
};

/* Queue an answer. -E2BIG: too large, nothing was queued. */
int server_answer(struct server *s, enum parse_type type, const void *answer);

/* ---- serve_modules.c ---- */
int serve_add_module(struct server *s, int fd);
int serve_add_debug(struct server *s, int fd);
int serve_remove(struct server *s);
/* The file of a module, opened if need be; NULL with the reason. */
struct module *server_module(struct server *s, uint32_t number, int *error, const char **reason);
/* Its planner under the policy of the request; NULL as above. */
struct placer *server_placer(struct server *s, uint32_t number, int *error, const char **reason);
/* A module with its count of placements, begun anew or going on; NULL as above. */
struct server_module *server_coverage(struct server *s, bool anew, int *error, const char **reason);
/* The module after `number` (0: the first); 0 at the end. */
uint32_t server_next_module(const struct server *s, uint32_t number);
/* When much memory is in use, give some back: of modules not needed for long, but for `keep`. */
void server_trim(struct server *s, uint32_t keep);
void server_module_release(struct server_module *m);
/* Words for what module_open() and others return. */
const char *module_error_text(int error);

/* ---- serve_names.c ---- */
int serve_find(struct server *s);
int serve_nearest(struct server *s);
int serve_list(struct server *s);
int serve_ifunc(struct server *s);
int serve_symbols(struct server *s);

/* ---- serve_plan.c ---- */
int serve_plan(struct server *s);
int serve_plan_return(struct server *s);
int serve_coverage(struct server *s);
/* Where the request's offset is in memory, with the planner and the module; or an error with its
 * reason. */
int server_locate(struct server *s, struct module **m, struct placer **p, uint64_t *vaddr,
		  const char **reason);
/* A place as a site of the request's module and operation. */
struct rec_site server_site(const struct server *s, const struct module *m, const struct place *p);

/* ---- serve_call_sites.c ---- */
int serve_call_sites(struct server *s);

/* ---- serve_unwind.c ---- */
int serve_mappings(struct server *s);
int serve_unwind(struct server *s);
/* The file of this module, or what names it, is another one now. */
void server_unwind_forget(struct server *s, uint32_t module);
void server_unwind_free(struct server *s);

/* ---- serve_inlines.c ---- */
int serve_inlines(struct server *s);

/* ---- serve_code.c ---- */
int serve_code(struct server *s);

#endif
