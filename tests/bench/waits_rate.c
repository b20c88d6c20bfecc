// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_rate [MILLIONS]: feeds that many million (10) records of pipe ping-pongs, disk reads and
 * timers through analysis/waits on one core and prints records a second and the memory at a tenth
 * and at the end: for structs, and for frames that are decoded first. Exit status 1 if memory grew
 * by more than a tenth after the horizon.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/base/buf.h"
#include "analysis/session/frame.h"
#include "analysis/waits/waits.h"
#include "analysis/waits/waits_critical.h"

enum { PAIRS = 8, BATCH = 4096 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct stream {
	uint64_t at;
	uint32_t sequence[PAIRS], turn[PAIRS], cpu, step, tail;
};

static uint32_t tid_of(uint32_t cpu, uint32_t who)
{
	return 100 + 2 * cpu + who;
}

static void begin(struct waits *w, struct stream *s)
{
	struct record r = {.type = REC_WINDOW, .window = {.at_ns = s->at, .edge = WINDOW_BEGIN}};

	waits_feed(w, &r);
	r = (struct record){
	    .type = REC_TRACE,
	    .trace = {.trace = 1, .flags = TRACE_KERNEL, .kernel = "ksys_read;pipe_read;schedule"}};
	waits_feed(w, &r);
	r = (struct record){.type = REC_NAME,
			    .name = {.kind = BRACKET_TIMER, .number = 1, .text = "hrtimer_wakeup"}};
	waits_feed(w, &r);
	for (uint32_t i = 0; i < 2 * PAIRS; i++) {
		r = (struct record){.type = REC_TASK,
				    .task = {.at_ns = s->at,
					     .start_ns = 1 + i,
					     .cpu = WAITS_NO_CPU,
					     .tid = tid_of(0, i),
					     .pid = tid_of(0, i),
					     .flags = TASK_FOLLOWED | (i % 2 ? 0 : TASK_TARGET),
					     .state = 'S',
					     .comm = i % 2 ? "server" : "client"}};
		waits_feed(w, &r);
	}
}

static void head(struct stream *s, uint64_t *at, uint32_t *sequence, uint32_t *cpu)
{
	s->at += 120;
	*at = s->at;
	*cpu = s->cpu;
	*sequence = ++s->sequence[s->cpu];
}

/* The next record: on each CPU two tasks wake each other in turn; the client also reads a disk and
 * sleeps now and then. */
static void next(struct stream *s, struct record *r)
{
	uint32_t cpu = s->cpu, turn = s->turn[cpu] % 2;
	uint32_t tid = tid_of(cpu, turn), other = tid_of(cpu, 1 - turn);

	memset(r, 0, sizeof(*r));
	switch (s->step++) {
	case 0:
		r->type = REC_WAKING;
		head(s, &r->waking.at_ns, &r->waking.sequence, &r->waking.cpu);
		r->waking.current_tid = tid;
		r->waking.current_start_ns = tid - 99;
		r->waking.wakee_tid = other;
		r->waking.wakee_start_ns = other - 99;
		if (s->turn[cpu] % 64 == 10) {
			r->waking.brackets = BRACKET(BRACKET_TIMER, 1);
		} else if (s->turn[cpu] % 64 == 20) {
			r->waking.brackets = BRACKET(BRACKET_BLOCK, 0);
			r->waking.cause = 0x1000 + cpu;
		}
		return;
	case 1:
		r->type = REC_ASLEEP;
		head(s, &r->asleep.at_ns, &r->asleep.sequence, &r->asleep.cpu);
		r->asleep.tid = tid;
		r->asleep.args[0] = 3;
		return;
	default:
		r->type = REC_SWITCH;
		head(s, &r->switched.at_ns, &r->switched.sequence, &r->switched.cpu);
		r->switched.prev_tid = tid;
		r->switched.prev_start_ns = tid - 99;
		r->switched.next_tid = other;
		r->switched.next_start_ns = other - 99;
		r->switched.state = 1;
		r->switched.kernel_stack = 1;
		s->turn[cpu]++;
		s->step = 0;
		s->cpu = (cpu + 1) % PAIRS;
		return;
	}
}

static double measure(uint64_t records, int decode, size_t *early, size_t *late)
{
	static struct record batch[BATCH];
	struct frame_decoder *decoder = frame_decoder_new();
	struct waits *w = waits_new(&(struct waits_config){.max_segments = 1 << 16});
	struct stream s = {.at = 1000000000};
	struct frame frame;
	uint64_t ns = 0, t;
	struct buf bytes;

	buf_init(&bytes, 1 << 22);
	begin(w, &s);
	for (uint64_t n = 0; n < records; n += BATCH) {
		buf_reset(&bytes);
		for (uint32_t i = 0; i < BATCH; i++) {
			next(&s, &batch[i]);
			if (decode)
				frame_encode(&bytes, &batch[i], (uint32_t)(n + i));
		}
		t = now_ns();
		if (decode) {
			for (size_t at = 0; at < bytes.len; at += frame.size) {
				if (frame_decode(decoder, bytes.data + at, bytes.len - at,
						 &frame) != 1)
					exit(2);
				waits_feed(w, &frame.rec);
			}
		} else {
			for (uint32_t i = 0; i < BATCH; i++)
				waits_feed(w, &batch[i]);
		}
		ns += now_ns() - t;
		if (n <= records / 10)
			*early = mallinfo2().uordblks + mallinfo2().hblkhd;
	}
	*late = mallinfo2().uordblks + mallinfo2().hblkhd;
	waits_free(w);
	frame_decoder_free(decoder);
	buf_release(&bytes);
	return (double)records / ((double)ns / 1e9);
}

int main(int argc, char **argv)
{
	uint64_t records = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000;
	size_t early = 0, late = 0;
	int grew = 0;

	for (int decode = 0; decode < 2; decode++) {
		double rate = measure(records, decode, &early, &late);

		printf(
		    "%s: %.2f million records/s; memory %.1f MB at a tenth, %.1f MB at the end\n",
		    decode ? "frames" : "structs", rate / 1e6, (double)early / 1e6,
		    (double)late / 1e6);
		grew |= late > early + early / 10;
	}
	return grew;
}
