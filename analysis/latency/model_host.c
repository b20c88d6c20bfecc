// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts of the model that are not operations: session, targets, notes, checks, constants,
 * phases. */
#include "analysis/latency/model_impl.h"

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/short_name.h"
#include "analysis/latency/target_end.h"
#include "analysis/session/record_copy.h"

int model_set_text(const char **to, const char *text)
{
	char *copy = strndup(text ? text : "", MODEL_TEXT);

	if (!copy)
		return -ENOMEM;
	free((void *)*to);
	*to = copy;
	return 0;
}

int model_set_shown(const char **to, const struct rec_op *rec)
{
	const char *label = rec->label && *rec->label ? rec->label : rec->name;
	SCOPED_BUF(b, MODEL_TEXT);

	if (rec->layer == LAYER_FUNCTION && label)
		short_name(&b, label);
	return model_set_text(to, b.data && !b.err ? b.data : label);
}

/* Replaces *to by a copy of a record. Returns 0, or -ENOMEM with *to unchanged. */
static int keep(struct record **to, const struct record *rec)
{
	struct record *copy = record_copy(rec);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

int model_feed_meta(struct model *m, const struct record *rec)
{
	int err = m->meta ? -EINVAL : keep(&m->meta, rec);

	m->revision += !err;
	return err;
}

/* Returns the newest entry of a pid, because the kernel reuses pids. */
static struct model_target *find_target(struct model *m, uint32_t pid)
{
	for (size_t i = m->nr_targets; i-- > 0;)
		if (m->target[i].rec->target.pid == pid)
			return &m->target[i];
	return NULL;
}

/* Makes room for one more target: drops the oldest process that has ended, of those that the user
 * did not name if there are any. */
static void drop_ended_target(struct model *m)
{
	bool any =
	    any_of(i, m->nr_targets, m->target[i].ended && !m->target[i].rec->target.requested);

	for (size_t i = 0; i < m->nr_targets; i++) {
		struct model_target *t = &m->target[i];

		if (!t->ended || (any && t->rec->target.requested))
			continue;
		free(t->rec);
		memmove(t, t + 1, (m->nr_targets - i - 1) * sizeof(*t));
		m->nr_targets--;
		return;
	}
}

int model_feed_target(struct model *m, const struct record *rec)
{
	struct model_target *t = find_target(m, rec->target.pid), fresh = {0};
	/* An exec keeps pid and start time; another start time means another process. */
	bool known = t && t->rec->target.started_ns == rec->target.started_ns;
	int err = keep(known ? &t->rec : &fresh.rec, rec);

	if (err)
		return err;
	if (!known) {
		if (m->nr_targets == MODEL_MAX_TARGETS)
			drop_ended_target(m);
		if (array_grow(m->target, m->nr_targets, m->cap_targets, MODEL_MAX_TARGETS)) {
			free(fresh.rec);
			return -ENOMEM;
		}
		t = find_target(m, rec->target.pid);
		if (t)
			t->ended = true;
		t = &m->target[m->nr_targets++];
		*t = fresh;
	}
	t->ended = false;
	t->end = (struct rec_target_end){.pid = 0};
	model_events_target(m, &t->rec->target, known);
	return 0;
}

/* Whoever named a process must see that it was killed; what it starts may well be. */
static int note_death(struct model *m, const struct rec_target *t, const struct rec_target_end *end)
{
	SCOPED_BUF(text, MODEL_TEXT);

	target_end_words(&text, t, end);
	return text.err ? text.err
			: model_feed_note(m, t->requested ? NOTE_ERROR : NOTE_WARNING, text.data);
}

int model_feed_target_end(struct model *m, const struct rec_target_end *rec)
{
	struct model_target *t = find_target(m, rec->pid);

	if (!t || t->ended)
		return -EINVAL;
	t->ended = true;
	t->end = *rec;
	model_events_target_end(m, &t->rec->target, rec);
	return target_end_is_death(rec) ? note_death(m, &t->rec->target, rec) : 0;
}

/* Returns the index of the note that a more serious one replaces: the oldest of the least serious
 * notes. */
static size_t lightest_note(const struct model *m)
{
	size_t least = 0;

	for (size_t i = 1; i + 1 < m->nr_notes; i++)
		if (m->note[i]->note.level < m->note[least]->note.level)
			least = i;
	return least;
}

/* The last place is reserved for a note that there were more. If the list is full, only more
 * serious notes replace others. */
int model_feed_note(struct model *m, uint32_t level, const char *text)
{
	static const char more[] = "there were too many notes; the later ones are missing";
	struct record rec = {
	    .type = REC_NOTE,
	    .note = {.level = level > NOTE_ERROR ? NOTE_ERROR : level, .text = text ? text : ""}};
	size_t at = m->nr_notes;
	int err;

	for (size_t i = 0; i < m->nr_notes; i++) {
		if (!strncmp(m->note[i]->note.text, rec.note.text, MODEL_TEXT)) {
			if (rec.note.level > m->note[i]->note.level)
				m->note[i]->note.level = rec.note.level;
			return 0;
		}
	}
	if (m->nr_notes == MODEL_MAX_NOTES - 1) {
		const struct record last = {.type = REC_NOTE,
					    .note = {.level = NOTE_INFO, .text = more}};

		err = keep(&m->note[at], &last);
		if (err)
			return err;
		m->nr_notes++;
	}
	if (m->nr_notes == MODEL_MAX_NOTES) {
		struct record *replaced;

		at = lightest_note(m);
		if (rec.note.level <= m->note[at]->note.level)
			return 0;
		replaced = m->note[at];
		memmove(&m->note[at], &m->note[at + 1],
			(MODEL_MAX_NOTES - 2 - at) * sizeof(m->note[0]));
		at = MODEL_MAX_NOTES - 2;
		m->note[at] = replaced;
		return keep(&m->note[at], &rec);
	}
	err = keep(&m->note[at], &rec);
	m->nr_notes += !err;
	return err;
}

int model_feed_check(struct model *m, const struct record *rec)
{
	size_t i = 0;
	int err;

	while (i < m->nr_checks && strcmp(m->check[i]->check.name, rec->check.name))
		i++;
	err = i < MODEL_MAX_CHECKS ? keep(&m->check[i], rec) : -ENOMEM;
	if (!err && i == m->nr_checks)
		m->nr_checks++;
	return err;
}

int model_feed_constant(struct model *m, const struct record *rec)
{
	const struct rec_constant *c = &rec->constant;
	size_t i = 0;
	int err;

	if (c->high_ns < c->low_ns)
		return -EINVAL;
	while (i < m->nr_constants && strcmp(m->constant[i]->constant.name, c->name))
		i++;
	err = i < MODEL_MAX_CONSTANTS ? keep(&m->constant[i], rec) : -ENOMEM;
	if (err)
		return err;
	if (i == m->nr_constants)
		m->nr_constants++;
	constants_add(&m->constants, c);
	m->revision++;
	return 0;
}

int model_feed_phases(struct model *m, const struct record *rec)
{
	return keep(&m->phases, rec);
}

void model_host_release(struct model *m)
{
	free(m->phases);
	free(m->meta);
	for (size_t i = 0; i < m->nr_targets; i++)
		free(m->target[i].rec);
	for (size_t i = 0; i < m->nr_notes; i++)
		free(m->note[i]);
	for (size_t i = 0; i < m->nr_checks; i++)
		free(m->check[i]);
	for (size_t i = 0; i < m->nr_constants; i++)
		free(m->constant[i]);
	free(m->target);
}
