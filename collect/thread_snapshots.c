// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes snapshots of the targets' threads without probes and without stopping them. A BPF task
 * iterator lists sleeping threads with their registers. The reader then copies their stacks; a copy
 * counts only if the thread slept all the time. A timer on each CPU samples running threads. The
 * scheduler's statistics give the total time asleep and on a CPU; the snapshots say where.
 */
#include "collect/thread_snapshots.h"
#include "collect/modules.h"
#include "collect/state.h"
#include "collect/stream.h"

#include <unistd.h>

#include "collect/budget.h"
#include "collect/kernel_names.h"
#include "collect/kernel_symbols.h"
#include "collect/reader.h"
#include "collect/thread_snapshots_state.h"

#define MS 1000000ull

enum {
	WALK_HZ = 99,
	OPEN_HZ = 499,
	SAMPLES = 20, /* stacks of running threads per refill; 20 refills per second */
	SCAN_MS = 20, /* interval of scans; longer if scans cost too much */
	SCAN_MAX_MS = 1000,
	SOON_SCANS = 8,	 /* the first scans, which come at SCAN_MS whatever they cost */
	REPORT_MS = 250, /* how often a long sleep is sent again, up to MANY_THREADS threads */
	MANY_THREADS = 1024,
	OPEN_MS = 300, /* how long running threads are waited for */
	KERNEL_LINE = 1024,
};

/* ---- records */

uint64_t snapshots_since_start(const struct collector *c, uint64_t at)
{
	return at > c->start_ns ? at - c->start_ns : 0;
}

void snapshots_send(struct collector *c, struct rec_thread_snapshot *snapshot,
		    const struct pt_task_now *now, enum sleep_state sleep,
		    const unsigned char *stack, uint32_t bytes)
{
	static uint64_t words[SNAPSHOT_STACK / 8];
	char kernel[KERNEL_LINE], comm[PT_COMM + 1];

	memcpy(words, stack ? stack : (const unsigned char *)"", stack ? bytes / 8 * 8 : 0);
	replaced_restore(&now->replaced, now->regs[PT_REG_SP], words, stack ? bytes / 8 : 0);
	snprintf(comm, sizeof(comm), "%.*s", PT_COMM, now->comm);
	kernel_names_line(now->kernel, now->nr_kernel, kernel, sizeof(kernel));
	snapshot->pid = now->tgid;
	snapshot->tid = now->tid;
	snapshot->comm = comm;
	snapshot->kernel = kernel;
	snapshot->stop_text = "";
	send_record(c, &(struct record){.type = REC_RAW_SNAPSHOT,
					.raw_snapshot = {.snapshot = *snapshot,
							 .nr_regs = PT_REGS,
							 .regs = (const uint64_t *)now->regs,
							 .nr_words = stack ? bytes / 8 : 0,
							 .words = words,
							 .switches = sleep ? now->switches : 0}});
}

/* Send the sleep of a thread that was not sent yet, with its stack. */
static void thread_report(struct collector *c, struct snapshot_thread *t, uint64_t now,
			  enum sleep_state sleep)
{
	if (!t->held || t->joined || !t->pending || !(t->described || thread_describe(c, t)))
		return;
	t->wait->snapshot.weight_ns = t->pending;
	t->wait->snapshot.at_ns = snapshots_since_start(c, now);
	snapshots_send(c, &t->wait->snapshot, &t->now, sleep,
		       t->moved || !t->bytes ? NULL : t->stack, t->bytes);
	t->pending = 0;
}

/*
 * Send what is known of a thread that has ended, or whose process may not be watched any more: its
 * memory and files are not looked at again.
 */
static void thread_ended(struct collector *c, struct snapshot_thread *t, uint64_t now)
{
	thread_end(t, table_find(c->thread_snapshots, t->now.tgid));
	if (t->described)
		thread_report(c, t, now, SLEEP_OVER);
	crowd_leave(c->thread_snapshots, t);
	thread_times(c, t, true);
	table_drop(c->thread_snapshots, t);
}

void snapshots_target_ended(struct collector *c, uint32_t pid)
{
	struct thread_snapshots *l = c->thread_snapshots;

	for (uint32_t i = 0; l && l->walking && i < l->slots; i++) {
		if (l->threads[i].used && l->threads[i].now.tgid == pid)
			thread_ended(c, &l->threads[i], now_ns());
	}
}

/* ---- a scan */

struct scan {
	struct collector *c;
	struct thread_snapshots *l;
	uint64_t now;
};

/* Read the stacks of threads that have moved. verify_task() checks afterwards that they slept. */
static void stacks_take(struct thread_snapshots *l)
{
	struct reader_piece pieces[MAX_MOVING];

	for (uint32_t i = 0; i < l->moving; i++) {
		struct snapshot_thread *t = &l->threads[l->list[i]];

		table_need_stack(l, t);
		pieces[i] = (struct reader_piece){.pid = (pid_t)t->now.tgid,
						  .address = t->now.regs[PT_REG_SP],
						  .bytes = t->stack ? SNAPSHOT_STACK : 0,
						  .to = t->stack,
						  .holes = true};
	}
	reader_memory(pieces, l->moving);
	for (uint32_t i = 0; i < l->moving; i++)
		l->threads[l->list[i]].bytes = pieces[i].got;
}

/*
 * Takes the sums of the process's ended threads, behind a report: what ended in this scan is known
 * only when the scan is over (thread_end()).
 */
static void ended_take(struct pt_task_now *t, const struct pt_task_now *now)
{
	t->ended_cpu_ns = now->ended_cpu_ns;
	t->ended_faults = now->ended_faults;
}

/* A record of each of many threads costs more: send them less often. */
static bool is_due(const struct thread_snapshots *l, const struct snapshot_thread *t, uint64_t now)
{
	return now - t->reported >= REPORT_MS * MS * (1 + l->nr_threads / MANY_THREADS);
}

static void scan_task(void *ctx, const struct pt_task_now *now)
{
	struct scan *s = ctx;
	struct thread_snapshots *l = s->l;
	struct snapshot_thread *t = table_find(l, now->tid);
	uint64_t slept;
	bool due;

	if (!t) {
		t = table_add(l, now);
		if (!t) {
			l->left_out++;
			return;
		}
		thread_begin(t, l->scanned, s->now);
	} else {
		t->newborn = false;
	}
	t->scan = l->scan;
	slept = thread_account(t, now, s->now);
	if (t->held && snapshot_is_still(now, &t->now)) {
		t->pending += slept;
		thread_usage(&t->now, now);
		due = is_due(l, t, s->now);
		if (!t->joined && (due || !t->described))
			thread_describe(s->c, t);
		if (due) {
			thread_report(s->c, t, s->now, STILL_ASLEEP);
			thread_times(s->c, t, false);
			t->reported = s->now;
		}
		ended_take(&t->now, now);
		return;
	}
	slept = thread_divide(t, now, slept, s->c->thread_snapshots->longest);
	thread_report(s->c, t, s->now, SLEEP_OVER);
	crowd_leave(l, t);
	if (is_due(l, t, s->now)) {
		thread_times(s->c, t, false);
		t->reported = s->now;
	}
	t->held = t->moved = t->described = t->joined = false;
	t->now = *now;
	t->carried += slept;
}

/* Mark the threads that slept all the time while their stacks were read. */
static void verify_task(void *ctx, const struct pt_task_now *now)
{
	struct scan *s = ctx;
	struct snapshot_thread *t = table_find(s->l, now->tid);

	if (!t)
		return;
	for (uint32_t i = 0; i < s->l->moving; i++) {
		if (&s->l->threads[s->l->list[i]] != t)
			continue;
		t->held = snapshot_is_still(now, &t->now);
		if (t->held)
			snapshots_polled_take(&t->now, now);
	}
}

uint32_t snapshots_only_pid(const struct collector *c)
{
	return c->targets.nr == 1 ? (uint32_t)c->targets.list[0]->pid : 0;
}

/* Take over the threads whose stacks were read. */
static void moved_take(struct collector *c)
{
	struct thread_snapshots *l = c->thread_snapshots;

	for (uint32_t i = 0; i < l->moving; i++) {
		struct snapshot_thread *t = &l->threads[l->list[i]];

		/* The thread slept in this call, even if its stack could not be copied. */
		t->moved = !t->held;
		t->held = true;
		t->pending = t->carried;
		t->carried = 0;
		modules_check(c, (pid_t)t->now.tgid, t->now.regs[PT_REG_IP]);
		/* it may have ended before the next scan */
		if (t->newborn)
			thread_describe(c, t);
	}
}

static void scan(struct collector *c, uint64_t now)
{
	struct thread_snapshots *l = c->thread_snapshots;
	struct scan s = {.c = c, .l = l, .now = now};
	int err;

	reader_prepare();
	l->scan++;
	l->left_out = 0;
	err = kernel_side_tasks(c->kernel, snapshots_only_pid(c), scan_task, &s);
	crowd_turn(l);
	if (l->moving)
		stacks_take(l);
	for (uint32_t i = 0; i < l->moving; i++)
		snapshots_polled_ask(c, &l->threads[l->list[i]].now);
	if (!err && l->moving)
		err = kernel_side_tasks(c->kernel, snapshots_only_pid(c), verify_task, &s);
	if (err && !l->error) {
		l->error = (uint32_t)-err;
		send_note(c, NOTE_WARNING, "cannot take thread snapshots on this kernel: %s",
			  strerror(-err));
	}
	moved_take(c);
	crowd_tell(l);
	for (uint32_t i = 0; i < l->slots; i++) {
		struct snapshot_thread *t = &l->threads[i];

		if (t->used && t->scan != l->scan)
			thread_ended(c, t, now);
	}
	if (l->left_out && l->scanned)
		threads_left_out(c, l->left_out, now - l->scanned, now);
	l->scanned = now;
}

/* ---- running threads */

void snapshot_running(struct collector *c, const struct pt_record_thread_snapshot *r, size_t size)
{
	struct thread_snapshots *l = c->thread_snapshots;
	struct pt_task_now now = {.tgid = r->head.tgid, .tid = r->head.tid, .fd = PT_NO_FD};
	struct rec_thread_snapshot snapshot = {.reason = SNAPSHOTS_FOR_WALK,
					       .kind = WITNESS_RUN,
					       .state = 'R',
					       .at_ns = snapshots_since_start(c, r->head.at)};
	struct snapshot_thread *t;
	struct wait_text text;

	if (!l || r->bytes > PT_SNAPSHOT_STACK ||
	    size < offsetof(struct pt_record_thread_snapshot, stack) + r->bytes ||
	    r->nr_kernel > PT_SNAPSHOT_KERNEL)
		return;
	memcpy(now.regs, r->regs, sizeof(now.regs));
	memcpy(now.kernel, r->kernel, sizeof(now.kernel));
	now.nr_kernel = r->nr_kernel;
	now.memory = r->memory;
	now.replaced = r->replaced;
	/* in user code no system call is open, whatever orig_ax contains */
	if (!r->in_kernel)
		now.regs[PT_REG_ORIG_AX] = UINT64_MAX;
	modules_check(c, (pid_t)now.tgid, now.regs[PT_REG_IP]);
	for (uint32_t i = 0; l->opening && i < l->nr_running; i++) {
		if (l->running[i].tid != now.tid)
			continue;
		memcpy(now.comm, l->running[i].comm, sizeof(now.comm));
		l->running[i] = l->running[--l->nr_running];
		open_report_call(c, &now, WITNESS_RUN, r->stack, r->bytes);
		break;
	}
	if (!l->walking)
		return;
	t = table_find(l, now.tid);
	if (t)
		memcpy(now.comm, t->now.comm, sizeof(now.comm));
	snapshot_wait(c->kernel, &now, &snapshot, &text);
	snapshot_work(&now, &snapshot, &text);
	snapshot.weight_ns = (uint64_t)(l->scale * 1e9 / l->hz);
	snapshots_send(c, &snapshot, &now, SLEEP_OVER, r->stack, r->bytes);
}

void snapshots_refill(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	struct thread_snapshots *l = c->thread_snapshots;
	uint64_t done, dropped;

	if (!l)
		return;
	done = __atomic_load_n(&control->snapshots_done, __ATOMIC_RELAXED);
	dropped = __atomic_load_n(&control->snapshots_dropped, __ATOMIC_RELAXED);
	/* samples that were taken also stand for those that were dropped */
	if (done != l->done)
		l->scale = 0.9 * l->scale + 0.1 * ((double)(done - l->done + dropped - l->dropped) /
						   (double)(done - l->done));
	l->done = done;
	l->dropped = dropped;
	__atomic_store_n(&control->snapshots_left, SAMPLES, __ATOMIC_RELAXED);
}

static void clocks_start(struct collector *c, uint32_t hz)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	struct thread_snapshots *l = c->thread_snapshots;

	if (l->clocks.nr)
		return;
	l->hz = hz;
	l->scale = 1;
	l->done = control->snapshots_done;
	l->dropped = control->snapshots_dropped;
	control->snapshots_left = SAMPLES;
	control->snapshots = 1;
	clocks_attach(&l->clocks, kernel_side_program(c->kernel, PROGRAM_SNAPSHOT),
		      control->nr_cpus, hz);
	if (!l->clocks.nr)
		send_note(c, NOTE_WARNING,
			  "cannot attach the CPU sampling timer: running threads are not sampled, "
			  "only sleeping ones");
}

static void clocks_stop(struct collector *c)
{
	struct thread_snapshots *l = c->thread_snapshots;

	kernel_side_control(c->kernel)->snapshots = 0;
	clocks_release(&l->clocks);
}

/* ---- requests and time */

void snapshots_end(struct collector *c)
{
	struct thread_snapshots *l = c->thread_snapshots;
	uint64_t now = now_ns();

	if (!l)
		return;
	clocks_stop(c);
	for (uint32_t i = 0; i < l->slots; i++) {
		struct snapshot_thread *t = &l->threads[i];

		if (!t->used)
			continue;
		if (l->walking) {
			thread_report(c, t, now, SLEEP_OVER);
			thread_times(c, t, false);
		}
		table_drop(l, t);
	}
	table_release(l);
	free(l);
	c->thread_snapshots = NULL;
}

void snapshot_request(struct collector *c, const struct req_thread_snapshots *req)
{
	if (req->stop) {
		/* the last scan sends the sleeps that have not ended */
		if (c->thread_snapshots && c->thread_snapshots->walking)
			scan(c, now_ns());
		snapshots_end(c);
		return;
	}
	if (!c->thread_snapshots)
		c->thread_snapshots = calloc(1, sizeof(*c->thread_snapshots));
	if (!c->thread_snapshots) {
		send_refused(c, req->round, req->op, -ENOMEM,
			     "out of memory: threads are not sampled");
		return;
	}
	if (req->reason == SNAPSHOTS_FOR_WALK) {
		c->thread_snapshots->walking = true;
		c->thread_snapshots->longest = SCAN_MS * MS * 2;
		kernel_names_look(c); /* both take long, and a command may end meanwhile */
		reader_prepare();
		clocks_start(c, WALK_HZ);
		return;
	}
	c->thread_snapshots->open = *req;
	c->thread_snapshots->opening = true;
	open_begin(c);
	if (c->thread_snapshots->nr_running)
		clocks_start(c, OPEN_HZ);
	else
		open_done(c);
}

/*
 * Time of the next scan: later if scans, of which the last one took this much CPU time, cost the
 * host more. The mean of the last two counts: one that describes what threads wait for costs much
 * more than the next one. The first scans do not count, or a command would be over before the next
 * one.
 */
static uint64_t next_scan(struct collector *c, uint64_t began, uint64_t last)
{
	uint64_t took = (last + c->thread_snapshots->took) / 2;
	uint64_t ppm = c->options->budget_ppm, cpus = kernel_side_control(c->kernel)->nr_cpus;
	uint64_t pause = SCAN_MS * MS;

	if (ppm && ppm < 1000000 && c->thread_snapshots->scan > SOON_SCANS &&
	    took * 1000000 / (ppm * cpus) > pause)
		pause = took * 1000000 / (ppm * cpus);
	if (pause > SCAN_MAX_MS * MS)
		pause = SCAN_MAX_MS * MS;
	/* vary the interval, so as not to be in step with periodic work of the target */
	c->thread_snapshots->seed = c->thread_snapshots->seed * 1664525 + 1013904223;
	c->thread_snapshots->longest = pause * 2;
	c->thread_snapshots->took = last;
	return began + pause / 2 + pause * (c->thread_snapshots->seed >> 16) / 65536;
}

uint64_t snapshots_turn(struct collector *c, uint64_t now)
{
	struct thread_snapshots *l = c->thread_snapshots;
	uint64_t used;

	if (!l)
		return UINT64_MAX;
	if (l->walking && now >= l->next) {
		used = budget_collector_cpu();
		scan(c, now);
		l->next = next_scan(c, now, budget_collector_cpu() - used);
	}
	if (l->opening && (!l->nr_running || now - l->open_since > OPEN_MS * MS)) {
		open_done(c);
		if (!l->walking)
			snapshots_end(c);
		return UINT64_MAX;
	}
	return l->walking ? l->next : now + 20 * MS;
}
