/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects the view of a descent with the driver: passes the view's requests to the driver and the
 * driver's state to the view. */
#pragma once

#include "analysis/descent/choose.h"
#include "tui/engine/descent_driver.h"
#include "tui/engine/descent_tracing.h"
#include "tui/engine/descent_whole.h"
#include "tui/engine/front.h"
#include "tui/engine/wait_driver.h"
#include "tui/screen/screen.h"

/* An earlier answer of this session. */
struct live_answer {
	uint32_t op;
	uint64_t low_ns, high_ns, mode_ns; /* of the peak */
	struct descent_result result;
};
enum { LIVE_ANSWERS = 16 };

/* The calls of f0 when the last one of the peak was seen. */
struct live_calls {
	uint64_t at_ns; /* 0: not looked yet */
	uint64_t measured, of_peak, all;
};

struct live_descent {
	struct screen *screen;
	struct model *model; /* the live model, or the present one of the replay */
	struct descent_driver *driver;
	const struct descent_question *question; /* which calls, and how the descent decides */
	bool replay;
	struct front *front;	   /* traces the waits of an answer; NULL: nobody does */
	struct wait_driver *waits; /* NULL: no waits are shown */

	/* private to live_descent.c; zero at the beginning */
	uint32_t op;   /* 0: no view of a descent is open */
	uint32_t part; /* that the user wants to see; 0: the first that has an answer */
	struct descent_whole whole;
	bool reported; /* the screen has the final result with all names */
	uint64_t next_ns;
	struct live_calls seen;
	struct descent_tracing tracing;
	unsigned int nr_answers;
	struct live_answer answers[LIVE_ANSWERS];
};

void live_descent_release(struct live_descent *l);

/* Carry out SCREEN_DESCEND, SCREEN_DESCENT_PART (show this part of the operation's time) or
 * SCREEN_DESCEND_STOP (stop the descent). */
void live_descent_action(struct live_descent *l, const struct screen_action *a, uint64_t now_ns);
/* Open the view of a descent that was begun elsewhere. */
void live_descent_show(struct live_descent *l, uint32_t op);
/* Call every turn: passes the state to the screen a few times per second. True: the screen may have
 * changed. */
bool live_descent_turn(struct live_descent *l, uint64_t now_ns);
