/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The helper process of the calibration, which times short pieces of work. Private to calibrate.c
 * and calibrate_helper.c. */
#pragma once

/* The empty functions that it calls, one for each class of instruction, and where they end. */
void peaktop_calibrate_emulated(void);
void peaktop_calibrate_stepped(void);
extern const char peaktop_calibrate_emulated_end[], peaktop_calibrate_stepped_end[];

enum { COLD_CALLS = 40 };

/* A request to the helper. It answers with the ns of a typical round. */
struct calibration_order {
	int what; /* 0 and 1: the functions of site class 0 and 1; 2: getppid; 3: context switches;
		     4: page faults by writes; 5: function 0 with cold caches; 6: page faults by
		     reads; -1: end */
	int calls;
	int once; /* time a single round, after a few warm-up calls */
};

struct helper_process {
	pid_t pid;
	int socket;
};

/* Start the process. Returns 0 or a negative errno. */
int calibrate_helper_start(struct helper_process *h);
void calibrate_helper_stop(struct helper_process *h);
/* The typical time of a round, ns; 0 if the helper failed. */
uint64_t calibrate_helper_order(const struct helper_process *h, const struct calibration_order *o);
uint64_t calibrate_helper_ask(const struct helper_process *h, int what, int calls);
