/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front process: it starts the collector, gives up its own privileges,
 * feeds the stream to the model and to a recording, and turns what the user
 * asks into requests. Screen and text verbs sit on top of it.
 */
#ifndef PEAKTOP_FRONT_H
#define PEAKTOP_FRONT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/latency/model.h"
#include "tui/engine/candidate.h"
#include "tui/engine/options.h"
#include "tui/engine/parser.h"

/* Exit statuses of the command line (docs/peaktop.1). */
enum exit_status {
	EXIT_ANSWERED = 0,
	EXIT_NO_ANSWER = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_PERMITTED = 3,
	EXIT_DAMAGED = 4
};

struct front;

/*
 * The entry points of the collector. main passes them in, so that tui/engine does not
 * depend on collect/.
 */
struct collector_options;
struct collector_entry {
	int (*run)(int fd, const struct collector_options *options);
	int (*doctor)(int fd);
};
void front_use_collector(const struct collector_entry *entry);

struct front_options {
	const struct options *options;
	bool screen;	    /* a live screen: the command's output must not reach the terminal */
	bool all_layers;    /* measure every layer, whatever -f says */
	bool descends;	    /* see struct collector_options */
	const char *record; /* session file to write, NULL for none */
	bool doctor;	    /* only the checks */
	bool pick;	    /* no target yet: front_pick() names it */
};

/* For verbs that need no collector: become the invoking user, in the sandbox. 0 or an exit status.
 */
int front_unprivileged(char *error, size_t n);

/*
 * Start the collector and drop privileges. Returns 0, or an exit status with one
 * line in `error`.
 */
int front_start(struct front **out, const struct front_options *fo, char *error, size_t n);
void front_free(struct front *f);

/*
 * Wait up to `timeout_ms` for records, answers of the parser, or one of the
 * caller's `fds` (whose revents are filled in), and take in what came. Returns
 * the number of slices that ended, -ENOTCONN when the stream is over.
 */
int front_turn(struct front *f, struct pollfd *fds, size_t nr_fds, int timeout_ms);

/* The target that the person picked. */
void front_pick(struct front *f, uint32_t pid);

struct model *front_model(struct front *f);
/* Ask for an ordered end; go on with front_turn() until -ENOTCONN. */
void front_stop(struct front *f);
bool front_over(const struct front *f);
/* Every operation that the user named is armed or refused: the measurement has begun. */
bool front_ready(const struct front *f);
/* The user named operations, and not one of them can be watched. */
bool front_nothing_to_do(const struct front *f);
/* After the end: wait a few seconds at most for names that the parser still looks up. */
void front_settle(struct front *f);
uint64_t front_now_ns(void);

/* --begin and --end: no phase was seen, in one line; NULL: some were, or none were asked for. */
const char *phases_missing(const struct front *f);

/* Why there will be no answer: exit status and one line; 0 when nothing is wrong. */
int front_failure(const struct front *f, const char **line);

/* Watch one more operation: asynchronous; a refusal comes as a failure line to
 * front_next_message(). */
void front_watch(struct front *f, const struct op_spec *op);
void front_unwatch(struct front *f, uint32_t op);
void front_layers(struct front *f, uint32_t layers);
uint32_t front_layers_now(const struct front *f);
/* One line for the person, oldest first; NULL when there is none. Valid until the next call. */
const char *front_next_message(struct front *f);

/* The first function that is armed; 0: none yet. */
uint32_t front_armed_op(const struct front *f);

/* Names that contain `text`; answered by front_take_candidates(). */
void front_search(struct front *f, const char *text);
/* True once for each answer: to the text `searched`, best first, valid until the next answer. */
bool front_take_candidates(struct front *f, const char **searched,
			   const struct function_candidate **list, size_t *nr);

/* The descent of this run (tui/engine/descent_driver.h). */
struct descent_driver *front_driver(struct front *f);
/* Wait for answers of the parser alone, also when the stream is over. */
void front_parser_turn(struct front *f, int timeout_ms);

/*
 * The instructions around a place (PARSE_CODE). The answer comes once, in some later front_turn()
 * or front_parser_turn(), and is valid only there; a newer question makes an older one void. False:
 * nobody can be asked.
 */
struct parsed_code;
bool front_ask_code(struct front *f, uint32_t module, uint64_t offset,
		    void (*answer)(void *ctx, const struct parsed_code *code), void *ctx);

/* ---- modules: the files that the targets map, numbered from 1 ---- */

/* Have all of them read by the parser. */
void front_read_modules(struct front *f);
bool front_modules_read(const struct front *f);
uint32_t front_nr_modules(const struct front *f);
/* NULL: it cannot be read. */
const char *front_module_path(const struct front *f, uint32_t module);
/*
 * Plan some functions of a module (PARSE_COVERAGE), from `cursor` on. False: the parser is
 * not available.
 */
bool front_ask_coverage(struct front *f, uint32_t module, uint64_t cursor,
			const struct parser_reply *reply);

/* The walk of this run (tui/engine/walker.h). */
struct walker *front_walker(struct front *f);
/* Start or stop repeated snapshots of all threads. */
void front_walk(struct front *f, bool stop);
/*
 * Take a snapshot of all threads. front_snapshots_complete() returns true when all of this
 * round have arrived.
 */
uint32_t front_take_snapshots(struct front *f, uint32_t op);
bool front_snapshots_complete(const struct front *f, uint32_t round);
/* The snapshots of the last round. */
struct open_calls;
const struct open_calls *front_open_calls(const struct front *f);
/* The function that -f named, once it was found: true also where none was named. */
struct rec_code;
bool front_found(const struct front *f, struct rec_code *function);
/* True while snapshots wait for the parser. */
bool front_snapshots_pending(const struct front *f);

/* End the recording in order: the first error of the file, or 0. */
int front_recording_close(struct front *f);
/* Write the whole stream so far, with a mark at its end, to this file. 0 or negative errno. */
int front_snapshot(struct front *f, const char *path);

#endif
