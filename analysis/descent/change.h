/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detects that the latency distribution of f0 has changed since the start of the descent. The
 * descent then ends and reports the change, instead of averaging over both distributions. Internal
 * to analysis/descent/. Times in ns. */
#pragma once

#include "analysis/latency/profile.h"

struct change {
	uint64_t low_ns, high_ns; /* the peak: low <= latency < high; 0, 0: the whole profile */
	struct profile start;	  /* calls until the first call sites were armed */
	struct profile window;	  /* calls since the last comparison */
	struct profile all;	  /* all calls that went to `start` or to a window */
	uint64_t compared;	  /* calls of `all` when it was last compared with a session */
	uint64_t probes_ns;	  /* the largest correction for probes in one call of the window */
	uint64_t most_probes_ns;  /* ... and in any call */
	bool fixed;		  /* sites were armed: `start` does not grow any more */
	unsigned int strikes;	  /* windows in a row that differ */
	unsigned int
	    skip; /* number of profiles to skip, because they still contain calls from before */
	char words[200];
};

/* Begins for a peak: how the other calls are distributed among themselves does not matter. */
void change_init(struct change *c, uint64_t low_ns, uint64_t high_ns);
/* Adds the calls of one slice. As long as no site was armed, or `start` has fewer than `enough`
 * calls, the calls go to `start`; later they go to the window. `probes_ns` is the time that was
 * subtracted from each latency for the probes. */
void change_add(struct change *c, const struct profile *delta, uint64_t enough, uint64_t probes_ns);
/* Notes that `probes_ns` were subtracted from the latency of one call. */
void change_probes(struct change *c, uint64_t probes_ns);
/* Discards the window, and skips the present slice and the next one, because attaching or detaching
 * probes changed their latencies. */
void change_forget_window(struct change *c);
/* Compares the start profile with that of the saved session that is resumed. Returns true if they
 * differ; `words` then describes the difference. */
bool change_since_saved(struct change *c, const struct profile *saved);
/* Compares all calls until now with the saved profile, which tells of a rare peak what the start
 * profile has too few calls for. Returns true if the peak has moved, within its range or out of it;
 * one that has only become rarer may come back. `words` then says where to. */
bool change_moved_since_saved(struct change *c, const struct profile *saved);
/* Lets change_seen() return true from now on. */
void change_settle(struct change *c);
/* Returns true if two windows in a row differ from the start profile; `words` then describes the
 * difference. */
bool change_seen(const struct change *c);
