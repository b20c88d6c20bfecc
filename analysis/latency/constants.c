// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/constants.h"

#include <math.h>

#include "analysis/base/array.h"

#define US 1000ULL
#define MS 1000000ULL
#define S 1000000000ULL

static const struct constant known[] = {
    {"timer slack (50 us)", 50 * US, 60 * US, false, false, false},
    {"timer tick (HZ=1000)", 1 * MS, 1 * MS, false, false, true},
    {"scheduler slice (8 CPUs or more)", 2800 * US, 3 * MS, false, false, true},
    {"timer tick (HZ=250)", 4 * MS, 4 * MS, false, false, true},
    {"timer tick (HZ=100)", 10 * MS, 10 * MS, false, false, true},
    {"TCP delayed ACK (40 ms)", 40 * MS, 40 * MS, false, false, false},
    {"cgroup CPU bandwidth period or SCHED_RR quantum (100 ms)", 100 * MS, 100 * MS, false, false,
     true},
    {"TCP minimum retransmission timeout (200 ms)", 200 * MS, 210 * MS, false, false, false},
    {"TCP first retransmission of a SYN (1 s)", 1 * S, 1 * S, false, false, false},
    {"TCP second retransmission of a SYN (3 s)", 3 * S, 3 * S, false, false, false},
    {"writeback or journal commit interval, DNS timeout (5 s)", 5 * S, 5 * S, false, false, false},
    {"dirty page expiry (30 s)", 30 * S, 30 * S, false, false, false},
    {"flash read (typical)", 60 * US, 120 * US, false, true, false},
    {"disk seek and rotation (typical)", 3 * MS, 12 * MS, false, true, false},
};

void constants_init(struct constants *set)
{
	*set = (struct constants){.nr = sizeof(known) / sizeof(known[0])};
	memcpy(set->item, known, sizeof(known));
}

/* Returns the length of a name without its explanation in brackets. */
static size_t stem(const char *name)
{
	const char *end = strstr(name, " (");

	return end ? (size_t)(end - name) : strlen(name);
}

static bool same_stem(const char *a, const char *b)
{
	return stem(a) == stem(b) && !memcmp(a, b, stem(a));
}

static void inherit(struct constant *c, const struct constant *from)
{
	c->device |= from->device;
	c->scheduler |= from->scheduler;
}

void constants_add(struct constants *set, const struct rec_constant *rec)
{
	struct constant c = {
	    .low_ns = rec->low_ns,
	    .high_ns = rec->high_ns > rec->low_ns ? rec->high_ns : rec->low_ns,
	    .measured = rec->measured != 0,
	};
	unsigned int kept = 0;
	bool gone;

	if (!rec->low_ns || !rec->name || !rec->name[0])
		return;
	snprintf(c.name, sizeof(c.name), "%s", rec->name);
	for (unsigned int i = 0; i < set->nr; i++) {
		gone =
		    !strcmp(set->item[i].name, c.name) ||
		    (c.measured && !set->item[i].measured && same_stem(set->item[i].name, c.name));
		if (gone)
			inherit(&c, &set->item[i]);
		else
			set->item[kept++] = set->item[i];
	}
	set->nr = kept;
	if (set->nr < CONSTANTS_MAX)
		set->item[set->nr++] = c;
}

/* Returns the distance of the mode from the constant, in doublings; negative if the mode does not
 * lie at the constant. */
static double distance(const struct constant *c, double low_ns, double high_ns, double mode_ns)
{
	double low = (double)c->low_ns, high = (double)c->high_ns;
	bool exact = high <= 1.1 * low;

	if (mode_ns < 0.96 * low || mode_ns > (exact && !c->measured ? 1.10 : 1.04) * high)
		return -1;
	/* a range of times names only a peak that lies within it */
	if (high > 1.5 * low && (low_ns < 0.8 * low || high_ns > 1.25 * high))
		return -1;
	return fabs(log2(mode_ns / sqrt(low * high)));
}

static const char *find_near(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
			     uint64_t mode_ns, bool block)
{
	const struct constant *c, *best = NULL;
	double nearest = INFINITY, d;

	if (!mode_ns || mode_ns < low_ns || high_ns < mode_ns ||
	    (double)high_ns > 4 * (double)low_ns)
		return "";
	for (unsigned int i = 0; i < set->nr; i++) {
		c = &set->item[i];
		if (c->device && !block)
			continue;
		d = distance(c, (double)low_ns, (double)high_ns, (double)mode_ns);
		if (d < 0)
			continue;
		if (!best || c->measured > best->measured ||
		    (c->measured == best->measured && d < nearest)) {
			best = c;
			nearest = d;
		}
	}
	return best ? best->name : "";
}

const char *constants_near(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
			   uint64_t mode_ns)
{
	return find_near(set, low_ns, high_ns, mode_ns, false);
}

const char *constants_near_block(const struct constants *set, uint64_t low_ns, uint64_t high_ns,
				 uint64_t mode_ns)
{
	return find_near(set, low_ns, high_ns, mode_ns, true);
}

const char *constants_period(const struct constants *set, uint64_t period_ns)
{
	const char *name = constants_near(set, period_ns, period_ns, period_ns);
	const struct constant *c =
	    find_first(i, set->item, set->nr, !strcmp(set->item[i].name, name));

	return c && fabs((double)period_ns / (double)c->high_ns - 1) <= 0.005 ? name : "";
}

bool constants_is_scheduler(const struct constants *set, const char *name)
{
	const struct constant *c =
	    find_first(i, set->item, set->nr, !strcmp(set->item[i].name, name));

	return c && c->scheduler;
}
