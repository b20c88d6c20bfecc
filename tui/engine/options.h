/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the command line (docs/man/), parsed by tui/cli/command_line.h. */
#pragma once

#include "analysis/descent/choose.h"
#include "analysis/latency/condition.h"

enum verb {
	VERB_SCREEN = 0, /* peaktop [TARGET] */
	VERB_REPLAY,	 /* peaktop -r FILE */
	VERB_WATCH,
	VERB_DESCEND,
	VERB_CHAINS,
	VERB_CRITICAL,
	VERB_RECORD,
	VERB_RESUME,
	VERB_DIFF,
	VERB_WHY,
	VERB_EXPORT,
	VERB_DOCTOR,
	VERB_HELP, /* peaktop help */
	VERB_VERSION,
};

enum op_kind {
	OP_ALL_SYSCALLS = 0,
	OP_SYSCALL,
	OP_FUNCTION,
	OP_OFFSET,
	OP_KERNEL,
	OP_BLOCK,
	OP_URING, /* all requests, or those of operation `name` */
	OP_NET,
	OP_LOCK,
	OP_RUNQUEUE
};

enum { OPTIONS_MAX_OPS = 64, OPTIONS_MAX_PIDS = 256, OPTIONS_NAME = 1024, OPTIONS_MAX_VALUES = 4 };

/* One OP of the command line. */
struct op_spec {
	enum op_kind kind;
	const char *text;	   /* as given on the command line */
	char name[OPTIONS_NAME];   /* function or system call */
	char module[OPTIONS_NAME]; /* base name after @, "" if none */
	uint64_t offset;
	bool of_set; /* one of the functions that a pattern stands for */
};

struct options {
	enum verb verb;
	pid_t pids[OPTIONS_MAX_PIDS];
	size_t nr_pids;
	bool host;		/* --host: kernel functions, whoever calls them */
	bool matched;		/* `pids` matched a name, a unit, a control group or a container */
	char targets_note[320]; /* which of the processes that were named are not in `pids`; "" */
	unsigned int thread;	/* --thread: only this thread; 0: all */
	const char *name;	/* -n */
	const char *unit, *cgroup, *container;
	const char *bare; /* a name given by itself: a process, a unit or a container */
	char **command;	  /* after --, NULL if none */
	struct op_spec ops[OPTIONS_MAX_OPS];
	size_t nr_ops;
	struct op_spec begin_op, end_op;
	bool has_begin, has_end;
	const char *values[OPTIONS_MAX_VALUES]; /* --value: "kind", "req->len", "arg0->len" */
	size_t nr_values;
	bool no_values;
	const char *files[2]; /* session files */
	size_t nr_files;
	const char *output;	      /* -o */
	uint64_t ring_bytes, ring_ns; /* --ring: a size, or a time; both 0: no ring */
	const char *when;	      /* --when, as given; NULL: not given */
	struct condition condition;   /* what it says */
	uint64_t every_ns;	      /* --every */
	const char *exec;	      /* --exec */
	const char *format;	      /* --format */
	const char *script;	      /* --script */
	const char *at, *op;	      /* why --at, --op */
	double for_s;		      /* 0: the verb's default */
	double interval_s;	      /* 1, or the verb's default */
	unsigned int resolution;
	double max_overhead; /* percent */
	bool follow, json, json_lines, quiet, ascii, no_mouse, no_boost, all_peaks;
	bool csv;
	unsigned int top; /* print only so many operations; 0: all */
	bool help, version, dump_config;
	/* of the screen, from the configuration (tui/cli/config.h) */
	int theme;	  /* enum theme_wish */
	uint32_t columns; /* as in struct screen_options; so are the next ones */
	uint64_t column_order;
	int sort;
	bool reverse;
	bool open;			  /* descend --open: list the calls that are open now */
	bool per_process;		  /* chains: not per thread */
	const char *view;		  /* chains: what to print; NULL: the tree */
	bool rsp_compat;		  /* chains: follow only what fits, as the RSP paper does */
	bool force;			  /* --force: -o may replace an older session */
	bool even_if_changed;		  /* resume: go on although latencies have changed */
	uint64_t given;			  /* bit i: the option in row i of option_rows was given */
	struct descent_question question; /* options of descend */
};

static inline bool options_have_ring(const struct options *o)
{
	return o->ring_bytes || o->ring_ns;
}

/* True if a target was given, in whatever way. */
static inline bool options_have_target(const struct options *o)
{
	return o->nr_pids || o->thread || o->name || o->unit || o->cgroup || o->container ||
	       o->bare || o->command || o->host;
}
