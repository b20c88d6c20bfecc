// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of chains as a copy for those that show it. */

#include "analysis/waits/tree.h"

const char *layer_state_text(enum layer_state state)
{
	static const char *const text[] = {"run",     "runnable",  "sleep", "io",
					   "network", "interrupt", "timer"};

	return (unsigned int)state < sizeof(text) / sizeof(text[0]) ? text[state] : "run";
}

static struct waits_layer layer_of(const struct waits *w, const struct tree_node *n)
{
	const struct chains *c = w->chains;
	const struct identity *id = &c->identities[n->key.identity];
	const struct layer_key *key = &n->key;

	return (struct waits_layer){
	    .state = (enum layer_state)key->state,
	    .pid = id->pid,
	    .tid = c->group == WAITS_BY_PROCESS ? id->pid : id->tid,
	    .comm = texts_get(w->texts, id->comm),
	    .notes = key->notes,
	    .kind = key->state == CHAIN_SLEEP ? (enum wait_kind)key->kind : WAIT_UNKNOWN,
	    .why = key->state == CHAIN_RUNNABLE ? (enum ready_why)key->kind : READY_WOKEN,
	    .syscall = key->syscall,
	    .what = texts_get(w->texts, key->what),
	    .operation = key->state == CHAIN_IO ? key->kind : 0,
	    .device = texts_get(w->texts, key->state == CHAIN_IO && key->disk < NO_NAME
					      ? w->names[BRACKET_BLOCK][key->disk]
					      : 0),
	    .user = traces_find(w->traces, key->user),
	    .kernel = traces_find(w->traces, key->kernel),
	    .hint = n->hint ? texts_get(w->texts, c->identities[n->hint].comm) : ""};
}

/* What makes layers equal for those that look: stacks by their contents, tasks by thread or by
 * process. */
struct canon {
	uint64_t user, kernel, start_ns;
	uint32_t parent, id, comm, what;
	uint32_t place; /* state, kind, notes, call */
	uint32_t call;
};

static struct canon canon_of(const struct waits *w, uint32_t parent, const struct tree_node *n)
{
	const struct chains *c = w->chains;
	const struct identity *id = &c->identities[n->key.identity];
	bool by_process = c->group == WAITS_BY_PROCESS && id->pid;
	struct canon k;

	memset(&k, 0, sizeof(k));
	k.user = traces_content(w->traces, n->key.user);
	k.kernel = traces_content(w->traces, n->key.kernel);
	k.start_ns = by_process ? 0 : id->start_ns;
	k.parent = parent;
	k.id = by_process ? id->pid : id->tid;
	k.comm = id->comm;
	k.what = n->key.what;
	k.place = (uint32_t)n->key.state << 24 | (uint32_t)n->key.kind << 16 | n->key.notes;
	k.call = (uint32_t)n->key.disk << 16 | (uint16_t)n->key.syscall;
	return k;
}

_Static_assert(sizeof(struct canon) == KEY_WORDS * sizeof(uint64_t), "a key has no padding");

static void add(struct waits_node *to, const struct tree_node *n)
{
	if (!to->count && !to->self_ns)
		to->first_ns = n->first_ns;
	if (n->first_ns < to->first_ns)
		to->first_ns = n->first_ns;
	to->count += n->count;
	lock_waits_add(&to->locks, n->locks);
	request_sums_add(&to->requests, &n->requests);
	for (unsigned int a = 0; a < ACCOUNTS; a++) {
		to->self_ns += n->ns[a];
		to->account_ns[a] += n->ns[a];
		if (to->account_ns[a] > to->account_ns[to->account])
			to->account = (enum wait_account)a;
	}
}

/* Siblings by when they were seen first; parents stay before children. */
static int by_time(const void *a, const void *b, void *nodes)
{
	const struct waits_node *n = nodes;
	uint64_t x = n[*(const uint32_t *)a].first_ns, y = n[*(const uint32_t *)b].first_ns;

	return (x > y) - (x < y);
}

static int order(struct waits_chains *out)
{
	uint32_t nr = out->nr, *index = malloc((nr + 1) * sizeof(*index)),
		 *first = calloc(nr + 1, sizeof(*first)), *next = calloc(nr + 1, sizeof(*next)),
		 *place = malloc((nr + 1) * sizeof(*place)), at, k = 0;
	struct waits_node *nodes = malloc((nr + 1) * sizeof(*nodes));
	int ret = index && first && next && place && nodes ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < nr; i++)
		index[i] = i;
	if (!ret)
		qsort_r(index, nr, sizeof(*index), by_time, out->nodes);
	/* chains of children, the last one first: index + 1; those without a parent at `nr` */
	for (uint32_t i = nr; !ret && i--;) {
		uint32_t n = index[i],
			 parent = out->nodes[n].parent == n ? nr : out->nodes[n].parent;

		next[n] = first[parent];
		first[parent] = n + 1;
	}
	for (at = ret ? 0 : first[nr]; at;) {
		uint32_t n = at - 1;

		place[n] = k;
		nodes[k] = out->nodes[n];
		nodes[k].parent = out->nodes[n].parent == n ? k : place[out->nodes[n].parent];
		k++;
		if (first[n]) {
			at = first[n];
			continue;
		}
		while (!next[n] && out->nodes[n].parent != n)
			n = out->nodes[n].parent;
		at = next[n];
	}
	if (!ret) {
		free(out->nodes);
		out->nodes = nodes;
		nodes = NULL;
	}
	free(index);
	free(first);
	free(next);
	free(place);
	free(nodes);
	return ret;
}

int chains_complete(struct waits_chains *out)
{
	int err = order(out);

	out->total_ns = 0;
	for (uint32_t i = out->nr; !err && i--;) {
		struct waits_node *n = &out->nodes[i];

		n->total_ns += n->self_ns;
		out->total_ns += n->self_ns;
		if (n->parent != i)
			out->nodes[n->parent].total_ns += n->total_ns;
	}
	return err;
}

int waits_chains(const struct waits *w, struct waits_chains *out)
{
	const struct chains *c = w->chains;
	uint32_t *to = calloc(c->nr, sizeof(*to));
	struct key_set keys;
	int err = key_set_init(&keys, c->nr);

	*out = (struct waits_chains){.no_room_ns = c->no_room_ns, .of_calls = w->config.calls_only};
	out->nodes = calloc(c->nr, sizeof(*out->nodes));
	err = to && out->nodes ? err : -ENOMEM;
	for (uint32_t i = 1; !err && i < c->nr; i++) {
		const struct tree_node *n = &c->nodes[i];
		struct canon k = canon_of(w, n->parent ? to[n->parent] + 1 : 0, n);
		uint64_t key[KEY_WORDS];

		memcpy(key, &k, sizeof(key));
		to[i] = key_set_add(&keys, key);
		if (to[i] == out->nr) {
			out->nr++;
			out->nodes[to[i]].parent = n->parent ? to[n->parent] : to[i];
			out->nodes[to[i]].layer = layer_of(w, n);
			out->nodes[to[i]].first_ns = n->first_ns;
		}
		add(&out->nodes[to[i]], n);
	}
	err = err ? err : chains_complete(out);
	free(to);
	key_set_release(&keys);
	if (err)
		waits_chains_release(out);
	return err;
}

void waits_chains_release(struct waits_chains *c)
{
	free(c->nodes);
	c->nodes = NULL;
	c->nr = 0;
}

/* The paper's denominator is taken to be all time but what a person would not look for: sleep on
 * purpose and waiting for input. */
void waits_account(const struct waits *w, struct waits_account *out)
{
	double denominator, unknown;

	memset(out, 0, sizeof(*out));
	for (unsigned int a = 0; a < ACCOUNTS; a++) {
		out->ns[a] = w->chains->ns[a];
		out->total_ns += out->ns[a];
	}
	if (!out->total_ns)
		return;
	unknown = (double)(out->ns[ACCOUNT_UNKNOWN] + out->ns[ACCOUNT_LOST]);
	out->unknown = (double)out->ns[ACCOUNT_UNKNOWN] / (double)out->total_ns;
	out->lost = (double)out->ns[ACCOUNT_LOST] / (double)out->total_ns;
	out->wall = 1 - out->unknown - out->lost;
	denominator = (double)(out->total_ns - out->ns[ACCOUNT_DELIBERATE] - out->ns[ACCOUNT_IDLE]);
	out->rsp =
	    denominator > 0 ? 1 - (unknown + (double)out->ns[ACCOUNT_OTHER_PATH]) / denominator : 1;
}

uint32_t waits_started(const struct waits *w, struct waits_started *out, uint32_t max)
{
	uint32_t nr = 0;

	for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++) {
		const struct wait_task *t = task_at(w, i);
		struct waits_started one = {.pid = t->pid,
					    .tid = t->tid,
					    .comm = texts_get(w->texts, t->comm),
					    .ns = t->started_ns - t->charged_ns};
		uint32_t at;

		if (!t->tid || t->started_ns <= t->charged_ns)
			continue;
		for (at = nr; at && out[at - 1].ns < one.ns; at--) {
			if (at < max)
				out[at] = out[at - 1];
		}
		if (at < max)
			out[at] = one;
		nr += nr < max;
	}
	return nr;
}
