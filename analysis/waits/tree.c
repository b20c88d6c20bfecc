// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/tree.h"

struct chains *chains_new(const struct waits_config *config)
{
	struct chains *c = calloc(1, sizeof(*c));
	uint32_t buckets = 64;

	if (!c)
		return NULL;
	while (buckets < config->max_nodes)
		buckets *= 2;
	c->max = config->max_nodes;
	c->mask = buckets - 1;
	c->group = config->group;
	c->max_identities = 2 * config->max_nodes;
	c->nodes = calloc(c->max, sizeof(*c->nodes));
	c->bucket = calloc(buckets, sizeof(*c->bucket));
	c->identities = calloc(c->max_identities, sizeof(*c->identities));
	if (!c->nodes || !c->bucket || !c->identities) {
		chains_free(c);
		return NULL;
	}
	c->nr = 1;
	c->nr_identities = 1;
	return c;
}

void chains_free(struct chains *c)
{
	if (!c)
		return;
	free(c->nodes);
	free(c->bucket);
	free(c->identities);
	free(c);
}

uint32_t chains_identity(struct waits *w, uint32_t task)
{
	struct chains *c = w->chains;
	struct wait_task *t = task_at(w, task);
	struct identity *i = &c->identities[t->identity];

	if (task == NO_TASK)
		return 0;
	/* a task whose name comes later was meant all the time; another name is another layer */
	if (t->identity && !i->comm) {
		i->comm = t->comm;
		i->pid = t->pid;
	}
	if (t->identity && i->comm == t->comm)
		return t->identity;
	if (c->nr_identities == c->max_identities)
		return c->max_identities - 1;
	t->identity = c->nr_identities++;
	c->identities[t->identity] = (struct identity){
	    .tid = t->tid, .pid = t->pid, .start_ns = t->start_ns, .comm = t->comm, .task = task};
	return t->identity;
}

static uint32_t hash_of(uint32_t parent, const struct layer_key *key)
{
	const unsigned char *byte = (const unsigned char *)key;
	uint64_t hash = parent * 0x9e3779b97f4a7c15u, word;

	for (size_t i = 0; i + sizeof(word) <= sizeof(*key); i += sizeof(word)) {
		memcpy(&word, byte + i, sizeof(word));
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	memcpy(&word, byte + sizeof(*key) - sizeof(word), sizeof(word));
	hash = (hash ^ word) * 0xff51afd7ed558ccdu;
	return (uint32_t)(hash >> 33);
}

uint32_t chains_child(struct chains *c, uint32_t parent, const struct layer_key *key, uint64_t at)
{
	uint32_t *first = &c->bucket[hash_of(parent, key) & c->mask], i;
	struct tree_node *n;

	for (i = *first; i; i = c->nodes[i].next) {
		n = &c->nodes[i];
		if (n->parent != parent || memcmp(&n->key, key, sizeof(*key)) != 0)
			continue;
		if (at < n->first_ns)
			n->first_ns = at;
		break;
	}
	if (!i) {
		if (c->nr == c->max)
			return parent;
		i = c->nr++;
		n = &c->nodes[i];
		n->key = *key;
		n->parent = parent;
		n->next = *first;
		n->first_ns = at;
		*first = i;
	}
	return i;
}

void chains_emit(struct chains *c, uint32_t node, uint64_t from, uint64_t to,
		 enum wait_account account)
{
	struct tree_node *n = &c->nodes[node];

	if (to <= from)
		return;
	c->ns[account] += to - from;
	if (!node)
		c->no_room_ns += to - from;
	n->ns[account] += to - from;
	n->count += n->episode != c->episode;
	n->episode = c->episode;
}

/* The node of the new tree for what is at `old`, whose parent has the new index `parent`. */
static uint32_t join_node(struct waits *w, uint32_t parent, const struct tree_node *old)
{
	struct chains *c = w->chains;
	struct layer_key key = old->key;
	uint32_t node;
	struct tree_node *n;

	key.user = traces_kept(w->traces, key.user);
	key.kernel = traces_kept(w->traces, key.kernel);
	node = chains_child(c, parent, &key, old->first_ns);
	n = &c->nodes[node];
	n->count += old->count;
	n->hint = n->hint ? n->hint : old->hint;
	n->episode = old->episode;
	lock_waits_add(&n->locks, old->locks);
	request_sums_add(&n->requests, &old->requests);
	for (unsigned int a = 0; a < ACCOUNTS; a++)
		n->ns[a] += old->ns[a];
	return node;
}

void chains_join_equal(struct waits *w)
{
	struct chains *c = w->chains;
	uint64_t equal = traces_nr_equal(w->traces);
	struct tree_node *old = c->nodes;
	uint32_t nr = c->nr, *to;

	if (equal == c->joined_at || (equal - c->joined_at < w->config.max_traces / 2 &&
				      (nr < c->max / 4 * 3 || nr - c->joined_nr < c->max / 8)))
		return;
	to = calloc(nr, sizeof(*to));
	c->nodes = calloc(c->max, sizeof(*c->nodes));
	if (!to || !c->nodes) {
		free(to);
		free(c->nodes);
		c->nodes = old;
		return;
	}
	memset(c->bucket, 0, (c->mask + 1) * sizeof(*c->bucket));
	c->nodes[0] = old[0];
	c->nr = 1;
	for (uint32_t i = 1; i < nr; i++)
		to[i] = join_node(w, to[old[i].parent], &old[i]);
	c->joined_at = equal;
	c->joined_nr = c->nr;
	free(to);
	free(old);
}
