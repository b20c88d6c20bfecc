// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches and detaches the sites of a function in its targets. */

#include "analysis/base/array.h"
#include "collect/code_check.h"
#include "collect/descend.h"
#include "collect/functions_impl.h"
#include "collect/phases.h"
#include "collect/state.h"
#include "collect/stream.h"

enum { BURST_PART = 4 };

/* Sites are attached in groups: ends at return addresses, exits in the function, starts. */
enum group { GROUP_RETURNS = 0, GROUP_EXITS, GROUP_STARTS, GROUPS };

static enum group group_of(const struct rec_site *s)
{
	return site_starts(s) ? GROUP_STARTS : s->role == SITE_EXIT ? GROUP_EXITS : GROUP_RETURNS;
}

/* Give up a site, whose code in memory differs from its file. */
static void site_changed(struct collector *c, struct function *f, struct function_site *s)
{
	s->dead = s->differs = true;
	f->patched = true;
	function_site_report(c, f, s, SITE_REFUSED);
	/* calls that return there end at the exits of the function from now on */
	if (s->site.role == SITE_RETURN)
		function_return_give_up(c, f, s);
}

/* Attach one group of the sites of `f`, from index `from` on, that lie in one file, in one
 * process. */
static int attach_group(struct collector *c, struct function *f, unsigned int from,
			enum group group, pid_t pid, uint32_t module)
{
	struct function_links link = {.pid = pid, .module = module, .exits = group == GROUP_EXITS};
	struct attachment *a = group == GROUP_STARTS ? &link.starts : &link.ends;
	struct attach_point points[MAX_FUNCTION_SITES];
	unsigned int of[MAX_FUNCTION_SITES];
	struct attach_points set;
	int err;

	for (;;) {
		struct function_site *refused;

		set = (struct attach_points){.list = points};
		for (unsigned int i = from; i < f->nr_sites; i++) {
			struct function_site *fs = &f->sites[i];

			if (fs->dead || fs->site.module != module || group_of(&fs->site) != group)
				continue;
			of[set.nr] = i;
			points[set.nr++] =
			    (struct attach_point){.offset = fs->site.offset, .cookie = fs->index};
		}
		err = module_attach(c, module, pid, &set, a);
		if (!err || set.refused >= set.nr)
			break;
		/* leave out the refused site, report it and attach the rest */
		refused = &f->sites[of[set.refused]];
		if (err == -CODE_DIFFERS) {
			site_changed(c, f, refused);
			continue;
		}
		refused->dead = true;
		function_site_report(c, f, refused, SITE_REFUSED);
		send_note(c, NOTE_WARNING,
			  "%s: the kernel refuses a probe at 0x%llx (%s); calls that return there "
			  "are not timed",
			  f->meta->label, (unsigned long long)refused->site.offset, strerror(-err));
	}
	if (err || !set.nr)
		return err;
	budget_attached(c, set.nr);
	if (array_grow(f->links, f->nr_links, f->cap_links, MAX_FUNCTION_LINKS)) {
		attachment_release(a, false);
		return -ENOMEM;
	}
	f->links[f->nr_links++] = link;
	return 0;
}

static bool link_is_of(const struct function_links *l, enum group g)
{
	return l->exits == (g == GROUP_EXITS) && (g == GROUP_STARTS ? l->starts.nr : l->ends.nr);
}

/* True if one of the first `links` links is of this group and for this file in this process. */
static bool links_cover(const struct function *f, unsigned int links, enum group g, pid_t pid,
			uint32_t module)
{
	return any_of(i, links,
		      f->links[i].pid == pid && f->links[i].module == module &&
			  link_is_of(&f->links[i], g));
}

/* True if attaching may succeed a moment later: the code could not be read in time. */
static bool may_succeed(int err)
{
	return err == -ETIMEDOUT || err == -EAGAIN || err == -EFAULT || err == -EINTR;
}

/* Attach a group in every target, except in files that one of the first `links` links covers.
 * Returns 0 or the first error. */
static int group_attach(struct collector *c, struct function *f, unsigned int from, enum group g,
			unsigned int links)
{
	int err, first = 0;

	for (unsigned int t = 0; t < c->targets.nr; t++) {
		pid_t pid = c->targets.list[t]->pid;

		for (uint32_t m = 1; m <= c->files.nr_modules; m++) {
			if (!target_maps(c, pid, m) || links_cover(f, links, g, pid, m))
				continue;
			err = attach_group(c, f, from, g, pid, m);
			c->files.changed |= may_succeed(err);
			/* a child that has already ended is not an error */
			if (err && err != -ESRCH && !first)
				first = err;
		}
	}
	return first;
}

bool function_can_start(const struct function *f)
{
	return any_of(i, f->nr_sites, site_starts(&f->sites[i].site) && !f->sites[i].dead);
}

int function_exits_attach(struct collector *c, struct function *f)
{
	return group_attach(c, f, 0, GROUP_EXITS, 0);
}

int function_links_attach(struct collector *c, struct function *f, unsigned int from,
			  bool uncovered)
{
	unsigned int links = uncovered ? f->nr_links : 0;
	int err, first = 0;

	for (enum group g = 0; g < GROUPS; g++) {
		err = g == GROUP_EXITS && !function_has_exits(f)
			  ? 0
			  : group_attach(c, f, from, g, links);
		first = first ? first : err;
	}
	return first;
}

void function_gate(struct collector *c, struct function *f, bool open)
{
	struct pt_site *table = kernel_side_sites(c->kernel);

	f->gate_open = open;
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		struct pt_site *s = &table[f->sites[i].index];

		__atomic_store_n(&s->pace, open && !budget_is_unlimited(c), __ATOMIC_RELAXED);
		if (site_starts(&f->sites[i].site))
			__atomic_store_n(&s->closed, !open, __ATOMIC_SEQ_CST);
	}
}

void function_gate_close(struct collector *c, struct function *f)
{
	struct armed_clock now;

	function_gate(c, f, false);
	now = clock_now(c);
	armed_off(&f->time, now.ns, now);
}

void function_burst_begins(const struct collector *c, struct function *f)
{
	f->burst_max_ns = (uint64_t)(budget_left(c) > 0 ? budget_left(c) / BURST_PART : 0);
	f->burst_spent_ns = 0;
}

void function_links_start(struct collector *c, struct function *f)
{
	struct armed_clock now;

	f->burst++;
	kernel_side_control(c->kernel)->share_hold = 1;
	function_sites_write(c, f);
	function_gate(c, f, false);
	function_returns_publish(c, f);
	function_burst_begins(c, f);
	if (descend_is_of(c, f))
		kernel_side_control(c->kernel)->descend_burst++;
	descend_attach(c, f);
	function_links_attach(c, f, 0, false);
	if (function_give_up_patched(c, f))
		return;
	/* attaching takes milliseconds: only calls between opening and closing the gate count */
	now = clock_now(c);
	function_gate(c, f, true);
	f->state = FUNCTION_ON;
	f->state_since = now.ns;
	armed_on(&f->time, now);
	descend_clocks(c);
	phases_look(c);
}

void function_links_stop(struct function *f, bool ends_too)
{
	for (unsigned int i = 0; i < f->nr_links; i++) {
		attachment_release(&f->links[i].starts, false);
		if (ends_too)
			attachment_release(&f->links[i].ends, false);
	}
	if (ends_too)
		f->nr_links = 0;
}

static void report_sites(struct collector *c, struct function *f)
{
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		struct function_site *s = &f->sites[i];

		if (!s->differs)
			continue;
		s->differs = false;
		send_note(c, NOTE_WARNING,
			  "%s: the code in memory at 0x%llx of %s differs from its file; it is not "
			  "probed, so that calls %s there are not counted",
			  f->meta->label, (unsigned long long)s->site.offset,
			  c->files.modules[s->site.module - 1].path,
			  site_starts(&s->site) ? "that begin" : "whose end is seen only");
	}
}

bool function_give_up_patched(struct collector *c, struct function *f)
{
	if (!f->patched)
		return false;
	if (function_can_start(f)) {
		report_sites(c, f);
		return false;
	}
	if (!f->hopeless)
		send_note(c, NOTE_WARNING, FUNCTION_PATCHED, f->meta->label);
	f->hopeless = true;
	if (f->gate_open)
		function_gate_close(c, f);
	function_links_stop(f, true);
	descend_detach(c, f);
	f->state = FUNCTION_OFF;
	function_drop_open(c, f);
	descend_clocks(c);
	phases_look(c);
	return true;
}

/* If a link is of this group: detach it, and attach the sites of the group again without those that
 * were given up. */
static void link_renew(struct collector *c, struct function *f, unsigned int l, enum group group)
{
	struct function_links link = f->links[l];

	if (!link_is_of(&link, group))
		return;
	attachment_release(&f->links[l].starts, false);
	attachment_release(&f->links[l].ends, false);
	f->links[l] = f->links[--f->nr_links];
	attach_group(c, f, 0, group, link.pid, link.module);
}

void functions_code_changed(struct collector *c, uint32_t module, uint64_t offset)
{
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];

		for (unsigned int s = 0; s < f->nr_sites; s++) {
			struct function_site *fs = &f->sites[s];

			if (fs->dead || fs->site.module != module || fs->site.offset != offset)
				continue;
			site_changed(c, f, fs);
			for (unsigned int l = f->nr_links; l > 0; l--) {
				if (f->links[l - 1].module == module)
					link_renew(c, f, l - 1, group_of(&fs->site));
			}
		}
		function_give_up_patched(c, f);
	}
}

static void links_forget(struct function *f, uint32_t module)
{
	for (unsigned int i = f->nr_links; i > 0; i--) {
		if (f->links[i - 1].module != module)
			continue;
		attachment_release(&f->links[i - 1].starts, false);
		attachment_release(&f->links[i - 1].ends, false);
		f->links[i - 1] = f->links[--f->nr_links];
	}
}

void functions_file_changed(struct collector *c, uint32_t module, uint64_t since)
{
	for (unsigned int n = 0; n < c->functions.nr; n++) {
		struct function *f = c->functions.list[n];
		unsigned int kept = 0;

		links_forget(f, module);
		for (unsigned int i = 0; i < f->nr_sites; i++) {
			const struct function_site *fs = &f->sites[i];

			if (fs->site.module != module) {
				f->sites[kept++] = *fs;
				continue;
			}
			if (site_starts(&fs->site))
				f->hits_gone += kernel_side_sites(c->kernel)[fs->index].hits;
			site_index_drop(c, fs->index);
		}
		if (kept == f->nr_sites)
			continue;
		f->nr_sites = kept;
		/* the ends of its open calls are gone */
		function_drop_open(c, f);
		if (!function_has_starts(f))
			function_rest(c, f, since);
	}
}

void functions_new_mapping(struct collector *c)
{
	descend_kernel_new_mapping(c);
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];

		if (f->hopeless)
			continue;
		function_returns_publish(c, f);
		if (f->state != FUNCTION_ON)
			continue;
		function_links_attach(c, f, 0, true);
		function_give_up_patched(c, f);
	}
}

void functions_forget(struct collector *c, pid_t pid)
{
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];

		for (unsigned int l = f->nr_links; l > 0; l--) {
			if (f->links[l - 1].pid != pid)
				continue;
			attachment_release(&f->links[l - 1].starts, false);
			attachment_release(&f->links[l - 1].ends, false);
			f->links[l - 1] = f->links[--f->nr_links];
		}
	}
}
