// SPDX-License-Identifier: GPL-2.0-or-later
/* Joins tasks of chains that are alike: hundreds of short-lived processes become one layer. */

#include "analysis/waits/tree.h"

/* At least so much of the time of a wait with known call paths has one path: so has the rest. */
#define NEARLY_ALL 0.9

/* Notes that do not make it another wait for a sentence. */
enum { PASSING_NOTES = NOTE_FALSE_WAKEUP | NOTE_BEFORE | NOTE_STILL };

int key_set_init(struct key_set *s, uint32_t max)
{
	uint32_t slots = 64;

	while (slots < 2 * max)
		slots *= 2;
	*s = (struct key_set){.mask = slots - 1};
	s->key = malloc((max + 1) * sizeof(*s->key));
	s->slot = calloc(slots, sizeof(*s->slot));
	return s->key && s->slot ? 0 : -ENOMEM;
}

void key_set_release(struct key_set *s)
{
	free(s->key);
	free(s->slot);
}

uint32_t key_set_add(struct key_set *s, const uint64_t key[KEY_WORDS])
{
	uint64_t hash = 0;
	uint32_t i;

	for (unsigned int at = 0; at < KEY_WORDS; at++) {
		hash = (hash ^ key[at]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (i = (uint32_t)(hash >> 20) & s->mask; s->slot[i]; i = (i + 1) & s->mask) {
		if (!memcmp(s->key[s->slot[i] - 1], key, sizeof(*s->key)))
			return s->slot[i] - 1;
	}
	memcpy(s->key[s->nr], key, sizeof(*s->key));
	s->slot[i] = ++s->nr;
	return s->nr - 1;
}

/* Tasks of one name below one layer. */
struct alike {
	uint32_t pid, tid; /* of the first one */
	uint32_t tasks;
};

/* The time of a wait with a known call path, and the path that has most of it. */
struct wait_paths {
	uint64_t ns, most_ns, most;
};

struct joining {
	const struct waits_chains *from;
	enum waits_group outermost; /* what outermost layers are joined by */
	bool outline;
	struct waits_chains out;
	uint32_t *to; /* node of `out`, by node of `from` */
	struct alike *alike;
	struct key_set groups;	  /* below which layer, which name: number of an alike */
	struct key_set members;	  /* of the groups */
	struct key_set layers;	  /* number of a node of `out` */
	struct key_set tasks;	  /* of these nodes */
	struct key_set waits;	  /* layers without their call paths */
	struct key_set paths;	  /* of these */
	struct wait_paths *known; /* by number in `waits` */
	uint64_t *path_ns;	  /* by number in `paths` */
};

static bool is_outermost(const struct waits_chains *c, uint32_t i)
{
	return c->nodes[i].parent == i;
}

/* Does it belong to the task of the layer above? */
static bool is_same_task(const struct waits_chains *c, uint32_t i)
{
	const struct waits_layer *l = &c->nodes[i].layer,
				 *above = &c->nodes[c->nodes[i].parent].layer;

	return l->tid == above->tid && l->pid == above->pid;
}

/* The group of a task below a layer; its name is compared by address: equal texts are one. NULL: it
 * is no task of its own. */
static struct alike *alike_of(struct joining *j, uint32_t i)
{
	const struct waits_layer *l = &j->from->nodes[i].layer;
	uint64_t key[KEY_WORDS] = {0, (uintptr_t)l->comm};
	uint32_t before = j->groups.nr, group;

	if (is_outermost(j->from, i) || !l->tid || is_same_task(j->from, i))
		return NULL;
	key[0] = j->to[j->from->nodes[i].parent];
	group = key_set_add(&j->groups, key);
	if (j->groups.nr > before)
		j->alike[group] = (struct alike){.pid = l->pid, .tid = l->tid};
	key[2] = l->tid;
	before = j->members.nr;
	key_set_add(&j->members, key);
	j->alike[group].tasks += j->members.nr > before;
	return &j->alike[group];
}

/* Add the times of a node to the node that it joins. */
static void add_times(struct waits_node *out, const struct waits_node *n)
{
	if (n->first_ns < out->first_ns)
		out->first_ns = n->first_ns;
	out->count += n->count;
	lock_waits_add(&out->locks, n->locks);
	request_sums_add(&out->requests, &n->requests);
	out->self_ns += n->self_ns;
	for (unsigned int k = 0; k < ACCOUNTS; k++) {
		out->account_ns[k] += n->account_ns[k];
		if (out->account_ns[k] > out->account_ns[out->account])
			out->account = (enum wait_account)k;
	}
}

/* The layer of a node, with the first task of those that are joined. */
static struct waits_layer layer_of(struct joining *j, uint32_t i)
{
	const struct waits_node *n = &j->from->nodes[i];
	const struct alike *a = alike_of(j, i);
	struct waits_layer l = n->layer;

	if (is_outermost(j->from, i) && j->outermost == WAITS_BY_PROCESS) {
		l.tid = l.pid;
	} else if (a && a->tasks >= WAITS_ALIKE) {
		l.pid = a->pid;
		l.tid = a->tid;
	} else if (!is_outermost(j->from, i) && l.tid && is_same_task(j->from, i)) {
		l.pid = j->out.nodes[j->to[n->parent]].layer.pid;
		l.tid = j->out.nodes[j->to[n->parent]].layer.tid;
	}
	return l;
}

static uint64_t path_of(const struct waits_layer *l)
{
	return l->user ? l->user->path : 0;
}

/* What makes layers equal, but for their stacks. */
static void make_key(const struct joining *j, uint32_t i, const struct waits_layer *l,
		     uint64_t key[KEY_WORDS])
{
	bool outermost = is_outermost(j->from, i);
	uint32_t notes = l->notes & (j->outline ? ~(uint32_t)PASSING_NOTES : UINT32_MAX);

	memset(key, 0, KEY_WORDS * sizeof(*key));
	key[0] = outermost ? 0 : (uint64_t)j->to[j->from->nodes[i].parent] << 32;
	key[0] |= l->tid;
	/* a request has no task */
	key[1] = l->state == CHAIN_IO ? (uintptr_t)l->device : (uintptr_t)l->comm;
	key[2] = (uintptr_t)l->what;
	key[5] = (uint64_t)outermost << 63 | (uint64_t)l->state << 56 |
		 (uint64_t)(l->state == CHAIN_IO ? l->operation : (uint32_t)l->kind) << 48 |
		 (uint64_t)l->why << 40 | (uint64_t)(notes & 0xffff) << 16 | (uint16_t)l->syscall;
}

/* Not each sleep has a call path. Note those of each wait. */
static void path_note(struct joining *j, uint32_t i)
{
	uint64_t key[KEY_WORDS], path[KEY_WORDS] = {0}, ns = j->from->nodes[i].total_ns, *path_ns;
	struct waits_layer l = layer_of(j, i);
	struct wait_paths *known;

	if (l.state != CHAIN_SLEEP || !path_of(&l))
		return;
	make_key(j, i, &l, key);
	path[0] = key_set_add(&j->waits, key);
	path[1] = path_of(&l);
	known = &j->known[path[0]];
	path_ns = &j->path_ns[key_set_add(&j->paths, path)];
	*path_ns += ns;
	known->ns += ns;
	if (*path_ns > known->most_ns) {
		known->most_ns = *path_ns;
		known->most = path[1];
	}
}

/* Complete a key by the stacks. A sleep whose call path is not known joins those of the same wait
 * if nearly all of them have one path. */
static void add_stacks(struct joining *j, const struct waits_layer *l, uint64_t key[KEY_WORDS])
{
	const struct wait_paths *known;

	if (path_of(l)) {
		key[3] = path_of(l);
		return;
	}
	if (l->state == CHAIN_SLEEP) {
		known = &j->known[key_set_add(&j->waits, key)];
		if ((double)known->most_ns >= NEARLY_ALL * (double)known->ns)
			key[3] = known->most;
	}
	/* what the kernel did is shown only of threads of the kernel */
	if (!key[3] && l->kernel && l->syscall < 0)
		key[4] = l->kernel->content;
}

static void join_node(struct joining *j, uint32_t i)
{
	const struct waits_node *n = &j->from->nodes[i];
	struct waits_layer l = layer_of(j, i);
	bool outermost = is_outermost(j->from, i);
	uint64_t key[KEY_WORDS], task[KEY_WORDS] = {0, n->layer.tid};
	uint32_t before = j->tasks.nr;
	struct waits_node *out;

	make_key(j, i, &l, key);
	if (!j->outline)
		add_stacks(j, &l, key);
	j->to[i] = key_set_add(&j->layers, key);
	out = &j->out.nodes[j->to[i]];
	if (j->to[i] == j->out.nr) {
		j->out.nr++;
		*out = (struct waits_node){.parent = outermost ? j->to[i] : j->to[n->parent],
					   .layer = l,
					   .account = n->account,
					   .first_ns = n->first_ns};
	}
	if (!path_of(&out->layer))
		out->layer.user = l.user;
	out->layer.notes &= l.notes;
	add_times(out, n);
	task[0] = j->to[i];
	key_set_add(&j->tasks, task);
	out->layer.tasks += l.tid && j->tasks.nr > before;
}

/* The nodes by their depth: nodes of one depth are joined after all those above them. NULL: out of
 * memory. */
static uint32_t *by_depth(const struct waits_chains *c, uint32_t **begin, uint32_t *levels)
{
	uint32_t *depth = calloc(c->nr + 1, sizeof(*depth)),
		 *order = calloc(c->nr + 1, sizeof(*order)),
		 *first = calloc(c->nr + 3, sizeof(*first));

	*levels = 0;
	for (uint32_t i = 0; depth && order && first && i < c->nr; i++) {
		depth[i] = is_outermost(c, i) ? 0 : depth[c->nodes[i].parent] + 1;
		first[depth[i] + 2]++;
		if (depth[i] + 1 > *levels)
			*levels = depth[i] + 1;
	}
	for (uint32_t i = 2; order && first && i < c->nr + 3; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; depth && order && first && i < c->nr; i++)
		order[first[depth[i] + 1]++] = i;
	if (!depth || !first) {
		free(order);
		order = NULL;
	}
	free(depth);
	*begin = first;
	return order;
}

static int join(const struct waits_chains *c, struct joining *j)
{
	uint32_t *begin = NULL, levels, *order = by_depth(c, &begin, &levels);
	int err = key_set_init(&j->groups, c->nr);

	err |= key_set_init(&j->members, c->nr);
	err |= key_set_init(&j->layers, c->nr);
	err |= key_set_init(&j->tasks, c->nr);
	err |= key_set_init(&j->waits, c->nr);
	err |= key_set_init(&j->paths, c->nr);
	j->from = c;
	j->out = (struct waits_chains){.no_room_ns = c->no_room_ns, .of_calls = c->of_calls};
	j->out.nodes = calloc(c->nr + 1, sizeof(*j->out.nodes));
	j->to = calloc(c->nr + 1, sizeof(*j->to));
	j->alike = calloc(c->nr + 1, sizeof(*j->alike));
	j->known = calloc(c->nr + 1, sizeof(*j->known));
	j->path_ns = calloc(c->nr + 1, sizeof(*j->path_ns));
	if (err || !order || !begin || !j->out.nodes || !j->to || !j->alike || !j->known ||
	    !j->path_ns)
		err = -ENOMEM;
	for (uint32_t level = 0; !err && level < levels; level++) {
		/* the groups of a level, and then the call paths of its waits, are known before any
		 * of its nodes is joined */
		for (uint32_t k = begin[level]; k < begin[level + 1]; k++)
			alike_of(j, order[k]);
		for (uint32_t k = begin[level]; k < begin[level + 1]; k++)
			path_note(j, order[k]);
		for (uint32_t k = begin[level]; k < begin[level + 1]; k++)
			join_node(j, order[k]);
	}
	err = err ? err : chains_complete(&j->out);
	if (err)
		waits_chains_release(&j->out);
	key_set_release(&j->groups);
	key_set_release(&j->members);
	key_set_release(&j->layers);
	key_set_release(&j->tasks);
	key_set_release(&j->waits);
	key_set_release(&j->paths);
	free(order);
	free(begin);
	free(j->to);
	free(j->alike);
	free(j->known);
	free(j->path_ns);
	return err;
}

int waits_chains_join(struct waits_chains *c, enum waits_group outermost)
{
	struct joining j = {.outermost = outermost};
	int err = join(c, &j);

	if (!err) {
		waits_chains_release(c);
		*c = j.out;
	}
	return err;
}

int waits_chains_outline(const struct waits_chains *c, enum waits_group outermost,
			 struct waits_chains *out)
{
	struct joining j = {.outermost = outermost, .outline = true};
	int err = join(c, &j);

	*out = j.out;
	return err;
}
