// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/folded.h"

enum { MAX_LAYERS = 128 };

/* Names are the target's: nothing in them may look like our own marks. */
static void put_name(struct buf *out, const char *name, const char *but)
{
	for (; *name; name++) {
		bool bad = (unsigned char)*name < ' ' || *name == 0x7f || *name == ';';

		buf_putc(out, bad && *name != *but ? '_' : *name);
	}
}

static void put_layer(struct buf *out, const struct waits_layer *l, waits_frame_name name,
		      void *ctx)
{
	buf_putc(out, '[');
	if (l->tid) {
		put_name(out, l->comm, "");
		buf_printf(out, " %u ", l->tid);
	}
	buf_puts(out, l->state == CHAIN_SLEEP ? wait_kind_info(l->kind)->text
					      : layer_state_text(l->state));
	if (*l->what) {
		buf_putc(out, ' ');
		put_name(out, l->what, "");
	}
	buf_putc(out, ']');
	for (uint32_t i = 0; l->user && i < l->user->nr_frames; i++) {
		const struct rec_frame *f = &l->user->frames[i];
		const char *text = name ? name(ctx, f) : NULL;

		buf_putc(out, ';');
		if (text)
			put_name(out, text, "");
		else
			buf_printf(out, "[%u+0x%llx]", f->module, (unsigned long long)f->offset);
	}
	if (l->kernel && *l->kernel->kernel) {
		buf_putc(out, ';');
		put_name(out, l->kernel->kernel, ";");
	}
}

int waits_folded(const struct waits_chains *chains, waits_frame_name name, void *ctx,
		 struct buf *out)
{
	for (uint32_t i = 0; i < chains->nr && !out->err; i++) {
		uint32_t path[MAX_LAYERS], depth = 0, at = i;

		if (!chains->nodes[i].self_ns)
			continue;
		while (depth < MAX_LAYERS) {
			path[depth++] = at;
			if (chains->nodes[at].parent == at)
				break;
			at = chains->nodes[at].parent;
		}
		while (depth--) {
			put_layer(out, &chains->nodes[path[depth]].layer, name, ctx);
			if (depth)
				buf_putc(out, ';');
		}
		buf_printf(out, " %llu\n", (unsigned long long)chains->nodes[i].self_ns);
	}
	return out->err;
}
