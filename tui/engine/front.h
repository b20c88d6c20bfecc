/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The front process starts the collector, drops its own privileges, feeds the stream of records to
 * the model and the recording, and sends the user's wishes to the collector as requests. The screen
 * and the text verbs are built on this interface. */
#pragma once

#include <poll.h>

#include "analysis/latency/model.h"
#include "collect/process/clock.h"
#include "tui/engine/candidate.h"
#include "tui/engine/options.h"
#include "tui/engine/parser.h"

/* Exit statuses of the command line (docs/man/). */
enum exit_status {
	EXIT_ANSWERED = 0,
	EXIT_NO_ANSWER = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_PERMITTED = 3,
	EXIT_DAMAGED = 4
};

struct front;

/* The entry points of the collector. main passes them in, so that tui/engine does not
 * depend on collect/. */
struct collector_options;
struct collector_entry {
	int (*run)(int fd, const struct collector_options *options);
	int (*doctor)(int fd);
};
void front_use_collector(const struct collector_entry *entry);

/* The layers that tracepoints measure: they can be switched on and off. */
#define LAYERS_TRACED                                                                              \
	(1u << LAYER_SYSCALL | 1u << LAYER_BLOCK | 1u << LAYER_LOCK | 1u << LAYER_RUNQUEUE |       \
	 1u << LAYER_URING | 1u << LAYER_NET)

struct front_options {
	const struct options *options;
	bool screen;	    /* a live screen: the command's output must not reach the terminal */
	bool all_layers;    /* measure every layer, whatever -f says */
	bool descends;	    /* see struct collector_options */
	bool restarts;	    /* if the targets end, front_pick() names those in their place */
	const char *record; /* session file to write, NULL for none */
	bool provisional;   /* it stays only if front_recording_keep() is called */
	bool doctor;	    /* run only the checks of `peaktop doctor` */
	bool pick;	    /* no target yet: front_pick() will set one */
};

/* For verbs that need no collector: become the invoking user and enter the sandbox. Returns 0 or an
 * exit status with one line in `error`. */
int front_unprivileged(char *error, size_t n);

/* Start the collector and drop privileges. Returns 0, or an exit status with one
 * line in `error`. */
int front_start(struct front **out, const struct front_options *fo, char *error, size_t n);
/* Returns the pid of a collector that still removes probes, or 0. It ends by itself. */
pid_t front_free(struct front *f);

/* One turn of the event loop: wait up to `timeout_ms` for records, answers of the parser, or one of
 * the caller's `fds` (whose revents are set), then process all records and answers. Returns the
 * number of slices that ended, or -ENOTCONN if the stream is over. */
int front_turn(struct front *f, struct pollfd *fds, size_t nr_fds, int timeout_ms);

/* Set the target that the user picked (front_options.pick). The model has it once the collector has
 * accepted it. */
void front_pick(struct front *f, uint32_t pid);
/* The reason why the collector refused the last target of front_pick(); NULL if it did not. After
 * a refusal another target can be picked. */
const char *front_pick_refused(const struct front *f);

struct model *front_model(struct front *f);
/* Ask the collector to end in order; then call front_turn() until it returns -ENOTCONN. */
void front_stop(struct front *f);
bool front_over(const struct front *f);
/* True if every operation that the user named is armed or refused: measuring has begun. */
bool front_ready(const struct front *f);
/* True if the user named operations and none of them can be watched. */
bool front_nothing_to_do(const struct front *f);
/* After the stream has ended: wait a few seconds at most for files of the target, and for function
 * names that the parser is still searching. */
void front_settle(struct front *f);

/* One line that says that no phase of --begin and --end was seen; NULL if one was seen, or none was
 * asked for. */
const char *phases_missing(const struct front *f);

/* The first failure that prevents an answer: its exit status, with one line in `line`. 0: no
 * failure. */
int front_failure(const struct front *f, const char **line);

/* Watch one more operation. Asynchronous: a refusal arrives later as a line of
 * front_next_message(). */
void front_watch(struct front *f, const struct op_spec *op);
void front_unwatch(struct front *f, uint32_t op);
void front_layers(struct front *f, uint32_t layers);
/* Count only the calls of this thread and of others that were chosen so (`tid` 0: of the process),
 * or no longer if it was chosen already. `pid` 0: choose all threads. The profiles begin anew.
 * *all: the calls of all threads count now. Returns 0 or -E2BIG. */
int front_choose(struct front *f, uint32_t pid, uint32_t tid, bool *all);
uint32_t front_layers_now(const struct front *f);
/* Remove and return the oldest message to the user; NULL: there is none. Valid until the next call.
 */
const char *front_next_message(struct front *f);

/* The number of the first armed function; 0: none is armed yet. */
uint32_t front_armed_op(const struct front *f);

/* Search functions with names like `text`; front_take_candidates() gives the answer. */
void front_search(struct front *f, const char *text);
/* Returns true once for each answer: the candidates for the text `searched`, best first, valid
 * until the next answer. */
bool front_take_candidates(struct front *f, const char **searched,
			   const struct function_candidate **list, size_t *nr);

/* The descent of this run (tui/engine/descent_driver.h). */
struct descent_driver *front_driver(struct front *f);
/* Like front_turn(), but works after the stream is over, too: the parser answers, and the collector
 * sends files until the front has all that it asked for. */
void front_parser_turn(struct front *f, int timeout_ms);

/* Request the instructions around a place (PARSE_CODE). A later front_turn() or front_parser_turn()
 * calls `answer` once, with an answer that is valid only during the call. A newer request replaces
 * an unanswered one. False: the parser is not available. */
struct parsed_code;
bool front_ask_code(struct front *f, uint32_t module, uint64_t offset,
		    void (*answer)(void *ctx, const struct parsed_code *code), void *ctx);

/* ---- modules: the files that the targets map, numbered from 1 ---- */

/* Ask the parser to read all modules. */
void front_read_modules(struct front *f);
bool front_modules_read(const struct front *f);
uint32_t front_nr_modules(const struct front *f);
/* The path of a module; NULL if the module cannot be read, or is the vDSO. */
const char *front_module_path(const struct front *f, uint32_t module);
/* Plan some functions of a module (PARSE_COVERAGE), from `cursor` on. False: the parser is
 * not available. */
bool front_ask_coverage(struct front *f, uint32_t module, uint64_t cursor,
			const struct parser_reply *reply);

/* The walk of this run (tui/engine/walker.h). */
struct walker *front_walker(struct front *f);
/* Start or stop repeated snapshots of all threads. */
void front_walk(struct front *f, bool stop);
/* Take a snapshot of all threads. front_snapshots_complete() returns true when all of this
 * round have arrived. */
uint32_t front_take_snapshots(struct front *f, uint32_t op);
bool front_snapshots_complete(const struct front *f, uint32_t round);
/* The open calls according to the last round of snapshots. */
struct open_calls;
const struct open_calls *front_open_calls(const struct front *f);
/* Put into the stream which open calls are asked for, so that a replay shows them. */
struct rec_open_ask;
void front_ask_open(struct front *f, const struct rec_open_ask *ask);
/* True if the function that -f names was found (with its place in `function`), or if -f names none
 * (`function` is unchanged). */
struct rec_code;
bool front_found(const struct front *f, struct rec_code *function);
/* True while the parser still has to unwind stacks of snapshots. */
bool front_snapshots_pending(const struct front *f);

/* The waits of this run (tui/engine/wait_driver.h). */
struct wait_driver *front_waits(struct front *f);
/* Ask the collector to trace waits. False: out of memory. If the collector refuses,
 * front_failure() has the reason. */
bool front_waits_begin(struct front *f);
void front_waits_end(struct front *f);
/* True as soon as the collector has begun to trace waits; as soon as it has ended tracing them. */
bool front_waits_begun(const struct front *f);
bool front_waits_ended(const struct front *f);
/* True while the parser still has to unwind user stacks of waits. */
bool front_traces_pending(const struct front *f);
/* The number of stacks that were dropped because the parser was busy. */
uint64_t front_traces_dropped(const struct front *f);

/* Of a ring: copy its records since about `from_ns` to a session of its own, beside it, and append
 * all later ones, until front_aside_end(). `path` gets its name: there are at most so many, and the
 * oldest is replaced. Return 0 or a negative errno; after an error there is no such session. */
enum { FRONT_ASIDES = 20 };
int front_aside_begin(struct front *f, uint64_t from_ns, char *path, size_t n);
int front_aside_end(struct front *f);
/* Keep calls that are slower than usual, from now on, also without a ring. True: they were not kept
 * before. */
bool front_keep_slow(struct front *f);
/* Those of a live screen (front_options.screen). */
struct told_calls;
const struct told_calls *front_told(const struct front *f);
/* Of --when: send a line to the journal, and the answer to the command of --exec. */
void front_announce(struct front *f, const char *line, const char *answer, size_t n);
/* No more will be announced: wait a few seconds for a command that still runs. */
void front_announce_end(struct front *f);

/* Close the recording with its index. Returns the first error of the file, or 0. */
int front_recording_close(struct front *f);
/* True if a message has said why the recording stopped. */
bool front_recording_stopped(const struct front *f);
/* The session is worth its file (front_options.provisional). */
void front_recording_keep(struct front *f);
/* Keep a note about a time of the session in the session. */
void front_bookmark(struct front *f, uint64_t start_ns, uint64_t end_ns, const char *note);
/* Write the whole stream so far, with a SNAPSHOT record at its end, to this file. 0 or a negative
 * errno. */
int front_snapshot(struct front *f, const char *path);
