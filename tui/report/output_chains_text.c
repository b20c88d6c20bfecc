// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains as text: the tree (output_chains_tree.c), the accounting, and what was observed. */

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/output_waits.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { MAX_OUTPUT = 16 << 20, MAX_STARTED = 5 };
#define LEAST 0.01 /* less work that was started, as a share of the time, is not listed */

static void put_calls(struct buf *out, const struct wait_report *r, unsigned int columns)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	wait_calls_words(&line, r);
	if (line.len && !line.err)
		words_wrap(out, line.data, columns, "Calls:    ", 10);
}

void wait_observed_lines(struct buf *out, const struct wait_report *r,
			 const struct output_options *o)
{
	struct waits_stats s;
	SCOPED_BUF(line, MAX_OUTPUT);

	if (!r->waits)
		return;
	waits_stats(r->waits, &s);
	wait_observed_words(&line, r, o, &s);
	if (s.steal_ns)
		buf_printf(&line, "; the host took %s from the CPUs meanwhile",
			   format_time(s.steal_ns).s);
	words_wrap(out, line.err ? "" : line.data, output_columns(o), "Observed: ", 10);
	put_calls(out, r, output_columns(o));
	buf_reset(&line);
	for (unsigned int i = 0; wait_doubt(&line, r, &s, i); i++) {
		words_wrap(out, line.data, output_columns(o), "  ", 4);
		buf_reset(&line);
	}
}

static void put_started(struct buf *out, const struct wait_report *r, uint64_t total_ns,
			unsigned int columns)
{
	struct waits_started started[MAX_STARTED];
	uint32_t nr = waits_started(r->waits, started, MAX_STARTED);
	SCOPED_BUF(line, MAX_OUTPUT);

	while (nr && (double)started[nr - 1].ns < LEAST * (double)total_ns)
		nr--;
	if (!nr)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		buf_puts(&line, i ? ", " : "");
		sanitise_puts(&line, started[i].comm);
		buf_printf(&line, " %u %s", started[i].tid, format_time(started[i].ns).s);
	}
	words_wrap(out, line.err ? "" : line.data, columns, "Started and not waited for: ", 2);
}

/* Append the tree and the account; joins what is alike in *chains. */
static int put_chains(struct buf *out, const struct wait_report *r, struct waits_chains *chains,
		      const struct waits_account *account, const struct output_options *o)
{
	unsigned int columns = output_columns(o);
	/* whichever thread a call is in, it is a call of the operation */
	enum waits_group group = chains->of_calls ? WAITS_BY_PROCESS : WAITS_BY_THREAD;
	struct waits_chains outline;
	int err = waits_chains_outline(chains, group, &outline);

	err = err ? err : waits_chains_join(chains, group);
	if (!err && !account->total_ns) {
		wait_nothing_words(out, r, "no thread of the target was observed", columns);
	} else if (!err) {
		err = wait_sentence_text(out, r, &outline, account, columns);
		out->err = err ? err : wait_tree_text(out, r, chains, columns);
		buf_putc(out, '\n');
		wait_account_table(out, account, 0, o->ascii);
	}
	waits_chains_release(&outline);
	if (err)
		return err;
	buf_putc(out, '\n');
	return 0;
}

int output_chains_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	struct waits_chains chains = {0};
	struct waits_account account = {.wall = 0};
	SCOPED_BUF(out, MAX_OUTPUT);
	int err = r->waits ? waits_chains(r->waits, &chains) : 0;

	if (r->waits)
		waits_account(r->waits, &account);
	err = err ? err : put_chains(&out, r, &chains, &account, o);
	if (!err && r->waits)
		put_started(&out, r, chains.total_ns, output_columns(o));
	waits_chains_release(&chains);
	if (err)
		return err;
	wait_observed_lines(&out, r, o);
	output_text_state(&out, r->model, o);
	return output_text_write(&out, f);
}

int output_chains_of_text(const struct wait_report *r, const struct waits_lane *lane,
			  const struct output_options *o, FILE *f)
{
	struct waits_chains chains = {0};
	struct waits_account account = {.wall = 0};
	SCOPED_BUF(out, MAX_OUTPUT);
	int err = r->waits ? waits_chains_of(r->waits, lane->tid, lane->start_ns, &chains, &account)
			   : -ENOENT;

	err = err ? err : put_chains(&out, r, &chains, &account, o);
	waits_chains_release(&chains);
	if (err == -ENOENT) {
		buf_reset(&out);
		buf_printf(&out, "task %u is not in the newest window of observation\n", lane->tid);
	} else if (err) {
		return err;
	}
	wait_observed_lines(&out, r, o);
	return output_text_write(&out, f);
}
