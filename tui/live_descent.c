// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/live_descent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/format.h"
#include "tui/output_descend.h"
#include "tui/screen_descent.h"
#include "tui/verb_descend.h"

enum { NAME_BYTES = 256, CAUSE_BYTES = 512, SENTENCE_BYTES = 1 << 16, SOURCE_BYTES = 8 << 20 };
#define SHOW_NS 100000000ull

/* ---- begin and end ---- */

static void say(struct live_descent *l, enum note_level level, const char *text)
{
	screen_message(l->screen, level, text);
}

static void ask_replay(struct live_descent *l, uint32_t op, int peak)
{
	const struct rec_descent *ask = descend_asked(l->descend);

	if (!ask || ask->op != op) {
		say(l, NOTE_WARNING, "this is a saved session: nothing can be asked of the target, and it holds no descent of this one");
		return;
	}
	l->op = op;
	l->told = false;
	l->next_ns = 0;
	screen_open_descent(l->screen, op, peak);
}

/* The place of a peak among those there are now, from 1; 0: it is gone. */
static int rank_of(const struct op *op, int id)
{
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		if (op->peaks[i].id == id)
			return (int)i + 1;
	}
	return 0;
}

void live_descent_ask(struct live_descent *l, uint32_t number, int peak)
{
	const struct op *op = model_op_peaks(l->model, number);
	struct options o = *l->options;
	struct rec_descent ask;
	int err;

	if (l->replay) {
		ask_replay(l, number, peak);
		return;
	}
	if (!op || op->layer != LAYER_FUNCTION) {
		say(l, NOTE_INFO, "only functions of the program and its libraries can be descended into; f watches one");
		return;
	}
	o.slowest = 0;
	o.peak = rank_of(op, peak);
	if (!o.peak) {
		say(l, NOTE_WARNING, "this peak has gone: choose one of those that there are now");
		return;
	}
	err = descend_choose(l->model, number, &o, true, &ask);
	if (err) {
		say(l, NOTE_WARNING, err == -EAGAIN ? "not enough calls yet to descend: wait a little" : "there is no such peak");
		return;
	}
	descend_stop(l->descend);
	err = descend_begin(l->descend, &ask);
	if (err) {
		say(l, NOTE_ERROR, "the descent cannot begin: these options are out of range");
		return;
	}
	l->op = number;
	l->told = false;
	l->next_ns = 0;
	screen_open_descent(l->screen, number, peak);
}

void live_descent_stop(struct live_descent *l)
{
	l->op = 0;
	if (!l->replay)
		descend_stop(l->descend);
}

/* ---- the tree in preorder ---- */

/* Children of a node: a list through `next`, largest share first. */
struct order {
	int *first, *next;
	uint32_t *list; /* indices of the result in preorder */
	uint32_t nr;
};

static void order_insert(struct order *o, const struct descent_fnode *nodes, int parent, int child)
{
	int *at = &o->first[parent];

	while (*at >= 0 && nodes[*at].share >= nodes[child].share)
		at = &o->next[*at];
	o->next[child] = *at;
	*at = child;
}

/* Without recursion: down to the first child, else to the next of the nearest parent that has one. */
static void order_walk(struct order *o, const int *parent, uint32_t nr)
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

static void order_release(struct order *o)
{
	free(o->first);
	free(o->next);
	free(o->list);
}

static int order_init(struct order *o, const struct descent_result *r)
{
	static int index[DESCENT_MAX_NODES];
	int *parent = calloc(r->nr_nodes + 1, sizeof(*parent));

	*o = (struct order){.first = calloc(r->nr_nodes + 1, sizeof(int)),
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
		if (n->node >= DESCENT_MAX_NODES || n->parent >= DESCENT_MAX_NODES || (i && index[n->parent] < 0))
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

/* ---- what is handed over ---- */

struct texts {
	char (*name)[NAME_BYTES];
	char (*cause)[CAUSE_BYTES];
};

static void copy_buf(char *out, size_t size, const struct buf *b)
{
	snprintf(out, size, "%s", b->data ? b->data : "");
}

static void name_of(const struct live_descent *l, const struct descent_fnode *n, char *out)
{
	const struct op *op = model_op_by_number(l->model, l->op);
	char name[1024];
	struct buf b;

	if (!n->site.module && op && op->label[0] && !descend_symbol(l->descend, n->function.module, n->function.offset))
		snprintf(name, sizeof(name), "%s", op->label);
	else
		descend_function(l->descend, n, name, sizeof(name));
	buf_init(&b, 16384);
	report_short_name(&b, name);
	copy_buf(out, NAME_BYTES, &b);
	buf_release(&b);
}

static const char *remark_of(const struct descent_fnode *n)
{
	switch (n->state) {
	case FNODE_HOT:
		return "too frequent to be timed";
	case FNODE_UNTIMED:
		return "cannot be timed";
	default:
		return n->in_loop ? "in a loop" : "";
	}
}

static void place_of(const struct live_descent *l, struct rec_code place, const char **file, uint32_t *line)
{
	const struct descend_symbol *s =
	    place.module ? descend_symbol(l->descend, place.module, place.offset) : NULL;

	*file = s ? s->file : "";
	*line = s ? s->line : 0;
}

static void fill_node(const struct live_descent *l, const struct descent_fnode *n, unsigned int depth, bool over, char *name,
		      struct screen_descent_node *out)
{
	bool measured = n->records || !n->depth;

	name_of(l, n, name);
	*out = (struct screen_descent_node){.node = n->node, .depth = depth, .name = name, .share = n->share,
					    .latency_ns = n->latency_ns, .maxcount = n->maxcount,
					    .votes = measured ? n->votes : 0,
					    .evidence = evidence_text(report_evidence(n)), .remark = remark_of(n),
					    .armed = n->state == FNODE_ARMED && !over && n->depth,
					    .root_cause = n->root_cause};
	place_of(l, n->site.module ? n->site : n->function, &out->file, &out->line);
}

static void fill_nodes(const struct live_descent *l, const struct descent_result *r, const struct order *o, bool over,
		       struct texts *t, struct screen_descent_node *nodes)
{
	static unsigned int depth[DESCENT_MAX_NODES]; /* by number */

	for (uint32_t i = 0; i < o->nr; i++) {
		const struct descent_fnode *n = &r->nodes[o->list[i]];

		depth[n->node] = i ? depth[n->parent] + 1 : 0;
		fill_node(l, n, depth[n->node], over, t->name[i], &nodes[i]);
	}
}

static void fill_paths(const struct live_descent *l, const struct descent_result *r, struct texts *t,
		       struct screen_descent_path *paths)
{
	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];
		struct buf b;

		buf_init(&b, 4096);
		report_cause(&b, &p->cause);
		copy_buf(t->cause[i], CAUSE_BYTES, &b);
		buf_release(&b);
		paths[i] = (struct screen_descent_path){.share = p->share, .latency_ns = p->latency_ns, .cause = t->cause[i],
							.evidence = evidence_text(p->evidence), .file = "",
							.node = p->nr_frames ? r->nodes[p->frames[p->nr_frames - 1]].node : 0};
		if (p->nr_pcs)
			place_of(l, p->pcs[0].place, &paths[i].file, &paths[i].line);
	}
}

/* The answer so far; while there is none, what is being looked for. */
static void sentence_of(const struct live_descent *l, const struct descend_report *report, const struct descent_result *r,
			struct buf *out)
{
	const struct peak *p = report_peak(report, model_op_peaks(l->model, l->op));
	const struct rec_descent *ask = descend_asked(l->descend);

	if (descend_over(l->descend) || r->nr_paths || !ask) {
		output_descend_sentence(report, out);
		return;
	}
	if (p)
		buf_printf(out, "peak %d, %s, %s of calls and %s of time", p->rank, format_time(p->mode_ns).s,
			   format_percent(p->share_of_calls).s, format_percent(p->share_of_time).s);
	else
		buf_printf(out, "calls of %s", format_range(ask->low_ns, ask->high_ns).s);
	buf_puts(out, ": its cause is being looked for");
}

static int hand_over(struct live_descent *l, const struct descent_result *r, const struct order *o)
{
	struct descend_report report = {.model = l->model, .descend = l->descend, .op = l->op};
	struct texts t = {.name = calloc(r->nr_nodes + 1, sizeof(*t.name)), .cause = calloc(r->nr_paths + 1, sizeof(*t.cause))};
	struct screen_descent_node *nodes = calloc(r->nr_nodes + 1, sizeof(*nodes));
	struct screen_descent_path *paths = calloc(r->nr_paths + 1, sizeof(*paths));
	bool over = descend_over(l->descend);
	struct descent_progress progress;
	struct screen_descent d;
	struct buf sentence, status;
	int err = -ENOMEM;

	buf_init(&sentence, SENTENCE_BYTES);
	buf_init(&status, SENTENCE_BYTES);
	if (t.name && t.cause && nodes && paths) {
		descent_progress(descend_state(l->descend), &progress);
		fill_nodes(l, r, o, over, &t, nodes);
		fill_paths(l, r, &t, paths);
		sentence_of(l, &report, r, &sentence);
		buf_printf(&status, "%s%s%s", over && r->status == DESCENT_IN_PROGRESS ? "stopped" : descent_status_text(r->status),
			   r->change[0] ? ": " : "", r->change);
		d = (struct screen_descent){.sentence = sentence.data ? sentence.data : "",
					    .status = status.data ? status.data : "",
					    .over = over,
					    .rounds = progress.rounds,
					    .armed = over ? 0 : progress.armed,
					    .decisions = progress.decisions,
					    .until_next = progress.until_next,
					    .calls_used = progress.calls_used,
					    .explained = r->explained,
					    .nr_nodes = o->nr,
					    .nr_paths = r->nr_paths,
					    .nodes = nodes,
					    .paths = paths};
		err = screen_set_descent(l->screen, &d);
	}
	buf_release(&sentence);
	buf_release(&status);
	free(t.name);
	free(t.cause);
	free(nodes);
	free(paths);
	return err;
}

bool live_descent_turn(struct live_descent *l, uint64_t now_ns)
{
	struct descent_result r;
	struct order o;
	bool over, named;

	if (!l->op || l->told || now_ns < l->next_ns)
		return false;
	l->next_ns = now_ns + SHOW_NS;
	/* a replay may step on or back */
	over = descend_over(l->descend) && !l->replay;
	named = descend_names(l->descend);
	if (!descend_asked(l->descend) || descent_result(descend_state(l->descend), &r))
		return false;
	if (!order_init(&o, &r)) {
		if (!hand_over(l, &r, &o))
			l->told = over && named;
		order_release(&o);
	}
	descent_result_release(&r);
	return true;
}

/* ---- source ---- */

/* A whole regular file; NULL with errno. The name comes from the target: it may be of anything. */
static char *read_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	ssize_t got;
	size_t n = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st)) {
		close(fd);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > SOURCE_BYTES) {
		close(fd);
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		return NULL;
	}
	text = malloc((size_t)st.st_size + 1);
	while (text && n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
		n += (size_t)got;
	close(fd);
	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!text[i])
			text[i] = '?';
	}
	text[n] = '\0';
	return text;
}

void live_source(struct screen *s, const char *path, uint32_t line)
{
	/* a relative name, as the compiler was given it, may hold where peaktop was started */
	char title[1024], *text = read_source(path);

	if (!text) {
		snprintf(title, sizeof(title), "%s:%u: the source cannot be read: %s%s", path, line, strerror(errno),
			 path[0] == '/' ? "" : "; start peaktop where it was compiled");
		screen_message(s, NOTE_WARNING, title);
		return;
	}
	snprintf(title, sizeof(title), "%s:%u", path, line);
	screen_show_source(s, title, text, line);
	free(text);
}
