// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of the model that are not operations: session, targets, notes, checks, constants,
 * phases.
 */
#include "analysis/latency/model_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/buf.h"
#include "analysis/base/short_name.h"

/* Returns a copy of a text from a record, at most MODEL_TEXT bytes; NULL if out of memory. */
static char *model_text(const char *text)
{
	return strndup(text ? text : "", MODEL_TEXT);
}

int model_set_text(const char **to, const char *text)
{
	char *copy = model_text(text);

	if (!copy)
		return -ENOMEM;
	free((void *)*to);
	*to = copy;
	return 0;
}

int model_set_shown(const char **to, const struct rec_op *rec)
{
	const char *label = rec->label && *rec->label ? rec->label : rec->name;
	struct buf b;
	int err;

	buf_init(&b, MODEL_TEXT);
	if (rec->layer == LAYER_FUNCTION && label)
		short_name(&b, label);
	err = model_set_text(to, b.data && !b.err ? b.data : label);
	buf_release(&b);
	return err;
}

static void free_text(const char *text)
{
	free((void *)text);
}

/* Replaces each text of a freshly copied record by a copy of its own; all or none. */
static int own_texts(const char **text[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		*text[i] = model_text(*text[i]);
		if (*text[i])
			continue;
		while (i--)
			free_text(*text[i]);
		return -ENOMEM;
	}
	return 0;
}

int model_feed_meta(struct model *m, const struct rec_meta *rec)
{
	struct rec_meta copy = *rec;
	const char **text[] = {&copy.version, &copy.host, &copy.kernel, &copy.boot_id,
			       &copy.command};
	int err;

	if (m->has_meta)
		return -EINVAL;
	err = own_texts(text, 5);
	if (err)
		return err;
	m->meta = copy;
	m->has_meta = true;
	m->revision++;
	return 0;
}

/* Returns the newest entry of a pid, because the kernel reuses pids. */
static struct model_target *find_target(struct model *m, uint32_t pid)
{
	for (size_t i = m->nr_targets; i-- > 0;)
		if (m->target[i].rec.pid == pid)
			return &m->target[i];
	return NULL;
}

/* Makes room for one more entry in an array of `nr` entries that holds at most `max`. */
static int grow(void *array, size_t size, size_t nr, size_t max)
{
	void **p = array, *grown;

	if (nr >= max)
		return -ENOMEM;
	if (nr & (nr - 1))
		return 0;
	grown = realloc(*p, (nr ? nr * 2 : 1) * size);
	if (!grown)
		return -ENOMEM;
	*p = grown;
	return 0;
}

/*
 * Makes room for one more target: drops the oldest process that has ended and that the user did not
 * name.
 */
static void drop_ended_target(struct model *m)
{
	for (size_t i = 0; i < m->nr_targets; i++) {
		struct model_target *t = &m->target[i];

		if (!t->ended || t->rec.requested)
			continue;
		free_text(t->rec.comm);
		free_text(t->rec.exe);
		memmove(t, t + 1, (m->nr_targets - i - 1) * sizeof(*t));
		m->nr_targets--;
		return;
	}
}

int model_feed_target(struct model *m, const struct rec_target *rec)
{
	struct model_target *t = find_target(m, rec->pid);
	struct rec_target copy = *rec;
	const char **text[] = {&copy.comm, &copy.exe};
	bool known = t && t->rec.started_ns == rec->started_ns;
	int err;

	if (!rec->pid)
		return -EINVAL;
	err = own_texts(text, 2);
	if (err)
		return err;
	/* An exec keeps pid and start time; another start time means another process. */
	if (known) {
		free_text(t->rec.comm);
		free_text(t->rec.exe);
	} else {
		if (m->nr_targets == MODEL_MAX_TARGETS)
			drop_ended_target(m);
		err = grow(&m->target, sizeof(*m->target), m->nr_targets, MODEL_MAX_TARGETS);
		if (err) {
			free_text(copy.comm);
			free_text(copy.exe);
			return err;
		}
		t = find_target(m, rec->pid);
		if (t)
			t->ended = true;
		t = &m->target[m->nr_targets++];
	}
	t->rec = copy;
	t->ended = false;
	model_events_target(m, &t->rec, known);
	return 0;
}

int model_feed_target_end(struct model *m, const struct rec_target_end *rec)
{
	struct model_target *t = find_target(m, rec->pid);

	if (!t || t->ended)
		return -EINVAL;
	t->ended = true;
	model_events_target_end(m, &t->rec, rec);
	return 0;
}

/*
 * Returns the index of the note that a more serious one replaces: the oldest of the least serious
 * notes.
 */
static size_t lightest_note(const struct model *m)
{
	size_t least = 0;

	for (size_t i = 1; i + 1 < m->nr_notes; i++)
		if (m->note[i].level < m->note[least].level)
			least = i;
	return least;
}

/*
 * The last place is reserved for a note that there were more. If the list is full, only more
 * serious notes replace others.
 */
int model_feed_note(struct model *m, uint32_t level, const char *text)
{
	static const char more[] = "there were too many notes; the later ones are missing";
	struct rec_note note = {.level = level > NOTE_ERROR ? NOTE_ERROR : level};

	for (size_t i = 0; i < m->nr_notes; i++) {
		if (!strncmp(m->note[i].text, text ? text : "", MODEL_TEXT)) {
			if (note.level > m->note[i].level)
				m->note[i].level = note.level;
			return 0;
		}
	}
	if (m->nr_notes == MODEL_MAX_NOTES) {
		size_t least = lightest_note(m);

		if (note.level <= m->note[least].level)
			return 0;
		note.text = model_text(text);
		if (!note.text)
			return -ENOMEM;
		free_text(m->note[least].text);
		memmove(&m->note[least], &m->note[least + 1],
			(MODEL_MAX_NOTES - 2 - least) * sizeof(note));
		m->note[MODEL_MAX_NOTES - 2] = note;
		return 0;
	}
	if (m->nr_notes == MODEL_MAX_NOTES - 1) {
		note.text = strdup(more);
		note.level = NOTE_INFO;
		if (!note.text)
			return -ENOMEM;
		m->note[m->nr_notes++] = note;
		return model_feed_note(m, level, text);
	}
	note.text = model_text(text);
	if (!note.text)
		return -ENOMEM;
	m->note[m->nr_notes++] = note;
	return 0;
}

int model_feed_check(struct model *m, const struct rec_check *rec)
{
	struct rec_check copy = *rec;
	const char **text[] = {&copy.name, &copy.needed_for, &copy.remedy};
	size_t i;
	int err = own_texts(text, 3);

	if (err)
		return err;
	for (i = 0; i < m->nr_checks; i++)
		if (!strcmp(m->check[i].name, copy.name))
			break;
	if (i == m->nr_checks) {
		err = grow(&m->check, sizeof(*m->check), i, MODEL_MAX_CHECKS);
		if (err) {
			for (i = 0; i < 3; i++)
				free_text(*text[i]);
			return err;
		}
		m->nr_checks++;
	} else {
		free_text(m->check[i].name);
		free_text(m->check[i].needed_for);
		free_text(m->check[i].remedy);
	}
	m->check[i] = copy;
	return 0;
}

int model_feed_constant(struct model *m, const struct rec_constant *rec)
{
	struct rec_constant copy = *rec;
	const char **text[] = {&copy.name};
	size_t i;
	int err;

	if (rec->high_ns < rec->low_ns)
		return -EINVAL;
	err = own_texts(text, 1);
	if (err)
		return err;
	for (i = 0; i < m->nr_constants; i++)
		if (!strcmp(m->constant[i].name, copy.name))
			break;
	if (i == m->nr_constants) {
		err = grow(&m->constant, sizeof(*m->constant), i, MODEL_MAX_CONSTANTS);
		if (err) {
			free_text(copy.name);
			return err;
		}
		m->nr_constants++;
	} else {
		free_text(m->constant[i].name);
	}
	m->constant[i] = copy;
	constants_add(&m->constants, rec);
	m->revision++;
	return 0;
}

int model_feed_phases(struct model *m, const struct rec_phases *rec)
{
	struct rec_phases copy = *rec;

	copy.begin = model_text(rec->begin);
	copy.end = model_text(rec->end);
	if (!copy.begin || !copy.end) {
		free_text(copy.begin);
		free_text(copy.end);
		return -ENOMEM;
	}
	if (m->has_phases) {
		free_text(m->phases.begin);
		free_text(m->phases.end);
	}
	m->phases = copy;
	m->has_phases = true;
	return 0;
}

void model_host_release(struct model *m)
{
	if (m->has_phases) {
		free_text(m->phases.begin);
		free_text(m->phases.end);
	}
	if (m->has_meta) {
		free_text(m->meta.version);
		free_text(m->meta.host);
		free_text(m->meta.kernel);
		free_text(m->meta.boot_id);
		free_text(m->meta.command);
	}
	for (size_t i = 0; i < m->nr_targets; i++) {
		free_text(m->target[i].rec.comm);
		free_text(m->target[i].rec.exe);
	}
	for (size_t i = 0; i < m->nr_notes; i++)
		free_text(m->note[i].text);
	for (size_t i = 0; i < m->nr_checks; i++) {
		free_text(m->check[i].name);
		free_text(m->check[i].needed_for);
		free_text(m->check[i].remedy);
	}
	for (size_t i = 0; i < m->nr_constants; i++)
		free_text(m->constant[i].name);
	free(m->target);
	free(m->check);
	free(m->constant);
}
