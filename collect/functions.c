// SPDX-License-Identifier: GPL-2.0-or-later
/* Watched functions: checks and attaches their sites. The governor (govern.c) decides when
 * they are armed. */
#include "analysis/base/array.h"
#include "analysis/session/record_codec.h"
#include "analysis/session/record_copy.h"
#include "collect/calibrate.h"
#include "collect/code_check.h"
#include "collect/descend.h"
#include "collect/functions_impl.h"
#include "collect/learn.h"
#include "collect/modules.h"
#include "collect/phases.h"
#include "collect/share.h"
#include "collect/site_check.h"
#include "collect/sites.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"

bool function_has_exits(const struct function *f)
{
	if (f->exits_wait || f->exits_dropped)
		return false;
	return any_of(i, f->nr_sites, f->sites[i].site.role == SITE_EXIT && !f->sites[i].dead);
}

bool function_has_starts(const struct function *f)
{
	return any_of(i, f->nr_sites, site_starts(&f->sites[i].site));
}

static pt_u32 site_flags(const struct rec_site *r)
{
	return (r->role == SITE_EXIT && !r->ret_valid ? PT_SITE_YIELDS : 0) |
	       (r->flags & SITE_REPEATS ? PT_SITE_REPEATS : 0) |
	       (r->flags & SITE_GO ? PT_SITE_GO : 0);
}

/* Write one site into the site table of the BPF programs. */
static void site_write(struct collector *c, struct function *f, const struct function_site *fs)
{
	struct pt_site *s = &kernel_side_sites(c->kernel)[fs->index];
	const struct rec_site *r = &fs->site;

	s->op = f->op;
	s->last_ret = 0;
	s->class = r->class;
	s->fuse = s->hits + function_allowance(c, f, r->class);
	s->blown = 0;
	s->pace = f->gate_open && !budget_is_unlimited(c);
	if (site_starts(r)) {
		s->start_slot = f->slot;
		s->burst = f->burst;
		s->start_cfa = (pt_s32)r->cfa;
		s->arg_mask = r->args;
		s->flags = (s->flags & PT_SITE_OF_DESCENT) | PT_SITE_START | PT_SITE_READ_RET |
			   (f->reads ? PT_SITE_BEHIND : 0) | site_flags(r);
		/* before the call instruction there is no return address on the stack: compute
		 * it */
		s->call_bytes =
		    r->role == SITE_CALL && r->ret > r->offset ? (pt_u32)(r->ret - r->offset) : 0;
		if (!function_has_exits(f))
			s->flags |= PT_SITE_NEED_RET;
	} else {
		s->end_slot = f->slot;
		s->end_cfa = (pt_s32)r->cfa;
		s->flags = PT_SITE_END | (r->ret_valid ? PT_SITE_RET_VALID : 0) | site_flags(r);
	}
}

void function_sites_write(struct collector *c, struct function *f)
{
	for (unsigned int i = 0; i < f->nr_sites; i++)
		site_write(c, f, &f->sites[i]);
}

/* Tell the BPF programs whether an armed site ends calls that return to the address of `s`, in
 * every mapping of its file. */
static void return_publish(struct collector *c, const struct function *f, const struct rec_site *s,
			   bool ends)
{
	for (unsigned int j = 0; j < c->files.nr_mappings; j++) {
		const struct file_mapping *m = &c->files.mappings[j];
		uint64_t address = mapping_address(m, s->module, s->ret);

		if (address)
			kernel_side_return_known(c->kernel, (uint32_t)m->pid, f->slot, address,
						 ends);
	}
}

void function_returns_publish(struct collector *c, struct function *f)
{
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		if (f->sites[i].site.role == SITE_RETURN && !f->sites[i].dead)
			return_publish(c, f, &f->sites[i].site, true);
	}
}

void function_return_give_up(struct collector *c, struct function *f, struct function_site *s)
{
	s->dead = true;
	f->keep_exits = true;
	return_publish(c, f, &s->site, false);
	function_exits_arm(c, f);
	/* rewriting the sites clears last_ret, which could still hold this address */
	function_sites_write(c, f);
}

void function_site_report(struct collector *c, const struct function *f,
			  const struct function_site *fs, uint32_t state)
{
	struct record rec = {.type = REC_SITE};

	rec.site = fs->site;
	rec.site.op = f->op;
	rec.site.state = state;
	rec.site.hits = kernel_side_sites(c->kernel)[fs->index].hits;
	send_record(c, &rec);
}

struct function *function_by_slot(struct collector *c, uint32_t slot)
{
	return slot < PT_SLOTS ? c->slots[slot].function : NULL;
}

struct function *function_by_op(struct collector *c, uint32_t op)
{
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		if (c->functions.list[i]->op == op)
			return c->functions.list[i];
	}
	return NULL;
}

static struct function *function_new(struct collector *c, const struct rec_op *op)
{
	struct function *f = calloc(1, sizeof(*f));
	uint32_t slot;

	if (!f)
		return NULL;
	f->meta = struct_copy(&rec_op_layout, op);
	slot = __atomic_fetch_add(&kernel_side_control(c->kernel)->next_slot, 1, __ATOMIC_SEQ_CST);
	if (!f->meta || slot >= PT_SLOTS || c->functions.nr == MAX_FUNCTIONS) {
		free(f->meta);
		free(f);
		return NULL;
	}
	f->op = op->op;
	f->slot = slot;
	f->gate_open = true;
	f->time.start = clock_now(c);
	f->credit_ns = budget_draw(c, BUDGET_FUNCTION_START_NS);
	c->functions.list[c->functions.nr++] = f;
	c->slots[slot] = (struct slot_info){.op = f->op, .layer = LAYER_FUNCTION, .function = f};
	return f;
}

static void function_free(struct collector *c, struct function *f)
{
	if (descend_is_of(c, f)) {
		descend_end(c);
		learn_end(c);
	}
	function_drop_open(c, f);
	function_links_stop(f, true);
	for (unsigned int i = 0; i < f->nr_sites; i++)
		site_index_drop(c, f->sites[i].index);
	if (c->slots[f->slot].share)
		share_end(c);
	if (c->slots[f->slot].function == f)
		c->slots[f->slot].function = NULL;
	free(f->sites);
	free(f->links);
	free(f->meta);
	free(f);
}

/* Check a request. Returns NULL, or the reason why it is refused. */
static const char *arm_check(struct collector *c, const struct req_arm *arm,
			     const struct function *f)
{
	const struct rec_site *sites[MAX_FUNCTION_SITES];

	if (kernel_side_uprobes(c->kernel) == UPROBE_DENIED)
		return "this kernel allows probes of user functions only with CAP_SYS_ADMIN; run "
		       "peaktop as root";
	if (!kernel_side_has_uprobes(c->kernel))
		return "this kernel has no uprobes";
	if (arm->op.layer != LAYER_FUNCTION)
		return "only functions can be probed at given addresses";
	if ((!arm->nr_sites && !(f && (arm->drop_exits || arm->keep_exits))) ||
	    (f ? f->nr_sites : 0) + arm->nr_sites > MAX_FUNCTION_SITES)
		return "the function needs too many probes";
	for (uint32_t i = 0; i < arm->nr_sites; i++) {
		const struct rec_site *s = &arm->sites[i];

		if (s->class >= SITE_CLASSES || s->cfa < INT32_MIN || s->cfa > INT32_MAX)
			return "the request contains an invalid probe address";
		if (!site_is_mapped(c, s))
			return "the address is outside the code that the target has mapped";
		sites[i] = s;
	}
	return sites_check(c, sites, arm->nr_sites);
}

static bool site_exists(const struct function *f, const struct rec_site *s)
{
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		const struct rec_site *have = &f->sites[i].site;

		if (have->module == s->module && have->offset == s->offset &&
		    site_starts(have) == site_starts(s) && have->cfa == s->cfa &&
		    have->ret == s->ret)
			return true;
	}
	return false;
}

static int sites_add(struct collector *c, struct function *f, const struct req_arm *arm)
{
	uint64_t before;

	if (array_fit(f->sites, f->nr_sites + arm->nr_sites, f->cap_sites, UINT32_MAX))
		return -ENOMEM;
	before = function_starts(c, f, NULL);
	for (uint32_t i = 0; i < arm->nr_sites; i++) {
		int index;

		if (site_exists(f, &arm->sites[i]))
			continue;
		index = site_index_take(c);
		if (index < 0)
			return index;
		f->sites[f->nr_sites] = (struct function_site){
		    .site = arm->sites[i], .index = (uint32_t)index, .starts_before = before};
		f->nr_sites++;
	}
	return 0;
}

/*
 * Set the latency correction: a latency includes the time of the entry probe after its clock
 * reading and of the end probe before its own.
 */
static void correction_set(struct collector *c, struct function *f)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	uint32_t class = SITE_EMULATED;

	for (unsigned int i = 0; i < f->nr_sites; i++) {
		if (site_starts(&f->sites[i].site) && f->sites[i].site.class == SITE_STEPPED)
			class = SITE_STEPPED;
	}
	control->correction[f->slot] = c->cost.inside[class];
	f->error_ns = c->cost.inside_error[class];
}

static void op_announce(struct collector *c, const struct function *f)
{
	struct record rec = {.type = REC_OP};

	rec.op = *f->meta;
	rec.op.op = f->op;
	send_record(c, &rec);
}

/* True if single-stepped exits should not be attached at first: in a hot function they would
 * nearly stop the target until they are removed. */
static bool exits_should_wait(const struct collector *c, const struct function *f)
{
	if (c->options->budget_ppm >= 1000000 || f->keep_exits || f->exits_dropped)
		return false;
	return any_of(i, f->nr_sites,
		      f->sites[i].site.role == SITE_EXIT && f->sites[i].site.class == SITE_STEPPED);
}

int function_exits_arm(struct collector *c, struct function *f)
{
	int err;

	if (!f->exits_wait && !f->exits_dropped)
		return 0;
	if (f->exits_dropped) {
		f->meta->placement = "entry in the function; ends at its own exits";
		op_announce(c, f);
	}
	f->exits_wait = f->exits_dropped = false;
	if (f->state != FUNCTION_ON) /* they are attached with the next burst */
		return 0;
	err = function_exits_attach(c, f);
	/* only now may calls begin that only an exit can end */
	function_sites_write(c, f);
	return err;
}

void function_exits_drop(struct collector *c, struct function *f)
{
	if (f->exits_dropped)
		return;
	f->exits_dropped = true;
	f->exits_wait = false;
	f->meta->placement = "entry in the function; ends at its callers' return addresses";
	op_announce(c, f);
	function_sites_write(c, f);
	for (unsigned int i = 0; i < f->nr_links; i++) {
		if (f->links[i].exits)
			attachment_release(&f->links[i].ends, false);
	}
}

static void arm_answer(struct collector *c, struct function *f, const struct req_arm *arm,
		       unsigned int from, int err)
{
	bool entry = function_can_start(f);

	f->hopeless |= !entry;
	if (function_give_up_patched(c, f)) {
		send_refused(c, arm->epoch, f->op, -CODE_DIFFERS, FUNCTION_PATCHED, f->meta->label);
		return;
	}
	if (err || !entry) {
		send_refused(c, arm->epoch, f->op, err ? err : -EOPNOTSUPP,
			     err == -ENOEXEC
				 ? "%s: the kernel cannot single-step an instruction that would "
				   "need a probe (%s); watch a caller instead"
			     : err == -ETIMEDOUT || err == -EFAULT
				 ? "%s: its code in memory cannot be compared with its file (%s), "
				   "so that it is not probed; try again later"
				 : "%s: the kernel refuses the probes (%s)",
			     f->meta->label, strerror(err ? -err : EOPNOTSUPP));
		return;
	}
	for (unsigned int i = from; i < f->nr_sites; i++) {
		if (!f->sites[i].dead)
			function_site_report(c, f, &f->sites[i], SITE_ARMED);
	}
	send_ack(c, arm->epoch);
}

/* Take the new description of a function that is in another file now. Returns false if it is
 * where it was. */
static bool function_moved(struct function *f, const struct rec_op *op)
{
	struct rec_op *meta;

	if (op->module_id == f->meta->module_id)
		return false;
	meta = struct_copy(&rec_op_layout, op);
	if (!meta)
		return false;
	free(f->meta);
	f->meta = meta;
	return true;
}

static void op_added(struct collector *c, const struct function *f)
{
	op_announce(c, f);
	if (c->functions.nr != 2)
		return;
	kernel_side_control(c->kernel)->nested = 1;
	send_note(c, NOTE_INFO,
		  "several functions are watched: if one calls another many times, the "
		  "correction of its latency for the cost of probes is an estimate");
}

/* Attach the sites from `from` on. Returns 0 or the first error. */
static int sites_attach(struct collector *c, struct function *f, unsigned int from)
{
	int err;

	function_burst_begins(c, f);
	err = function_links_attach(c, f, from, false);
	/* attached as soon as nobody can write to the file any more */
	return err == -ETXTBSY ? 0 : err;
}

static void function_begin(struct collector *c, struct function *f)
{
	f->state = FUNCTION_ON;
	armed_begin(&f->time, clock_now(c));
	armed_on(&f->time, f->time.start);
	f->state_since = f->time.start.ns;
}

/* Carry out a request that was checked. `fresh`: the function is new; `moved`: its file was
 * replaced by another. */
static void arm_carry_out(struct collector *c, struct function *f, const struct req_arm *arm,
			  bool fresh, bool moved)
{
	unsigned int from = f->nr_sites;
	int err;

	f->changed_ns = now_ns();
	f->keep_exits |= arm->keep_exits != 0;
	err = sites_add(c, f, arm);
	correction_set(c, f);
	if (fresh)
		op_added(c, f);
	else if (function_moved(f, &arm->op))
		op_announce(c, f);
	if (fresh || moved) {
		f->exits_dropped = false;
		f->exits_wait = exits_should_wait(c, f);
	}
	if (moved) /* the front asks anew, by what it knows of the new file */
		f->reads = 0;
	function_sites_write(c, f);
	if (!err && (fresh || f->state == FUNCTION_ON))
		err = sites_attach(c, f, from);
	/* also between bursts: the next one needs them */
	if (!err && f->keep_exits)
		err = function_exits_arm(c, f);
	if (fresh)
		function_begin(c, f);
	if (moved && !err)
		function_revive(c, f);
	function_returns_publish(c, f);
	if (arm->drop_exits && !f->keep_exits && !err)
		function_exits_drop(c, f);
	arm_answer(c, f, arm, from, err);
}

void function_arm(struct collector *c, const struct req_arm *arm)
{
	struct function *f = function_by_op(c, arm->op.op);
	const char *wrong = arm_check(c, arm, f);
	bool fresh = !f, moved = f && !function_has_starts(f);

	if (wrong) {
		send_refused(c, arm->epoch, arm->op.op, -EINVAL, "%s: %s", arm->op.label, wrong);
		return;
	}
	if (moved && !any_of(i, arm->nr_sites, site_starts(&arm->sites[i]))) {
		send_refused(c, arm->epoch, arm->op.op, -ESTALE, "%s: its file is replaced",
			     arm->op.label);
		return;
	}
	if (!c->cost.measured)
		calibrate(c);
	if (!f)
		f = function_new(c, &arm->op);
	if (!f)
		send_refused(c, arm->epoch, arm->op.op, -ENOSPC,
			     "%s: cannot watch more operations; remove one first", arm->op.label);
	else
		arm_carry_out(c, f, arm, fresh, moved);
}

void function_disarm(struct collector *c, uint32_t op)
{
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		if (c->functions.list[i]->op != op)
			continue;
		function_free(c, c->functions.list[i]);
		c->functions.list[i] = c->functions.list[--c->functions.nr];
		return;
	}
}

void functions_sleep(struct collector *c)
{
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];

		function_gate_close(c, f);
		function_links_stop(f, true);
		descend_detach(c, f);
		f->state = FUNCTION_OFF;
		function_drop_open(c, f);
		phases_look(c);
	}
}

void functions_release(struct collector *c)
{
	while (c->functions.nr)
		function_free(c, c->functions.list[--c->functions.nr]);
}
