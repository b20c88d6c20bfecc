// SPDX-License-Identifier: GPL-2.0-or-later
/* The samples of a slice. */

#include "analysis/base/array.h"
#include "collect/ring.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"

enum {
	TOKENS_HZ = 60,	      /* samples of an operation in a second, for each doubling */
	TOKENS_MS = 50,	      /* how often samples may be taken again */
	CALM_TOKENS_MS = 100, /* ... if only layers are measured */
	MAX_SAMPLES = 20000,  /* most samples kept per slice */
};

uint32_t tokens_refill(struct collector *c)
{
	uint32_t ms = layers_alone(c) ? CALM_TOKENS_MS : TOKENS_MS;
	uint64_t *tokens = kernel_side_tokens(c->kernel);
	uint32_t slots = kernel_side_control(c->kernel)->next_slot;

	for (uint32_t i = 0; i < slots * PT_TOKENS && i < PT_SLOTS * PT_TOKENS; i++)
		__atomic_store_n(&tokens[i], TOKENS_HZ * ms / 1000, __ATOMIC_RELAXED);
	return ms;
}

/* Take the values of a call over, unless --no-values forbids it. */
static void values_take(const struct collector *c, const struct pt_record_sample *s,
			struct slot_sample *to)
{
	struct rec_sample *r = &to->sample;

	to->text[0] = '\0';
	if (c->options->no_values) {
		r->known &= ~(uint32_t)SAMPLE_VALUES;
		return;
	}
	r->ret = s->ret;
	memcpy(r->args, s->args, sizeof(r->args));
	/* of the sample these are blocks of memory */
	r->known &= ~(uint32_t)(SAMPLE_MEMBER0 * 0xf);
	if (c->slots[s->head.slot].function) {
		function_members_take(c->slots[s->head.slot].function, s, r);
		if (s->known & SAMPLE_TEXT)
			snprintf(to->text, sizeof(to->text), "%.*s", PT_TEXT, s->text);
	} else if (s->known & SAMPLE_TEXT) {
		object_values_take(c->slots[s->head.slot].layer, s, r, to->text, sizeof(to->text));
	}
}

void sample_take(struct collector *c, const struct pt_record_sample *s)
{
	struct slot_sample *to;
	struct rec_sample *r;

	if (s->head.slot >= PT_SLOTS)
		return;
	if (array_grow(c->slice.samples, c->slice.nr_samples, c->slice.cap_samples, MAX_SAMPLES)) {
		c->lost.samples++;
		return;
	}
	to = &c->slice.samples[c->slice.nr_samples++];
	to->slot = s->head.slot;
	r = &to->sample;
	*r = (struct rec_sample){
	    .tid = s->head.tid,
	    .start_ns = s->head.at > c->start_ns ? s->head.at - c->start_ns : 0,
	    .latency_ns = s->latency,
	    .known = s->known,
	    .runqueue_ns = s->delta.runq_ns,
	    .minor_faults = s->delta.min_flt,
	    .major_faults = s->delta.maj_flt,
	    .migrations = s->delta.migrations,
	    .sleeps = s->delta.nvcsw,
	    .preempted = s->delta.nivcsw,
	    .interrupt_ns = s->delta.irq_ns,
	    .steal_ns = s->delta.steal_ns,
	};
	values_take(c, s, to);
	if (s->known & SAMPLE_ONCPU)
		r->oncpu_ns = s->latency > s->delta.off_ns ? s->latency - s->delta.off_ns : 0;
}

void samples_send(struct collector *c, uint32_t slot, const uint64_t calls[PT_TOKENS])
{
	uint64_t taken[PT_TOKENS] = {0};
	struct record rec = {.type = REC_SAMPLE};

	for (unsigned int i = 0; i < c->slice.nr_samples; i++) {
		if (c->slice.samples[i].slot == slot)
			taken[pt_bucket(c->slice.samples[i].sample.latency_ns) / PT_RESOLUTION]++;
	}
	for (unsigned int i = 0; i < c->slice.nr_samples; i++) {
		unsigned int d;

		if (c->slice.samples[i].slot != slot)
			continue;
		c->slice.samples[i].slot = 0;
		rec.sample = c->slice.samples[i].sample;
		rec.sample.text = c->slice.samples[i].text;
		d = pt_bucket(rec.sample.latency_ns) / PT_RESOLUTION;
		rec.sample.op = c->slots[slot].op;
		rec.sample.chance_ppm =
		    calls[d] > taken[d] ? taken[d] * 1000000 / calls[d] : 1000000;
		if (!rec.sample.chance_ppm)
			rec.sample.chance_ppm = 1;
		send_record(c, &rec);
	}
}

void samples_keep(struct collector *c)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < c->slice.nr_samples; i++) {
		if (c->slice.samples[i].slot)
			c->slice.samples[kept++] = c->slice.samples[i];
	}
	c->slice.nr_samples = kept;
}
