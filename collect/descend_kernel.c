// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call sites of a descent that are in functions of the kernel: a kprobe at the call instruction
 * and one at the return address. Every task of the host that passes there pays for them, so they
 * have a credit of the host beside the budget of the targets. They are attached while calls of f0
 * are watched. Calls that begin while not all of them are attached carry no epoch, and do not
 * count.
 */
#include "collect/code_bytes.h"
#include "collect/descend.h"
#include "collect/descend_state.h"
#include "collect/kernel_names.h"
#include "collect/kernel_never.h"
#include "collect/stream.h"
#include "collect/units.h"

#include <errno.h>

enum {
	MOST_CREDIT_NS = 20000000, /* of all CPUs */
	START_CREDIT_NS = 4000000, /* for hits, beside what attaching costs */
	SHARE = 2,		   /* of the host's budget; f0 has the other half */
	CHECK_NS = 50000000,
	PAUSE_NS = 60000000,
	IDLE_NS = 500000000,
	STEP_NS = 20000000, /* of attaching, until the loop has another turn */
};

static uint64_t address_of(const struct node_site *s)
{
	return kernel_names_base() + s->offset;
}

/* True if the fnode is a system call. */
static bool is_call(const struct req_fnode *n)
{
	return n->start.module == REC_KERNEL_MODULE && n->start.offset & REC_KERNEL_CALL;
}

int descend_kernel_call(struct collector *c, struct descent_arming *d, uint32_t i)
{
	const struct pt_context context = {
	    .parent = d->parent[i],
	    .site = PT_SITE_CALL + (uint32_t)(d->nodes[i].start.offset & ~REC_KERNEL_CALL)};

	if (!is_call(&d->nodes[i]))
		return -ENOENT;
	kernel_side_fnodes(c->kernel)[i] =
	    (struct pt_fnode){.node = d->nodes[i].node, .parent = d->parent[i]};
	d->has_calls = true;
	return kernel_side_context_add(c->kernel, &context, i + 1);
}

const char *descend_kernel_check(const struct collector *c, const struct req_fnode *n)
{
	uint64_t start = kernel_names_base() + n->start.offset,
		 end = kernel_names_base() + n->end.offset;
	struct kernel_place p, q;

	if (is_call(n) && c->cost.kernel && (n->start.offset & ~REC_KERNEL_CALL) < PT_SYSCALLS)
		return NULL;
	if (!kernel_side_has_kprobes(c->kernel) || !c->cost.kernel)
		return "call sites in the kernel are not probed on this host, or with this budget";
	if (n->end.module != REC_KERNEL_MODULE || n->start.role != SITE_CALL ||
	    n->end.role != SITE_RETURN || n->only_return || start >= end ||
	    !kernel_place_of(start, &p) || !kernel_place_of(end, &q) || p.start != q.start)
		return "the request contains an invalid call site of the kernel";
	return NULL;
}

/*
 * Attach a probe to a call instruction, of which only the last byte is known. The bytes before a
 * return address may be read as calls of several lengths. The kernel knows where its instructions
 * begin and refuses all but one. What is no call as a whole is not probed: a jump around the call
 * would count as one.
 */
static int attach_call(struct collector *c, struct attachment *a, const struct node_site *s)
{
	const int prog = kernel_side_program(c->kernel, PROGRAM_KERNEL_SITE);
	const uint64_t end = address_of(s) + 1;
	uint8_t code[CODE_CALL_BYTES];
	int err = kernel_side_code(c->kernel, end, code);

	_Static_assert((int)CODE_CALL_BYTES == (int)KERNEL_SIDE_CODE, "the longest call");
	if (err)
		return err;
	err = -EILSEQ;
	for (size_t n = CODE_CALL_BYTES; n && err == -EILSEQ; n--) {
		if (code_is_call(code + CODE_CALL_BYTES - n, n))
			err = attach_kernel_place(a, prog, NULL, end - n, s->index);
	}
	return err;
}

static bool is_start(const struct collector *c, const struct node_site *s)
{
	return kernel_side_sites(c->kernel)[s->index].flags & PT_SITE_FNODE_CALL;
}

static int attach_site(struct collector *c, struct descent_arming *d, struct node_site *s)
{
	const int prog = kernel_side_program(c->kernel, PROGRAM_KERNEL_SITE);
	struct attachment *one = attachments_next(&d->kernel_links, MAX_NODE_SITES);
	struct kernel_place p;
	int err;

	if (!one)
		return -ENOMEM;
	if (!kernel_place_of(address_of(s), &p) || kernel_never_probed(p.name))
		return -EINVAL;
	err = is_start(c, s) ? attach_call(c, one, s)
			     : attach_kernel_place(one, prog, NULL, address_of(s), s->index);
	if (err)
		return err;
	s->link = ++d->kernel_links.nr;
	budget_attached(c, 1);
	d->kernel_ns -= BUDGET_KERNEL_SWITCH_NS;
	return 0;
}

void descend_kernel_give_up(struct descent_arming *d, const struct node_site *s)
{
	const uint64_t offset = s->offset;

	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const uint64_t start = d->nodes[i].start.offset, end = d->nodes[i].end.offset;

		for (uint32_t j = 0; (start == offset || end == offset) && j < d->nr_sites; j++) {
			struct node_site *t = &d->sites[j];

			if (t->offset != start && t->offset != end)
				continue;
			t->dead = true;
			if (t->link)
				attachment_release(&d->kernel_links.list[t->link - 1], false);
			t->link = 0;
		}
	}
}

/*
 * Attach the next sites, for a short time. Calls of f0 count once all are attached. All starts come
 * before all ends: where one call follows another at once, its start is at the other's end, and of
 * the probes at one instruction the kernel runs the last one first, which has to be the end.
 */
static void attach_some(struct collector *c, struct descent_arming *d)
{
	uint64_t until = now_ns() + STEP_NS;
	struct node_site *s;

	/* what is given up meanwhile is removed first: the kernel makes who attaches others wait */
	for (; d->kernel_tried < 2 * d->nr_sites && now_ns() < until && attach_is_settled();
	     d->kernel_tried++) {
		s = &d->sites[d->kernel_tried % d->nr_sites];
		if (s->dead || s->module != REC_KERNEL_MODULE ||
		    is_start(c, s) != (d->kernel_tried < d->nr_sites) || !attach_site(c, d, s))
			continue;
		descend_kernel_give_up(d, s);
		descend_node_lost(c, d, s, FNODE_REFUSED);
	}
	if (d->kernel_tried < 2 * d->nr_sites || !units_are_on(c))
		return;
	d->kernel_on = true;
	__atomic_store_n(&kernel_side_control(c->kernel)->descend_epoch, d->epoch,
			 __ATOMIC_SEQ_CST);
}

static void detach(struct collector *c, struct descent_arming *d)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	__atomic_store_n(&control->descend_epoch, 0, __ATOMIC_SEQ_CST);
	/* the calls that are open lose their fnodes: they are not followed any more */
	control->descend_burst++;
	attachments_release(&d->kernel_links);
	for (uint32_t i = 0; i < d->nr_sites; i++)
		d->sites[i].link = 0;
	d->kernel_on = d->kernel_counts = false;
	d->kernel_tried = 0;
	d->kernel_since_ns = now_ns();
}

void descend_kernel_detach(struct collector *c)
{
	if (c->descent && (c->descent->kernel_on || c->descent->kernel_tried))
		detach(c, c->descent);
}

void descend_kernel_begin(struct descent_arming *d)
{
	d->kernel_ns = START_CREDIT_NS;
	d->kernel_looked_ns = d->kernel_f0_ns = now_ns();
}

/* The host's credit that the set needs: with less it would be removed before it measured a call. */
static int64_t credit_needed(const struct descent_arming *d)
{
	int64_t ns = START_CREDIT_NS;

	for (uint32_t i = 0; i < d->nr_sites; i++)
		if (!d->sites[i].dead && d->sites[i].module == REC_KERNEL_MODULE)
			ns += BUDGET_KERNEL_SWITCH_NS;
	return ns;
}

static void credit_turn(struct collector *c, struct descent_arming *d, uint64_t now)
{
	int64_t needed = credit_needed(d), most = needed > MOST_CREDIT_NS ? needed : MOST_CREDIT_NS;
	uint64_t wall = now - d->kernel_looked_ns;

	d->kernel_looked_ns = now;
	d->kernel_ns +=
	    (int64_t)((double)budget_of(c, wall) / SHARE * kernel_side_control(c->kernel)->nr_cpus);
	d->kernel_ns -= (int64_t)descend_sites_spending(c, true);
	if (d->kernel_ns > most || budget_is_unlimited(c))
		d->kernel_ns = most;
}

/* True if f0 is measured, or was a short time ago: it is in bursts, and these sites are slow to
 * attach. */
static bool f0_is_on(struct collector *c, struct descent_arming *d, uint64_t now)
{
	enum function_state state = c->units[UNIT_SYSCALLS].state;

	descend_has_bursts(c, &state);
	d->kernel_counts = d->kernel_on && state == FUNCTION_ON;
	if (state != FUNCTION_OFF)
		d->kernel_f0_ns = now;
	return now - d->kernel_f0_ns < IDLE_NS;
}

/*
 * True if the sites have to go. The burst of f0 ends when the budget of the targets is used up. Its
 * next one would find no site attached if they went as well, but while it is paused the targets hit
 * them for nothing: they may owe no more than the pause earns.
 */
static bool is_over(const struct collector *c, const struct descent_arming *d)
{
	return d->kernel_ns < 0 || budget_left(c) < -budget_of(c, IDLE_NS);
}

static bool may_attach(const struct collector *c, const struct descent_arming *d, uint64_t now)
{
	/* until the probes of the last set are removed the kernel makes who attaches others wait */
	return !d->kernel_on && attach_is_settled() && now - d->kernel_since_ns > PAUSE_NS &&
	       budget_left(c) > 0 && (d->kernel_tried || d->kernel_ns >= credit_needed(d));
}

uint64_t descend_kernel_govern(struct collector *c, uint64_t now)
{
	struct descent_arming *d = c->descent;
	bool on;

	if (!d || !d->has_kernel)
		return UINT64_MAX;
	credit_turn(c, d, now);
	on = f0_is_on(c, d, now);
	if (is_over(c, d) || !on)
		descend_kernel_detach(c);
	else if (may_attach(c, d, now))
		attach_some(c, d);
	return now + (on && !d->kernel_on ? STEP_NS : CHECK_NS);
}
