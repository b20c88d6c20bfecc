// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The armed set of a descent: fnodes, each with a start and an end address, inside the calls of
 * one function. This file carries out REQ_DESCEND and sends the in-peak calls; the front
 * decides what to arm.
 */
#include "collect/descend.h"
#include "analysis/base/array.h"
#include "collect/attach_batch.h"
#include "collect/calibrate.h"
#include "collect/code_check.h"
#include "collect/functions.h"
#include "collect/keep.h"
#include "collect/kernel_symbols.h"
#include "collect/learn.h"
#include "collect/modules.h"
#include "collect/site_check.h"
#include "collect/sites.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/units.h"

#include "collect/descend_state.h"

enum {
	MAX_NODE_LINKS = 1024,
	TICK_NS = 2000, /* assumed cost of a sampling interrupt that could not be measured */
	STACKS = 25,	/* per refill; there are 20 refills per second */
};

bool descend_is_of(const struct collector *c, const struct function *f)
{
	return c->descent && f && c->descent->function == f;
}

bool descend_only_samples(const struct collector *c, const struct function *f)
{
	return descend_is_of(c, f) && c->descent->sampled;
}

void descend_links_release(struct descent_arming *d)
{
	attachments_release(&d->links);
}

/* Remove the descent's flags from f0's own entry in the site table. */
static void site_unshare(struct collector *c, uint32_t index)
{
	struct pt_site *s = &kernel_side_sites(c->kernel)[index];

	s->flags &= ~PT_SITE_OF_DESCENT;
}

/* Release the armed set. f0's own probes stay attached. */
static void set_release(struct collector *c)
{
	struct descent_arming *d = c->descent;

	__atomic_store_n(&kernel_side_control(c->kernel)->descend_epoch, 0, __ATOMIC_SEQ_CST);
	descend_links_release(d);
	attach_batch_free(d->attaching);
	attachments_release(&d->kernel_links);
	kernel_side_contexts_clear(c->kernel);
	clocks_release(&d->clocks);
	for (uint32_t i = 0; i < MAX_ASLEEP; i++)
		free(d->asleep[i]);
	for (uint32_t i = 0; i < d->nr_sites; i++) {
		if (d->sites[i].shared)
			site_unshare(c, d->sites[i].index);
		else
			site_index_drop(c, d->sites[i].index);
	}
	free(d);
	c->descent = NULL;
}

void descend_end(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	const bool ran = c->descent != NULL;

	if (c->keeping)
		return;
	control->descend_slot = control->descend_call = control->descend_sampled = 0;
	control->descend_calls = 0;
	if (ran) {
		set_release(c);
		budget_borrow(c, false);
	}
	/* before units_layers(), which would detach programs that are needed again at once */
	keep_resume(c);
	if (ran)
		units_layers(c);
}

void descend_file_changed(struct collector *c, uint32_t module)
{
	struct descent_arming *d = c->descent;
	uint32_t epoch = d ? d->epoch : 0, op = d ? d->op : 0;
	const struct function *f = d ? d->function : NULL;

	if (!d || !(any_of(i, d->nr_sites, d->sites[i].module == module) ||
		    (f && any_of(i, f->nr_sites, f->sites[i].site.module == module))))
		return;
	descend_end(c);
	learn_end(c);
	send_refused(c, epoch, op, -ESTALE,
		     "descend: %s is overwritten while its functions are probed, so the descent "
		     "ends; start it again once the new file is in use",
		     c->files.modules[module - 1].path);
}

/* ---- arming ----------------------------------------------------------- */

/*
 * Returns the site-table index of f0's start if it is at the same address as `s`, else 0. The
 * kernel runs two probes at one address in list order, so the fnode's probe would fire before
 * f0's. Use one probe for both.
 */
static uint32_t shared_with_f0(const struct descent_arming *d, const struct rec_site *s)
{
	for (uint32_t i = 0; d->function && i < d->function->nr_sites; i++) {
		const struct function_site *fs = &d->function->sites[i];

		if ((fs->site.role == SITE_ENTRY || fs->site.role == SITE_CALL) && !fs->dead &&
		    fs->site.module == s->module && fs->site.offset == s->offset)
			return fs->index;
	}
	return 0;
}

static struct node_site *site_at(struct collector *c, struct descent_arming *d,
				 const struct rec_site *s)
{
	struct node_site *n;
	uint32_t shared;
	int index;

	for (uint32_t i = 0; i < d->nr_sites; i++) {
		if (d->sites[i].module == s->module && d->sites[i].offset == s->offset)
			return &d->sites[i];
	}
	shared = d->nr_sites < MAX_NODE_SITES ? shared_with_f0(d, s) : 0;
	if (shared) {
		n = &d->sites[d->nr_sites++];
		*n = (struct node_site){.module = s->module,
					.offset = s->offset,
					.class = s->class,
					.index = shared,
					.shared = true};
		return n;
	}
	index = site_index_take(c);
	if (index < 0 || d->nr_sites == MAX_NODE_SITES)
		return NULL;
	n = &d->sites[d->nr_sites++];
	*n = (struct node_site){
	    .module = s->module, .offset = s->offset, .class = s->class, .index = (uint32_t)index};
	kernel_side_sites(c->kernel)[index] = (struct pt_site){
	    .class = s->class,
	    .op = d->op,
	    .fuse_ns = DESCEND_FUSE_NS,
	    .fuse_hits = s->class == SITE_STEPPED ? DESCEND_FUSE_HITS / 5 : DESCEND_FUSE_HITS};
	return n;
}

static uint32_t index_of(const struct descent_arming *d, uint32_t node)
{
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		if (d->nodes[i].node == node)
			return i + 1;
	}
	return 0;
}

uint32_t descend_node_index(const struct collector *c, uint32_t node)
{
	return c->descent ? index_of(c->descent, node) : 0;
}

bool descend_site_is_armed(const struct collector *c, const struct rec_site *s)
{
	const struct descent_arming *d = c->descent;

	for (uint32_t i = 0; d && i < d->nr_sites; i++) {
		if (d->sites[i].module == s->module && d->sites[i].offset == s->offset)
			return !d->sites[i].dead && d->links.nr;
	}
	return false;
}

static uint64_t address_of(const struct collector *c, uint32_t module, uint64_t offset)
{
	for (unsigned int i = 0; i < c->files.nr_mappings; i++) {
		uint64_t address = mapping_address(&c->files.mappings[i], module, offset);

		if (address)
			return address;
	}
	return 0;
}

/* Write one fnode and its two sites into the BPF maps. Returns 0 or a negative errno. */
static int node_write(struct collector *c, struct descent_arming *d, uint32_t i)
{
	struct pt_fnode *f = &kernel_side_fnodes(c->kernel)[i];
	const struct req_fnode *req = &d->nodes[i];
	struct pt_site *table = kernel_side_sites(c->kernel), *s;
	struct pt_context context = {.parent = d->parent[i]};
	struct node_site *start, *end;
	int err;

	d->has_kernel |= req->start.module == REC_KERNEL_MODULE || !d->function;
	err = descend_kernel_call(c, d, i);
	if (err != -ENOENT)
		return err;
	start = site_at(c, d, &req->start);
	if (!start)
		return -ENOSPC;
	s = &table[start->index];
	*f = (struct pt_fnode){.node = req->node, .parent = d->parent[i], .tail = !req->end.module};
	context.site = start->index;
	if (req->only_return)
		context.ret = address_of(c, req->end.module, req->only_return);
	if (req->start.role == SITE_ENTRY) {
		s->flags |= PT_SITE_FNODE_ENTRY;
		s->entry_cfa = (pt_s32)req->start.cfa;
	} else {
		s->flags |= PT_SITE_FNODE_CALL;
		s->call_cfa = (pt_s32)req->start.cfa;
	}
	err = kernel_side_context_add(c->kernel, &context, i + 1);
	if (err || !req->end.module)
		return err;
	end = site_at(c, d, &req->end);
	if (!end)
		return -ENOSPC;
	s = &table[end->index];
	s->flags |= PT_SITE_FNODE_END;
	s->end_cfa = (pt_s32)req->end.cfa;
	return 0;
}

static int attach_file(struct collector *c, struct descent_arming *d, pid_t pid, uint32_t module)
{
	struct attach_point points[MAX_NODE_SITES];
	uint32_t of[MAX_NODE_SITES];
	struct attachment *one = attachments_next(&d->links, MAX_NODE_LINKS);
	struct attach_points set;
	int err;

	if (!one)
		return -ENOMEM;
	for (;;) {
		set = (struct attach_points){.list = points};
		for (uint32_t i = 0; i < d->nr_sites; i++) {
			if (d->sites[i].dead || d->sites[i].shared || d->sites[i].module != module)
				continue;
			of[set.nr] = i;
			points[set.nr++] = (struct attach_point){.offset = d->sites[i].offset,
								 .cookie = d->sites[i].index};
		}
		err = module_attach(c, module, pid, &set, one);
		if (!err || set.refused >= set.nr)
			break;
		if (err == -CODE_DIFFERS) {
			descend_site_changed(c, d, &d->sites[of[set.refused]]);
			continue;
		}
		d->sites[of[set.refused]].dead = true;
		descend_node_lost(c, d, &d->sites[of[set.refused]], FNODE_REFUSED);
	}
	if (err || !set.nr)
		return err;
	d->links.nr++;
	budget_attached(c, set.nr);
	return 0;
}

void descend_attach(struct collector *c, struct function *f)
{
	struct descent_arming *d = c->descent;

	if (!descend_is_of(c, f) || d->links.nr)
		return;
	for (unsigned int t = 0; t < c->targets.nr; t++) {
		for (uint32_t m = 1; m <= c->files.nr_modules; m++) {
			if (target_maps(c, c->targets.list[t]->pid, m))
				attach_file(c, d, c->targets.list[t]->pid, m);
		}
	}
}

void descend_detach(struct collector *c, const struct function *f)
{
	if (!descend_is_of(c, f))
		return;
	descend_links_release(c->descent);
	learn_detach(c);
}

/* Measure what interrupts take from the code that they interrupt. */
static void interrupts_calibrate(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	struct tick_cost cost = {.ns = TICK_NS};

	/* attach the programs that time interrupts */
	units_layers(c);
	calibrate_tick(control, SAMPLE_HZ, &cost);
	control->tick_ns = cost.ns;
	control->irq_outside_ns = cost.outside_ns;
}

/* Start a sampling timer on every CPU. A CPU without a timer is not an error: there only
 * sleeps are recorded. */
static void clocks_start(struct collector *c, struct descent_arming *d)
{
	clocks_attach(&d->clocks, kernel_side_program(c->kernel, PROGRAM_SAMPLE),
		      kernel_side_control(c->kernel)->nr_cpus, SAMPLE_HZ);
	if (d->clocks.nr && !kernel_side_control(c->kernel)->tick_ns)
		interrupts_calibrate(c);
	d->clocks_run = true;
	descend_clocks(c);
}

void descend_clocks(struct collector *c)
{
	struct descent_arming *d = c->descent;
	enum function_state state = c->units[UNIT_SYSCALLS].state;
	bool run;

	descend_has_bursts(c, &state);
	run = d && (d->sampled || state != FUNCTION_OFF);
	if (!d || run == d->clocks_run)
		return;
	clocks_run(&d->clocks, run);
	d->clocks_run = run;
}

void descend_sleep(struct collector *c)
{
	keep_clocks(c, false);
	descend_kernel_detach(c);
	if (c->descent)
		clocks_release(&c->descent->clocks);
}

void descend_wake(struct collector *c)
{
	keep_clocks(c, true);
	if (c->descent)
		clocks_start(c, c->descent);
}

void descend_refill(struct collector *c)
{
	if ((c->descent || c->keeping) && budget_left(c) > 0)
		__atomic_store_n(&kernel_side_control(c->kernel)->stacks_left, STACKS,
				 __ATOMIC_RELAXED);
}

static const char *request_check(struct collector *c, const struct req_descend *req,
				 const struct function *f)
{
	const struct rec_site *sites[2 * PT_FNODES];
	size_t nr = 0;

	if (!f && !descend_slot_in_kernel(c, req->op))
		return "the function is not watched";
	if (req->nr_nodes > PT_FNODES)
		return "too many call sites in one request";
	for (uint32_t i = 0; i < req->nr_nodes; i++) {
		const struct req_fnode *n = &req->nodes[i];

		if (!n->node || n->start.class >= SITE_CLASSES || n->end.class >= SITE_CLASSES)
			return "the request contains an invalid call site";
		if (!f || n->start.module == REC_KERNEL_MODULE) {
			const char *wrong = descend_kernel_check(c, n);

			if (wrong)
				return wrong;
			continue;
		}
		if (!site_is_mapped(c, &n->start) || (n->end.module && !site_is_mapped(c, &n->end)))
			return "the address is outside the code that the target has mapped";
		sites[nr++] = &n->start;
		if (n->end.module)
			sites[nr++] = &n->end;
	}
	return sites_check(c, sites, nr);
}

static int nodes_write(struct collector *c, struct descent_arming *d)
{
	int err = 0;

	memset(kernel_side_fnodes(c->kernel), 0, PT_FNODES * sizeof(struct pt_fnode));
	kernel_side_control(c->kernel)->descend_fnodes = d->nr_nodes;
	for (uint32_t i = 0; i < d->nr_nodes && !err; i++) {
		d->parent[i] = d->nodes[i].parent ? index_of(d, d->nodes[i].parent) : 0;
		err = d->nodes[i].parent && !d->parent[i] ? -EINVAL : node_write(c, d, i);
	}
	return err;
}

/* Arm a set. Returns 0, -ENOMEM or the error of nodes_write(); on error the caller ends the
 * descent. */
static int set_arm(struct collector *c, const struct req_descend *req, struct function *f)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	struct descent_arming *d = calloc(1, sizeof(*d));
	const uint32_t call = f ? 0 : descend_call_of(c, req->op);
	int err;

	if (!d)
		return -ENOMEM;
	*d = (struct descent_arming){.function = f,
				     .is_syscall = call != 0,
				     .op = req->op,
				     .slot = f ? f->slot : descend_slot_in_kernel(c, req->op),
				     .epoch = req->epoch,
				     .low_ns = req->low_ns,
				     .high_ns = req->high_ns,
				     .sampled = f && req->sampled && !req->nr_nodes,
				     .nr_nodes = req->nr_nodes};
	memcpy(d->nodes, req->nodes, req->nr_nodes * sizeof(*d->nodes));
	keep_pause(c);
	c->descent = d;
	err = nodes_write(c, d);
	if (err)
		return err;
	/* the first call calibrates: do this before the set costs the target time */
	clocks_start(c, d);
	learn_rebind(c);
	if (f && f->state == FUNCTION_ON)
		descend_attach(c, f);
	budget_borrow(c, true);
	units_layers(c);
	control->stacks_left = STACKS;
	control->descend_sampled = d->sampled;
	control->descend_calls = d->has_calls;
	control->descend_low = req->low_ns;
	control->descend_high = req->high_ns;
	/* calls that begin after this carry the new epoch, in the kernel once all is attached */
	__atomic_store_n(&control->descend_epoch, d->has_kernel ? 0 : req->epoch, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->descend_slot, d->slot, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->descend_call, call, __ATOMIC_SEQ_CST);
	descend_kernel_begin(d);
	return 0;
}

void descend_request(struct collector *c, const struct req_descend *req)
{
	struct function *f = function_by_op(c, req->op);
	const char *wrong = request_check(c, req, f);
	int err;

	if (wrong) {
		send_refused(c, req->epoch, req->op, -EINVAL, "descend: %s", wrong);
		return;
	}
	if (req->stop) {
		descend_end(c);
		learn_end(c);
	} else {
		kernel_symbols_load(c);
		if (c->descent && c->descent->op == req->op)
			set_release(c);
		else
			descend_end(c);
		err = set_arm(c, req, f);
		if (err) {
			descend_end(c);
			send_refused(c, req->epoch, req->op, err, "descend: %s", strerror(-err));
			return;
		}
	}
	send_ack(c, req->epoch);
}

bool descend_is_armed(const struct collector *c)
{
	return c->descent && c->descent->nr_sites;
}
