/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A screen over the made-up session, driven by scripts; for tests. */
#ifndef PEAKTOP_TESTS_SCREEN_HARNESS_H
#define PEAKTOP_TESTS_SCREEN_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "tui/cli/script.h"
#include "tui/screen/grid.h"
#include "tui/screen/screen.h"
#include "tui/views/views.h"

struct harness {
	struct model *model;
	struct screen *screen;
	unsigned int slices, max_slices; /* fed; the session has */
	struct buf out;			 /* of the scripts */
	struct buf log;			 /* of the actions, a line each */
};

static inline int64_t harness_advance(void *ctx, uint64_t until_ns)
{
	struct harness *h = ctx;

	while (h->slices < h->max_slices && (h->slices + 1) * SYNTH_SECOND <= until_ns)
		synth_slice(h->model, h->slices++);
	return (int64_t)(h->slices * SYNTH_SECOND);
}

static inline void harness_action(void *ctx, const struct screen_action *a)
{
	static const char *const names[] = {
	    "none",    "quit",	     "suspend",	      "repaint",      "pause",	   "pick",
	    "refresh", "search",     "watch",	      "unwatch",      "ask",	   "layers",
	    "descend", "part",	     "snapshot",      "text",	      "step",	   "jump",
	    "rewind",  "undescend",  "source",	      "code",	      "waits",	   "unwait",
	    "threads", "open calls", "choose thread", "waits change", "configure", "bookmark",
	    "compare", "slow calls", "slow call",     "why",	      "resume",
	};
	struct harness *h = ctx;

	buf_printf(&h->log, "%s", names[a->type]);
	if (a->text[0])
		buf_printf(&h->log, " '%s'", a->text);
	if (a->pid)
		buf_printf(&h->log, " pid %u", a->pid);
	if (a->tid && !a->pid)
		buf_printf(&h->log, " tid %u", a->tid);
	if (a->op)
		buf_printf(&h->log, " op %u", a->op);
	if (a->peak)
		buf_printf(&h->log, " peak %d", a->peak);
	if (a->line)
		buf_printf(&h->log, " line %u", a->line);
	if (a->module)
		buf_printf(&h->log, " at %u:%llx", a->module, (unsigned long long)a->offset);
	if (a->type == SCREEN_LAYERS)
		buf_printf(&h->log, " %x", a->layers);
	if (a->type == SCREEN_PAUSE || a->type == SCREEN_THREADS)
		buf_printf(&h->log, " %d", a->flag);
	if (a->step)
		buf_printf(&h->log, " %d", a->step);
	if (a->at_ns)
		buf_printf(&h->log, " %llu", (unsigned long long)a->at_ns);
	if (a->end_ns)
		buf_printf(&h->log, " %llu", (unsigned long long)a->end_ns);
	buf_putc(&h->log, '\n');
}

/* The session has had `slices` slices; at most 500 more come. */
static inline struct harness *harness_new(unsigned int slices, const struct screen_options *options)
{
	static const struct screen_options usual = {
	    .root = SCREEN_OPERATIONS, .layers = 0x39, .layers_available = 0x3b};
	struct harness *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	buf_init(&h->out, 64 << 20);
	buf_init(&h->log, 1 << 20);
	h->model = synth_model(slices);
	assert_non_null(h->model);
	h->slices = slices;
	h->max_slices = slices + 500;
	h->screen = screen_new(h->model, options ? options : &usual, &all_views);
	assert_non_null(h->screen);
	return h;
}

static inline void harness_free(struct harness *h)
{
	screen_free(h->screen);
	model_free(h->model);
	buf_release(&h->out);
	buf_release(&h->log);
	free(h);
}

static inline int harness_script(struct harness *h, const char *script)
{
	struct script_host host = {.ctx = h,
				   .advance = harness_advance,
				   .interval_ns = SYNTH_SECOND,
				   .action = harness_action};

	buf_reset(&h->out);
	buf_reset(&h->log);
	return script_run(script, strlen(script), h->screen, &host, &h->out);
}

/* Run a script that must succeed; commands are separated by newlines. */
static inline void harness_run(struct harness *h, const char *script)
{
	int err = harness_script(h, script);

	if (err)
		fail_msg("script: %d\n%s", err, h->out.data ? h->out.data : "");
}

static inline const char *harness_log(const struct harness *h)
{
	return h->log.data ? h->log.data : "";
}

static inline const char *harness_out(const struct harness *h)
{
	return h->out.data ? h->out.data : "";
}

#endif
