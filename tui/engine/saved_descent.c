// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/saved_descent.h"

#include "analysis/base/array.h"
#include "analysis/latency/profile_record.h"
#include "analysis/latency/threads.h"
#include "analysis/session/frame.h"
#include "tui/engine/front_state.h"
#include "tui/engine/saved_places.h"

struct saved_descent {
	const char *bytes; /* frames */
	size_t n;
	struct descent_driver *driver; /* fed with the modules and the question */
	char *exe;		       /* of its first target; NULL: not known */
	uint32_t pid;		       /* of its first target, with started_ns */
	uint64_t started_ns;
	struct thread_choice choice; /* the threads whose calls counted */
	bool choice_taken;	     /* by this run */
	struct saved_places *places; /* in this run */
};

/* Call `take` for each record. Returns 0 or a negative errno. */
static int each(const struct saved_descent *s, int (*take)(void *ctx, const struct record *rec),
		void *ctx)
{
	struct frame_decoder *decoder = frame_decoder_new();
	struct frame frame;
	int got = decoder ? 1 : -ENOMEM, err = 0;

	for (size_t at = 0; got > 0 && at < s->n && !err; at += frame.size) {
		got = frame_decode(decoder, s->bytes + at, s->n - at, &frame);
		if (got > 0 && frame.known)
			err = take(ctx, &frame.rec);
	}
	frame_decoder_free(decoder);
	return got <= 0 ? -EBADMSG : err;
}

static int take_identity(void *ctx, const struct record *rec)
{
	struct saved_descent *s = ctx;

	if (rec->type == REC_TARGET && !s->exe) {
		s->exe = strdup(rec->target.exe);
		s->pid = rec->target.pid;
		s->started_ns = rec->target.started_ns;
	}
	driver_take(s->driver, rec);
	return rec->type == REC_CHOICE ? thread_choice_set(&s->choice, &rec->choice) : 0;
}

struct saved_descent *saved_descent_new(const void *bytes, size_t n)
{
	struct saved_descent *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->bytes = bytes;
	s->n = n;
	s->driver = driver_new(NULL);
	if (!s->driver || each(s, take_identity, s) ||
	    (!driver_asked(s->driver) && !driver_question(s->driver))) {
		saved_descent_free(s);
		return NULL;
	}
	return s;
}

void saved_descent_free(struct saved_descent *s)
{
	if (!s)
		return;
	driver_free(s->driver);
	thread_choice_release(&s->choice);
	saved_places_free(s->places);
	free(s->exe);
	free(s);
}

const struct rec_question *saved_descent_question(const struct saved_descent *s)
{
	return driver_question(s->driver);
}

const struct rec_descent *saved_descent_asked(const struct saved_descent *s)
{
	return driver_asked(s->driver);
}

/* The module of a program file; NULL: not known. */
static const struct module_origin *module_at(const struct descent_driver *d, const char *path)
{
	for (uint32_t m = 1; path && m <= driver_nr_modules(d); m++) {
		const struct module_origin *id = driver_module_identity(d, m);

		if (id && !strcmp(id->path, path))
			return id;
	}
	return NULL;
}

void front_resume(struct front *f, struct saved_descent *s)
{
	f->resumes = s;
}

bool front_resumes(const struct front *f)
{
	return f->resumes;
}

/* Count only the calls of the threads that were chosen in the session. Their numbers mean something
 * only in the same process. */
static void choice_take(struct saved_descent *s, struct front *f, const struct rec_target *target)
{
	const struct thread_choice *c = &s->choice;
	struct record rec = {.type = REQ_CHOICE};
	bool same =
	    target->pid == s->pid && target->started_ns == s->started_ns && c->nr <= FRONT_CHOSEN;
	char text[256];

	if (!c->nr || s->choice_taken)
		return;
	s->choice_taken = true;
	snprintf(text, sizeof(text),
		 "the saved descent counted only calls of chosen threads (%u of %u); %s",
		 c->chosen_threads, c->threads,
		 same ? "so does this one"
		      : "this is another process, so this one counts the calls of all its threads");
	front_note(f, same ? NOTE_INFO : NOTE_WARNING, text);
	if (!same)
		return;
	memcpy(f->chosen, c->list, c->nr * sizeof(*c->list));
	f->nr_chosen = rec.choice.nr_chosen = (uint32_t)c->nr;
	rec.choice.chosen = f->chosen;
	front_request(f, &rec);
}

static bool runs_the_program(const struct saved_descent *s, const struct front *f,
			     const struct rec_target *target)
{
	const struct module_origin *was = module_at(s->driver, s->exe),
				   *is = module_at(f->stream.driver, target->exe);

	return (was && is && module_is_same(was, is)) || module_name_is_same(s->exe, target->exe);
}

static void refuse_program(struct front *f)
{
	front_fail(f, EXIT_USAGE,
		   f->resume_waits
		       ? "resume: the session is of another program, %s, which the command did not "
			 "execute (it ran %s); give a command that executes the program"
		       : "resume: the session is of another program, %s, and this process runs %s; "
			 "give a process of the program that was saved",
		   f->resumes->exe, model_target(f->stream.model, 0)->exe);
	f->resume_refused = true;
}

/* The screen stays, without the function of the descent. */
static void refuse_on_screen(struct front *f)
{
	char why[512];

	snprintf(why, sizeof(why),
		 "the session is of another program, %s, and this process runs %s; the descent "
		 "does not go on",
		 f->resumes->exe, model_target(f->stream.model, 0)->exe);
	for (size_t i = 0; i < f->watches.nr; i++)
		f->watches.list[i]->stage = WATCH_REFUSED;
	front_note(f, NOTE_ERROR, why);
	front_message(f, "%s", why);
	f->resumes = NULL;
}

/* The command may be a shell, nice or env, which executes the program: wait for that. */
static void wait_for_exec(struct front *f)
{
	f->resume_waits = true;
	for (size_t i = 0; i < f->watches.nr; i++)
		if (f->watches.list[i]->stage == WATCH_WAITING)
			f->watches.list[i]->stage = WATCH_DORMANT;
}

bool saved_descent_allows(struct front *f)
{
	struct saved_descent *s = f->resumes;
	size_t nr = model_nr_targets(f->stream.model);

	if (!s || !s->exe || !nr || f->resume_refused)
		return !f->resume_refused;
	for (size_t i = 0; i < nr; i++) {
		const struct rec_target *target = model_target(f->stream.model, i);

		if (!runs_the_program(s, f, target))
			continue;
		f->resume_waits = false;
		choice_take(s, f, target);
		return true;
	}
	if (f->go_at_once)
		refuse_on_screen(f);
	else if (f->options->command && !f->over)
		wait_for_exec(f);
	else
		refuse_program(f);
	return !f->resume_refused;
}

void saved_descent_settle(struct front *f)
{
	if (f->resumes && f->resume_waits && model_nr_targets(f->stream.model))
		refuse_program(f);
}

bool saved_descent_place(const struct front *f, const struct watch *w, struct rec_code *place)
{
	const struct rec_descent *ask = f->resumes ? driver_asked(f->resumes->driver) : NULL;
	const struct module_origin *was, *is;

	was = ask ? driver_module_identity(f->resumes->driver, ask->function.module) : NULL;
	if (!was || !w->from_command_line || w->edge)
		return false;
	for (uint32_t m = 1; m <= driver_nr_modules(f->stream.driver); m++) {
		is = driver_module_identity(f->stream.driver, m);
		if (!is || !module_is_same(was, is))
			continue;
		*place = (struct rec_code){m, ask->function.offset};
		return true;
	}
	return false;
}

static bool ask_parser(void *ctx, enum parse_type type, struct parse_request *req,
		       const struct parser_reply *reply)
{
	return front_ask(ctx, type, req, reply);
}

/* So many functions must be missing to tell another program from another build. */
enum { OTHERS_TO_COMPARE = 2 };

struct search {
	struct saved_places *places;
	struct driver_host host;
};

static int want_function(void *ctx, const struct record *rec)
{
	struct search *search = ctx;

	if (rec->type == REC_FNODE)
		saved_places_want(search->places, rec->fnode.callee, &search->host);
	return 0;
}

int saved_descent_match(struct saved_descent *s, struct front *f, char *why, size_t n)
{
	struct search search = {.host = {.ctx = f, .ask = ask_parser}};
	struct rec_code f0_was = driver_asked(s->driver)->function, f0 = f0_was;
	unsigned int others, here;
	const struct module_origin *of_f0 = driver_module_identity(s->driver, f0.module);

	if (!s->places) {
		search.places = s->places = saved_places_new(s->driver);
		if (!s->places) {
			snprintf(why, n, "resume: out of memory");
			return -ENOEXEC;
		}
		saved_places_modules(s->places, f->stream.driver);
		each(s, want_function, &search);
	}
	if (!saved_places_ready(s->places))
		return -EAGAIN;
	if (saved_places_function(s->places, &f0)) {
		here = saved_places_found(s->places, f0_was, &others);
		if (here || others < OTHERS_TO_COMPARE)
			return 0;
		snprintf(why, n,
			 "resume: %s is another program than that of the session, though of the "
			 "same name: it has none of the %u other functions of the saved descent; "
			 "begin again with peaktop descend",
			 of_f0 ? of_f0->path : "this", others);
		return -ENOEXEC;
	}
	snprintf(why, n,
		 "resume: the function of the saved descent cannot be found by its name in this "
		 "build of %s; begin again with peaktop descend",
		 of_f0 ? of_f0->path : "its module");
	return -ENOEXEC;
}

/* A fnode of the session, by its number. */
struct saved_node {
	struct rec_code function; /* numbers of the session */
	bool kept;		  /* it is in this run, too */
	bool again;		  /* a callee is gone: its calls are measured again */
};

enum { NAMES_GONE = 5, ENOUGH_CALLS = 20 /* to compare two profiles */ };

struct restore {
	const struct saved_descent *s;
	struct front *front;
	const struct rec_descent *ask;
	struct saved_node *node; /* DESCENT_MAX_NODES */
	bool nameless;		 /* the file of f0 has no name for it: it is a stripped copy */
	unsigned int fnodes;
	unsigned int moved; /* of these, functions that were found again by name */
	unsigned int gone;
	struct buf gone_names;
};

static void add_gone(struct restore *r, struct rec_code f)
{
	const struct driver_symbol *name = driver_symbol(r->s->driver, f.module, f.offset);

	if (r->gone++ < NAMES_GONE)
		buf_printf(&r->gone_names, "%s%s", r->gone_names.len ? ", " : "",
			   name ? name->function : driver_module(r->s->driver, f.module));
}

/* First pass: which fnodes are in this run. A fnode comes after its caller. */
static int find_node(void *ctx, const struct record *rec)
{
	struct restore *r = ctx;
	const struct rec_fnode *n = &rec->fnode;
	struct rec_code here = n->callee;
	struct saved_node *caller;

	if (rec->type != REC_FNODE || n->node >= DESCENT_MAX_NODES ||
	    n->parent >= DESCENT_MAX_NODES)
		return 0;
	caller = &r->node[n->parent];
	r->node[n->node].function = n->callee;
	r->node[n->node].kept =
	    (!n->node || caller->kept) && saved_places_function(r->s->places, &here);
	if (n->node && caller->kept && !r->node[n->node].kept) {
		caller->again = true;
		add_gone(r, n->callee);
	}
	return 0;
}

/* Give a fnode the numbers of this run. False: it is left out. */
static bool move_node(const struct restore *r, struct rec_fnode *n)
{
	const struct saved_places *places = r->s->places;
	struct rec_code caller, last = {.offset = n->last_site};

	if (n->node >= DESCENT_MAX_NODES || n->parent >= DESCENT_MAX_NODES ||
	    !r->node[n->node].kept)
		return false;
	n->op = r->ask->op;
	if (n->node) {
		if (!r->node[n->parent].kept || r->node[n->parent].again)
			return r->node[n->node].kept = false;
		caller = r->node[n->parent].function;
		last.module = n->site.module;
		if (!saved_places_site(places, caller, &n->site) ||
		    (n->last_site && !saved_places_site(places, caller, &last)))
			return r->node[n->node].kept = false;
		n->last_site = last.offset;
		/* what could not be timed in another build, or took no time, is tried again */
		if (saved_places_is_rebuilt(places, caller.module)) {
			n->state = FNODE_UNTRIED;
			n->records = n->max_sum_ns = 0;
		}
	}
	if (r->node[n->node].again) {
		n->votes = n->decisions = 0;
		memset(n->own, 0, sizeof(n->own));
	}
	return saved_places_function(places, &n->callee);
}

/* Give a stripped copy the names that the session has of its build. False: not of this module. */
static bool move_name(const struct restore *r, struct rec_symbol *name)
{
	struct rec_code here = {name->module, name->offset};

	if (!r->nameless || saved_places_is_rebuilt(r->s->places, name->module) ||
	    !saved_places_function(r->s->places, &here))
		return false;
	name->module = here.module;
	return here.module == r->ask->function.module;
}

static bool is_nameless(const struct front *f, struct rec_code f0)
{
	return any_of(i, f->watches.nr,
		      f->watches.list[i]->module == f0.module &&
			  f->watches.list[i]->offset == f0.offset && f->watches.list[i]->symbol &&
			  !f->watches.list[i]->symbol[0]);
}

static int restore_one(void *ctx, const struct record *from)
{
	struct restore *r = ctx;
	struct record rec = *from;

	if (rec.type == REC_FNODE) {
		if (!move_node(r, &rec.fnode))
			return 0;
		r->fnodes++;
		r->moved += saved_places_is_rebuilt(r->s->places, from->fnode.callee.module);
	} else if (rec.type == REC_SYMBOL) {
		if (!move_name(r, &rec.symbol))
			return 0;
	} else if (rec.type == REC_SAVED_PROFILE) {
		rec.profile.op = r->ask->op;
	} else if (rec.type != REC_NOTE) {
		return 0;
	}
	front_feed(r->front, &rec);
	return 0;
}

static int feed_note(void *ctx, const struct record *rec)
{
	if (rec->type == REC_NOTE)
		front_feed(ctx, rec);
	return 0;
}

void saved_descent_notes(const struct saved_descent *s, struct front *f)
{
	each(s, feed_note, f);
}

static void note_begin(const struct restore *r)
{
	char text[512];

	snprintf(
	    text, sizeof(text),
	    "this descent goes on with a saved one: %u of its functions %s taken over, with "
	    "their votes%s",
	    r->fnodes, r->fnodes == 1 ? "was" : "were",
	    r->ask->start_ops < ENOUGH_CALLS
		? "; too few calls were seen to tell whether latencies are distributed as they "
		  "were then"
		: "");
	front_note(r->front, NOTE_INFO, text);
	if (r->moved) {
		snprintf(text, sizeof(text),
			 "the session is of another build: %u of these functions %s found again "
			 "by %s; call sites that are no longer at the same place in their "
			 "function are measured again",
			 r->moved, r->moved == 1 ? "was" : "were",
			 r->moved == 1 ? "its name" : "their names");
		front_note(r->front, NOTE_WARNING, text);
	}
	if (r->gone) {
		snprintf(text, sizeof(text),
			 "the session is of another build: %u of its functions %s not in this one "
			 "(%s%s); the saved path ends there, and what calls them is measured again",
			 r->gone, r->gone == 1 ? "is" : "are", r->gone_names.data,
			 r->gone > NAMES_GONE ? ", ..." : "");
		front_note(r->front, NOTE_WARNING, text);
	}
}

int saved_descent_begin(const struct saved_descent *s, struct front *f,
			const struct rec_descent *ask)
{
	struct restore r = {.s = s, .front = f, .ask = ask, .gone_names = {.max = 400}};
	struct rec_code f0 = driver_asked(s->driver)->function;
	int err;

	if (!saved_places_function(s->places, &f0) || !code_equal(f0, ask->function))
		return -EINVAL;
	r.node = calloc(DESCENT_MAX_NODES, sizeof(*r.node));
	if (!r.node)
		return -ENOMEM;
	r.nameless = is_nameless(f, ask->function);
	err = driver_begin(f->stream.driver, ask);
	if (!err)
		err = each(s, find_node, &r);
	if (!err)
		err = each(s, restore_one, &r);
	if (!err && descent_status(driver_descent(f->stream.driver)) != DESCENT_CHANGED)
		note_begin(&r);
	buf_release(&r.gone_names);
	free(r.node);
	return err;
}
