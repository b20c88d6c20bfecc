// SPDX-License-Identifier: GPL-2.0-or-later
/* A saved descent, written by the process that has read the session. */
#include "tui/engine/saved_descent.h"

#include "analysis/latency/profile_record.h"
#include "analysis/latency/threads.h"
#include "analysis/session/frame.h"
#include "tui/engine/front_state.h"

struct writer {
	const struct descent_driver *driver;
	struct buf *out;
	uint32_t frames;
};

static int write_one(void *ctx, const struct record *rec)
{
	struct writer *w = ctx;

	return frame_encode(w->out, rec, w->frames++);
}

static int write_modules(struct writer *w)
{
	const struct descent_driver *d = w->driver;
	const char *kernel = driver_kernel(d);
	const struct record meta = {
	    .type = REC_META,
	    .meta = {.version = "", .host = "", .boot_id = "", .command = "", .kernel = kernel}};
	int err = kernel ? write_one(w, &meta) : 0;

	for (uint32_t m = 1; m <= driver_nr_modules(d) && !err; m++) {
		const struct module_origin *id = driver_module_identity(d, m);
		struct record rec = {.type = REC_MODULE};

		if (!id)
			continue;
		rec.module = (struct rec_module){
		    .module = m, .path = id->path, .size = id->size, .name = driver_module(d, m)};
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

static int write_note(struct writer *w, const char *text)
{
	return write_one(w, &(struct record){.type = REC_NOTE, .note = {NOTE_WARNING, text}});
}

/* True if a descent into another part of the operation has not found its root cause. */
static bool others_are_open(const struct descent_driver *d, uint32_t nr_parts)
{
	for (uint32_t n = 1; n <= nr_parts; n++) {
		const struct descent_driver *part = driver_part(d, n);
		struct descent_result r;
		bool found;

		if (part == d)
			continue;
		if (!part || driver_result(part, &r))
			return true;
		found = r.status == DESCENT_ROOT_CAUSE;
		descent_result_release(&r);
		if (!found)
			return true;
	}
	return false;
}

/* Of descents into the parts of an operation only the last one's tree is kept. *again: ask about
 * the operation once more, because another part is open. */
static int write_parts(struct writer *w, bool *again)
{
	const struct descent_driver *d = w->driver;
	const struct rec_parts *parts = driver_parts(d);
	char words[256];

	if (!parts)
		return 0;
	*again = driver_question(d) && others_are_open(d, parts->nr_parts);
	if (*again) {
		snprintf(words, sizeof(words),
			 "the saved descent divided the operation into %u parts, of which some had "
			 "no root cause yet: this descent begins all of them anew",
			 parts->nr_parts);
		return write_note(w, words);
	}
	snprintf(words, sizeof(words),
		 "this descent goes on with one part of the operation alone, that with %.1f%% of "
		 "its time; a new descent asks about all of it",
		 100.0 * (double)parts->parts[driver_asked(d)->part - 1].time_ns /
		     (double)parts->time_ns);
	return write_note(w, words);
}

int saved_descent_write(const struct descent_driver *d, const struct model *m, const char *damage,
			struct buf *out)
{
	bool again = false;
	char words[512];
	static struct profile_buckets buckets;
	struct writer w = {.driver = d, .out = out};
	struct record rec = {.type = REC_TARGET};
	int err;

	if (!driver_asked(d) && !driver_question(d))
		return -ENOENT;
	if (damage[0]) {
		snprintf(words, sizeof(words),
			 "the session is damaged (%s): this descent goes on with what is intact",
			 damage);
		err = write_note(&w, words);
		if (err)
			return err;
	}
	if (model_nr_targets(m)) {
		rec.target = *model_target(m, 0);
		err = write_one(&w, &rec);
		if (err)
			return err;
	}
	err = write_modules(&w);
	/* by their names another build has the functions, and a stripped copy their names */
	if (!err)
		err = driver_symbols(d, write_one, &w);
	if (!err && model_choice(m)->nr)
		err = write_choice(&w, model_choice(m));
	if (!err)
		err = write_parts(&w, &again);
	if (!err && (!driver_asked(d) || again)) {
		rec = (struct record){.type = REC_QUESTION, .question = *driver_question(d)};
		return write_one(&w, &rec);
	}
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
