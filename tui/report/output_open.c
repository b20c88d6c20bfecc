// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_open.h"

#include <jansson.h>

#include "analysis/base/format.h"
#include "analysis/descent/causes.h"
#include "analysis/latency/syscall_args.h"
#include "analysis/waits/kinds.h"
#include "tui/report/json_put.h"
#include "tui/report/output_descend.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/sanitise.h"

enum { MAX_OUTPUT = 16 << 20, NAME_BYTES = 4096, TEXT_MAX = NAME_BYTES * SANITISE_MAX_GROWTH + 64 };

static void put_safe(struct buf *out, const char *s)
{
	sanitise_append(out, s, strnlen(s, NAME_BYTES));
}

size_t open_report_nr(const struct open_report *r)
{
	size_t nr = 0;
	uint32_t frame;

	for (size_t i = 0; i < open_calls_nr(r->calls); i++)
		nr += open_matches(open_calls_at(r->calls, i), &r->ask, &frame);
	return nr;
}

size_t open_report_unknown(const struct open_report *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < open_calls_nr(r->calls); i++)
		nr += open_may_match(open_calls_at(r->calls, i), &r->ask);
	return nr;
}

/* "read(fd 3, buf 0x7f..., count 16)" */
static void put_call(struct buf *out, const struct rec_thread_snapshot *snapshot)
{
	put_safe(out, snapshot->sleep.call);
	buf_putc(out, '(');
	for (unsigned int i = 0; i < SAMPLE_ARGS; i++) {
		struct syscall_arg a = syscall_arg(snapshot->sleep.call, i);

		if (a.kind == ARG_NONE)
			break;
		buf_puts(out, i ? ", " : "");
		if (a.name && a.name[0])
			buf_printf(out, "%s ", a.name);
		if (a.kind == ARG_FD || a.kind == ARG_INT)
			buf_printf(out, "%d", (int)snapshot->args[i]);
		else if (a.kind == ARG_SIZE)
			buf_printf(out, "%" PRIu64, snapshot->args[i]);
		else
			buf_printf(out, "0x%" PRIx64, snapshot->args[i]);
	}
	buf_putc(out, ')');
}

static bool is_futex(const struct rec_sleep *s)
{
	return !strcmp(s->call, "futex");
}

/* What a thread waits for, in the words of all waits. */
static void put_kind(struct buf *out, const struct rec_thread_snapshot *snapshot)
{
	const struct rec_sleep *s = &snapshot->sleep;
	enum wait_kind kind = wait_kind_of_snapshot(snapshot);

	buf_puts(out, wait_kind_info(kind)->text);
	if (s->name[0]) {
		buf_puts(out, kind == WAIT_QUOTA ? " of " : ": ");
		put_safe(out, s->name);
	}
	if (wait_kind_info(kind)->items && s->room)
		buf_printf(out, ", %u of %u %s,", (unsigned int)s->queued, (unsigned int)s->room,
			   wait_kind_info(kind)->items);
	if (s->about[0]) {
		buf_puts(out, " (");
		put_safe(out, s->about);
		buf_putc(out, ')');
	}
	if (s->waker[0]) {
		buf_puts(out, s->object == OBJECT_PIPE ? ", whose other end has " : ": ");
		put_safe(out, s->waker);
	}
	if (s->holder[0]) {
		if (wait_is_stop(kind))
			buf_puts(out, ": ");
		else
			buf_printf(out, " %s ", wait_kind_info(kind)->holds);
		put_safe(out, s->holder);
		if (s->doing && s->doing[0]) {
			buf_puts(out, ", which ");
			put_safe(out, s->doing);
		}
	}
	if (is_futex(s))
		buf_printf(out, ", at 0x%" PRIx64, s->args[0]);
}

/* True for a thread that has been woken and waits for a CPU: its stack is that of the wait. */
static bool is_woken(const struct rec_thread_snapshot *snapshot)
{
	return snapshot->kind == WITNESS_RUN && strstr(snapshot->kernel, ";schedule");
}

/* One line that says what a thread waits for, sanitised, without newline. */
static void open_report_wait(struct buf *out, const struct rec_thread_snapshot *snapshot)
{
	const struct rec_sleep *s = &snapshot->sleep;

	if (is_woken(snapshot)) {
		buf_puts(out, "woken, waiting for a CPU; it was ");
	} else if (snapshot->kind == WITNESS_RUN && s->work == SLEEP_NO_WORK) {
		buf_puts(out, "running");
		if (s->syscall >= 0) {
			buf_puts(out, " in the kernel, in ");
			put_call(out, snapshot);
		}
		return;
	}
	put_kind(out, snapshot);
	if (s->syscall >= 0) {
		buf_puts(out, ", in ");
		put_call(out, snapshot);
	}
	if (snapshot->state == 'D')
		buf_puts(out, "; the wait cannot be interrupted");
}

static void put_frame(struct buf *out, const struct open_report *r,
		      const struct rec_thread_snapshot *snapshot, uint32_t i, bool asked)
{
	const struct rec_frame *f = &snapshot->frames[i];
	const struct rec_code function = {f->module, f->function},
			      place = {f->module, f->offset - (i + 1 < snapshot->nr_frames)};
	const struct driver_symbol *s = driver_symbol(r->names, function.module, function.offset);

	buf_puts(out, asked ? "  > " : "    ");
	if (s && s->function[0])
		report_short_name(out, s->function);
	else if (f->module) {
		put_safe(out, driver_module(r->names, f->module));
		buf_printf(out, "+0x%" PRIx64, f->function ? f->function : f->offset);
	} else
		buf_printf(out, "0x%" PRIx64 " (code without a file)", f->offset);
	report_place(out, " at ", r->names, place);
	buf_putc(out, '\n');
}

static void put_age(struct buf *out, const struct open_report *r,
		    const struct rec_thread_snapshot *snapshot)
{
	if (snapshot->open_ns)
		buf_printf(out, ", in this call for %s", format_time(snapshot->open_ns).s);
	else if (r->what)
		buf_puts(out, ", in this call since before peaktop started");
	if (snapshot->kind == WITNESS_SLEEP && snapshot->asleep_ns)
		buf_printf(out, ", asleep for %s", format_time(snapshot->asleep_ns).s);
}

/* Threads that are shown as one: in the same calls, waiting for the same kind of thing. */
static bool is_like(const struct rec_thread_snapshot *a, const struct rec_thread_snapshot *b)
{
	if (a->kind != b->kind || a->state != b->state || a->pid != b->pid || a->stop != b->stop ||
	    !a->nr_frames || a->nr_frames != b->nr_frames || strcmp(a->sleep.call, b->sleep.call) ||
	    strcmp(a->kernel, b->kernel) || strcmp(a->sleep.holder, b->sleep.holder) ||
	    strcmp(a->sleep.waker, b->sleep.waker) ||
	    wait_kind_of_snapshot(a) != wait_kind_of_snapshot(b))
		return false;
	for (uint32_t i = 0; i < a->nr_frames; i++) {
		if (a->frames[i].module != b->frames[i].module ||
		    a->frames[i].offset != b->frames[i].offset)
			return false;
	}
	return true;
}

/* Threads like the one at `at` that are in such a call, from `from` to before `to`. */
static size_t alike(const struct open_report *r, size_t at, size_t from, size_t to)
{
	const struct rec_thread_snapshot *snapshot = open_calls_at(r->calls, at);
	size_t nr = 0;
	uint32_t frame;

	for (size_t i = from; i < to; i++) {
		const struct rec_thread_snapshot *other = open_calls_at(r->calls, i);

		nr += i != at && is_like(snapshot, other) && open_matches(other, &r->ask, &frame);
	}
	return nr;
}

static void put_thread(struct buf *out, const struct open_report *r,
		       const struct rec_thread_snapshot *snapshot, uint32_t frame, size_t like)
{
	const char *at = snapshot->kernel;

	buf_puts(out, "\n");
	put_safe(out, snapshot->comm);
	buf_printf(out, " %u", snapshot->tid);
	if (like)
		buf_printf(out, " and %zu %s like it", like, like == 1 ? "thread" : "threads");
	put_age(out, r, snapshot);
	buf_puts(out, ": ");
	open_report_wait(out, snapshot);
	buf_putc(out, '\n');
	if (snapshot->stop && snapshot->stop_text[0]) {
		buf_puts(out, "    (callers unknown: ");
		put_safe(out, snapshot->stop_text);
		buf_puts(out, ")\n");
	}
	for (uint32_t i = 0; i < snapshot->nr_frames; i++)
		put_frame(out, r, snapshot, i, r->ask.function.module && i == frame);
	if (!*at)
		return;
	buf_puts(out, "    kernel: ");
	while (*at) {
		size_t n = strcspn(at, ";");

		sanitise_append(out, at, n);
		at += n + (at[n] == ';');
		buf_puts(out, *at ? " > " : "\n");
	}
}

/* How many threads are in such a call. Those whose stacks are incomplete count as not known. */
static void put_count(struct buf *out, const struct open_report *r)
{
	size_t nr = open_report_nr(r), all = open_calls_nr(r->calls),
	       unknown = open_report_unknown(r);

	if (!r->what) {
		buf_printf(out, "%zu %s; what %s now:\n", all, all == 1 ? "thread" : "threads",
			   all == 1 ? "it does" : "they do");
		return;
	}
	if (nr || !unknown)
		buf_printf(out, "%zu of %zu %s in ", nr, all,
			   all == 1 ? "thread is" : "threads are");
	else
		buf_puts(out, "it is not known whether a thread is in ");
	put_safe(out, r->what);
	buf_puts(out, " now\n");
	if (unknown)
		buf_printf(out,
			   "%zu of %zu %s may be in it%s: %s incomplete (--open without -f shows "
			   "%s)\n",
			   unknown, all, all == 1 ? "thread" : "threads", nr ? ", too" : "",
			   unknown == 1 ? "its stack is" : "their stacks are",
			   unknown == 1 ? "it" : "them");
}

void open_report_lines(const struct open_report *r, struct buf *out)
{
	size_t all = open_calls_nr(r->calls);
	uint32_t frame;

	put_count(out, r);
	/* threads that do what no other one does come before those that many are like */
	for (int joined = 0; joined < 2; joined++) {
		for (size_t i = 0; i < all; i++) {
			const struct rec_thread_snapshot *snapshot = open_calls_at(r->calls, i);
			size_t like;

			if (!open_matches(snapshot, &r->ask, &frame) || alike(r, i, 0, i))
				continue;
			like = alike(r, i, i, all);
			if ((like > 0) == joined)
				put_thread(out, r, snapshot, frame, like);
		}
	}
}

int output_open_text(const struct open_report *r, const struct output_options *o, FILE *f)
{
	struct buf out = {.max = MAX_OUTPUT};

	open_report_lines(r, &out);
	buf_putc(&out, '\n');
	output_text_state(&out, r->model, o);
	return output_text_write(&out, f);
}

static json_t *frame_json(const struct open_report *r, const struct rec_thread_snapshot *snapshot,
			  size_t i)
{
	const struct rec_frame *f = &snapshot->frames[i];
	const struct driver_symbol *s = driver_symbol(r->names, f->module, f->function),
				   *at = driver_symbol(r->names, f->module,
						       f->offset - (i + 1 < snapshot->nr_frames));
	char name[NAME_BYTES];
	json_t *o;

	snprintf(name, sizeof(name), "%s+0x%" PRIx64,
		 f->module ? driver_module(r->names, f->module) : "",
		 f->function ? f->function : f->offset);
	o = json_new(
	    {"function", json_given(s && s->function[0] ? s->function : name)},
	    {"symbol", json_if(s, json_given(s->symbol))},
	    {"module", json_if(f->module, json_given(driver_module(r->names, f->module)))});
	return json_add(report_put_line(o, at), {"address", json_address(f->offset)});
}

static json_t *syscall_json(const struct rec_thread_snapshot *snapshot)
{
	const char *call = snapshot->sleep.call;
	size_t nr = 0;

	while (nr < SAMPLE_ARGS && syscall_arg(call, (unsigned int)nr).kind != ARG_NONE)
		nr++;
	return json_new({"name", json_given(call)},
			{"args", json_list(i, nr, json_address(snapshot->args[i]))});
}

static json_t *wait_json(const struct rec_thread_snapshot *snapshot)
{
	struct cause cause;
	SCOPED_BUF(text, TEXT_MAX);

	cause_of_sleep(&snapshot->sleep, snapshot->kernel, &cause);
	open_report_wait(&text, snapshot);
	return json_new(
	    {"kind", json_string(cause_kind_text(cause.kind))}, {"name", json_given(cause.name)},
	    {"lock", json_if(is_futex(&snapshot->sleep), json_address(snapshot->sleep.args[0]))},
	    {"text", text.err ? NULL : json_stringn(text.data, text.len)});
}

static json_t *thread_json(const struct open_report *r, const struct rec_thread_snapshot *snapshot)
{
	const char state[2] = {(char)snapshot->state, '\0'}, *at = snapshot->kernel;
	const char *incomplete =
	    snapshot->stop_text[0] ? snapshot->stop_text : "the stack could not be read";
	json_t *kernel = json_array();

	while (*at) {
		size_t n = strcspn(at, ";");

		json_append(kernel, json_stringn(at, n));
		at += n + (at[n] == ';');
	}
	return json_new({"pid", json_u64(snapshot->pid)}, {"tid", json_u64(snapshot->tid)},
			{"comm", json_given(snapshot->comm)}, {"state", json_string(state)},
			{"running", json_boolean(snapshot->kind == WITNESS_RUN)},
			{"age_ns", json_known(snapshot->open_ns)},
			{"asleep_ns", json_known(snapshot->asleep_ns)},
			{"syscall", json_if(snapshot->sleep.syscall >= 0, syscall_json(snapshot))},
			{"wait", json_if(snapshot->kind == WITNESS_SLEEP, wait_json(snapshot))},
			{"frames", json_list(i, snapshot->nr_frames, frame_json(r, snapshot, i))},
			{"incomplete", json_if(snapshot->stop, json_given(incomplete))},
			{"kernel", kernel});
}

int output_open_json(const struct open_report *r, const struct output_options *opt, FILE *f)
{
	json_t *o = output_json_head(r->model, "descend", opt), *calls = json_array();
	uint32_t frame;

	for (size_t i = 0; i < open_calls_nr(r->calls); i++) {
		const struct rec_thread_snapshot *snapshot = open_calls_at(r->calls, i);

		if (open_matches(snapshot, &r->ask, &frame))
			json_append(calls, thread_json(r, snapshot));
	}
	json_add(o, {"function", json_given(r->what ? r->what : "*")},
		 {"status", json_string("open calls")}, {"rounds", json_integer(0)},
		 {"calls_used", json_integer(0)}, {"explained", json_real(0)},
		 {"paths", json_array()}, {"threads_looked_at", json_u64(open_calls_nr(r->calls))},
		 {"threads_unknown", json_u64(open_report_unknown(r))}, {"open_calls", calls});
	return json_write(o, JSON_LINE, f);
}
