/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The descent of a live screen: what the view asks goes to the driver, the driver's state to the
 * view. */
#ifndef PEAKTOP_LIVE_DESCENT_H
#define PEAKTOP_LIVE_DESCENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/descent/choose.h"
#include "tui/engine/descent_driver.h"
#include "tui/screen/screen.h"

/* One that was given before, while this screen was open. */
struct live_answer {
	uint32_t op;
	uint64_t low_ns, high_ns, mode_ns; /* of the peak */
	struct descent_result result;
};
enum { LIVE_ANSWERS = 16 };

struct live_descent {
	struct screen *screen;
	struct model *model; /* of the session, or of the replay as it is now */
	struct descent_driver *driver;
	const struct descent_question *question; /* which calls, and how the descent decides */
	bool replay;

	/* from here on its own; zero at the beginning */
	uint32_t op;   /* 0: no view of a descent is open */
	bool reported; /* the end of it was handed to the screen, with all names */
	uint64_t next_ns;
	unsigned int nr_answers;
	struct live_answer answers[LIVE_ANSWERS];
};

void live_descent_release(struct live_descent *l);

/* SCREEN_DESCEND: begin and open the view, or say why not. A replay shows the descent that it
 * holds. */
void live_descent_ask(struct live_descent *l, uint32_t op, int peak);
/* SCREEN_DESCEND_STOP */
void live_descent_stop(struct live_descent *l);
/* Every turn: hand the state to the screen, some times a second. True: there was something new. */
bool live_descent_turn(struct live_descent *l, uint64_t now_ns);

#endif
