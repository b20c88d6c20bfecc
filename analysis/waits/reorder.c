// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/reorder.h"

enum { CPUS_MAX = 1024, FIRST_ROOM = 64 };

struct cpu_queue {
	struct wait_event *events; /* a ring */
	uint32_t room, first, nr;
	uint32_t sequence; /* of the last one that arrived; 0: none */
	uint64_t last_ns;  /* its time */
	uint32_t place;	   /* in the heap + 1; 0: empty */
};

struct reorder {
	struct cpu_queue cpu[CPUS_MAX + 1]; /* the last one: of no CPU */
	uint16_t heap[CPUS_MAX + 1];	    /* CPUs by the time of their first event */
	uint32_t nr_heap, nr, max;
	uint64_t newest_ns;
};

struct reorder *reorder_new(uint32_t max)
{
	struct reorder *r = calloc(1, sizeof(*r));

	if (r)
		r->max = max;
	return r;
}

void reorder_free(struct reorder *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i <= CPUS_MAX; i++)
		free(r->cpu[i].events);
	free(r);
}

void reorder_restart(struct reorder *r)
{
	for (unsigned int i = 0; i <= CPUS_MAX; i++)
		r->cpu[i].sequence = 0;
}

static uint64_t time_of(const struct reorder *r, uint32_t heap_index)
{
	const struct cpu_queue *q = &r->cpu[r->heap[heap_index]];

	return q->events[q->first].at_ns;
}

/* Events of one time leave in the order of the CPUs. */
static bool is_before(const struct reorder *r, uint32_t a, uint32_t b)
{
	uint64_t ta = time_of(r, a), tb = time_of(r, b);

	return ta < tb || (ta == tb && r->heap[a] < r->heap[b]);
}

static void heap_swap(struct reorder *r, uint32_t a, uint32_t b)
{
	uint16_t cpu = r->heap[a];

	r->heap[a] = r->heap[b];
	r->heap[b] = cpu;
	r->cpu[r->heap[a]].place = a + 1;
	r->cpu[r->heap[b]].place = b + 1;
}

static void sift_up(struct reorder *r, uint32_t i)
{
	for (; i && is_before(r, i, (i - 1) / 2); i = (i - 1) / 2)
		heap_swap(r, i, (i - 1) / 2);
}

static void sift_down(struct reorder *r, uint32_t i)
{
	for (;;) {
		uint32_t least = i, child = 2 * i + 1;

		if (child < r->nr_heap && is_before(r, child, least))
			least = child;
		if (child + 1 < r->nr_heap && is_before(r, child + 1, least))
			least = child + 1;
		if (least == i)
			return;
		heap_swap(r, i, least);
		i = least;
	}
}

static int make_room(struct cpu_queue *q)
{
	uint32_t room = q->room ? 2 * q->room : FIRST_ROOM;
	struct wait_event *grown;

	if (q->nr < q->room)
		return 0;
	grown = malloc(room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->nr; i++)
		grown[i] = q->events[(q->first + i) & (q->room - 1)];
	free(q->events);
	q->events = grown;
	q->room = room;
	q->first = 0;
	return 0;
}

/* Number of records of this CPU that are missing before `sequence`. */
static uint32_t reorder_missing(const struct reorder *r, uint32_t cpu, uint32_t sequence,
				uint64_t *since_ns)
{
	if (cpu >= CPUS_MAX || sequence <= r->cpu[cpu].sequence)
		return 0;
	*since_ns = r->cpu[cpu].sequence ? r->cpu[cpu].last_ns : 0;
	return sequence - r->cpu[cpu].sequence;
}

int reorder_put(struct reorder *r, struct wait_event *event)
{
	uint32_t cpu = event->cpu == WAITS_NO_CPU ? CPUS_MAX : event->cpu;
	struct cpu_queue *q;
	int clamped = 0;

	if (cpu > CPUS_MAX)
		return -ERANGE;
	q = &r->cpu[cpu];
	if (make_room(q))
		return -ENOMEM;
	if (event->at_ns < q->last_ns) {
		event->at_ns = q->last_ns;
		clamped = 1;
	}
	event->lost = 0;
	if (event->sequence) {
		event->lost = reorder_missing(r, cpu, event->sequence - 1, &event->lost_since_ns);
		q->sequence = event->sequence;
	}
	q->last_ns = event->at_ns;
	if (event->at_ns > r->newest_ns)
		r->newest_ns = event->at_ns;
	q->events[(q->first + q->nr) & (q->room - 1)] = *event;
	r->nr++;
	if (!q->nr++) {
		r->heap[r->nr_heap] = (uint16_t)cpu;
		q->place = ++r->nr_heap;
		sift_up(r, r->nr_heap - 1);
	}
	return clamped;
}

bool reorder_get(struct reorder *r, bool all, struct wait_event *out)
{
	struct cpu_queue *q;

	if (!r->nr_heap)
		return false;
	if (!all && r->nr < r->max && time_of(r, 0) + REORDER_WATERMARK_NS > r->newest_ns)
		return false;
	q = &r->cpu[r->heap[0]];
	*out = q->events[q->first];
	q->first = (q->first + 1) & (q->room - 1);
	q->nr--;
	r->nr--;
	if (!q->nr) {
		q->place = 0;
		r->heap[0] = r->heap[--r->nr_heap];
		if (r->nr_heap)
			r->cpu[r->heap[0]].place = 1;
	}
	if (r->nr_heap)
		sift_down(r, 0);
	return true;
}
