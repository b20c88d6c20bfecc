// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts the state of a descent for the screen: a tree in preorder, paths, sentences. */
#include "tui/views/descent_rows.h"

#include "analysis/base/format.h"
#include "tui/report/output_descend.h"
#include "tui/report/output_descend_waits.h"
#include "tui/views/descent_callers.h"
#include "tui/views/descent_part_rows.h"
#include "tui/views/descent_wait_rows.h"
#include "tui/views/views.h"

enum { NAME_BYTES = 256, CAUSE_BYTES = 512, REMARK_BYTES = 256, SENTENCE_BYTES = 1 << 16 };
enum { KERNEL_SHOWN = 2 }; /* kernel functions named beside a path */

_Static_assert((int)SCREEN_DESCENT_FNODES >= (int)DESCENT_MAX_NODES, "numbers of fnodes");
_Static_assert((int)SCREEN_DESCENT_INLINED == (int)INLINED_LEVELS, "inlined functions of one path");

/* ---- the tree in preorder ---- */

/* The children of each node, as a list linked by `next`, largest share first. */
struct preorder {
	int *first, *next;
	uint32_t *list; /* indices of the result in preorder */
	uint32_t nr;
};

static void order_insert(struct preorder *o, const struct descent_fnode *nodes, int parent,
			 int child)
{
	int *at = &o->first[parent];

	while (*at >= 0 && nodes[*at].share >= nodes[child].share)
		at = &o->next[*at];
	o->next[child] = *at;
	*at = child;
}

/* Visit the tree in preorder without recursion: go to the first child, else to the next sibling of
 * the node or of its nearest parent that has one. */
static void order_walk(struct preorder *o, const int *parent, uint32_t nr)
{
	int at = nr ? 0 : -1;

	while (at >= 0) {
		o->list[o->nr++] = (uint32_t)at;
		if (o->first[at] >= 0) {
			at = o->first[at];
			continue;
		}
		while (at > 0 && o->next[at] < 0)
			at = parent[at];
		at = at > 0 ? o->next[at] : -1;
	}
}

static void order_release(struct preorder *o)
{
	free(o->first);
	free(o->next);
	free(o->list);
}

static int order_init(struct preorder *o, const struct descent_result *r)
{
	static int index[DESCENT_MAX_NODES];
	int *parent = calloc(r->nr_nodes + 1, sizeof(*parent));

	*o = (struct preorder){.first = calloc(r->nr_nodes + 1, sizeof(int)),
			       .next = calloc(r->nr_nodes + 1, sizeof(int)),
			       .list = calloc(r->nr_nodes + 1, sizeof(uint32_t))};
	if (!parent || !o->first || !o->next || !o->list) {
		free(parent);
		order_release(o);
		return -ENOMEM;
	}
	memset(index, -1, sizeof(index));
	for (uint32_t i = 0; i < r->nr_nodes; i++) {
		const struct descent_fnode *n = &r->nodes[i];

		o->first[i] = o->next[i] = -1;
		if (n->node >= DESCENT_MAX_NODES || n->parent >= DESCENT_MAX_NODES ||
		    (i && index[n->parent] < 0))
			continue;
		index[n->node] = (int)i;
		parent[i] = i ? index[n->parent] : -1;
		if (i)
			order_insert(o, r->nodes, parent[i], (int)i);
	}
	order_walk(o, parent, r->nr_nodes);
	free(parent);
	return 0;
}

/* ---- rows for the screen ---- */

struct row_builder {
	const struct descend_report *report;
	const struct descent_result *result;
	const struct descent_driver *driver;
	bool over;
	uint32_t nr, max;
	char (*name)[NAME_BYTES], (*remark)[REMARK_BYTES]; /* one of each per row */
	struct screen_descent_node *node;
	char (*cause)[CAUSE_BYTES], (*where)[CAUSE_BYTES]; /* one of each per path */
	struct screen_descent_path *path;
	struct wait_rows *waits; /* one per path */
	uint32_t nr_waits;	 /* rows of waits */
	bool used[SCREEN_DESCENT_WAITS];
};

static void copy_buf(char *out, size_t size, const struct buf *b)
{
	snprintf(out, size, "%s", b->data ? b->data : "");
}

static void short_name(const char *name, char *out)
{
	SCOPED_BUF(b, 16384);

	report_short_name(&b, name);
	copy_buf(out, NAME_BYTES, &b);
}

static void name_of(const struct row_builder *t, const struct descent_fnode *n, char *out)
{
	SCOPED_BUF(b, 16384);

	report_name(&b, t->report, n);
	copy_buf(out, NAME_BYTES, &b);
}

static const char *state_of(const struct descent_fnode *n)
{
	switch (n->state) {
	case FNODE_HOT:
		return "too frequent to time";
	case FNODE_UNTIMED:
		return "cannot be timed";
	default:
		return n->in_loop ? "in a loop" : "";
	}
}

/* Write the remark behind the name of a function: "called in mix (inlined), in a loop". */
static void remark_of(const struct row_builder *t, const struct descent_fnode *n, char *out)
{
	const char *state = state_of(n);
	SCOPED_BUF(b, 16384);

	if (report_inlined_at(&b, "called in ", t->driver, n->site) && state[0])
		buf_puts(&b, ", ");
	buf_puts(&b, state);
	copy_buf(out, REMARK_BYTES, &b);
}

static void place_of(const struct row_builder *t, struct rec_code place, const char **file,
		     uint32_t *line)
{
	const struct driver_symbol *s =
	    place.module ? driver_symbol(t->driver, place.module, place.offset) : NULL;

	*file = s ? s->file : "";
	*line = s ? s->line : 0;
}

static void add_fnode(struct row_builder *t, const struct descent_fnode *n,
		      const struct descent_fnode *caller, unsigned int depth)
{
	struct rec_code place = n->site.module ? n->site : n->function;
	struct screen_descent_node *out = &t->node[t->nr];
	bool measured = n->records || !n->depth;

	name_of(t, n, t->name[t->nr]);
	remark_of(t, n, t->remark[t->nr]);
	*out = (struct screen_descent_node){
	    .node = n->node,
	    .depth = depth,
	    .name = t->name[t->nr],
	    .share = n->share,
	    .latency_ns = n->latency_ns,
	    .maxcount = n->maxcount,
	    .votes = measured ? n->votes : 0,
	    .evidence = measured || n->share > 0 ? report_evidence_words(report_evidence(n)) : "",
	    .remark = t->remark[t->nr],
	    .armed = n->state == FNODE_ARMED && !t->over && n->depth,
	    .root_cause = n->root_cause,
	    .code_module = place.module,
	    .code_offset = place.offset};
	place_of(t, place, &out->file, &out->line);
	if (caller && caller->function.module == place.module)
		out->code_start = caller->function.offset;
	t->nr++;
}

/* Add rows below the last frame of a path for the places of its samples: its inlined functions, or
 * its own code. */
static void add_inlined(struct row_builder *t, const struct descent_path *p,
			const struct descent_fnode *n, unsigned int depth)
{
	struct inlined in;

	driver_narrow(t->driver, p, &in);
	for (unsigned int i = in.nr > 1 ? 1 : 0; i < in.nr && t->nr < t->max; i++) {
		const struct inlined_level *l = &in.level[i];
		char *name = t->name[t->nr], *remark = t->remark[t->nr];

		if (i)
			short_name(l->function, name);
		else
			snprintf(name, NAME_BYTES, "(own code)");
		snprintf(remark, REMARK_BYTES, "%s%s", i ? "inlined" : "",
			 i && l->loop_first ? ", " : "");
		if (l->loop_first)
			snprintf(remark + strlen(remark), REMARK_BYTES - strlen(remark),
				 "in the loop of lines %u-%u", l->loop_first, l->loop_last);
		t->node[t->nr++] = (struct screen_descent_node){
		    .node = SCREEN_DESCENT_FNODES + n->node * SCREEN_DESCENT_INLINED + i,
		    .depth = ++depth,
		    .name = name,
		    .remark = remark,
		    .file = l->file,
		    .line = l->line,
		    .code_module = l->place.module,
		    .code_offset = l->place.offset,
		    .share = p->share * (double)l->ns / (double)in.ns,
		    .latency_ns = (uint64_t)((double)p->latency_ns * (double)l->ns / (double)in.ns),
		    .evidence = report_evidence_words(EVIDENCE_SAMPLED),
		    .root_cause = n->root_cause};
	}
}

static void add_wait(struct row_builder *t, uint32_t parent, unsigned int depth, const char *words,
		     const struct screen_descent_node *figures)
{
	struct screen_descent_node *out = &t->node[t->nr];

	if (t->nr == t->max || t->nr_waits == SCREEN_DESCENT_WAITS / 2)
		return;
	t->nr_waits++;
	snprintf(t->name[t->nr], NAME_BYTES, "%s", words);
	t->remark[t->nr][0] = '\0';
	*out = *figures;
	out->node = wait_row_number(t->used, parent, words);
	out->depth = depth;
	out->name = t->name[t->nr];
	out->remark = t->remark[t->nr];
	out->file = "";
	out->wait = true;
	t->nr++;
}

/* Add rows below the last frame of a path: for whom it waits, and what those did. */
static void add_waits(struct row_builder *t, unsigned int path, unsigned int depth)
{
	const struct descent_path *p = &t->result->paths[path];
	const struct wait_rows *w = &t->waits[path];
	uint32_t above[WAIT_ROW_DEPTH]; /* by depth: number of the last row */

	for (uint32_t i = 0; i < w->nr; i++) {
		const struct wait_row *row = &w->row[i];
		const struct screen_descent_node figures = {
		    .share = p->share * row->share,
		    .latency_ns = (uint64_t)((double)p->latency_ns * row->share),
		    .evidence = "traced"};
		uint32_t parent = row->depth ? above[row->depth - 1]
					     : t->result->nodes[p->frames[p->nr_frames - 1]].node;

		add_wait(t, parent, depth + 1 + row->depth, row->words, &figures);
		above[row->depth] = t->node[t->nr - 1].node;
		if (row->stack[0])
			add_wait(t, above[row->depth], depth + 2 + row->depth, row->stack,
				 &(struct screen_descent_node){.evidence = ""});
	}
}

/* Add rows below a system call for those who call it. */
static void add_callers(struct row_builder *t)
{
	struct caller_rows c;

	caller_rows_of(t->driver, t->result, &c);
	for (unsigned int i = 0; i < c.nr; i++)
		add_wait(
		    t, 0, 1, c.row[i].text,
		    &(struct screen_descent_node){
			.share = c.row[i].share,
			.latency_ns = (uint64_t)(c.row[i].share * (double)t->result->latency_ns),
			.evidence = report_evidence_words(EVIDENCE_WITNESSED)});
}

static void add_nodes(struct row_builder *t, const struct preorder *o)
{
	static unsigned int depth[DESCENT_MAX_NODES],
	    place[DESCENT_MAX_NODES]; /* by node number: index in the result */
	const struct descent_result *r = t->result;

	for (uint32_t i = 0; i < o->nr && t->nr < t->max; i++) {
		const struct descent_fnode *n = &r->nodes[o->list[i]];

		place[n->node] = o->list[i];
		depth[n->node] = i ? depth[n->parent] + 1 : 0;
		add_fnode(t, n, i ? &r->nodes[place[n->parent]] : NULL, depth[n->node]);
		if (!i)
			add_callers(t);
		for (unsigned int k = 0; k < r->nr_paths; k++) {
			const struct descent_path *p = &r->paths[k];

			if (!p->nr_frames || p->frames[p->nr_frames - 1] != o->list[i] ||
			    !p->nr_pcs)
				continue;
			add_inlined(t, p, n, depth[n->node]);
			break;
		}
		for (unsigned int k = 0; k < r->nr_paths; k++) {
			const struct descent_path *p = &r->paths[k];

			if (p->nr_frames && p->frames[p->nr_frames - 1] == o->list[i])
				add_waits(t, k, depth[n->node]);
		}
	}
}

/* Append the innermost kernel functions of a path that is a system call's own code. Several such
 * paths differ in nothing else. */
static void kernel_end(struct buf *out, const struct row_builder *t, const struct descent_path *p)
{
	unsigned int first = p->nr_kernel > KERNEL_SHOWN ? p->nr_kernel - KERNEL_SHOWN : 0;

	if (p->cause.kind != CAUSE_OWN_CODE)
		return;
	for (unsigned int i = first; i < p->nr_kernel; i++) {
		const struct rec_frame *f = &p->kernel[i];

		buf_puts(out, i > first ? " > " : "in the kernel: ");
		report_function(out, t->driver, (struct rec_code){f->module, f->function});
	}
}

static void add_paths(struct row_builder *t)
{
	const struct descent_result *r = t->result;

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];
		SCOPED_BUF(b, 4096);

		report_path_cause(&b, t->driver, p);
		copy_buf(t->cause[i], CAUSE_BYTES, &b);
		buf_reset(&b);
		if (!report_where(&b, t->driver, p))
			kernel_end(&b, t, p);
		copy_buf(t->where[i], CAUSE_BYTES, &b);
		t->path[i] = (struct screen_descent_path){
		    .share = p->share,
		    .latency_ns = p->latency_ns,
		    .cause = t->cause[i],
		    .where = t->where[i],
		    .waits = t->waits[i].chain,
		    .evidence = report_evidence_words(p->evidence),
		    .node = p->nr_frames ? r->nodes[p->frames[p->nr_frames - 1]].node : 0};
	}
}

/* The answer so far; without an answer, the calls whose cause is being searched. */
static void sentence_of(const struct row_builder *t, const char *remark, struct buf *out)
{
	const struct rec_descent *ask = driver_asked(t->driver);
	SCOPED_BUF(lacks, SENTENCE_BYTES);

	if (t->report->told) {
		buf_puts(out, t->report->told);
		return;
	}
	if (driver_over(t->driver) || !ask) {
		output_descend_sentence(t->report, out);
		buf_printf(out, "%s%s", remark[0] ? "; " : "", remark);
		if (t->report->tracing)
			return;
		buf_puts(&lacks, "; ");
		if (report_lacks_waits(&lacks, t->report, t->result) && !lacks.err)
			buf_append(out, lacks.data, lacks.len);
		return;
	}
	/* while the descent runs, report only a path with at least half of the time */
	if (t->result->nr_paths && t->result->paths[0].share >= 0.5 &&
	    t->result->paths[0].cause.kind != CAUSE_UNMEASURED) {
		buf_puts(out, "so far: ");
		output_descend_sentence(t->report, out);
	} else {
		if (!report_peak_begin(t->report, 0, out))
			buf_printf(out, "calls of %s", format_range(ask->low_ns, ask->high_ns).s);
		buf_puts(out, ": finding the cause...");
	}
	buf_printf(out, "%s%s", remark[0] ? "; " : "", remark);
}

static int hand_over(const struct row_builder *t, struct screen *s,
		     const struct descend_report *whole, const char *remark)
{
	const struct descent_result *r = t->result;
	struct descent_progress progress;
	struct screen_descent d;
	SCOPED_BUF(sentence, SENTENCE_BYTES);
	SCOPED_BUF(status, SENTENCE_BYTES);
	SCOPED_BUF(lacks, SENTENCE_BYTES);
	struct part_rows parts;
	int err;

	descent_progress(driver_descent(t->driver), &progress);
	sentence_of(t, remark, &sentence);
	buf_printf(&status, "%s%s%s%s",
		   t->over && r->status == DESCENT_IN_PROGRESS ? "stopped"
							       : descent_status_text(r->status),
		   r->change[0] ? ": " : "", r->change,
		   t->report->tracing ? ", tracing for whom these calls wait"
		   : t->over && !t->report->told && report_lacks_waits(&lacks, t->report, r)
		       ? ", not traced for whom these calls wait"
		       : "");
	d = (struct screen_descent){.sentence = sentence.data ? sentence.data : "",
				    .status = status.data ? status.data : "",
				    .over = t->over,
				    .rounds = t->over ? r->rounds : progress.rounds,
				    .armed = t->over ? 0 : progress.armed,
				    .until_next = progress.until_next,
				    .calls_used = t->over ? r->calls_used : progress.calls_used,
				    .explained =
					r->status == DESCENT_PARTLY ? r->named : r->explained,
				    .nr_nodes = t->nr,
				    .nr_paths = r->nr_paths,
				    .nodes = t->node,
				    .paths = t->path};
	part_rows_add(whole, t->driver, &parts, &d);
	err = screen_set_descent(s, &d);
	part_rows_release(&parts);
	return err;
}

int descent_rows_show(struct screen *s, const struct descend_report *whole,
		      const struct descend_report *report, const struct descent_result *r,
		      const char *remark)
{
	struct row_builder t = {.report = report,
				.result = r,
				.driver = report->driver,
				.over = driver_over(report->driver),
				.max = r->nr_nodes + r->nr_paths * INLINED_LEVELS};
	struct preorder o;
	int err = order_init(&o, r);

	if (err)
		return err;
	t.waits = calloc(r->nr_paths + 1, sizeof(*t.waits));
	for (unsigned int i = 0; t.waits && i < r->nr_paths; i++) {
		/* if memory is short, the path has no rows of waits */
		wait_rows_find(report, r, &r->paths[i], &t.waits[i]);
		t.max += 2 * t.waits[i].nr;
	}
	t.name = calloc(t.max + 1, sizeof(*t.name));
	t.remark = calloc(t.max + 1, sizeof(*t.remark));
	t.node = calloc(t.max + 1, sizeof(*t.node));
	t.cause = calloc(r->nr_paths + 1, sizeof(*t.cause));
	t.where = calloc(r->nr_paths + 1, sizeof(*t.where));
	t.path = calloc(r->nr_paths + 1, sizeof(*t.path));
	err = -ENOMEM;
	if (t.name && t.remark && t.node && t.cause && t.where && t.path && t.waits) {
		add_nodes(&t, &o);
		add_paths(&t);
		err = hand_over(&t, s, whole, remark);
	}
	free(t.name);
	free(t.remark);
	free(t.node);
	free(t.cause);
	free(t.where);
	free(t.path);
	for (unsigned int i = 0; t.waits && i < r->nr_paths; i++)
		wait_rows_release(&t.waits[i]);
	free(t.waits);
	order_release(&o);
	return err;
}
