// SPDX-License-Identifier: GPL-2.0-or-later

#include "tui/parser/serve_internal.h"

struct rec_site server_site(const struct server *s, const struct module *m, const struct place *p)
{
	return (struct rec_site){
	    .op = s->request.op,
	    .module = s->request.module,
	    .offset = p->offset,
	    .role = p->role,
	    .class = p->cls,
	    .cfa = p->cfa,
	    .state = SITE_PLANNED,
	    .ret_valid = p->ret_valid && p->ret_reg == 0,
	    .args = p->args,
	    .flags = (p->flags & PLACE_REPEATS ? SITE_REPEATS : 0) |
		     (module_identity(m)->is_go ? SITE_GO : 0),
	};
}

/* Convert the place of a return probe into a site, with the return address that it observes. */
static int return_site_of(const struct server *s, struct module *m, const struct place *p,
			  struct rec_site *site)
{
	*site = server_site(s, m, p);
	return module_offset_of(m, p->ideal, &site->ret);
}

static int decline(struct server *s, int error, enum place_why why, const char *text)
{
	struct parsed_plan answer = {.error = error, .why = why, .text = text};

	return server_answer(s, PARSED_PLAN, &answer);
}

int server_locate(struct server *s, struct module **m, struct placer **p, uint64_t *vaddr,
		  const char **reason)
{
	int err;

	if (server_is_vdso(s, s->request.module)) {
		*reason = "the vDSO is code of the kernel without a file; it cannot be probed";
		return -ENOTSUP;
	}
	*m = server_module(s, s->request.module, &err, reason);
	if (*m)
		*p = server_placer(s, s->request.module, &err, reason);
	if (!err && module_vaddr_of(*m, s->request.offset, vaddr)) {
		err = -ERANGE;
		*reason = place_why_text(PLACE_NO_CODE);
	}
	return err;
}

/* Fill the answer with all sites of a plan: the entry or the calls, then the exits, then the
 * returns. */
static int plan_sites(struct server *s, struct module *m, const struct plan *plan,
		      struct parsed_plan *answer)
{
	const struct place *starts = plan->nr_calls ? plan->calls : &plan->entry;
	size_t nr_starts = plan->nr_calls ? plan->nr_calls : 1,
	       total = nr_starts + plan->nr_exits + plan->nr_returns, i;
	struct rec_site *sites;

	if (total > FRAME_MAX_SITES)
		return -E2BIG;
	sites = arena_alloc(&s->arena, total * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	answer->sites = sites;
	for (i = 0; i < nr_starts; i++) {
		struct rec_site *site = &sites[answer->nr_sites++];

		*site = server_site(s, m, &starts[i]);
		if (plan->nr_calls)
			site->ret = site->offset + starts[i].length;
	}
	for (i = 0; i < plan->nr_exits; i++)
		sites[answer->nr_sites++] = server_site(s, m, &plan->exits[i]);
	for (i = 0; i < plan->nr_returns; i++) {
		if (!return_site_of(s, m, &plan->returns[i], &sites[answer->nr_sites]))
			answer->nr_sites++;
		if (plan->returns[i].flags & PLACE_FALSE_RETURN)
			answer->abnormal = 1;
	}
	if (plan->exit_flags & (EXITS_LSDA | EXITS_SETJMP))
		answer->abnormal = 1;
	return 0;
}

int serve_plan(struct server *s)
{
	struct parsed_plan answer = {.error = 0};
	const struct module_function *f;
	struct placer *placer = NULL;
	struct module *m = NULL;
	struct plan plan;
	const char *reason;
	uint64_t vaddr;
	int err = server_locate(s, &m, &placer, &vaddr, &reason);

	if (err)
		return decline(s, err, PLACE_NO_CODE, reason);
	f = module_function_at(m, vaddr);
	if (f && f->ifunc && f->vaddr == vaddr)
		return decline(s, -ENOTSUP, PLACE_NO_START,
			       "this IFUNC resolver only selects the function that runs; watch the "
			       "selected function");
	/* A Go frame can be identified only inside the function, not at its callers. */
	if (s->request.policy & POLICY_AT_CALLS && !module_identity(m)->is_go)
		err = plan_function_at_calls(placer, vaddr, &plan);
	else
		err = plan_function(placer, vaddr, &plan);
	if (!err)
		err = plan_sites(s, m, &plan, &answer);
	answer.error = err;
	answer.why = plan.why;
	answer.text = err == -E2BIG ? place_why_text(PLACE_TOO_LARGE) : plan.text;
	answer.price = err ? "" : plan_price_text(plan.price);
	answer.size = f && f->vaddr == vaddr && f->sized ? f->size : 0;
	answer.needs_learning = plan.needs_learning;
	answer.callers = (uint32_t)plan.nr_callers;
	if (err)
		answer.nr_sites = 0;
	err = server_answer(s, PARSED_PLAN, &answer);
	plan_release(&plan);
	return err;
}

int serve_plan_return(struct server *s)
{
	struct parsed_plan answer = {.error = 0};
	enum place_why why = PLACE_OK;
	struct placer *placer = NULL;
	struct module *m = NULL;
	struct rec_site site;
	struct place place;
	const char *reason;
	uint64_t vaddr;
	int err = server_locate(s, &m, &placer, &vaddr, &reason);

	if (err)
		return decline(s, err, PLACE_NO_CODE, reason);
	err = place_return(placer, vaddr, &place, &why);
	if (!err)
		err = return_site_of(s, m, &place, &site);
	if (err)
		return decline(s, err, why, place_why_text(why));
	answer.text = place.text;
	answer.abnormal = !!(place.flags & PLACE_FALSE_RETURN);
	answer.nr_sites = 1;
	answer.sites = &site;
	return server_answer(s, PARSED_PLAN, &answer);
}

static void coverage_figures(const struct module_coverage *c, struct parsed_coverage *answer,
			     struct parsed_share *shares)
{
	answer->functions = c->functions;
	answer->pairs = c->pairs;
	answer->entry_emulated = c->entry_emulated;
	answer->entry_stepped = c->entry_stepped;
	answer->only_direct = c->only_direct;
	answer->only_direct_pairs = c->only_direct_pairs;
	answer->calls = c->calls;
	answer->calls_indirect = c->calls_indirect;
	answer->ends_emulated = c->ends_emulated;
	answer->ends_straight = c->ends_straight;
	answer->ends_stepped = c->ends_stepped;
	answer->ends_none = c->ends_none;
	answer->shares = shares;
	for (unsigned int why = 0; why < PLACE_WHY_MAX && answer->nr < PARSE_MAX_SHARES; why++)
		if (c->declined[why])
			shares[answer->nr++] = (struct parsed_share){
			    place_why_text((enum place_why)why), c->declined[why]};
}

/* What is not known of a file that was stripped. Returns the error of the buffer. */
static int missing_text(struct module *m, struct buf *out)
{
	const struct module_identity *identity = module_identity(m);

	if (identity->is_go && !identity->has_symtab && !module_has_lines(m))
		buf_puts(out,
			 "  no symbols, and no table of the Go runtime (1.16 or later): names, "
			 "source lines and inlined calls are not known\n");
	return out->err;
}

/* Plan the next part of a module's functions. The client repeats the request until the cursor is 0.
 */
int serve_coverage(struct server *s)
{
	const struct parse_request *r = &s->request;
	struct parsed_coverage answer = {.error = 0};
	struct parsed_share shares[PARSE_MAX_SHARES];
	struct server_module *m;
	SCOPED_BUF(text, CODEC_MAX_TEXT);
	int ret = 0;

	m = server_coverage(s, r->cursor == 0, &answer.error, &answer.reason);
	if (m) {
		ret = coverage_step(m->coverage, r->max ? r->max : PARSE_COVERAGE_PARTS);
		coverage_figures(coverage_result(m->coverage), &answer, shares);
		answer.cursor = ret > 0;
	}
	if (m && !ret && !coverage_text(coverage_result(m->coverage), m->name, &text) &&
	    !missing_text(m->module, &text))
		answer.text = text.data;
	if (ret < 0) {
		answer.error = ret;
		answer.reason = module_error_text(ret);
	}
	return server_answer(s, PARSED_COVERAGE, &answer);
}
