// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call sites of a descent that are in functions of the kernel: a kprobe at the call instruction
 * and one at the return address. Every task of the host that passes there pays for them, so they
 * have a credit of the host beside the budget of the targets, and one for what tasks that are no
 * targets pay, whatever the user allows for the targets. They are attached while calls of f0
 * are watched. Calls that begin while not all of them are attached carry no epoch, and do not
 * count.
 */
#include "collect/attach_batch.h"
#include "collect/code_bytes.h"
#include "collect/descend.h"
#include "collect/descend_state.h"
#include "collect/kernel_names.h"
#include "collect/kernel_never.h"
#include "collect/stream.h"
#include "collect/units.h"

enum {
	MOST_CREDIT_NS = 20000000, /* of all CPUs */
	START_CREDIT_NS = 4000000, /* for hits, beside what attaching costs */
	SHARE = 2,		   /* of the host's budget; f0 has the other half */
	OTHERS_PART = 200,	   /* tasks that are no targets pay at most 1/200 of all CPUs */
	CHECK_NS = 50000000,
	PAUSE_NS = 60000000,
	IDLE_NS = 500000000,
	STEP_NS = 20000000, /* of attaching, until the next look whether it is over */
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

/* Let a system call begin this fnode in the process of this mapping, if it is made by the fnode's
 * instruction, whose address differs between processes; NULL: in any process, by any instruction.
 * Returns false if the mapping is of another file, or there is no room. */
static bool add_call(struct collector *c, const struct descent_arming *d, uint32_t i,
		     const struct file_mapping *m)
{
	const struct req_fnode *n = &d->nodes[i];
	struct pt_context context = {
	    .parent = d->parent[i],
	    .site = PT_SITE_CALL + (uint32_t)(n->start.offset & ~REC_KERNEL_CALL),
	    .ret = m ? mapping_address(m, n->end.module, n->only_return) : 0};

	return (!m || context.ret) && !kernel_side_context_add(c->kernel, &context, i + 1);
}

/* The same in all processes that have mapped its code. Returns false if there are none. */
static bool add_calls(struct collector *c, const struct descent_arming *d, uint32_t i)
{
	bool found = false;

	for (unsigned int k = 0; d->nodes[i].only_return && k < c->files.nr_mappings; k++)
		found |= add_call(c, d, i, &c->files.mappings[k]);
	return found;
}

int descend_kernel_call(struct collector *c, struct descent_arming *d, uint32_t i)
{
	const struct req_fnode *n = &d->nodes[i];

	if (!is_call(n))
		return -ENOENT;
	kernel_side_fnodes(c->kernel)[i] =
	    (struct pt_fnode){.node = n->node, .parent = d->parent[i]};
	d->has_calls = true;
	return add_calls(c, d, i) || add_call(c, d, i, NULL) ? 0 : -E2BIG;
}

void descend_kernel_new_mapping(struct collector *c)
{
	const struct descent_arming *d = c->descent;

	for (uint32_t i = 0; d && d->has_calls && i < d->nr_nodes; i++) {
		if (is_call(&d->nodes[i]))
			add_calls(c, d, i);
	}
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
 * The addresses at which a call instruction may begin, of which only the last byte is known. The
 * bytes before a return address may be read as calls of several lengths. The kernel knows where its
 * instructions begin and refuses all but one. What is no call as a whole is not probed: a jump
 * around the call would count as one.
 */
static void find_calls(struct collector *c, const struct node_site *s, struct attach_place *p)
{
	const uint64_t end = address_of(s) + 1;
	uint8_t code[CODE_CALL_BYTES];

	_Static_assert((int)CODE_CALL_BYTES == (int)KERNEL_SIDE_CODE, "the longest call");
	_Static_assert((int)CODE_CALL_BYTES <= (int)PLACE_ADDRESSES, "one for each length");
	if (kernel_side_code(c->kernel, end, code))
		return;
	for (size_t n = CODE_CALL_BYTES; n; n--) {
		if (code_is_call(code + CODE_CALL_BYTES - n, n))
			p->address[p->nr_addresses++] = end - n;
	}
}

static bool is_start(const struct collector *c, const struct node_site *s)
{
	return kernel_side_sites(c->kernel)[s->index].flags & PT_SITE_FNODE_CALL;
}

static struct attach_place place_of(struct collector *c, const struct node_site *s)
{
	struct attach_place place = {.prog = kernel_side_program(c->kernel, PROGRAM_KERNEL_SITE),
				     .cookie = s->index};
	struct kernel_place p;

	if (s->dead || !kernel_place_of(address_of(s), &p) || kernel_never_probed(p.name))
		return place;
	if (is_start(c, s))
		find_calls(c, s, &place);
	else
		place.address[place.nr_addresses++] = address_of(s);
	return place;
}

/* The sites of the kernel: those where fnodes start, or the others. Returns their number. */
static uint32_t list_sites(struct collector *c, struct descent_arming *d, bool starts,
			   struct node_site **list)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < d->nr_sites; i++) {
		struct node_site *s = &d->sites[i];

		if (s->module == REC_KERNEL_MODULE && is_start(c, s) == starts)
			list[nr++] = s;
	}
	return nr;
}

/*
 * All sites, in the order in which they are attached. All starts come before all ends: where one
 * call follows another at once, its start is at the other's end, and of the probes at one
 * instruction the kernel runs the last one first, which has to be the end.
 */
static uint32_t sites_in_order(struct collector *c, struct descent_arming *d,
			       struct node_site *list[MAX_NODE_SITES])
{
	uint32_t nr = list_sites(c, d, true, list);

	return nr + list_sites(c, d, false, list + nr);
}

void descend_kernel_give_up(struct descent_arming *d, const struct node_site *s)
{
	const uint64_t offset = s->offset;

	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const uint64_t start = d->nodes[i].start.offset, end = d->nodes[i].end.offset;
		bool ends_here =
		    d->nodes[i].end.module == s->module && (start == offset || end == offset);

		for (uint32_t j = 0; ends_here && j < d->nr_sites; j++) {
			struct node_site *t = &d->sites[j];

			if (t->module != REC_KERNEL_MODULE ||
			    (t->offset != start && t->offset != end))
				continue;
			t->dead = true;
			if (t->link)
				attachment_release(&d->kernel_links.list[t->link - 1], false);
			t->link = 0;
		}
	}
}

static void begin_attaching(struct collector *c, struct descent_arming *d)
{
	struct attach_place places[MAX_NODE_SITES];
	struct node_site *list[MAX_NODE_SITES];
	uint32_t nr = sites_in_order(c, d, list);

	for (uint32_t i = 0; i < nr; i++)
		places[i] = place_of(c, list[i]);
	d->attaching = attach_batch_new(places, nr);
}

static void take_place(struct collector *c, struct descent_arming *d, struct node_site *s,
		       struct attach_place *p)
{
	struct attachment *one = attachments_next(&d->kernel_links, MAX_NODE_SITES);

	if (!p->err && one && !s->dead) {
		*one = p->link;
		p->link = (struct attachment){0};
		s->link = ++d->kernel_links.nr;
		budget_attached(c, 1);
		d->kernel_ns -= BUDGET_KERNEL_SWITCH_NS;
		return;
	}
	if (s->dead)
		return;
	descend_kernel_give_up(d, s);
	descend_node_lost(c, d, s, FNODE_REFUSED);
}

/* Take over what the thread has attached. Calls of f0 count from then on. */
static void end_attaching(struct collector *c, struct descent_arming *d)
{
	struct attach_place *places = attach_batch_done(d->attaching);
	struct node_site *list[MAX_NODE_SITES];
	uint32_t nr = sites_in_order(c, d, list);

	for (uint32_t i = 0; i < nr; i++)
		take_place(c, d, list[i], &places[i]);
	attach_batch_free(d->attaching);
	d->attaching = NULL;
	d->kernel_on = true;
}

/* Attach the sites, in a thread. Calls of f0 count once all are attached. */
static void attach_turn(struct collector *c, struct descent_arming *d)
{
	if (!d->attaching)
		begin_attaching(c, d);
	if (!d->attaching || !attach_batch_done(d->attaching) || !units_are_on(c))
		return;
	end_attaching(c, d);
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
	attach_batch_free(d->attaching);
	d->attaching = NULL;
	d->kernel_on = d->kernel_counts = false;
	d->kernel_since_ns = now_ns();
}

void descend_kernel_detach(struct collector *c)
{
	if (c->descent && (c->descent->kernel_on || c->descent->attaching))
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

/* Tasks that are no targets have one credit for all sets: a descent arms many. */
static void bystanders_turn(struct collector *c, uint64_t now)
{
	uint64_t n[PT_COUNTERS], hits, wall, most, given;
	struct budget *b = &c->budget;

	kernel_side_counters(c->kernel, n);
	hits = n[PT_HIT_KERNEL_SITE_OTHER];
	if (!b->bystanders.at) {
		b->bystanders.at = now;
		b->bystanders.hits = hits;
		b->bystanders.ns = START_CREDIT_NS;
	}
	wall = now - b->bystanders.at;
	most = wall / OTHERS_PART;
	given = (uint64_t)budget_of(c, wall) / SHARE;
	b->bystanders.ns +=
	    (int64_t)((given < most ? given : most) * kernel_side_control(c->kernel)->nr_cpus);
	b->bystanders.ns -= (int64_t)((hits - b->bystanders.hits) * c->cost.kernel);
	b->bystanders.at = now;
	b->bystanders.hits = hits;
	if (b->bystanders.ns > MOST_CREDIT_NS || budget_is_unlimited(c))
		b->bystanders.ns = MOST_CREDIT_NS;
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
	bystanders_turn(c, now);
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
	return d->kernel_ns < 0 || c->budget.bystanders.ns < 0 ||
	       budget_left(c) < -budget_of(c, IDLE_NS);
}

static bool may_attach(const struct collector *c, const struct descent_arming *d, uint64_t now)
{
	if (d->kernel_on || d->attaching)
		return !d->kernel_on;
	/* until the probes of the last set are removed the kernel makes who attaches others wait */
	return attach_is_settled() && attach_batches_are_over() &&
	       now - d->kernel_since_ns > PAUSE_NS && budget_left(c) > 0 &&
	       d->kernel_ns >= credit_needed(d) && c->budget.bystanders.ns >= START_CREDIT_NS;
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
		attach_turn(c, d);
	return now + (on && !d->kernel_on ? STEP_NS : CHECK_NS);
}
