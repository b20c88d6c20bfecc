// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/base/array.h"
#include "analysis/walk/walk_tree.h"

enum { CHECK_SNAPSHOTS = 50, SAME_CHECKS = 4 };
#define CHECK_NS 500000000ull
/* what was seen in a program that only waited for this long is the answer */
#define WAITS_SETTLED_NS 3000000000ull
#define ONE_WAIT 0.9 /* this fraction of the work is nearly all of it */

struct walk *walk_new(void)
{
	return calloc(1, sizeof(struct walk));
}

void walk_free(struct walk *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->nr_nodes; i++)
		free(w->nodes[i].self);
	for (uint32_t i = 0; i < w->nr_names; i++)
		free(w->names[i]);
	free(w->judged);
	free(w->nodes);
	free(w->names);
	free(w);
}

bool walk_asked(const struct walk *w)
{
	return w->asked;
}

double walk_run_scale(const struct walk *w)
{
	return w->run_weight_ns && w->cpu_ns ? (double)w->cpu_ns / (double)w->run_weight_ns : 1;
}

static int name_number(struct walk *w, const char *text, size_t n, uint32_t *out)
{
	for (uint32_t i = 0; i < w->nr_names; i++) {
		if (strlen(w->names[i]) == n && !memcmp(w->names[i], text, n)) {
			*out = i;
			return 0;
		}
	}
	if (array_grow(w->names, w->nr_names, w->cap_names, WALK_MAX_NAMES))
		return w->nr_names >= WALK_MAX_NAMES ? -ENOSPC : -ENOMEM;
	w->names[w->nr_names] = strndup(text, n);
	if (!w->names[w->nr_names])
		return -ENOMEM;
	*out = w->nr_names++;
	return 0;
}

static bool same_node(const struct walk_tree_node *a, const struct walk_tree_node *b)
{
	return a->kind == b->kind && a->function.module == b->function.module &&
	       a->function.offset == b->function.offset && a->name == b->name;
}

/* Returns the child of `parent` that is like `key`, created if needed; NO_NODE: no room. */
static uint32_t child_of(struct walk *w, uint32_t parent, const struct walk_tree_node *key)
{
	uint32_t i, *link;

	/* Move the node to the front: recently used nodes are looked up most often. */
	for (link = &w->nodes[parent].first; (i = *link) != NO_NODE; link = &w->nodes[i].next) {
		if (!same_node(&w->nodes[i], key))
			continue;
		*link = w->nodes[i].next;
		w->nodes[i].next = w->nodes[parent].first;
		w->nodes[parent].first = i;
		return i;
	}
	if (array_grow(w->nodes, w->nr_nodes, w->cap_nodes, WALK_MAX_NODES))
		return NO_NODE;
	i = w->nr_nodes++;
	w->nodes[i] = *key;
	w->nodes[i].parent = parent;
	w->nodes[i].first = NO_NODE;
	w->nodes[i].next = w->nodes[parent].first;
	w->nodes[parent].first = i;
	return i;
}

static int root_make(struct walk *w)
{
	if (array_grow(w->nodes, 0, w->cap_nodes, WALK_MAX_NODES))
		return -ENOMEM;
	w->nodes[0] =
	    (struct walk_tree_node){.kind = WALK_PROCESS, .first = NO_NODE, .next = NO_NODE};
	w->nr_nodes = 1;
	return 0;
}

/* The state of adding one snapshot to the tree. */
struct descent_of {
	struct walk *w;
	uint32_t at;	      /* node */
	struct rec_code site; /* call site in `at` of the next frame */
	uint64_t ns;
	bool full;
};

/* Goes down to a callee. If the function is already open further up, goes back to that node. */
static void step(struct descent_of *d, struct walk_tree_node key)
{
	struct walk *w = d->w;
	struct walk_tree_node *n;
	uint32_t i;

	if (d->full)
		return;
	for (i = d->at; key.kind == WALK_FUNCTION && i; i = w->nodes[i].parent) {
		if (same_node(&w->nodes[i], &key)) {
			w->nodes[i].recursive = true;
			d->at = i;
			return;
		}
	}
	i = child_of(w, d->at, &key);
	if (i == NO_NODE) {
		d->full = true;
		return;
	}
	n = &w->nodes[i];
	/* majority vote: another call site reduces the lead of the present one */
	if (n->site.module == d->site.module && n->site.offset == d->site.offset) {
		n->site_ns += d->ns;
	} else if (n->site_ns >= d->ns) {
		n->site_ns -= d->ns;
	} else {
		n->site = d->site;
		n->site_ns = d->ns - n->site_ns;
	}
	d->at = i;
}

static void step_frames(struct descent_of *d, const struct rec_thread_snapshot *snapshot)
{
	if (snapshot->stop || !snapshot->nr_frames) {
		struct cause why = {.kind = CAUSE_UNKNOWN};

		snprintf(why.name, sizeof(why.name), "%s",
			 snapshot->stop_text ? snapshot->stop_text : "");
		cause_tally_add(&d->w->stops, &why, snapshot->weight_ns);
		step(d, (struct walk_tree_node){.kind = WALK_UNKNOWN});
	}
	for (uint32_t i = 0; i < snapshot->nr_frames; i++) {
		const struct rec_frame *f = &snapshot->frames[i];
		struct walk_tree_node key = {.kind = f->module && f->function ? WALK_FUNCTION
									      : WALK_UNKNOWN};

		/* skip stubs of a JIT compiler that its perf map does not name */
		if (f->module && !f->function && i && i + 1 < snapshot->nr_frames) {
			d->site = (struct rec_code){f->module, f->offset};
			continue;
		}
		/* generated code has no module: merge its adjacent frames */
		if (!f->module && i && !snapshot->frames[i - 1].module) {
			d->site = (struct rec_code){0, f->offset};
			continue;
		}
		if (key.kind == WALK_FUNCTION)
			key.function = (struct rec_code){f->module, f->function};
		else {
			key.name = 1 + !f->module; /* differs from missing callers */
			key.function.module = f->module;
		}
		step(d, key);
		d->site = (struct rec_code){
		    f->module,
		    f->module && f->offset ? f->offset - (i + 1 < snapshot->nr_frames) : f->offset};
	}
}

/* True for kernel functions that every system call or every sleep passes through. */
static bool says_nothing(const char *name, size_t n, bool sleeps)
{
	static const char *const always[] = {"entry_SYSCALL_64_after_hwframe",
					     "entry_SYSCALL_64",
					     "do_syscall_64",
					     "x64_sys_call",
					     "ret_from_fork",
					     "ret_from_fork_asm"};
	static const char *const asleep[] = {"schedule",
					     "__schedule",
					     "schedule_timeout",
					     "schedule_hrtimeout_range",
					     "schedule_hrtimeout_range_clock",
					     "schedule_hrtimeout",
					     "io_schedule",
					     "io_schedule_timeout"};

	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		if (strlen(always[i]) == n && !memcmp(always[i], name, n))
			return true;
	}
	for (size_t i = 0; sleeps && i < ARRAY_SIZE(asleep); i++) {
		if (strlen(asleep[i]) == n && !memcmp(asleep[i], name, n))
			return true;
	}
	return (n > 9 && !memcmp(name, "__x64_sys", 9)) ||
	       (n > 8 && (!memcmp(name, "__do_sys", 8) || !memcmp(name, "__se_sys", 8)));
}

static void step_kernel(struct descent_of *d, const struct rec_thread_snapshot *snapshot)
{
	const char *at = snapshot->kernel ? snapshot->kernel : "";
	struct walk_tree_node key = {.kind = WALK_SYSCALL};
	unsigned int depth = 0;

	d->site = (struct rec_code){0};
	if (snapshot->sleep.syscall >= 0 && snapshot->sleep.call && snapshot->sleep.call[0]) {
		if (name_number(d->w, snapshot->sleep.call, strlen(snapshot->sleep.call),
				&key.name))
			return;
		step(d, key);
	}
	key.kind = WALK_KERNEL;
	while (*at && depth < WALK_KERNEL_DEPTH) {
		size_t n = strcspn(at, ";");

		if (n && !says_nothing(at, n, snapshot->kind == WITNESS_SLEEP)) {
			if (name_number(d->w, at, n, &key.name))
				return;
			step(d, key);
			depth++;
		}
		at += n + (at[n] == ';');
	}
}

static void cause_of_run(const struct rec_thread_snapshot *snapshot, struct cause *out)
{
	const char *kernel = snapshot->kernel ? snapshot->kernel : "";

	if (cause_of_work(&snapshot->sleep, out))
		return;
	*out = (struct cause){.kind = CAUSE_OWN_CODE};
	if (strstr(kernel, "exc_page_fault"))
		out->kind = CAUSE_PAGE_FAULT;
	else if (snapshot->sleep.syscall < 0 &&
		 (strstr(kernel, "asm_sysvec_") || strstr(kernel, "asm_common_interrupt")))
		out->kind = CAUSE_INTERRUPT;
}

static void self_pc(struct walk_self *self, struct rec_code place, uint64_t ns)
{
	unsigned int lightest = 0, i;

	for (i = 0; i < self->nr_pcs; i++) {
		if (self->pcs[i].place.module == place.module &&
		    self->pcs[i].place.offset == place.offset) {
			self->pcs[i].ns += ns;
			return;
		}
		if (self->pcs[i].ns < self->pcs[lightest].ns)
			lightest = i;
	}
	if (i < WALK_PCS)
		self->pcs[self->nr_pcs++] = (struct walk_pc){place, ns};
	else /* space saving: the new address inherits the weight of the lightest */
		self->pcs[lightest] = (struct walk_pc){place, self->pcs[lightest].ns + ns};
}

static int self_add(struct walk_tree_node *n, const struct rec_thread_snapshot *snapshot,
		    enum walk_class class)
{
	struct cause cause;

	if (!n->self)
		n->self = calloc(1, sizeof(*n->self));
	if (!n->self)
		return -ENOMEM;
	n->self->snapshots++;
	if (snapshot->kind == WITNESS_RUN) {
		cause_of_run(snapshot, &cause);
		n->self->run_ns += snapshot->weight_ns;
		if (n->kind == WALK_FUNCTION && snapshot->nr_frames) {
			const struct rec_frame *f = &snapshot->frames[snapshot->nr_frames - 1];

			self_pc(n->self, (struct rec_code){f->module, f->offset},
				snapshot->weight_ns);
		}
	} else {
		cause_of_sleep(&snapshot->sleep, snapshot->kernel, &cause);
		n->self->wait_ns[class] += snapshot->weight_ns;
	}
	cause_tally_add(&n->self->causes[class], &cause, snapshot->weight_ns);
	return 0;
}

/* Finds the process with most time in the node by majority vote. */
static void node_pid(struct walk_tree_node *n, const struct rec_thread_snapshot *snapshot)
{
	if (snapshot->pid == snapshot->tid)
		n->main_ns += snapshot->weight_ns;
	if (n->pid == snapshot->pid) {
		n->pid_ns += snapshot->weight_ns;
	} else if (n->pid_ns >= snapshot->weight_ns) {
		n->pid_ns -= snapshot->weight_ns;
	} else {
		n->pid = snapshot->pid;
		n->pid_ns = snapshot->weight_ns - n->pid_ns;
	}
}

static int take_snapshot(struct walk *w, const struct rec_thread_snapshot *snapshot)
{
	struct descent_of d = {.w = w, .ns = snapshot->weight_ns};
	enum walk_class class = walk_class_of(snapshot);
	int err = 0;

	if (!snapshot->weight_ns)
		return 0;
	step_frames(&d, snapshot);
	step_kernel(&d, snapshot);
	w->snapshots++;
	w->work_snapshots += class != WALK_IDLE;
	if (snapshot->kind == WITNESS_RUN)
		w->run_weight_ns += snapshot->weight_ns;
	for (uint32_t i = d.at;; i = w->nodes[i].parent) {
		struct walk_tree_node *n = &w->nodes[i];

		node_pid(n, snapshot);
		n->snapshots++;
		if (snapshot->kind == WITNESS_RUN)
			n->run_ns += snapshot->weight_ns;
		else
			n->wait_ns[class] += snapshot->weight_ns;
		if (!i)
			break;
	}
	walk_note_thread(w, snapshot, class, d.at);
	err = self_add(&w->nodes[d.at], snapshot, class);
	return err ? err : d.full ? -ENOSPC : 0;
}

static void take_thread(struct walk *w, const struct rec_thread *t)
{
	uint32_t bit = t->tid % (32 * ARRAY_SIZE(w->threads));

	if (t->at_ns && (!w->first_ns || t->at_ns - t->wall_ns < w->first_ns))
		w->first_ns = t->at_ns > t->wall_ns ? t->at_ns - t->wall_ns : 1;
	if (t->at_ns > w->last_ns)
		w->last_ns = t->at_ns;
	w->wall_ns += t->wall_ns + t->unseen_cpu_ns;
	w->joined_ns += t->joined_ns;
	if (t->left_out) {
		w->left_out_ns += t->wall_ns;
		if (w->left_out < t->left_out)
			w->left_out = t->left_out;
		return;
	}
	w->cpu_ns += t->cpu_ns + t->unseen_cpu_ns;
	w->faults += t->faults + t->unseen_faults;
	if (t->fault_high_ns) {
		w->fault_low_ns = t->fault_low_ns;
		w->fault_high_ns = t->fault_high_ns;
	}
	w->runqueue_ns += t->runqueue_ns;
	walk_note_times(w, t);
	if (t->quota_ns) {
		struct cause quota;

		cause_of_host_wait(&(struct rec_host_wait){.kind = HOST_WAIT_QUOTA,
							   .name = t->quota_of,
							   .detail = t->quota_detail},
				   &quota);
		cause_tally_add(&w->quotas, &quota, t->quota_ns);
		w->quota_ns += t->quota_ns;
	}
	if (!(w->threads[bit / 32] & 1u << bit % 32)) {
		w->threads[bit / 32] |= 1u << bit % 32;
		w->nr_threads++;
	}
}

/* True if nearly all of the work is one wait. Waits are few, but their whole time is known, unlike
 * that of CPU samples. */
static bool is_one_wait(const struct walk_result *r)
{
	const struct walk_path *p = &r->paths[0];

	return p->class == WALK_WORK && p->evidence == EVIDENCE_WITNESSED && !p->flat &&
	       p->of_class >= ONE_WAIT;
}

/* Checks whether the first path still leads to the same place. */
static void check(struct walk *w)
{
	uint64_t signature = 1469598103934665603ull;
	struct walk_result r;

	w->checked = w->snapshots;
	w->checked_ns = w->last_ns;
	if (walk_result(w, NULL, &r))
		return;
	for (unsigned int i = 0; r.nr_paths && i < r.paths[0].nr_frames; i++) {
		const struct walk_node *n = &r.nodes[r.paths[0].frames[i]];

		/* ignore kernel functions, which may vary from call to call */
		if (n->kind == WALK_KERNEL)
			break;
		signature = (signature ^ n->function.module ^ n->function.offset ^ n->kind) *
			    1099511628211ull;
	}
	w->few_suffice = r.nr_paths && (r.lead != WALK_WORK || is_one_wait(&r));
	w->same = signature == w->signature ? w->same + 1 : 0;
	w->signature = signature;
	walk_result_release(&r);
}

bool walk_settled(const struct walk *w)
{
	if (!w->asked)
		return false;
	/* The scheduler's statistics show no other work, so more snapshots would not find any. */
	if (w->few_suffice && w->same && w->last_ns - w->first_ns >= WAITS_SETTLED_NS)
		return true;
	return w->work_snapshots >= w->ask.min_snapshots && w->same >= SAME_CHECKS;
}

bool walk_is_empty(const struct walk *w)
{
	return !w->snapshots;
}

static int take_walk(struct walk *w, const struct rec_walk *ask)
{
	if (ask->stop) {
		w->over = true;
		return 0;
	}
	if (!ask->maxcount_ppm || ask->maxcount_ppm > 1000000 || !ask->max_depth ||
	    ask->max_depth > WALK_NO_MAX_DEPTH)
		return -EINVAL;
	w->ask = *ask;
	w->asked = true;
	w->over = false;
	return w->nr_nodes ? 0 : root_make(w);
}

int walk_feed(struct walk *w, const struct record *rec)
{
	int err;

	if (rec->type == REC_WALK)
		return take_walk(w, &rec->walk);
	if (!w->asked || w->over)
		return 0;
	switch (rec->type) {
	case REC_THREAD_SNAPSHOT:
		err = rec->snapshot.reason == SNAPSHOTS_FOR_WALK ? take_snapshot(w, &rec->snapshot)
								 : 0;
		/* a check costs more in a larger tree: check less often */
		if (w->snapshots >= w->checked + CHECK_SNAPSHOTS + w->nr_nodes / 16)
			check(w);
		return err;
	case REC_THREAD:
		take_thread(w, &rec->thread);
		/* check by time as well, because idle threads yield few snapshots */
		if (w->last_ns - w->checked_ns >= CHECK_NS + (uint64_t)w->nr_nodes * CHECK_NS / 64)
			check(w);
		return 0;
	case REC_TARGET_END:
		w->target_ended = true;
		return 0;
	default:
		return 0;
	}
}
