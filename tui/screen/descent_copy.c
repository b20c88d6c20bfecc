// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/descent_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tui/report/sanitise.h"

enum { MAX_TEXT = 32 << 20 };

/* Append a text and return its offset as a pointer. The buffer may still move; relocate() makes
 * real pointers at the end. */
static const char *put(struct buf *b, const char *s)
{
	size_t at = b->len;

	sanitise_append(b, s, strlen(s));
	buf_append(b, "", 1);
	return (const char *)(uintptr_t)at;
}

static void relocate(const struct buf *b, const char **s)
{
	*s = b->data + (uintptr_t)*s;
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

static void copy_all(struct descent_copy *c, const struct screen_descent *d)
{
	c->d.sentence = put(&c->text, d->sentence);
	c->d.status = put(&c->text, d->status);
	for (uint32_t i = 0; i < c->d.nr_nodes; i++) {
		struct screen_descent_node *n = &c->nodes[i];

		*n = d->nodes[i];
		n->name = put(&c->text, n->name);
		n->file = put(&c->text, n->file);
		n->evidence = put(&c->text, n->evidence);
		n->remark = put(&c->text, n->remark);
	}
	for (uint32_t i = 0; i < c->d.nr_paths; i++) {
		struct screen_descent_path *p = &c->paths[i];

		*p = d->paths[i];
		p->cause = put(&c->text, p->cause);
		p->evidence = put(&c->text, p->evidence);
		p->where = put(&c->text, p->where);
		p->waits = put(&c->text, p->waits ? p->waits : "");
	}
}

static void relocate_all(struct descent_copy *c)
{
	relocate(&c->text, &c->d.sentence);
	relocate(&c->text, &c->d.status);
	for (uint32_t i = 0; i < c->d.nr_nodes; i++) {
		relocate(&c->text, &c->nodes[i].name);
		relocate(&c->text, &c->nodes[i].file);
		relocate(&c->text, &c->nodes[i].evidence);
		relocate(&c->text, &c->nodes[i].remark);
	}
	for (uint32_t i = 0; i < c->d.nr_paths; i++) {
		relocate(&c->text, &c->paths[i].cause);
		relocate(&c->text, &c->paths[i].evidence);
		relocate(&c->text, &c->paths[i].where);
		relocate(&c->text, &c->paths[i].waits);
	}
	c->d.nodes = c->nodes;
	c->d.paths = c->paths;
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
	buf_init(&c->text, MAX_TEXT);
	c->nodes = calloc(nr_nodes + 1, sizeof(*c->nodes));
	c->paths = calloc(nr_paths + 1, sizeof(*c->paths));
	if (c->nodes && c->paths && !in_preorder(&c->d)) {
		*err = -EINVAL;
	} else if (c->nodes && c->paths) {
		copy_all(c, d);
		*err = c->text.err ? -ENOMEM : 0;
	}
	if (*err) {
		descent_copy_drop(c);
		return NULL;
	}
	relocate_all(c);
	return c;
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
	buf_release(&c->text);
	free(c);
}
