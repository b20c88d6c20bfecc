// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the callees of a descent's indirect calls. A probe on a call through a pointer is
 * single-stepped, 11 to 16 us per hit, so it is attached in short bursts. A burst ends after
 * some hits or when enough in-peak calls of f0 were seen. If the call is also timed at the same
 * address, the single step is paid already, and a burst may be longer. Only callees of in-peak
 * calls are reported. A pointer that only the loader writes is read from the target's memory,
 * without a probe.
 */
#include "collect/learn.h"
#include "analysis/base/array.h"
#include "collect/descend.h"
#include "collect/modules.h"
#include "collect/site_check.h"
#include "collect/sites.h"
#include "collect/state.h"
#include "collect/stream.h"

#define MS 1000000ull

enum {
	WANT_CALLS = 20, /* in-peak calls that hit the site: as many as a decision needs */
	ENOUGH_CALLS = 4,
	ENOUGH_MS = 3000, /* after this time ENOUGH_CALLS suffice */
	GIVE_UP_MS = 6000,
	BURST_HITS = 512, /* about 7 ms of the target's time, if the budget allows */
	BURST_PART = 2,	  /* a burst may take 1/2 of the remaining budget */
	ARMED_FACTOR = 8, /* longer bursts if the site is also timed */
	PAUSE_MS = 100,	  /* pause between bursts */
	MAX_BURSTS = 16,
	LAST_CALLS_MS = 300, /* wait after the last burst, for calls that are still open */
	MAX_SEEN = 64,
	MAX_LEARN_LINKS = 1 << 16, /* one per target */
};

struct seen {
	struct rec_code code; /* module 0: code of no file */
	uint64_t hits;
	uint32_t calls;
};

struct learner {
	bool used;
	struct req_learn req;
	uint32_t id, site; /* ... index in the site table */
	struct attachments links;
	uint64_t began_ns, next_ns; /* start of the request; earliest start of the next burst */
	uint32_t bursts, hits_seen;
	uint32_t calls;
	bool more; /* there were more callees than could be recorded */
	struct seen seen[MAX_SEEN];
	uint32_t nr_seen;
};

struct learning {
	struct learner one[PT_LEARNS];
	uint32_t last_id;
};

static void answer(struct collector *c, uint32_t node, int error, const struct rec_code *callees,
		   uint32_t nr)
{
	struct record rec = {.type = REC_INDIRECT_CALLEES};

	rec.discovered = (struct rec_indirect_callees){
	    .node = node, .error = error, .nr_callees = nr, .callees = callees};
	send_record(c, &rec);
}

static void learner_end(struct collector *c, struct learner *l)
{
	attachments_release(&l->links);
	site_index_drop(c, l->site);
	l->used = false;
}

void learn_end(struct collector *c)
{
	if (!c->learning)
		return;
	for (uint32_t i = 0; i < PT_LEARNS; i++) {
		if (c->learning->one[i].used)
			learner_end(c, &c->learning->one[i]);
	}
	free(c->learning);
	c->learning = NULL;
}

/* ---- places ----------------------------------------------------------- */

struct rec_code code_at(const struct collector *c, uint32_t pid, uint64_t address)
{
	const struct file_mapping *m = mapping_at(c, (pid_t)pid, address);

	return m ? (struct rec_code){m->module, m->offset + (address - m->start)}
		 : (struct rec_code){0, 0};
}

/* Read a pointer that does not change, from the memory of a target that has made the call. */
static int slot_read(const struct collector *c, const struct req_learn *req, struct rec_code *out)
{
	for (unsigned int i = 0; i < c->files.nr_mappings; i++) {
		const struct file_mapping *m = &c->files.mappings[i];
		uint64_t site = mapping_address(m, req->site.module, req->site.offset), value = 0;

		if (!site ||
		    target_read(m->pid, site + (uint64_t)req->operand.disp, &value, sizeof(value)))
			continue;
		*out = code_at(c, (uint32_t)m->pid, value);
		if (out->module)
			return 0;
	}
	return -ENOENT;
}

/* ---- bursts ----------------------------------------------------------- */

static void bind(struct collector *c, struct learner *l)
{
	struct pt_learn *p = &kernel_side_learns(c->kernel)[l - c->learning->one];
	uint32_t parent = l->req.parent ? descend_node_index(c, l->req.parent) : 0;
	bool armed;

	if (l->req.parent && !parent)
		parent = PT_ANY_PARENT;
	/* if the call is also timed, the single step is charged there */
	armed = descend_site_is_armed(c, &l->req.site);
	*p = (struct pt_learn){
	    .cost = armed ? c->cost.hit[SITE_EMULATED] / 2 : c->cost.hit[l->req.site.class],
	    .id = l->id,
	    .parent = parent,
	    .memory = l->req.operand.kind == OPERAND_MEMORY,
	    .base = l->req.operand.base,
	    .index = l->req.operand.index,
	    .scale = l->req.operand.scale,
	    .disp = l->req.operand.disp,
	};
}

void learn_rebind(struct collector *c)
{
	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		if (c->learning->one[i].used)
			bind(c, &c->learning->one[i]);
	}
}

static int attach_in(struct collector *c, struct learner *l, pid_t pid)
{
	struct attach_point point = {.offset = l->req.site.offset, .cookie = l->site};
	struct attach_points set = {.list = &point, .nr = 1};
	struct attachment *one = attachments_next(&l->links, MAX_LEARN_LINKS);
	int err = one ? module_attach(c, l->req.site.module, pid, &set, one) : -ENOMEM;

	if (!err) {
		l->links.nr++;
		budget_attached(c, 1);
	}
	return err;
}

static int burst_begin(struct collector *c, struct learner *l)
{
	struct pt_site *s = &kernel_side_sites(c->kernel)[l->site];
	uint64_t hits = BURST_HITS * (descend_site_is_armed(c, &l->req.site) ? ARMED_FACTOR : 1);
	uint64_t price = budget_hit_ns(c, l->req.site.class),
		 affordable = (uint64_t)budget_left(c) / BURST_PART / (price ? price : 1);
	int err = -ESRCH;

	s->blown = 0;
	s->fuse = s->hits + (hits < affordable ? hits : affordable);
	l->bursts++;
	for (unsigned int t = 0; t < c->targets.nr; t++) {
		if (target_maps(c, c->targets.list[t]->pid, l->req.site.module)) {
			int e = attach_in(c, l, c->targets.list[t]->pid);

			err = l->links.nr ? 0 : e;
		}
	}
	return err;
}

bool learn_blown(struct collector *c, uint32_t site_index)
{
	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		struct learner *l = &c->learning->one[i];

		if (!l->used || l->site != site_index)
			continue;
		attachments_release(&l->links);
		l->next_ns = now_ns() + PAUSE_MS * MS;
		return true;
	}
	return false;
}

void learn_detach(struct collector *c)
{
	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		if (c->learning->one[i].used)
			attachments_release(&c->learning->one[i].links);
	}
}

void learn_code_changed(struct collector *c, uint32_t module, uint64_t offset)
{
	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		struct learner *l = &c->learning->one[i];

		/* the next burst is refused, which answers the request */
		if (l->used && l->req.site.module == module && l->req.site.offset == offset)
			attachments_release(&l->links);
	}
}

void learn_file_changed(struct collector *c, uint32_t module)
{
	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		struct learner *l = &c->learning->one[i];

		if (l->used && l->req.site.module == module)
			attachments_release(&l->links);
	}
}

uint64_t learn_spending(struct collector *c)
{
	struct pt_site *table = kernel_side_sites(c->kernel);
	uint64_t cost = 0;

	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		struct learner *l = &c->learning->one[i];
		uint32_t now;

		if (!l->used)
			continue;
		now = (uint32_t)__atomic_load_n(&table[l->site].hits, __ATOMIC_RELAXED);
		cost += (uint32_t)(now - l->hits_seen) * budget_hit_ns(c, l->req.site.class);
		l->hits_seen = now;
	}
	return cost;
}

/* ---- what was seen ---------------------------------------------------- */

static struct learner *learner_by_id(struct collector *c, uint32_t id)
{
	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		if (c->learning->one[i].used && c->learning->one[i].id == id)
			return &c->learning->one[i];
	}
	return NULL;
}

static void seen_add(struct learner *l, struct rec_code code, uint32_t hits)
{
	struct seen *s = NULL;

	for (uint32_t i = 0; i < l->nr_seen && !s; i++) {
		if (l->seen[i].code.module == code.module &&
		    (!code.module || l->seen[i].code.offset == code.offset))
			s = &l->seen[i];
	}
	if (!s && l->nr_seen == MAX_SEEN) {
		l->more = true;
		return;
	}
	if (!s) {
		s = &l->seen[l->nr_seen++];
		*s = (struct seen){.code = code};
	}
	s->hits += hits;
	s->calls++;
}

void learn_callees(struct collector *c, const struct pt_record_callees *r)
{
	const struct function *f = descend_f0(c);
	uint32_t nr = r->nr < PT_CALLEES ? r->nr : PT_CALLEES;

	if (!f || r->head.slot != f->slot || r->epoch != descend_epoch(c))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		struct learner *l = learner_by_id(c, r->callees[i].learn);
		bool first = true;

		if (!l)
			continue;
		for (uint32_t j = 0; j < i; j++)
			first &= r->callees[j].learn != l->id;
		l->calls += first;
		l->more |= nr == PT_CALLEES;
		seen_add(l, code_at(c, r->head.tgid, r->callees[i].address), r->callees[i].count);
	}
}

/* Sort by the number of in-peak calls, descending: there may not be room to time all callees. */
static int by_calls(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return descending(x->calls, y->calls) ?: descending(x->hits, y->hits);
}

static void learner_answer(struct collector *c, struct learner *l, int error)
{
	struct rec_code callees[MAX_SEEN + 1];
	uint32_t nr = 0;

	qsort(l->seen, l->nr_seen, sizeof(l->seen[0]), by_calls);
	while (nr < l->nr_seen) {
		callees[nr] = l->seen[nr].code;
		nr++;
	}
	if (l->more)
		callees[nr++] = (struct rec_code){0, 0};
	answer(c, l->req.node, nr ? 0 : error, callees, nr);
	learner_end(c, l);
}

static bool is_done(const struct learner *l, uint64_t now)
{
	uint64_t age = now - l->began_ns;

	if (l->calls >= WANT_CALLS || age > GIVE_UP_MS * MS)
		return true;
	if (l->calls >= ENOUGH_CALLS && age > ENOUGH_MS * MS)
		return true;
	return !l->links.nr && l->bursts == MAX_BURSTS && now > l->next_ns + LAST_CALLS_MS * MS;
}

void learn_turn(struct collector *c, uint64_t now)
{
	const struct function *f = descend_f0(c);

	for (uint32_t i = 0; c->learning && i < PT_LEARNS; i++) {
		struct learner *l = &c->learning->one[i];
		int err;

		if (!l->used)
			continue;
		if (is_done(l, now)) {
			learner_answer(c, l, l->bursts ? 0 : -ETIMEDOUT);
			continue;
		}
		if (l->links.nr || l->bursts == MAX_BURSTS || now < l->next_ns || !f ||
		    f->state != FUNCTION_ON || budget_left(c) < budget_burst(c))
			continue;
		err = burst_begin(c, l);
		if (err)
			learner_answer(c, l, err);
	}
}

/* ---- requests --------------------------------------------------------- */

static int learner_new(struct collector *c, const struct req_learn *req)
{
	struct learner *l = NULL;
	int site;

	if (!c->learning)
		c->learning = calloc(1, sizeof(*c->learning));
	if (!c->learning)
		return -ENOMEM;
	for (uint32_t i = 0; i < PT_LEARNS && !l; i++) {
		if (!c->learning->one[i].used)
			l = &c->learning->one[i];
	}
	site = l ? site_index_take(c) : -ENOSPC;
	if (site < 0)
		return site;
	*l = (struct learner){.used = true,
			      .req = *req,
			      .id = ++c->learning->last_id,
			      .site = (uint32_t)site,
			      .began_ns = now_ns()};
	bind(c, l);
	kernel_side_sites(c->kernel)[site] = (struct pt_site){
	    .flags = PT_SITE_LEARN,
	    .class = req->site.class,
	    .op = req->op,
	    .start_cfa = (pt_s32)req->site.cfa,
	    .learn = (uint32_t)(l - c->learning->one),
	};
	return 0;
}

static int request_check(struct collector *c, const struct req_learn *req)
{
	const struct function *f = descend_f0(c);
	const struct rec_site *site = &req->site;

	/* an import slot may be read without a descent, too */
	if ((req->op || req->operand.kind != OPERAND_SLOT) && (!f || f->op != req->op))
		return -ESRCH;
	if (req->site.class >= SITE_CLASSES || !site_is_mapped(c, &req->site) ||
	    req->operand.base > OPERAND_NO_REG || req->operand.index > OPERAND_NO_REG ||
	    req->operand.scale > 8)
		return -EINVAL;
	if (req->operand.kind != OPERAND_SLOT && sites_check(c, &site, 1))
		return -EINVAL;
	return req->operand.kind == OPERAND_REGISTER || req->operand.kind == OPERAND_MEMORY ||
		       req->operand.kind == OPERAND_SLOT
		   ? 0
		   : -EOPNOTSUPP;
}

void learn_request(struct collector *c, const struct req_learn *req)
{
	int err = request_check(c, req);
	struct rec_code code;

	if (!err && req->operand.kind == OPERAND_SLOT) {
		err = slot_read(c, req, &code);
		answer(c, req->node, err, &code, err ? 0 : 1);
		return;
	}
	if (!err)
		err = learner_new(c, req);
	if (err)
		answer(c, req->node, err, NULL, 0);
}
