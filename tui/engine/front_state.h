/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the front share. Private to tui/engine.
 *
 * front.c            start and end, requests, messages
 * front_loop.c       the event loop
 * front_stream.c     the stream of records and who takes it
 * front_collector.c  the collector as a process
 * front_driver.c    the front as the host of a descent and a walk
 * front_stacks.c     stacks on their way through the parser
 * front_snapshots.c      looks on their way through the parser
 * front_search.c     functions whose names are like a text
 * front_phases.c     --begin and --end
 * watches.c          the functions that are watched; watch_find.c, watch_arm.c
 * watch_modules.c    the files of the target on their way to the parser
 */
#ifndef PEAKTOP_FRONT_STATE_H
#define PEAKTOP_FRONT_STATE_H

#include <stdarg.h>

#include "analysis/base/buf.h"
#include "analysis/parser/protocol.h"
#include "analysis/session/collector_options.h"
#include "collect/process/channel.h"
#include "tui/engine/descent_driver.h"
#include "tui/engine/front.h"
#include "tui/engine/parser.h"
#include "tui/engine/record_queue.h"
#include "tui/session/session_file.h"

enum {
	FRONT_MAX_MESSAGES = 256,
	FRONT_MAX_OP = 65536,
	FRONT_MAX_MODULES = 4096,
	FRONT_MAX_MAPPINGS = 65536,
	FRONT_MAX_WATCHES = 64,
	FRONT_MAX_STACKS = 64, /* at the parser */
	FRONT_MAX_SNAPSHOTS = 1024,
	SNAPSHOT_ROUNDS =
	    1u << 30, /* rounds of snapshots have epochs above this, rounds of arming below */
	WATCH_MAX_RETURNS = 128, /* return addresses learnt for one function */
	WATCH_FIRST_OP = 1024, /* numbers of functions begin here; the collector's own lie below */
};

enum module_stage {
	MODULE_NEW = 0,
	MODULE_ASKED,
	MODULE_ADDED,
	MODULE_DEBUG_ASKED,
	MODULE_READY,
	MODULE_BROKEN
};

struct front_module {
	enum module_stage stage;
	char *path;
	char *name; /* base name without " (deleted)" */
};

struct front_mapping {
	uint32_t pid, module;
	uint64_t start, end, offset;
	bool gone; /* the module was unmapped; kept for snapshots that were taken before */
};

enum watch_stage {
	WATCH_WAITING = 0, /* for the modules of the target to be read */
	WATCH_FINDING,
	WATCH_NEAREST, /* nothing of that name: asking for names like it */
	WATCH_IFUNC,
	WATCH_PLANNING,
	WATCH_ARMING,
	WATCH_ARMED,
	WATCH_DORMANT, /* its module or function is not there yet */
	WATCH_REFUSED,
	WATCH_SAME, /* begins or ends phases, and is watched already */
};

/* One function that the user wants watched. */
struct watch {
	struct op_spec spec;
	char *text; /* spec.text points here */
	enum watch_stage stage;
	bool from_command_line;
	bool edge;	    /* only begins or ends phases: its own calls are not shown */
	struct watch *same; /* WATCH_SAME: the watch of the same function */
	uint32_t op;
	uint32_t epoch; /* of the last REQ_ARM */
	uint32_t module;
	uint64_t offset, size;
	char *symbol, *function; /* linkage name and for people */
	char *placement;
	struct rec_site
	    *sites; /* to be armed: of one function, or of all that an IFUNC may become */
	uint32_t nr_sites;
	uint32_t plans_left;	/* IFUNC: candidates still to be planned */
	uint32_t nr_returns;	/* learnt */
	uint32_t returns_asked; /* learnt, and being planned by the parser */
	uint64_t discovered_ns; /* when the last new return address was seen */
	bool has_exits, exits_stepped, exits_dropped, keep_exits;
	uint64_t calls_now; /* in the last slice */
};

/* Functions whose names are like what a person types. */
struct front_search {
	char *text;	 /* typed and not answered yet */
	uint64_t number; /* of this text: an answer to an older one is dropped */
	bool asked;	 /* the parser, about this text */
	char *answered;	 /* the text that `list` answers */
	struct function_candidate *list;
	size_t nr;
	bool fresh; /* `list` was not taken yet */
};

/* The collector as a process, and the socket to it. */
struct front_collector {
	struct channel *channel;
	pid_t pid;
	int pidfd;  /* -1: none; readable once it has ended */
	bool alive; /* its loop has begun */
	bool stop_asked;
	uint64_t turn_ns;   /* of the last turn of our loop */
	uint64_t silent_ns; /* nothing came while our loop was going round for so long */
	uint64_t heartbeat_ns;
};

/* The stream of records, and who takes it. */
struct front_stream {
	struct model *model;
	struct session_writer
	    *recording; /* the file asked for, or one without a name for snapshots */
	int recording_error;
	struct descent_driver *driver;
	struct walker *walker;
	struct open_calls *open_calls;
	bool feeding; /* a record is being taken: those made meanwhile wait in `made` */
	struct record_queue made;
	uint32_t unwanted[FRONT_MAX_OP / 32]; /* operations that nobody asked for */
};

/* What a person is told, and why there will be no answer. */
struct front_said {
	int failure; /* exit status; 0: nothing is wrong */
	char failure_line[640];
	char **messages;
	size_t nr_messages;
	char *message_out;
	unsigned int parser_deaths; /* deaths that were already reported */
};

/* The files that the targets map, and where. */
struct front_files {
	struct front_module modules[FRONT_MAX_MODULES];
	uint32_t nr_modules;
	struct front_mapping *mappings;
	size_t nr_mappings, cap_mappings;
	uint64_t mappings_version; /* changes with each of them */
	bool wanted;		   /* the parser is to read them all */
};

struct front_watches {
	struct watch *list[FRONT_MAX_WATCHES];
	size_t nr;
	uint32_t next_op, next_epoch;
};

/* --begin and --end. */
struct front_phases {
	struct watch *begin, *end; /* where these are functions */
	struct req_phases sent;
	char line[640]; /* what to say if no phase began */
};

/* Who wants instructions. */
struct front_code {
	uint64_t number; /* of the newest question */
	void (*answer)(void *ctx, const struct parsed_code *code);
	void *ctx;
};

struct front {
	const struct options *options;
	struct parser *parser; /* NULL: none */
	struct front_collector collector;
	struct front_stream stream;
	struct front_said said;
	struct front_files files;
	struct front_watches watches;
	struct front_phases phases;
	struct front_search search;
	struct front_code code;
	struct front_stacks *stacks;	   /* NULL before the first */
	struct front_snapshots *snapshots; /* NULL before the first */
	uint32_t next_round;		   /* of looks */
	bool all_layers;
	uint32_t layers; /* measured now */
	bool go_at_once; /* a screen does not wait for functions to be found */
	bool going;	 /* the command runs, or the measurement has begun */
	bool over;	 /* the stream has ended */
};

/* Without a collector and a parser; front_free(). NULL: no memory. */
struct front *front_new(const struct front_options *fo);
void front_message(struct front *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The first reason counts. */
void front_fail(struct front *f, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int front_request(struct front *f, const struct record *rec);
/* Ask the parser; false: it cannot be asked, and there will be no answer. */
bool front_ask(struct front *f, enum parse_type type, struct parse_request *req,
	       const struct parser_reply *reply);
/*
 * Pass a record to the model, the recording and all other consumers. If a consumer is
 * processing a record now, the new one is queued until all consumers have processed that.
 */
void front_feed(struct front *f, const struct record *rec);

/* front_collector.c: the collector as a process. */
int collector_start(struct front *f, const struct front_options *fo, uid_t uid, gid_t gid);
/* Something came from it. */
void collector_heard(struct front *f, const struct record *rec);
/* Called once a turn: end the stream if the collector has died or does not answer. */
void collector_take_snapshots(struct front *f, uint64_t now_ns);
/* Called when the collector closed its end of the stream. */
void collector_closed(struct front *f);
/* Wait until it has ended, but not for ever. */
void collector_wait(struct front *f);

/* front_phases.c */
void phases_add(struct front *f);
/* Tell the collector which operations begin and end phases, when that is known or has changed. */
void phases_send(struct front *f);
/* The edge `w` was found to be this place: is that watched already? */
bool phases_same(struct front *f, struct watch *w, uint32_t module, uint64_t offset);
/* Must this edge wait until the other functions are found? */
bool phases_wait(const struct front *f, const struct watch *w);
/* One of the two cannot be watched: nothing would ever count. */
bool phases_refused(const struct front *f);
/* Is this operation watched only because it begins or ends phases? */
bool phases_only(const struct front *f, uint32_t op);
/* Why there are none: "--begin NAME" or "--end NAME" of a watch, for a reason; NULL: it is no edge.
 */
const char *phases_option(const struct front *f, const struct watch *w);

/* front_stacks.c */
void stacks_take(struct front *f, const struct rec_stack *stack);
/* The parser has the mappings of this process, or gets them first. */
bool stacks_mappings(struct front *f, uint32_t pid);
/* A new parser has no mappings: send all again. */
void stacks_mappings_forget(struct front *f);

/* front_snapshots.c */
void snapshots_take(struct front *f, const struct rec_raw_snapshot *raw_snapshot);
void snapshots_move(struct front *f);
void snapshots_acknowledged(struct front *f, uint32_t round);
void snapshots_release(struct front *f);

/* front_driver.c */
int front_driver_init(struct front *f);

/* front_search.c */
void search_release(struct front *f);

/* watches.c */
/* NULL: not a function, or no room. */
struct watch *watches_add(struct front *f, const struct op_spec *spec, bool from_command_line);
/* NULL: it is not watched any more. */
struct watch *watch_by_op(struct front *f, uint32_t op);
void watch_refuse(struct front *f, struct watch *w, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * New files were mapped or the process executed a program: search again for functions that
 * were not found.
 */
void watches_wake(struct front *f);
void watches_module(struct front *f, const struct rec_module *m);
void watches_mapping(struct front *f, const struct rec_mapping *m);
void watches_file(struct front *f, const struct rec_file *file, int fd);
void watches_acknowledged(struct front *f, const struct rec_ack *ack);
void watches_refused(struct front *f, const struct rec_refused *r);
void watches_profile(struct front *f, const struct rec_profile *p);
/* Take the next step with every watch that can go on, and let a command run when all are armed. */
void watches_move(struct front *f);
void watches_release(struct front *f);

/* watch_find.c: find the function of a watch, then plan it. */
void watch_find(struct front *f, struct watch *w);

/* watch_arm.c */
/* Have the parser plan where to probe this function; then arm it. */
void watch_plan(struct front *f, struct watch *w, uint32_t module, uint64_t offset);
void watch_arm_kernel(struct front *f, struct watch *w);
/* Called for a new return address of a watched function. */
void watches_new_return(struct front *f, const struct rec_new_return *l);
/* A slice has ended: change over to ends on the callers' side where it pays. */
void watches_tick(struct front *f);

/* watch_modules.c: files of the target on their way to the parser. */
void modules_want(struct front *f);
/* Drop the mappings that were unmapped. */
void mappings_purge(struct front *f);
/* Base name; "" if unknown. */
const char *module_name(const struct front *f, uint32_t module);
void front_modules_release(struct front *f);
/* All modules that can be read have been read. */
bool modules_settled(const struct front *f);

#endif
