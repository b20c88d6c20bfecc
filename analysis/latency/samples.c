// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/samples.h"
#include "analysis/base/array.h"

void samples_init(struct samples *s)
{
	memset(s, 0, sizeof(*s));
}

void samples_release(struct samples *s)
{
	for (unsigned int i = 0; i < PT_DOUBLINGS; i++)
		free(s->stratum[i].call);
	samples_init(s);
}

/* The finaliser of splitmix64: a fixed, well mixed function of its argument. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static uint32_t clamp32(uint64_t x)
{
	return x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}

static struct call_sample convert(const struct rec_sample *rec, uint64_t number)
{
	struct call_sample c = {
	    .start_ns = rec->start_ns,
	    .latency_ns = rec->latency_ns,
	    .ret = rec->ret,
	    .oncpu_ns = rec->oncpu_ns,
	    .runqueue_ns = rec->runqueue_ns,
	    .tid = rec->tid,
	    .minor_faults = clamp32(rec->minor_faults),
	    .major_faults = clamp32(rec->major_faults),
	    .migrations = clamp32(rec->migrations),
	    .sleeps = clamp32(rec->sleeps),
	    .preempted = clamp32(rec->preempted),
	    .interrupt_ns = rec->interrupt_ns,
	    .steal_ns = rec->steal_ns,
	    .chance_ppm = 1000000,
	    .known = rec->known,
	    /* Of two calls in a row one is held out; a hash decides which one. */
	    .held_out = (number ^ mix(number >> 1)) & 1,
	};

	memcpy(c.args, rec->args, sizeof(c.args));
	memcpy(c.members, rec->members, sizeof(c.members));
	snprintf(c.text, sizeof(c.text), "%s", rec->text ? rec->text : "");
	if (rec->chance_ppm && rec->chance_ppm < 1000000)
		c.chance_ppm = (uint32_t)rec->chance_ppm;
	return c;
}

/* Frees a place in the doubling with most samples, if it has more than doubling `for_whom`. */
static bool steal(struct samples *s, unsigned int for_whom, uint64_t draw)
{
	unsigned int most = 0, victim;

	for (unsigned int i = 1; i < PT_DOUBLINGS; i++)
		if (s->stratum[i].nr > s->stratum[most].nr)
			most = i;
	if (s->stratum[most].nr <= s->stratum[for_whom].nr + 1)
		return false;
	victim = (unsigned int)(draw % s->stratum[most].nr);
	s->stratum[most].call[victim] = s->stratum[most].call[--s->stratum[most].nr];
	s->nr--;
	return true;
}

int samples_add(struct samples *s, const struct rec_sample *rec, unsigned int max)
{
	unsigned int d = pt_bucket(rec->latency_ns) / PT_RESOLUTION;
	uint64_t number = s->stratum[d].received, draw = mix(number * PT_DOUBLINGS + d + 1);
	struct call_sample c = convert(rec, number);
	unsigned int nr = s->stratum[d].nr;

	if (max > MODEL_MAX_SAMPLES)
		max = MODEL_MAX_SAMPLES;
	if (nr < SAMPLES_PER_DOUBLING && (s->nr < max || steal(s, d, draw))) {
		if (array_grow(s->stratum[d].call, nr, s->stratum[d].cap, SAMPLES_PER_DOUBLING))
			return -ENOMEM;
		s->stratum[d].call[s->stratum[d].nr++] = c;
		s->nr++;
	} else if (nr && draw % (number + 1) < nr) {
		s->stratum[d].call[draw % (number + 1)] = c;
	}
	s->stratum[d].received++;
	return 0;
}

int samples_list(const struct samples *s, const struct profile *total, struct weighted_calls *out)
{
	const struct call_sample **call = malloc((s->nr + 1) * sizeof(struct call_sample *));
	double *weight = malloc((s->nr + 1) * sizeof(*weight));
	unsigned int n = 0;

	*out = (struct weighted_calls){.call = call, .weight = weight};
	if (!call || !weight)
		return -ENOMEM;
	for (unsigned int d = 0; d < PT_DOUBLINGS; d++) {
		double inverse = 0, calls = (double)profile_count(total, d, 1);

		if (!calls)
			calls = (double)s->stratum[d].received;
		for (unsigned int i = 0; i < s->stratum[d].nr; i++)
			inverse += 1e6 / s->stratum[d].call[i].chance_ppm;
		for (unsigned int i = 0; i < s->stratum[d].nr; i++) {
			call[n] = &s->stratum[d].call[i];
			weight[n] = calls / inverse * (1e6 / call[n]->chance_ppm);
			n++;
		}
	}
	out->nr = n;
	return 0;
}

void weighted_calls_release(struct weighted_calls *w)
{
	free(w->call);
	free(w->weight);
}

static int compare_starts(const void *a, const void *b)
{
	const struct call_sample *x = *(struct call_sample *const *)a,
				 *y = *(struct call_sample *const *)b;

	return ascending(x->tid, y->tid) ?: compare_u64(&x->start_ns, &y->start_ns);
}

bool samples_overlap(const struct samples *s)
{
	const struct call_sample **call = calloc(s->nr + 1, sizeof(*call));
	bool found = !call;
	unsigned int n = 0;

	for (unsigned int d = 0; call && d < PT_DOUBLINGS; d++)
		for (unsigned int i = 0; i < s->stratum[d].nr; i++)
			call[n++] = &s->stratum[d].call[i];
	if (n)
		qsort(call, n, sizeof(*call), compare_starts);
	for (unsigned int i = 1; i < n && !found; i++)
		found = call[i]->tid == call[i - 1]->tid &&
			call[i]->start_ns < call[i - 1]->start_ns + call[i - 1]->latency_ns;
	free(call);
	return found;
}
