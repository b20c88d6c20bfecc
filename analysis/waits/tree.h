/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of chains: equal layers under the same layers are one node. */
#pragma once

#include "analysis/waits/waits_impl.h"

/* What makes layers equal. */
struct layer_key {
	uint32_t identity; /* of the task; 0: none */
	uint32_t what;	   /* number of a text */
	uint32_t user, kernel;
	uint16_t notes;
	int16_t syscall;
	uint8_t state; /* enum layer_state */
	uint8_t kind;  /* enum wait_kind; of a wait for a CPU: enum ready_why; of a request:
			  BLOCK_OPERATION() */
	uint16_t disk; /* of a request: BLOCK_DISK() */
};

struct tree_node {
	struct layer_key key;
	uint32_t parent, next; /* next: of its hash chain */
	uint32_t hint;	       /* identity */
	uint64_t count, first_ns, episode;
	uint64_t ns[ACCOUNTS];
	struct lock_waits locks;
	struct request_sums requests;
};

/* A task as it was when it was met. */
struct identity {
	uint64_t start_ns;
	uint32_t tid, pid, comm;
	uint32_t task;
};

struct chains {
	struct tree_node *nodes; /* [0] is above the outermost layers */
	uint32_t nr, max, *bucket, mask;
	struct identity *identities; /* from 1 */
	uint32_t nr_identities, max_identities;
	uint64_t ns[ACCOUNTS], no_room_ns;
	uint64_t joined_at; /* traces_nr_equal() when equal nodes were joined last */
	uint32_t joined_nr; /* ... and how many nodes were left */
	uint64_t episode;
	enum waits_group group;
};

struct chains *chains_new(const struct waits_config *config);
void chains_free(struct chains *c);
/* The task as a number for keys. */
uint32_t chains_identity(struct waits *w, uint32_t task);
/* The node of this layer below `parent`; where there is no room, `parent` itself. */
uint32_t chains_child(struct chains *c, uint32_t parent, const struct layer_key *key, uint64_t at);
/* Join nodes whose sampled stacks have turned out to be equal, if it is time. Indices of nodes
 * change. */
void chains_join_equal(struct waits *w);
void chains_emit(struct chains *c, uint32_t node, uint64_t from, uint64_t to,
		 enum wait_account account);

/* ---- chains_tell.c, alike.c: copies of the tree */
/* Put siblings in the order in which they were seen first, parents before children; compute the
 * total times. */
int chains_complete(struct waits_chains *out);
/* Distinct keys, numbered from 0. */
enum { KEY_WORDS = 6 };
struct key_set {
	uint64_t (*key)[KEY_WORDS];
	uint32_t *slot, mask, nr;
};
/* For at most `max` keys. 0 or -ENOMEM; release it in both cases. */
int key_set_init(struct key_set *s, uint32_t max);
void key_set_release(struct key_set *s);
/* The number of this key; s->nr grows if it is new. */
uint32_t key_set_add(struct key_set *s, const uint64_t key[KEY_WORDS]);

/* ---- walk.c: down from a segment of a target */
struct chain_walker {
	struct waits *w;
	uint32_t steps, most;
	unsigned int depth; /* of tasks that waited for one another */
	uint64_t since_ns;  /* begin of the call that is told; 0: no call */
};
struct chain_walker walk_begin(struct waits *w);
/* Do both wait for the same, in the same call of the same code? */
bool chains_is_same_place(const struct waits *w, const struct segment *a, const struct segment *b);
/* One segment, between lo and hi, below `parent`. */
void walk_segment(struct chain_walker *k, uint32_t parent, const struct segment *s, uint64_t lo,
		  uint64_t hi, unsigned int notes);
/* What a task did between lo and hi. */
void walk_task(struct chain_walker *k, uint32_t parent, uint32_t task, uint64_t lo, uint64_t hi,
	       unsigned int notes);
/* The same, one level further down: another task waited for this one. */
void walk_next(struct chain_walker *k, uint32_t parent, uint32_t task, uint64_t lo, uint64_t hi,
	       unsigned int notes);
/* What ended the sleep `s`, over a part of it. */
void walk_cause(struct chain_walker *k, uint32_t node, const struct segment *s,
		const struct wait_cause *cause, uint64_t lo, uint64_t hi);
/* ---- requests.c */
/* A sleep that the completion of a request ended, over a part of it. */
void walk_request(struct chain_walker *k, uint32_t node, const struct segment *s,
		  const struct wait_cause *cause, uint64_t lo, uint64_t hi);

/* ---- walk.c */
uint32_t walk_layer(struct chain_walker *k, uint32_t parent, const struct segment *s,
		    unsigned int notes);
