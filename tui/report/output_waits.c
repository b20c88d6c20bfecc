// SPDX-License-Identifier: GPL-2.0-or-later
/* Words about waits that text and JSON share. */
#include "tui/report/output_waits.h"

#include "analysis/base/format.h"
#include "analysis/base/syscall_names.h"
#include "analysis/latency/syscall_args.h"
#include "analysis/waits/folded.h"
#include "analysis/waits/traces.h"
#include "analysis/walk/names.h"
#include "tui/report/output_descend.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { MAX_FOLDED = 256 << 20, KERNEL_NAMES = 6 /* functions shown of a thread of the kernel */ };

/* Append `before` and a name, unless the name is empty. */
static void put_after(struct buf *out, const char *before, const char *name)
{
	if (!name[0])
		return;
	buf_puts(out, before);
	sanitise_puts(out, name);
}

static void put_run(struct buf *out, const struct waits_node *n)
{
	unsigned int notes = n->layer.notes;

	if (notes & NOTE_BUSY)
		buf_puts(out, "busy with other work");
	else if (notes & NOTE_HORIZON)
		buf_puts(out, "too long ago to be remembered");
	else if (notes & NOTE_LIMIT)
		buf_puts(out, "chain cut off: too long");
	else if (notes & NOTE_NOT_FOLLOWED)
		buf_puts(out, "not traced");
	else if (notes & NOTE_NOT_RECORDED)
		buf_puts(out, "not recorded");
	else
		buf_puts(out, "running");
	if (notes & NOTE_FORK)
		buf_puts(out, " (before the fork)");
}

static void put_runnable(struct buf *out, const struct waits_layer *l)
{
	if (l->why == READY_THROTTLED) {
		buf_puts(out, wait_kind_info(WAIT_QUOTA)->text);
		put_after(out, " of ", l->what);
		return;
	}
	buf_puts(out, "waiting for a CPU");
	if (l->notes & NOTE_HANDOFF) {
		put_after(out, " that its waker still used: ", l->what);
		return;
	}
	switch (l->why) {
	case READY_PREEMPTED:
		put_after(out, ", preempted by ", l->what[0] ? l->what : "another task");
		return;
	case READY_YIELDED:
		buf_puts(out, " after it yielded");
		put_after(out, " to ", l->what);
		return;
	case READY_NEW:
		buf_puts(out, " for the first time");
		break;
	default:
		break;
	}
	put_after(out, ", last used by ", l->what);
}

static void put_sleep(struct buf *out, const struct waits_node *n)
{
	const struct waits_layer *l = &n->layer;
	const char *call = l->syscall >= 0 ? syscall_name((unsigned int)l->syscall) : NULL;

	buf_puts(out, wait_kind_info(l->kind)->text);
	if (call)
		buf_printf(out, " in %s", call);
	put_after(out, ": ", l->what);
	if (l->notes & NOTE_FALSE_WAKEUP)
		buf_puts(out, ", woken without work");
	if (l->notes & NOTE_MERGED && !wait_is_retry(l->kind))
		buf_puts(out, ", again and again until its timer");
	if (l->notes & NOTE_BEFORE)
		buf_puts(out, ", since before the observation");
	if (l->notes & NOTE_SIGNAL)
		buf_puts(out, ", ended by a signal");
	if (l->notes & NOTE_STILL)
		buf_puts(out, ", still asleep at the end");
	if (l->hint[0]) {
		put_after(out, "; ", l->hint);
		buf_puts(out, " finished meanwhile and did not wake it");
	}
	/* Only if most of its time is not explained by what it waited for. */
	if (2 * n->self_ns <= n->total_ns)
		return;
	if (n->account == ACCOUNT_LOST)
		buf_puts(out, " (not recorded)");
	else if (n->account == ACCOUNT_UNKNOWN)
		buf_puts(out, " (not known who ended it)");
	else if (n->account == ACCOUNT_IDLE && l->kind != WAIT_PIPE_EMPTY)
		buf_puts(out, " (idle)");
}

struct wait_operation wait_operation_word(uint32_t operation)
{
	struct wait_operation word = {""};

	if (operation)
		arg_words(ARG_BLOCK_OPERATION, (int64_t)operation - 1, word.s, sizeof(word.s));
	return word;
}

/* "block I/O (read, vda): data; 20 requests of 4 KiB, each 4 ms: 200 us queued, 3.8 ms at the
 * device" */
static void put_io(struct buf *out, const struct waits_node *n)
{
	const struct waits_layer *l = &n->layer;
	const struct request_sums *r = &n->requests;
	struct wait_operation word = wait_operation_word(l->operation);

	buf_puts(out, l->notes & NOTE_QUEUED ? "I/O queue" : "block I/O");
	if (l->operation) {
		buf_printf(out, " (%s", word.s[0] ? word.s : "other operation");
		put_after(out, ", ", l->device);
		buf_putc(out, ')');
	}
	put_after(out, ": ", l->what);
	if (!r->count)
		return;
	buf_printf(out, "; %s %s", format_count(r->count).s,
		   r->count == 1 ? "request" : "requests");
	if (r->bytes)
		buf_printf(out, " of %.4g KiB", (double)r->bytes / (double)r->count / 1024);
	buf_printf(out, ", %s%s: ", r->count == 1 ? "" : "each ",
		   format_time((r->queue_ns + r->device_ns) / r->count).s);
	buf_printf(out, "%s queued, ", format_time(r->queue_ns / r->count).s);
	buf_printf(out, "%s at the device", format_time(r->device_ns / r->count).s);
}

void wait_layer_words(struct buf *out, const struct waits_node *n)
{
	const struct waits_layer *l = &n->layer;

	switch (l->state) {
	case CHAIN_RUN:
		put_run(out, n);
		return;
	case CHAIN_RUNNABLE:
		put_runnable(out, l);
		return;
	case CHAIN_SLEEP:
		put_sleep(out, n);
		return;
	case CHAIN_IO:
		put_io(out, n);
		return;
	case CHAIN_NET:
		buf_puts(out, "network");
		put_after(out, ": ", l->what);
		return;
	case CHAIN_INTERRUPT:
		buf_puts(out, "interrupt");
		put_after(out, ": ", l->what);
		return;
	case CHAIN_TIMER:
		buf_puts(out, n->account == ACCOUNT_DELIBERATE	? "slept until its timer"
			      : n->account == ACCOUNT_TIMED_OUT ? "timed out"
								: "timer");
		put_after(out, ": ", l->what);
		return;
	}
}

void wait_frame_name(struct buf *out, const struct wait_report *r, const struct rec_frame *f)
{
	report_function(out, r->names, (struct rec_code){f->module, f->function ?: f->offset});
}

/* True for functions that only start a program or a thread, e.g. _start: all stacks have them. */
static bool is_start(const struct wait_report *r, const struct rec_frame *f)
{
	const struct driver_symbol *s = driver_symbol(r->names, f->module, f->function);

	return s && walk_name_starts(s->function);
}

static void put_user_stack(struct buf *out, const struct wait_report *r, const struct trace *t)
{
	uint32_t from = 0, known, nr;

	while (from + 1 < t->nr_frames && is_start(r, &t->frames[from]))
		from++;
	/* the program ended before its mappings were read */
	for (known = from; known < t->nr_frames && !t->frames[known].module;)
		known++;
	if (known == t->nr_frames)
		return;
	nr = t->nr_frames - from;
	for (uint32_t i = 0; i < nr; i++) {
		i = report_frame_between(out, i, nr);
		wait_frame_name(out, r, &t->frames[from + i]);
	}
}

/* The functions of a thread of the kernel, outermost first. */
static void put_kernel_stack(struct buf *out, const char *kernel)
{
	unsigned int nr = 0;

	while (*kernel && nr < KERNEL_NAMES) {
		size_t n = strcspn(kernel, ";");
		bool start = !strncmp(kernel, "ret_from_fork", 13) ||
			     (n == 7 && !strncmp(kernel, "kthread", 7));

		if (!start && strncmp(kernel, "schedule", 8) != 0 &&
		    strncmp(kernel, "__schedule", 10) != 0) {
			buf_puts(out, nr++ ? " > " : "");
			sanitise_append(out, kernel, n);
		}
		kernel += n + (kernel[n] == ';');
	}
}

void wait_stack_words(struct buf *out, const struct wait_report *r, const struct waits_layer *l)
{
	if (l->user && l->user->path)
		put_user_stack(out, r, l->user);
	else if (l->kernel && l->tid && l->syscall < 0)
		put_kernel_stack(out, l->kernel->kernel);
}

static void put_machine(struct buf *out, const struct waits_state *s)
{
	sanitise_puts(out, s->machine[0] ? s->machine : "(unnamed)");
	if (s->tid)
		buf_printf(out, " %u", s->tid);
}

void wait_state_words(struct buf *out, const struct wait_report *r, const struct waits_state *s)
{
	const char *call = s->syscall >= 0 ? syscall_name((unsigned int)s->syscall) : NULL;

	sanitise_puts(out, s->what);
	put_after(out, " after ", s->after);
	if (call)
		buf_printf(out, " in %s", call);
	if (s->ender)
		buf_printf(out, ", ended by %s", wait_ender_text(s->ender));
	if (!s->function.module)
		return;
	buf_putc(out, ' ');
	wait_frame_name(out, r, &s->function);
}

void wait_state_label(struct buf *out, const struct wait_report *r, uint32_t state)
{
	struct waits_state s = waits_state(r->waits, state);

	put_machine(out, &s);
	buf_puts(out, ": ");
	wait_state_words(out, r, &s);
}

/* Returns true if a layer above the node waits for room or a lock. */
static bool is_below_blocked(const struct waits_chains *c, uint32_t node)
{
	while (c->nodes[node].parent != node) {
		node = c->nodes[node].parent;
		if (wait_is_blocked(c->nodes[node].layer.kind))
			return true;
	}
	return false;
}

/* Does a thread that waits so have nothing to do, whoever ends the wait? */
static bool is_for_requests(const struct waits_layer *l)
{
	return l->kind == WAIT_CONNECTION || l->kind == WAIT_TERMINAL ||
	       l->kind == WAIT_KERNEL_IDLE ||
	       /* the serving side of a connection */
	       (l->kind == WAIT_EVENTS && wait_reads(l->syscall));
}

/* A thread waits for another task that does nothing. As in a walk (walk_class_of()), it waits for
 * the output or the end of what it has started; of forks of its own program, some may be its
 * workers. */
static enum wait_rest rest_of_waiter(const struct waits_layer *waiter,
				     const struct waits_layer *awaited)
{
	bool child = awaited->notes & NOTE_CHILD;

	if (wait_kind_info(waiter->kind)->time != WAIT_TIME_IDLE ||
	    (waiter->kind == WAIT_PIPE_EMPTY && child) ||
	    (waiter->kind == WAIT_CHILD && strcmp(waiter->comm, awaited->comm) != 0))
		return WAIT_NO_REST;
	return is_for_requests(waiter) ? WAIT_REST : WAIT_PERHAPS_REST;
}

/* Did tasks end this wait at other times of which it is known that the thread waits for them? */
static bool is_for_others(const struct waits_chains *c, uint32_t node)
{
	const struct waits_layer *l = &c->nodes[node].layer, *below;

	for (uint32_t i = node + 1; i < c->nr; i++) {
		below = &c->nodes[i].layer;
		if (c->nodes[i].parent == node && below->tid &&
		    (below->tid != l->tid || below->pid != l->pid) &&
		    rest_of_waiter(l, below) == WAIT_NO_REST)
			return true;
	}
	return false;
}

/* The time of an outermost layer, in which nobody woke the thread. */
static enum wait_rest rest_of_sleeper(const struct waits_chains *c, uint32_t node,
				      enum wait_account a)
{
	const struct waits_node *n = &c->nodes[node];

	if (n->layer.notes & NOTE_CHILD)
		return WAIT_NO_REST;
	/* who would write the pipe is not known, or is no child */
	if (a == ACCOUNT_IDLE &&
	    (n->layer.kind == WAIT_PIPE_EMPTY || (n->account_ns[a] && is_for_others(c, node))))
		return WAIT_PERHAPS_REST;
	if (a == ACCOUNT_IDLE || a == ACCOUNT_DELIBERATE)
		return WAIT_REST;
	if (n->layer.state != CHAIN_SLEEP ||
	    wait_kind_info(n->layer.kind)->time != WAIT_TIME_IDLE || n->layer.hint[0])
		return WAIT_NO_REST;
	return a == ACCOUNT_TIMED_OUT || a == wait_kind_info(n->layer.kind)->account
		   ? WAIT_PERHAPS_REST
		   : WAIT_NO_REST;
}

enum wait_rest wait_rest_of(const struct waits_chains *c, uint32_t node, enum wait_account a)
{
	const struct waits_layer *l = &c->nodes[node].layer, *awaited = NULL, *above;
	uint32_t i = node;

	if (a == ACCOUNT_UNKNOWN || a == ACCOUNT_LOST)
		return WAIT_REST;
	for (; c->nodes[i].parent != i; i = c->nodes[i].parent) {
		l = &c->nodes[i].layer;
		above = &c->nodes[c->nodes[i].parent].layer;
		if (l->tid && (l->tid != above->tid || l->pid != above->pid))
			awaited = l;
	}
	l = &c->nodes[i].layer;
	if (a == ACCOUNT_STOPPED)
		return awaited ? WAIT_NO_REST : WAIT_REST;
	if (c->of_calls || is_below_blocked(c, node))
		return WAIT_NO_REST;
	if (!awaited)
		return rest_of_sleeper(c, i, a);
	return a == ACCOUNT_IDLE || a == ACCOUNT_DELIBERATE || a == ACCOUNT_TIMED_OUT
		   ? rest_of_waiter(l, awaited)
		   : WAIT_NO_REST;
}

/* The measurement goes on after the last window. */
static uint64_t elapsed_ns(const struct wait_report *r, const struct output_options *o,
			   const struct waits_stats *s)
{
	uint64_t ns = o->elapsed_ns ? o->elapsed_ns : model_elapsed_ns(r->model);

	return ns > s->elapsed_ns ? ns : s->elapsed_ns;
}

double wait_share_observed(const struct wait_report *r, const struct output_options *o,
			   const struct waits_stats *s)
{
	uint64_t ns = elapsed_ns(r, o, s);

	return ns ? (double)s->observed_ns / (double)ns : 0;
}

void wait_observed_words(struct buf *out, const struct wait_report *r,
			 const struct output_options *o, const struct waits_stats *s)
{
	buf_printf(out, "%s of %s (%s) in %u %s", format_time(s->observed_ns).s,
		   format_time(elapsed_ns(r, o, s)).s,
		   format_percent(wait_share_observed(r, o, s)).s, s->windows,
		   s->windows == 1 ? "window" : "windows");
}

void wait_calls_words(struct buf *out, const struct wait_report *r)
{
	struct waits_calls c = {0};
	const struct op *op;

	if (r->waits)
		waits_calls(r->waits, &c);
	op = model_op_by_number(r->model, c.op);
	if (!op)
		return;
	buf_printf(out, "this is about %s of %s sampled calls of ", format_count(c.followed).s,
		   format_count(c.sampled).s);
	words_op_name(out, r->model, op);
	if (c.high_ns != UINT64_MAX)
		buf_printf(out, " that took %s", format_range(c.low_ns, c.high_ns).s);
	buf_printf(out, ", %s in all", format_time(c.ns).s);
	if (c.outside)
		buf_puts(out, "; the others did not lie within a window of observation");
}

const char wait_no_window[] =
    "no window of observation is open yet. Waits are traced in windows of 1 s or longer; each "
    "begins when the budget (--max-overhead, by default 1%) pays for it. With --max-overhead 100 "
    "there is no budget, and the first one begins at once.";

void wait_nothing_words(struct buf *out, const struct wait_report *r, const char *text,
			unsigned int columns)
{
	struct waits_stats s = {.windows = 0};

	if (r->waits)
		waits_stats(r->waits, &s);
	words_wrap(out, r->live && !s.windows ? wait_no_window : text, columns, "", 0);
}

bool wait_doubt(struct buf *out, const struct wait_report *r, const struct waits_stats *s,
		unsigned int i)
{
	const struct {
		uint64_t n;
		const char *text;
	} doubts[] = {
	    {s->lost_records, "records were lost; the time that they concern is LOST, not guessed"},
	    {s->mismatches, "switches did not fit what was known; the time before them is LOST"},
	    {s->late, "events came more than 20 ms too late and were put in place wrongly"},
	    {s->clamped, "events were older than the one before them on their CPU"},
	    {s->unknown_irq, "sleeps were ended by an interrupt of which nothing is known"},
	    {s->limits, "chains were cut off because they were too deep or too long"},
	    {s->beyond, "parts of chains were too long ago to be remembered"},
	    {s->tasks_full, "tasks were left out because the table of tasks was full"},
	    {r->stacks_dropped, "user stacks were dropped because the parser was busy"},
	};

	for (unsigned int k = 0; k < sizeof(doubts) / sizeof(doubts[0]); k++) {
		if (!doubts[k].n || i--)
			continue;
		buf_printf(out, "%s %s", format_count(doubts[k].n).s, doubts[k].text);
		return true;
	}
	return false;
}

static const char *folded_name(void *ctx, const struct rec_frame *f)
{
	const struct wait_report *r = ctx;
	const struct driver_symbol *s = driver_symbol(r->names, f->module, f->function);

	return s && s->function[0] ? s->function : NULL;
}

int output_chains_folded(const struct wait_report *r, FILE *f)
{
	struct wait_report copy = *r;
	struct waits_chains chains;
	SCOPED_BUF(lines, MAX_FOLDED);
	SCOPED_BUF(out, MAX_FOLDED);
	int err = waits_chains(r->waits, &chains);

	if (err)
		return err;
	err = waits_folded(&chains, folded_name, &copy, &lines);
	waits_chains_release(&chains);
	/* line by line: the sanitiser takes a newline for a control character */
	for (const char *p = lines.data; !err && p && *p;) {
		size_t n = strcspn(p, "\n");

		err = sanitise_append(&out, p, n);
		buf_putc(&out, '\n');
		p += n + (p[n] == '\n');
	}
	return err ? err : output_text_write(&out, f);
}
