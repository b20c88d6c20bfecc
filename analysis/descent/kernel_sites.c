// SPDX-License-Identifier: GPL-2.0-or-later
/* The call sites of functions of the kernel, and where a function of the program makes a system
 * call: those below which stack samples have seen another function. More are added as more stacks
 * come, because nobody reads the kernel's code. */
#include "analysis/base/array.h"
#include "analysis/descent/armed_set.h"
#include "analysis/descent/descent_impl.h"

enum {
	/* percent: the callee that most stacks have seen below an indirect call stands for it, if
	   so many have */
	ONE_CALLEE = 90,
	/* a call site is known once so many stacks were seen below it: an indirect call may have
	   other callees */
	STACKS = 10,
	PART = 20, /* a call site with 1/20 of the sampled time of its function is worth a probe */
};

/* A descent waits so long for the stacks that show a call site. */
#define STACKS_WAIT_NS 8000000000ull

static bool is_of(const struct descent *d, uint32_t node, struct rec_code function)
{
	return code_equal(witnesses_node(d->witnesses, node)->function, function);
}

/* The frame of a system call or of a page fault, which stands for the kernel's entry code. */
static bool is_entry(struct rec_code place)
{
	return place.offset & REC_KERNEL_CALL;
}

/* True if the callee of a frame with this return address can be timed. */
static bool is_probed(struct rec_code ret, struct rec_code callee)
{
	return code_is_syscall(callee) ? ret.module != REC_KERNEL_MODULE
				       : !is_entry(ret) && !is_entry(callee);
}

/* Stack samples: their time, and their number. */
struct seen {
	uint64_t ns, count;
};

/* The samples below the call site with this return address in `function`; with a `callee` that is
 * not NULL, only those in that callee. */
static struct seen seen_below(const struct descent *d, struct rec_code function,
			      struct rec_code ret, const struct rec_code *callee)
{
	const struct witnesses *w = d->witnesses;
	struct seen seen = {0};

	for (uint32_t i = 1; i < witnesses_nr_nodes(w); i++) {
		const struct witness_node *n = witnesses_node(w, i);

		if (!code_equal(n->ret, ret) || !is_of(d, n->parent, function) ||
		    (callee && !code_equal(n->function, *callee)))
			continue;
		seen.ns += n->weight_ns;
		seen.count += n->count;
	}
	return seen;
}

static uint64_t time_of(const struct descent *d, struct rec_code function)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < witnesses_nr_nodes(d->witnesses); i++)
		ns += is_of(d, i, function) ? witnesses_node(d->witnesses, i)->weight_ns : 0;
	return ns;
}

/* The call site of a stack frame in `function`, which called `callee`. */
static struct rec_call_site site_of(const struct descent *d, struct rec_code function,
				    struct rec_code ret, struct rec_code callee)
{
	struct rec_call_site s = {
	    .offset = ret.offset - 1, .ret = ret.offset, .kind = CALLEE_DIRECT, .callee = callee};
	uint64_t all = seen_below(d, function, ret, NULL).ns;

	if (is_probed(ret, callee) &&
	    seen_below(d, function, ret, &callee).ns * 100 >= all * ONE_CALLEE)
		s.flags = CALL_SITE_TIMED;
	return s;
}

static bool is_listed(const struct function_sites *f, uint64_t ret)
{
	return any_of(i, f->nr_sites, f->sites[i].ret == ret);
}

static int add_sites(struct descent *d, uint32_t function)
{
	const struct rec_code key = d->tree.function[function].key;
	uint64_t least = time_of(d, key) / PART;
	struct rec_call_site s;
	struct seen below;
	int err = 0;

	for (uint32_t i = 1; i < witnesses_nr_nodes(d->witnesses) && !err; i++) {
		const struct witness_node *n = witnesses_node(d->witnesses, i);

		if (!n->weight_ns || n->ret.module != key.module || !is_of(d, n->parent, key) ||
		    (key.module != REC_KERNEL_MODULE && !code_is_syscall(n->function)) ||
		    is_listed(&d->tree.function[function], n->ret.offset))
			continue;
		below = seen_below(d, key, n->ret, NULL);
		if (below.ns < least || below.count < STACKS)
			continue;
		s = site_of(d, key, n->ret, n->function);
		/* of several callees the one with most time comes, if it stands for them */
		if (s.flags & CALL_SITE_TIMED ||
		    !any_of(k, witnesses_nr_nodes(d->witnesses),
			    k > i && code_equal(witnesses_node(d->witnesses, k)->ret, n->ret)))
			err = ftree_add_site(&d->tree, function, &s);
	}
	return err;
}

/* Returns true if most samples of this fnode are below one call into the kernel, or in it, that too
 * few of them have shown to be timed. */
static bool awaits_stacks(const struct descent *d, uint32_t node)
{
	const struct witnesses *w = d->witnesses;
	struct witness_set set;
	uint64_t all;

	fnode_witness_set(d, node, &set);
	all = witness_set_weight(w, &set);
	for (unsigned int i = 0; i < set.nr_at; i++) {
		const struct witness_node *n = witnesses_node(w, set.at[i]);

		for (uint32_t id = n->function.module == REC_KERNEL_MODULE ? n->first_child
									   : n->first_syscall;
		     id != NO_INDEX; id = witnesses_node(w, id)->next) {
			const struct witness_node *callee = witnesses_node(w, id);

			if (callee->weight_ns * 2 > all && callee->count < STACKS &&
			    is_probed(callee->ret, callee->function))
				return true;
		}
	}
	return false;
}

bool descent_awaits_kernel_sites(const struct descent *d)
{
	if (!armed_set_goes_into_kernel(&d->ask) ||
	    d->last_end_ns - d->first_start_ns > STACKS_WAIT_NS)
		return false;
	return any_of(i, d->tree.nr_nodes,
		      d->tree.node[i].live &&
			  (d->tree.node[i].self_kept[CANDIDATE_SELF] ||
			   d->tree.node[i].self_kept[CANDIDATE_BLOCKED]) &&
			  awaits_stacks(d, i));
}

int descent_add_kernel_sites(struct descent *d)
{
	int err = 0;

	if (!armed_set_goes_into_kernel(&d->ask))
		return 0;
	for (uint32_t i = 0; i < d->tree.nr_functions && !err; i++) {
		if (d->tree.function[i].state == FUNCTION_KNOWN)
			err = add_sites(d, i);
	}
	return err;
}
