/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feeds what the simulator wrote and compares chains with known answers. */
#ifndef PEAKTOP_WAITS_CHECK_H
#define PEAKTOP_WAITS_CHECK_H

#include "analysis/waits/waits.h"
#include "analysis/waits/waits_critical.h"
#include "tests/unit/waits_sim.h"

static struct sim sim;
static struct waits *waits;
static struct waits_chains chains;
static struct waits_account account;
static struct waits_stats stats;

/* "A>C>B unsampled run", "A>/var/lib/log block I/O": the tasks and things of a chain. */
static inline void chain_text(uint32_t node, char *out, size_t n)
{
	const struct waits_node *path[64];
	const char *last = "";
	uint32_t depth = 0, last_tid = 0;
	size_t at = 0;

	for (uint32_t i = node;; i = chains.nodes[i].parent) {
		assert(depth < 64);
		path[depth++] = &chains.nodes[i];
		if (chains.nodes[i].parent == i)
			break;
	}
	out[0] = '\0';
	while (depth--) {
		const struct waits_layer *l = &path[depth]->layer;
		const char *name = l->tid ? l->comm : l->what;

		if (!*name || (l->tid && l->tid == last_tid && !strcmp(name, last)))
			continue;
		at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ">" : "", name);
		last = name;
		last_tid = l->tid;
	}
}

/* Time of all chains of this text that is accounted as this. */
static inline uint64_t chain_ns(const char *text, enum wait_account category)
{
	char name[512];
	uint64_t ns = 0;

	for (uint32_t i = 0; i < chains.nr; i++) {
		chain_text(i, name, sizeof(name));
		if (!strcmp(name, text))
			ns += chains.nodes[i].account_ns[category];
	}
	return ns;
}

static inline void chains_show(void)
{
	char name[512];

	for (uint32_t i = 0; i < chains.nr; i++) {
		chain_text(i, name, sizeof(name));
		for (unsigned int a = 0; a < ACCOUNTS; a++) {
			if (chains.nodes[i].account_ns[a])
				printf("# %-30s %-20s %9.3f ms x%llu notes %x\n", name,
				       wait_account_text((enum wait_account)a),
				       (double)chains.nodes[i].account_ns[a] / 1e6,
				       (unsigned long long)chains.nodes[i].count,
				       chains.nodes[i].layer.notes);
		}
	}
	fflush(stdout);
}

/* Within 3% or 0.5 ms. */
static inline void expect(const char *text, enum wait_account category, double ms)
{
	double got = (double)chain_ns(text, category) / 1e6,
	       room = ms * 0.03 > 0.5 ? ms * 0.03 : 0.5;

	if (got < ms - room || got > ms + room) {
		chains_show();
		fail_msg("%s, %s: %.3f ms, not %.3f", text, wait_account_text(category), got, ms);
	}
}

/* A task that has nothing to do with it is nowhere in the chains. */
static inline void expect_absent(const char *comm)
{
	char name[512];

	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (chains.nodes[i].total_ns > 100 * US && !strcmp(l->comm, comm)) {
			chain_text(i, name, sizeof(name));
			chains_show();
			fail_msg("%s appears: %s", comm, name);
		}
	}
}

static inline void expect_layer(const char *comm, enum wait_kind kind, unsigned int notes)
{
	for (uint32_t i = 0; i < chains.nr; i++) {
		const struct waits_layer *l = &chains.nodes[i].layer;

		if (!strcmp(l->comm, comm) && l->state == CHAIN_SLEEP && l->kind == kind &&
		    (l->notes & notes) == notes)
			return;
	}
	chains_show();
	fail_msg("%s never in: %s, notes %x", comm, wait_kind_info(kind)->text, notes);
}

static inline void take_answers(void)
{
	waits_chains_release(&chains);
	assert_int_equal(waits_chains(waits, &chains), 0);
	waits_account(waits, &account);
	waits_stats(waits, &stats);
}

static inline void feed_all(const struct waits_config *config)
{
	waits_free(waits);
	waits = waits_new(config);
	assert_non_null(waits);
	for (uint32_t i = 0; i < sim.nr_records; i++)
		assert_int_equal(waits_feed(waits, &sim.records[i]), 0);
	waits_flush(waits);
	take_answers();
}

/* Starts what is not forked by others, and runs it in one window. */
static inline void sim_play(uint64_t ns, int nr_started)
{
	sim_window(&sim, WINDOW_BEGIN);
	for (int i = 0; i < nr_started; i++)
		sim_tell_task(&sim, i, 'Q');
	for (int i = 0; i < nr_started; i++)
		sim_enqueue(&sim, i);
	sim_run(&sim, ns);
	sim_window(&sim, WINDOW_END);
}

/* What always holds where nothing was lost. */
static inline void expect_sound(void)
{
	struct waits_critical c;

	assert_true(account.ns[ACCOUNT_LOST] == 0);
	assert_true(account.unknown < 0.005);
	assert_true(chains.total_ns == account.total_ns);
	assert_int_equal(waits_critical(waits, 0, 0, &c), 0);
	if (c.path.deficit_ns * 100 > c.path.elapsed_ns) {
		chains_show();
		fail_msg("deficit %.3f of %.3f ms", (double)c.path.deficit_ns / 1e6,
			 (double)c.path.elapsed_ns / 1e6);
	}
	waits_critical_release(&c);
}

static inline void play(uint64_t ns, int nr_started)
{
	sim_play(ns, nr_started);
	feed_all(NULL);
	expect_sound();
}

static inline int teardown(void **state)
{
	waits_chains_release(&chains);
	waits_free(waits);
	waits = NULL;
	sim_release(&sim);
	return 0;
}

#endif
