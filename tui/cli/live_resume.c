// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/live_resume.h"

#include <sys/socket.h>
#include <unistd.h>

#include "tui/cli/replay_screen.h"
#include "tui/cli/verb_resume.h"

int live_resume_begin(struct live_resume *r, struct front *f, struct options *o,
		      const struct buf *bytes)
{
	r->saved = saved_descent_new(bytes->data, bytes->len);
	if (!r->saved)
		return -EBADMSG;
	resume_question(r->saved, o);
	front_resume(f, r->saved);
	return 0;
}

void live_resume_release(struct live_resume *r)
{
	saved_descent_free(r->saved);
}

/* The descent is over because latencies differ from the saved ones: say what to do. */
static void tell_change(struct live_resume *r, struct live_descent *l)
{
	struct descent_result result;

	if (r->said || !driver_over(l->driver) || driver_result(l->driver, &result))
		return;
	if (result.status == DESCENT_CHANGED && !result.rounds) {
		screen_message(l->screen, NOTE_WARNING,
			       "latencies differ from the saved ones; R goes on nevertheless");
		r->said = true;
	}
	descent_result_release(&result);
}

void live_resume_turn(struct live_resume *r, struct live_descent *l, const struct options *o,
		      uint64_t now_ns)
{
	bool goes_on = r->saved && !front_over(l->front) && front_resumes(l->front);
	uint32_t op = goes_on ? front_armed_op(l->front) : 0;
	char why[RESUME_WHY];
	int err;

	if (!op)
		return;
	if (r->over) {
		tell_change(r, l);
		return;
	}
	if (!r->ready_ns)
		r->ready_ns = now_ns;
	err = resume_begin(r->saved, l->front, o, op, (double)(now_ns - r->ready_ns) / 1e9, why);
	if (err == -EAGAIN)
		return;
	r->over = true;
	if (err)
		screen_message(l->screen, NOTE_ERROR, why);
	else
		live_descent_show(l, op);
}

void live_resume_anyway(struct live_resume *r, struct live_descent *l, struct options *o)
{
	if (!r->said || front_over(l->front)) {
		screen_message(l->screen, NOTE_INFO,
			       "R goes on with the descent of a saved session: peaktop -r FILE");
		return;
	}
	o->even_if_changed = true;
	r->over = r->said = false;
}

bool live_resume_in(const struct live_options *to, struct replay *r, struct screen *s, uint32_t pid)
{
	char why[RESUME_WHY], line[RESUME_WHY + 64];
	uint64_t at = replay_at_ns(r);
	int64_t err = replay_advance(r, UINT64_MAX);

	if (err < 0)
		snprintf(why, sizeof(why), "cannot be read: %s", strerror((int)-err));
	else if (ftruncate(to->saved_fd, 0) || lseek(to->saved_fd, 0, SEEK_SET))
		snprintf(why, sizeof(why), "cannot be handed over: %s", strerror(errno));
	else if (!resume_write(r, to->saved_fd, why) &&
		 send(to->parent, &pid, sizeof(pid), MSG_NOSIGNAL) == (ssize_t)sizeof(pid))
		return true;
	snprintf(line, sizeof(line), "the descent cannot go on: this session %s",
		 why[0] ? why : "has lost the process that started its screen");
	replay_screen_show(r, s, at);
	screen_message(s, NOTE_ERROR, line);
	return false;
}
