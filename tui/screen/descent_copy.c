// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/descent_copy.h"

#include "tui/report/sanitise.h"

enum { MAX_TEXT = 32 << 20 };

/* Copy a text, sanitised; NULL becomes "". Sets *err if there is no memory. */
static const char *put(struct arena *a, const char *s, int *err)
{
	const char *copy = sanitise_into(a, s ? s : "");

	if (!copy)
		*err = -ENOMEM;
	return copy;
}

static bool in_preorder(const struct screen_descent *d)
{
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct screen_descent_node *n = &d->nodes[i];

		if (n->node >= SCREEN_DESCENT_MAX_NODES || (i ? !n->depth : n->depth) ||
		    (i && n->depth > d->nodes[i - 1].depth + 1))
			return false;
	}
	return true;
}

static int copy_all(struct descent_copy *c, const struct screen_descent *d)
{
	struct arena *a = &c->text;
	int err = 0;

	c->d.sentence = put(a, d->sentence, &err);
	c->d.status = put(a, d->status, &err);
	for (uint32_t i = 0; i < c->d.nr_nodes; i++) {
		struct screen_descent_node *n = &c->nodes[i];

		*n = d->nodes[i];
		n->name = put(a, n->name, &err);
		n->file = put(a, n->file, &err);
		n->evidence = put(a, n->evidence, &err);
		n->remark = put(a, n->remark, &err);
	}
	for (uint32_t i = 0; i < c->d.nr_paths; i++) {
		struct screen_descent_path *p = &c->paths[i];

		*p = d->paths[i];
		p->cause = put(a, p->cause, &err);
		p->evidence = put(a, p->evidence, &err);
		p->where = put(a, p->where, &err);
		p->waits = put(a, p->waits, &err);
	}
	c->d.operation = put(a, d->operation, &err);
	for (uint32_t i = 0; i < c->d.nr_parts; i++) {
		c->parts[i] = d->parts[i];
		c->parts[i].calls = put(a, d->parts[i].calls, &err);
		c->parts[i].answer = put(a, d->parts[i].answer, &err);
	}
	c->d.parts = c->parts;
	c->d.nodes = c->nodes;
	c->d.paths = c->paths;
	return err;
}

struct descent_copy *descent_copy_new(const struct screen_descent *d, int *err)
{
	struct descent_copy *c = calloc(1, sizeof(*c));
	uint32_t nr_nodes =
	    d->nr_nodes < SCREEN_DESCENT_MAX_NODES ? d->nr_nodes : SCREEN_DESCENT_MAX_NODES;
	uint32_t nr_paths =
	    d->nr_paths < SCREEN_DESCENT_MAX_PATHS ? d->nr_paths : SCREEN_DESCENT_MAX_PATHS;

	*err = -ENOMEM;
	if (!c)
		return NULL;
	c->holders = 1;
	c->d = *d;
	c->d.nr_nodes = nr_nodes;
	c->d.nr_paths = nr_paths;
	if (c->d.nr_parts > SCREEN_DESCENT_MAX_PARTS)
		c->d.nr_parts = SCREEN_DESCENT_MAX_PARTS;
	arena_init(&c->text, MAX_TEXT);
	c->nodes = calloc(nr_nodes + 1, sizeof(*c->nodes));
	c->paths = calloc(nr_paths + 1, sizeof(*c->paths));
	if (c->nodes && c->paths)
		*err = in_preorder(&c->d) ? copy_all(c, d) : -EINVAL;
	if (!*err)
		return c;
	descent_copy_drop(c);
	return NULL;
}

struct descent_copy *descent_copy_hold(struct descent_copy *c)
{
	if (c)
		c->holders++;
	return c;
}

void descent_copy_drop(struct descent_copy *c)
{
	if (!c || --c->holders)
		return;
	free(c->nodes);
	free(c->paths);
	arena_release(&c->text);
	free(c);
}
