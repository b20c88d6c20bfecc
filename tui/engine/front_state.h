/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the front share. Private to tui/engine.
 *
 * front.c            start and end, requests, messages
 * front_loop.c       the event loop
 * front_stream.c     the stream of records and its consumers
 * front_collector.c  the collector as a process
 * front_descent.c    callbacks of the descent and the walk into the front
 * front_ring.c       the recording of --ring
 * front_aside.c      a part of a ring, copied to a session of its own
 * front_stacks.c     sends stack samples to the parser, takes their frames
 * front_snapshots.c  thread snapshots and their frames
 * front_waits.c      asks for the tracing of waits; the frames of their user stacks
 * stack_queue.c      raw stacks of snapshots and waits that wait for the parser
 * saved_descent.c    a descent of a saved session that goes on; saved_places.c: its functions here
 * front_search.c     finds functions whose names are like a text
 * front_phases.c     --begin and --end
 * watches.c          the watched functions; watch_find.c, watch_bound.c, watch_arm.c
 * watch_modules.c    hands the files of the target to the parser
 */
#pragma once

#include <stdarg.h>

#include "analysis/base/buf.h"
#include "analysis/latency/slow_calls.h"
#include "analysis/parser/protocol.h"
#include "analysis/session/collector_options.h"
#include "collect/process/chances.h"
#include "collect/process/channel.h"
#include "tui/engine/courier.h"
#include "tui/engine/descent_driver.h"
#include "tui/engine/front.h"
#include "tui/engine/parser.h"
#include "tui/engine/record_queue.h"
#include "tui/engine/told_call.h"
#include "tui/session/session_file.h"

enum {
	FRONT_MAX_MESSAGES = 256,
	FRONT_MAX_OP = 65536,
	FRONT_MAX_MODULES = 4096,
	FRONT_MAX_MAPPINGS = 65536,
	FRONT_MAX_WATCHES = 64,
	FRONT_CHOSEN = 256,
	FRONT_MAX_STACKS = 64, /* stacks being unwound by the parser */
	FRONT_MAX_UNCHECKED = 8,
	SNAPSHOT_ROUNDS =
	    1u << 30, /* rounds of snapshots have epochs above this, rounds of arming below */
	WATCH_CANDIDATES = 12,	 /* functions with an ambiguous name */
	WATCH_MAX_RETURNS = 128, /* return addresses learnt for one function */
	WATCH_FIRST_OP =
	    1024, /* first operation number of watched functions; the collector uses those below */
};

enum module_stage {
	MODULE_NEW = 0,
	MODULE_ASKED,
	MODULE_ADDED,
	MODULE_DEBUG_ASKED,
	MODULE_READY,
	MODULE_BROKEN,
	MODULE_GONE, /* another file has taken its place */
};

struct front_module {
	enum module_stage stage;
	char *path;
	char *name;  /* base name without " (deleted)" */
	bool locked; /* could not be opened in time: a lock or a file system does not respond */
	bool unread; /* it was noted that its lines cannot be read */
};

struct front_mapping {
	uint32_t pid, module;
	uint64_t start, end, offset;
	bool gone;   /* the module was unmapped; kept for stacks that were taken before */
	bool copied; /* a copy in anonymous memory, which cannot be probed */
};

enum watch_stage {
	WATCH_WAITING = 0, /* until the modules of the target are read */
	WATCH_FINDING,
	WATCH_INLINED, /* no function has this name: searching those into which it was inlined */
	WATCH_NEAREST, /* no function has this name: searching similar names */
	WATCH_BOUND,   /* several files have the name: searching which one is called */
	WATCH_IFUNC,
	WATCH_PLANNING,
	WATCH_ARMING,
	WATCH_ARMED,
	WATCH_DORMANT, /* its module or function is not loaded yet */
	WATCH_REFUSED,
	WATCH_SAME, /* an edge whose function another watch covers: see `same` */
};

/* One function that the user wants watched. */
struct watch {
	struct op_spec spec;
	char *text; /* spec.text points here */
	enum watch_stage stage;
	bool from_command_line;
	bool said_waiting;  /* for its module, in a message */
	bool said_copied;   /* that a process has its code in anonymous memory, in a message */
	bool edge;	    /* from --begin or --end: its own calls are not shown */
	struct watch *same; /* WATCH_SAME: the watch of the same function */
	uint32_t op;
	uint32_t epoch; /* of the last REQ_ARM */
	uint32_t module;
	uint64_t offset, size;
	char *symbol, *function; /* linkage name; demangled name */
	char *placement;
	struct rec_site *sites; /* to be armed: of one function, or of all candidates of an IFUNC */
	uint32_t nr_sites, cap_sites;
	uint32_t plans_left;	/* IFUNC: candidates that are not planned yet */
	uint32_t nr_returns;	/* return addresses with a probe */
	uint32_t returns_asked; /* return addresses that the parser is planning */
	uint64_t discovered_ns; /* when the last new return address was seen */
	bool has_exits, exits_stepped, exits_dropped, keep_exits;
	enum { VALUES_UNKNOWN = 0, VALUES_ASKED, VALUES_KNOWN } values; /* their names */
	bool found;	    /* once: if its file is replaced, it is looked up in the new one */
	uint64_t calls_now; /* in the last slice */
	struct {
		char *symbol, *refusal; /* linkage name; the message so far */
		uint32_t importer;	/* module whose import slots are read */
		uint32_t nr;
		struct rec_code candidates[WATCH_CANDIDATES];
	} bound; /* WATCH_BOUND */
};

/* The search for functions with names like the text that the user types. */
struct front_search {
	char *text;	 /* typed, without an answer so far */
	uint64_t number; /* of this text: answers with older numbers are dropped */
	bool asked;	 /* the request for this text was sent */
	char *answered;	 /* the text that `list` was searched for */
	struct function_candidate *list;
	size_t nr;
	bool fresh; /* front_take_candidates() has not returned `list` yet */
};

/* The collector process and the socket to it. */
struct front_collector {
	struct channel *channel;
	pid_t pid;
	int pidfd;   /* -1: none; readable once the collector has ended */
	bool alive;  /* the collector's event loop has begun */
	bool closed; /* the socket: no more files come */
	bool stop_asked;
	uint64_t turn_ns;      /* time of the front's last turn */
	struct chances silent; /* time of front turns since the last record */
	uint64_t heartbeat_ns;
};

/* The stream of records and its consumers. */
struct front_stream {
	struct model *model;
	struct session_writer
	    *recording; /* the file of -o, or an unnamed file for later snapshots */
	int recording_error;
	bool provisional;	      /* front_options.provisional */
	struct session_writer *aside; /* gets all records, too, since front_aside_begin() */
	int aside_error;
	struct descent_driver *driver;
	struct walker *walker;
	struct wait_driver *waits;
	struct open_calls *open_calls;
	struct told_calls told; /* of a live screen */
	bool feeding;		/* consumers process a record: new records wait in `made` */
	struct record_queue made;
	uint32_t
	    unwanted[FRONT_MAX_OP / 32]; /* bit set: operations that the user did not ask for */
};

/* The recording of --ring. */
struct front_ring {
	uint64_t lost;		 /* records that could not be written since the last one that was */
	bool keeps;		 /* slow calls are kept without a ring, too */
	struct slow_calls *slow; /* which calls are kept; NULL: nothing was measured yet */
	struct rec_call kept;	 /* the last one: its stacks follow; its texts are not valid */
	/* the last ones with SLOW_UNCHECKED, each until its stack is unwound */
	struct record *unchecked[FRONT_MAX_UNCHECKED];
	uint32_t next_unchecked;
	struct name_requests *names; /* of the code in the stacks of kept calls */
	bool clock_known;	     /* clock_ahead_ns is valid */
	int64_t clock_ahead_ns;	     /* wall clock minus monotonic clock */
};

/* Messages to the user, and the failure that prevents an answer. */
struct front_said {
	int failure; /* exit status; 0: no failure */
	char failure_line[640];
	char *messages[FRONT_MAX_MESSAGES];
	size_t nr_messages;
	char *message_out;
	char pick_refused[640];	    /* why the picked process was refused; "": it was not */
	bool thread;		    /* that only one thread counts */
	unsigned int parser_deaths; /* deaths that were already reported */
};

/* The files that the targets map, and their mappings. */
struct front_files {
	struct front_module modules[FRONT_MAX_MODULES];
	uint32_t nr_modules;
	struct front_mapping *mappings;
	size_t nr_mappings, cap_mappings;
	uint64_t mappings_version; /* incremented at each change of `mappings` */
	bool wanted;		   /* the parser shall read all modules */
};

struct front_watches {
	struct watch *list[FRONT_MAX_WATCHES];
	size_t nr;
	uint32_t next_op, next_epoch;
	/* names of the functions of sets that cannot be probed; said once all others are armed */
	struct buf left_out;
	unsigned int nr_left_out;
};

/* The functions of --begin and --end, between whose calls the target is measured. */
struct front_phases {
	struct watch *begin, *end; /* NULL: not a function */
	struct req_phases sent;
	char line[640]; /* the message if no phase began */
};

/* The last request for instructions (front_ask_code()). */
struct front_code {
	uint64_t number; /* of the newest request */
	void (*answer)(void *ctx, const struct parsed_code *code);
	void *ctx;
};

struct front {
	const struct options *options;
	struct parser *parser; /* NULL: none */
	struct front_collector collector;
	struct front_stream stream;
	struct front_ring ring;
	struct courier *courier; /* for the answers of --when; NULL: none */
	struct front_said said;
	struct front_files files;
	struct front_watches watches;
	struct front_phases phases;
	struct front_search search;
	struct front_code code;
	struct front_stacks *stacks;	   /* NULL before the first stack */
	struct front_snapshots *snapshots; /* NULL before the first snapshot */
	struct front_waits *waits;	   /* NULL before the first request for waits */
	uint32_t next_round;		   /* of snapshots */
	bool all_layers;
	uint32_t layers; /* mask of the layers measured now */
	uint32_t nr_chosen;
	struct rec_chosen chosen[FRONT_CHOSEN]; /* threads whose calls count; none: all */
	bool go_at_once;			/* start measuring before all functions are found */
	bool going;		       /* REQ_GO was sent: the command runs, measuring has begun */
	bool over;		       /* the stream has ended; files may still come */
	struct saved_descent *resumes; /* NULL: none */
	bool resume_refused;	       /* this program cannot go on with it */
	bool resume_waits;	       /* until the command executes the program */
};

/* Create a front without a collector and a parser. NULL: out of memory. Free it with front_free().
 */
struct front *front_new(const struct front_options *fo);
void front_message(struct front *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Set the failure of this run. Only the first call has an effect. */
void front_fail(struct front *f, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int front_request(struct front *f, const struct record *rec);
/* front_loop.c: the exit status for a refusal of the collector with this error. */
int refused_status(int error);
/* Send a request to the parser. False: the request was not sent, and no answer will come. */
bool front_ask(struct front *f, enum parse_type type, struct parse_request *req,
	       const struct parser_reply *reply);
/* Pass a record to the model, the recording and all other consumers. If consumers are processing a
 * record now, the new record waits until they have finished. */
void front_feed(struct front *f, const struct record *rec);
/* The same for a note. */
void front_note(struct front *f, enum note_level level, const char *text);

/* front.c: something is measured from now on, so the file of -o stays, unless it is provisional. */
void recording_begin(struct front *f);

/* front_collector.c: the collector as a process. */
int collector_start(struct front *f, const struct front_options *fo, uid_t uid, gid_t gid);
/* Called for each record of the collector: it is alive. */
void collector_heard(struct front *f, const struct record *rec);
/* Called once a turn: end the stream if the collector has died or does not answer. */
void collector_check_alive(struct front *f, uint64_t now_ns);
/* Called when the collector closed its end of the stream. */
void collector_closed(struct front *f);
/* Close the socket, so that the collector ends. */
void collector_close(struct front *f);
/* Wait a limited time for the collector to end, and reap it. Returns its pid if it has probes left,
 * else 0. */
pid_t collector_wait(struct front *f);

/* front_phases.c */
void phases_add(struct front *f);
/* Tell the collector which operations begin and end phases. Do nothing if it was told already, or
 * if the function of --begin or --end is still being searched or armed. */
void phases_send(struct front *f);
/* Called when the function of the edge `w` was found. If another watch covers this place, `w`
 * becomes WATCH_SAME and the result is true. */
bool phases_same(struct front *f, struct watch *w, uint32_t module, uint64_t offset);
/* True if the edge `w` must wait until the other functions are found. */
bool phases_wait(const struct front *f, const struct watch *w);
/* True if one of the two edges was refused: no phase could ever be counted. */
bool phases_refused(const struct front *f);
/* True if this operation is watched only because it begins or ends phases. */
bool phases_only(const struct front *f, uint32_t op);
/* The option that a message about `w` names: "--begin " or "--end "; NULL if `w` is no edge. */
const char *phases_option(const struct front *f, const struct watch *w);

/* front_descent.c: the callbacks into the front. */
struct driver_host front_driver_host(struct front *f);

/* front_ring.c: append a record to the ring. */
void ring_append(struct front *f, const struct record *rec);
/* Learn from a record of the stream which calls are slow, and have the collector send these. */
void ring_observe(struct front *f, const struct record *rec);
/* True if a slow call is to be kept; fills in what is usual for it. */
bool ring_keeps(struct front *f, struct rec_slow_call *call);
/* True if a stack is one inside the last slow call that was kept. */
bool ring_wants_stack(const struct front *f, const struct rec_stack *stack);
/* Put such a stack into the stream, with its frames of the program: from f0's down, or, if f0 is a
 * system call, its callers, innermost first. */
void ring_stack(struct front *f, const struct rec_stack *stack, const struct rec_frame *frames,
		uint32_t nr);
/* True if the operation is a system call. */
bool ring_is_syscall(const struct front *f, uint32_t op);
void ring_release(struct front *f);

/* front_aside.c: append a record to the part that is copied. */
void aside_append(struct front *f, const struct record *rec);

/* front_stacks.c */
void stacks_take(struct front *f, const struct rec_stack *stack);
/* Send the mappings of this process to the parser unless it has them. False: they could not be
 * sent. */
bool stacks_mappings(struct front *f, uint32_t pid);
/* The parser lost its mappings (a new worker): send them again before the next stack. */
void stacks_mappings_forget(struct front *f);

/* front_snapshots.c */
void snapshots_take(struct front *f, const struct record *rec);
/* Takes a further part of the stack of a snapshot, or that there is none. */
void snapshots_piece(struct front *f, const struct rec_stack_piece *piece);
void snapshots_move(struct front *f);
void snapshots_acknowledged(struct front *f, uint32_t round);
void snapshots_release(struct front *f);

/* front_waits.c */
/* True if this run is about waits and the collector has not answered the request yet. */
bool waits_are_due(const struct front *f);
void waits_acknowledged(struct front *f, uint32_t epoch);
/* False: the refusal is not about waits. If this run is only about waits, it is its failure. */
bool waits_refused(struct front *f, const struct rec_refused *r);
void traces_take(struct front *f, const struct record *rec);
/* Send stacks to the parser. */
void traces_move(struct front *f);
void waits_release(struct front *f);

/* front_driver.c */
int front_driver_init(struct front *f);

/* saved_descent.c: false if the target is another program than that of the descent to go on with;
 * this is the failure of the run. True if there is none. */
bool saved_descent_allows(struct front *f);
/* The measurement is over: if the command never executed the program of the session, says so. */
void saved_descent_settle(struct front *f);
/* The function of the descent to go on with, if this watch is for it and the target has the same
 * build of its module, which may lack the name. False: there is none. */
bool saved_descent_place(const struct front *f, const struct watch *w, struct rec_code *place);

/* front_search.c */
void search_release(struct front *f);

/* watches.c */
/* Add a watch. NULL: `spec` is not a function, or there is no room. */
struct watch *watches_add(struct front *f, const struct op_spec *spec, bool from_command_line);
/* The watch with this operation number; NULL: it was removed. */
struct watch *watch_by_op(struct front *f, uint32_t op);
/* Give up a watch, with a message. The other watches go on. */
void watch_refuse(struct front *f, struct watch *w, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Give up a watch whose name is wrong. If the name stands on the command line, this ends the run
 * with an exit status, so that a typing error is not overlooked among other operations. */
void watch_refuse_name(struct front *f, struct watch *w, int status, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* New files were mapped or the process executed a program: search again for functions that
 * were not found. */
void watches_wake(struct front *f);
/* The file of this module was replaced: look its functions up in the new one. */
void watches_moved(struct front *f, uint32_t module);
/* True if a target maps the module now. */
bool module_is_mapped(const struct front *f, uint32_t module);
void watches_module(struct front *f, const struct rec_module *m);
void watches_mapping(struct front *f, const struct rec_mapping *m);
/* Refuse a watch whose code is in anonymous memory in all processes that map it. If it is so in
 * some of them, or only since the function was armed, note that once. True: refused. */
bool watch_is_copied(struct front *f, struct watch *w);
void watches_file(struct front *f, const struct rec_file *file, int fd);
void watches_acknowledged(struct front *f, const struct rec_ack *ack);
void watches_refused(struct front *f, const struct rec_refused *r);
void watches_profile(struct front *f, const struct rec_profile *p);
/* Take the next step with every watch that can go on, and let a command run when all are armed. */
void watches_move(struct front *f);
void watches_release(struct front *f);

/* watch_values.c: ask for the names of the values of functions that are armed. */
void watch_values_move(struct front *f);

/* watch_find.c: find the function of a watch, then plan it. */
void watch_find(struct front *f, struct watch *w);
/* Ask the parser about a watch; `op` is its number. If the parser does not run, refuse the watch.
 */
void watch_ask(struct front *f, struct watch *w, enum parse_type type, struct parse_request *req,
	       void (*done)(void *ctx, uint64_t op, const struct parsed *answer));

/* watch_bound.c: refuse an ambiguous name with `refusal` and, if several files export it, with the
 * function that the target's calls go to. */
void watch_bound_find(struct front *f, struct watch *w, const struct parsed_functions *list,
		      const char *refusal);
/* Take an answer of the collector. False: it is about a descent. */
bool watch_bound_take(struct front *f, const struct rec_indirect_callees *a);

/* watch_arm.c */
/* Ask the parser where to probe this function, then arm these sites. */
void watch_plan(struct front *f, struct watch *w, uint32_t module, uint64_t offset);
void watch_arm_kernel(struct front *f, struct watch *w);
/* Called for a new return address of a watched function. */
void watches_new_return(struct front *f, const struct rec_new_return *l);
/* Called at the end of each slice. Busy functions whose exits must be single-stepped change to
 * probes at the return addresses of their callers. */
void watches_tick(struct front *f);

/* watch_modules.c: the files of the target, handed to the parser. */
void modules_want(struct front *f);
/* Drop unmapped mappings that were kept for older stacks. */
void mappings_purge(struct front *f);
/* The base name of a module; "" if unknown. */
const char *module_name(const struct front *f, uint32_t module);
void front_modules_release(struct front *f);
/* True if the parser has finished with all modules. */
bool modules_settled(const struct front *f);
/* True if the collector still owes a file, or the parser has not read one yet. */
bool modules_awaited(const struct front *f);
