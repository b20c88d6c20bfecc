// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/saved_descent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/profile_record.h"
#include "analysis/latency/threads.h"
#include "analysis/session/frame.h"
#include "tui/engine/front_state.h"

struct saved_descent {
	const char *bytes; /* frames */
	size_t n;
	struct descent_driver *driver; /* fed with the modules and the question */
	char *exe;		       /* of its first target; NULL: not known */
	uint32_t pid;		       /* of its first target, with started_ns */
	uint64_t started_ns;
	struct thread_choice choice; /* the threads whose calls counted */
	bool choice_taken;	     /* by this run */
	uint32_t *module;	     /* number here, by number - 1 there; 0: not found */
};

/* ---- written by the process that read the session ---- */

struct writer {
	struct buf *out;
	uint32_t frames;
};

static int write_one(void *ctx, const struct record *rec)
{
	struct writer *w = ctx;

	return frame_encode(w->out, rec, w->frames++);
}

static int write_modules(struct writer *w, const struct descent_driver *d)
{
	int err = 0;

	for (uint32_t m = 1; m <= driver_nr_modules(d) && !err; m++) {
		const struct module_origin *id = driver_module_identity(d, m);
		struct record rec = {.type = REC_MODULE};

		if (!id)
			continue;
		rec.module = (struct rec_module){.module = m, .path = id->path, .size = id->size};
		err = write_one(w, &rec);
		if (err || !id->build_id)
			continue;
		rec.type = REC_BUILD_ID;
		rec.build_id = (struct rec_build_id){.module = m, .build_id = id->build_id};
		err = write_one(w, &rec);
	}
	return err;
}

static int write_choice(struct writer *w, const struct thread_choice *c)
{
	const struct record rec = {.type = REC_CHOICE,
				   .choice = {.threads = c->threads,
					      .chosen_threads = c->chosen_threads,
					      .nr_chosen = (uint32_t)c->nr,
					      .chosen = c->list}};

	return write_one(w, &rec);
}

int saved_descent_write(const struct descent_driver *d, const struct model *m, struct buf *out)
{
	static struct profile_buckets buckets;
	struct writer w = {.out = out};
	struct record rec = {.type = REC_TARGET};
	int err;

	if (!driver_asked(d))
		return -ENOENT;
	if (model_nr_targets(m)) {
		rec.target = *model_target(m, 0);
		err = write_one(&w, &rec);
		if (err)
			return err;
	}
	err = write_modules(&w, d);
	if (!err && model_choice(m)->nr)
		err = write_choice(&w, model_choice(m));
	rec.type = REC_DESCENT;
	rec.descent = *driver_asked(d);
	rec.descent.resumes = rec.descent.part = 0;
	if (!err)
		err = write_one(&w, &rec);
	if (!err)
		err = descent_save(driver_descent(d), write_one, &w);
	rec.type = REC_SAVED_PROFILE;
	profile_to_record(descent_start_profile(driver_descent(d)), driver_asked(d)->op, &buckets,
			  &rec.profile);
	return err ? err : write_one(&w, &rec);
}

/* ---- read by the front ---- */

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
	if (!s->driver || each(s, take_identity, s) || !driver_asked(s->driver)) {
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
	free(s->module);
	free(s->exe);
	free(s);
}

const struct rec_descent *saved_descent_asked(const struct saved_descent *s)
{
	return driver_asked(s->driver);
}

/* ---- the program ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Without build ids, files of the same name and size count as the same. */
static bool same_file(const struct module_origin *a, const struct module_origin *b)
{
	if (a->build_id && b->build_id)
		return !strcmp(a->build_id, b->build_id);
	return a->size == b->size && !strcmp(base_name(a->path), base_name(b->path));
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

static uint32_t module_like(const struct descent_driver *d, const struct module_origin *wanted)
{
	for (uint32_t m = 1; wanted && m <= driver_nr_modules(d); m++) {
		const struct module_origin *id = driver_module_identity(d, m);

		if (id && same_file(id, wanted))
			return m;
	}
	return 0;
}

static uint32_t module_here(const struct saved_descent *s, uint32_t there)
{
	if (!there || there == REC_KERNEL_MODULE)
		return there;
	return there <= driver_nr_modules(s->driver) ? s->module[there - 1] : 0;
}

static void refuse(const char *saved, const struct module_origin *was, const char *now,
		   const struct module_origin *is, char *why, size_t n)
{
	if (strcmp(base_name(saved), base_name(now)) != 0)
		snprintf(why, n,
			 "the session is of another program, %s, and this process runs %s; give a "
			 "process of the program that was saved",
			 saved, now);
	else
		snprintf(why, n,
			 "the session is of another build of %s (build id %s, now %s); begin again "
			 "with peaktop descend",
			 saved, was && was->build_id ? was->build_id : "unknown",
			 is && is->build_id ? is->build_id : "unknown");
}

void front_resume(struct front *f, struct saved_descent *s)
{
	f->resumes = s;
}

static void note(struct front *f, enum note_level level, const char *text)
{
	const struct record rec = {.type = REC_NOTE, .note = {.level = level, .text = text}};

	front_feed(f, &rec);
}

/*
 * Count only the calls of the threads that were chosen in the session. Their numbers mean something
 * only in the same process.
 */
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
	note(f, same ? NOTE_INFO : NOTE_WARNING, text);
	if (!same)
		return;
	memcpy(f->chosen, c->list, c->nr * sizeof(*c->list));
	f->nr_chosen = rec.choice.nr_chosen = (uint32_t)c->nr;
	rec.choice.chosen = f->chosen;
	front_request(f, &rec);
}

bool saved_descent_allows(struct front *f)
{
	struct saved_descent *s = f->resumes;
	const struct rec_target *target = model_target(f->stream.model, 0);
	const struct module_origin *was, *is;
	char why[512];

	if (!s || !s->exe || !target || f->resume_refused)
		return !f->resume_refused;
	was = module_at(s->driver, s->exe);
	is = module_at(f->stream.driver, target->exe);
	if (was && is ? same_file(was, is) : !strcmp(base_name(s->exe), base_name(target->exe))) {
		choice_take(s, f, target);
		return true;
	}
	refuse(s->exe, was, target->exe, is, why, sizeof(why));
	front_fail(f, EXIT_USAGE, "resume: %s", why);
	f->resume_refused = true;
	return false;
}

int saved_descent_match(struct saved_descent *s, struct front *f, char *why, size_t n)
{
	const struct descent_driver *live = f->stream.driver;
	const struct module_origin *of_f0;
	uint32_t nr = driver_nr_modules(s->driver), f0 = driver_asked(s->driver)->function.module;

	if (!s->module)
		s->module = calloc((size_t)nr + 1, sizeof(*s->module));
	if (!s->module) {
		snprintf(why, n, "out of memory");
		return -ENOMEM;
	}
	for (uint32_t m = 1; m <= nr; m++)
		s->module[m - 1] = module_like(live, driver_module_identity(s->driver, m));
	of_f0 = driver_module_identity(s->driver, f0);
	if (!of_f0 || module_here(s, f0))
		return 0;
	refuse(of_f0->path, of_f0, of_f0->path, module_at(live, of_f0->path), why, n);
	return -ENOEXEC;
}

/* ---- beginning ---- */

struct restore {
	const struct saved_descent *s;
	struct front *front;
	const struct rec_descent *ask;
	int fnodes;
};

enum { ENOUGH_CALLS = 20 }; /* to compare two profiles */

static bool place_here(const struct saved_descent *s, struct rec_code *c)
{
	uint32_t module = module_here(s, c->module);

	if (c->module && !module)
		return false;
	c->module = module;
	return true;
}

static int restore_one(void *ctx, const struct record *from)
{
	struct restore *r = ctx;
	struct record rec = *from;

	if (rec.type == REC_FNODE) {
		if (!place_here(r->s, &rec.fnode.site) || !place_here(r->s, &rec.fnode.callee))
			return 0;
		rec.fnode.op = r->ask->op;
		r->fnodes++;
	} else if (rec.type == REC_SAVED_PROFILE) {
		rec.profile.op = r->ask->op;
	} else {
		return 0;
	}
	front_feed(r->front, &rec);
	return 0;
}

static void note_begin(const struct restore *r)
{
	char text[256];

	snprintf(
	    text, sizeof(text),
	    "this descent goes on with a saved one: %d of its functions were taken over, with "
	    "their votes%s",
	    r->fnodes,
	    r->ask->start_ops < ENOUGH_CALLS
		? "; too few calls were seen to tell whether latencies are distributed as they "
		  "were then"
		: "");
	note(r->front, NOTE_INFO, text);
}

int saved_descent_begin(const struct saved_descent *s, struct front *f,
			const struct rec_descent *ask)
{
	struct restore r = {.s = s, .front = f, .ask = ask};
	struct rec_code f0 = driver_asked(s->driver)->function;
	int err;

	if (!place_here(s, &f0) || !code_equal(f0, ask->function))
		return -EINVAL;
	err = driver_begin(f->stream.driver, ask);
	if (!err)
		err = each(s, restore_one, &r);
	if (!err && descent_status(driver_descent(f->stream.driver)) != DESCENT_CHANGED)
		note_begin(&r);
	return err;
}
