// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tui/engine/parser_private.h"
#include "tui/engine/parser_worker.h"

enum {
	MAX_SEND = 1 << 20,
	MAX_DEATHS = 3, /* deaths in a row without a module to blame */
};

int parser_worker_start(struct parser *p)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	p->channel = channel_new(pair[0], MAX_SEND);
	if (!p->channel) {
		close(pair[0]);
		close(pair[1]);
		return -ENOMEM;
	}
	pid = parser_worker_fork(pair[1]);
	close(pair[1]);
	if (pid < 0) {
		channel_free(p->channel);
		p->channel = NULL;
		return (int)pid;
	}
	p->pid = pid;
	return 0;
}

int parser_worker_end(struct parser *p)
{
	int status = 0;

	channel_free(p->channel);
	p->channel = NULL;
	if (p->pid <= 0)
		return 0;
	/* If the worker has already died, kill() has no effect, and waitpid() returns its own
	 * status. */
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Queue all modules that are not refused before all other requests, for the next worker. */
static int hand_over_all(struct parser *p)
{
	struct parse_request request = {0};
	struct pending_request *r;

	for (uint32_t i = PARSE_MAX_MODULES; i-- > 1;) {
		struct handed *h = &p->modules[i];

		if (h->fd < 0 || h->refused || parser_is_waiting(p, PARSE_ADD_MODULE, i))
			continue;
		request.module = i;
		if (h->debug_fd >= 0 && !parser_is_waiting(p, PARSE_ADD_DEBUG, i)) {
			r = pending_new(PARSE_ADD_DEBUG, &request);
			if (!r)
				return -ENOMEM;
			r->silent = true;
			parser_push_front(p, r);
		}
		request.text = h->name;
		r = pending_new(PARSE_ADD_MODULE, &request);
		request.text = NULL;
		if (!r)
			return -ENOMEM;
		r->silent = true;
		parser_push_front(p, r);
	}
	return 0;
}

static enum parse_type answer_type(enum parse_type request)
{
	static const enum parse_type answers[PARSE_LAST - PARSE_ADD_MODULE] = {
	    [PARSE_ADD_MODULE - PARSE_ADD_MODULE] = PARSED_MODULE,
	    [PARSE_ADD_DEBUG - PARSE_ADD_MODULE] = PARSED_MODULE,
	    [PARSE_FIND - PARSE_ADD_MODULE] = PARSED_FUNCTIONS,
	    [PARSE_NEAREST - PARSE_ADD_MODULE] = PARSED_FUNCTIONS,
	    [PARSE_INLINED - PARSE_ADD_MODULE] = PARSED_FUNCTIONS,
	    [PARSE_LIST - PARSE_ADD_MODULE] = PARSED_FUNCTIONS,
	    [PARSE_IFUNC - PARSE_ADD_MODULE] = PARSED_FUNCTIONS,
	    [PARSE_SYMBOLS - PARSE_ADD_MODULE] = PARSED_SYMBOLS,
	    [PARSE_PLAN - PARSE_ADD_MODULE] = PARSED_PLAN,
	    [PARSE_PLAN_RETURN - PARSE_ADD_MODULE] = PARSED_PLAN,
	    [PARSE_COVERAGE - PARSE_ADD_MODULE] = PARSED_COVERAGE,
	    [PARSE_CALL_SITES - PARSE_ADD_MODULE] = PARSED_CALL_SITES,
	    [PARSE_MAPPINGS - PARSE_ADD_MODULE] = PARSED_MAPPINGS,
	    [PARSE_UNWIND - PARSE_ADD_MODULE] = PARSED_FRAMES,
	    [PARSE_INLINES - PARSE_ADD_MODULE] = PARSED_INLINES,
	    [PARSE_SLOTS - PARSE_ADD_MODULE] = PARSED_CALL_SITES,
	    [PARSE_CODE - PARSE_ADD_MODULE] = PARSED_CODE,
	    [PARSE_FORGET - PARSE_ADD_MODULE] = PARSED_MODULE,
	};

	return answers[request - PARSE_ADD_MODULE];
}

/* Make a failure answer to a request in place of the worker. Stores a copy of the reason. */
static void answer_failure(struct parser *p, const struct pending_request *r, int error,
			   const char *reason, struct parsed *answer)
{
	char *copy = strdup(reason);

	free(p->reason);
	p->reason = copy;
	*answer = (struct parsed){.type = answer_type(r->type)};
	/* what is decoded from nothing has "" for all its texts */
	struct_decode(&p->arena, parse_layout(answer->type), NULL, 0, &answer->head);
	answer->head = (struct parsed_head){.id = r->request.id,
					    .module = r->request.module,
					    .offset = r->request.offset,
					    .op = r->request.op,
					    .pid = r->request.pid,
					    .error = error,
					    .reason = copy ? copy : ""};
	if (answer->type == PARSED_PLAN)
		answer->plan.text = answer->head.reason;
}

/* End the request in work. Returns 1 if its answer goes to the caller, 0 for a request of this
 * client itself. */
static int conclude(struct parser *p)
{
	bool silent = p->asked->silent;

	p->reply = p->asked->reply;
	pending_free(p->asked);
	p->asked = NULL;
	p->at = 0;
	return !silent;
}

/* Refuse the module in work from now on, because the worker died of it. False: no module was in
 * work. */
static bool blame(struct parser *p, const char *how)
{
	struct handed *h;
	char *reason;

	if (!p->at || p->modules[p->at].fd < 0)
		return false;
	h = &p->modules[p->at];
	reason = malloc(strlen(h->name) + strlen(how) + 64);
	if (!reason)
		return false;
	stpcpy(stpcpy(stpcpy(reason, h->name), ": not parsed: the parser "), how);
	free(h->refused);
	h->refused = reason;
	return true;
}

/* Replace a worker that died or must be killed. Its request fails, or is asked again if it is about
 * all modules. Returns 1 if `answer` is set. */
static int replace_worker(struct parser *p, const char *why, struct parsed *answer)
{
	int sig = parser_worker_end(p), given = 0;
	bool blamed;
	char how[128];

	if (!why && sig)
		snprintf(how, sizeof(how), "was killed by SIG%s while reading it",
			 sigabbrev_np(sig) ? sigabbrev_np(sig) : "?");
	else
		snprintf(how, sizeof(how), "%s", why ? why : "exited while reading it");
	free(p->lost_on);
	p->lost_on =
	    p->asked && p->at && p->modules[p->at].name ? strdup(p->modules[p->at].name) : NULL;
	blamed = p->asked && blame(p, how);
	p->deaths = blamed ? 0 : p->deaths + 1;
	p->restarts++;
	parser_drop_silent(p);
	if (p->asked && blamed && !p->asked->request.module) {
		parser_push_front(p, p->asked);
		p->asked = NULL;
	} else if (p->asked) {
		answer_failure(p, p->asked, -ENOTRECOVERABLE,
			       blamed ? p->modules[p->at].refused : "the parser exited", answer);
		given = conclude(p);
	}
	p->at = 0;
	if (p->deaths >= MAX_DEATHS || hand_over_all(p) || parser_worker_start(p))
		p->broken = true;
	return given;
}

/* Answer a request that cannot succeed without the worker. False: the worker must answer. */
static bool refuse_at_once(struct parser *p, struct pending_request *r, struct parsed *answer)
{
	const struct handed *h =
	    module_valid(r->request.module) ? &p->modules[r->request.module] : NULL;

	if (h && h->refused)
		answer_failure(p, r, -ENOTRECOVERABLE, h->refused, answer);
	else if (p->broken)
		answer_failure(p, r, -EPIPE, "the parser keeps failing and is not started again",
			       answer);
	else
		return false;
	return true;
}

/* Send the next request. 0: sent. 1: answered here, without the worker. -1: the worker is gone. */
static int send_next(struct parser *p, uint64_t now_ns, struct parsed *answer)
{
	struct pending_request *r = parser_pop_front(p);
	int fd = -1, err;

	p->asked = r;
	p->at = r->request.module;
	p->asked_until_ns = now_ns + p->limit_ns;
	if (refuse_at_once(p, r, answer))
		return conclude(p);
	if (r->type == PARSE_ADD_MODULE || r->type == PARSE_ADD_DEBUG) {
		fd = r->type == PARSE_ADD_MODULE ? p->modules[r->request.module].fd
						 : p->modules[r->request.module].debug_fd;
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0) {
			answer_failure(p, r, -errno, strerror(errno), answer);
			return conclude(p);
		}
	}
	err = channel_send_raw(p->channel, (uint16_t)r->type, FRAME_NOT_RECORDED,
			       parse_layout(r->type), &r->request, fd);
	if (!err)
		return 0;
	if (fd >= 0)
		close(fd);
	if (err == -EPIPE)
		return -1;
	answer_failure(p, r, err, strerror(-err), answer);
	return conclude(p);
}

/* Process one frame of the worker. 1: `answer` is set, 0: no answer for the caller, -1: the worker
 * breaks the protocol. */
static int take(struct parser *p, const struct raw_frame *frame, uint64_t now_ns,
		struct parsed *answer)
{
	const struct struct_layout *layout = parse_layout(frame->type);

	if (!p->asked || !layout || frame->type < PARSED_MODULE)
		return -1;
	arena_reset(&p->arena);
	*answer = (struct parsed){.type = (enum parse_type)frame->type};
	if (struct_decode(&p->arena, layout, frame->payload, frame->length, &answer->module) ||
	    answer->id != p->asked->request.id)
		return -1;
	if (frame->type == PARSED_AT) {
		p->at = module_valid(answer->at.module) ? answer->at.module : 0;
		p->asked_until_ns = now_ns + p->limit_ns;
		return 0;
	}
	p->deaths = 0;
	if (frame->type == PARSED_NOT)
		answer_failure(p, p->asked, -EINVAL, answer->not .reason, answer);
	else if (answer->type != answer_type(p->asked->type))
		return -1;
	return conclude(p);
}

/* Process the frames that have arrived. The return values are those of take(). */
static int read_answers(struct parser *p, uint64_t now_ns, struct parsed *answer)
{
	struct raw_frame frame;
	int ret, fd;

	while ((ret = channel_next_raw(p->channel, &frame, &fd)) == 1) {
		if (fd >= 0)
			close(fd);
		ret = take(p, &frame, now_ns, answer);
		if (ret)
			return ret;
	}
	return ret < 0 ? -1 : 0;
}

/* Exchange requests and answers with the worker. 1: `answer` is set, 0: nothing to do now, -1: the
 * worker is gone. */
static int converse(struct parser *p, uint64_t now_ns, struct parsed *answer)
{
	int ret;

	for (;;) {
		while (!p->asked && p->first) {
			ret = send_next(p, now_ns, answer);
			if (ret)
				return ret;
		}
		if (!p->channel)
			return 0;
		ret = read_answers(p, now_ns, answer);
		if (ret)
			return ret;
		if (!p->asked && p->first)
			continue;
		if (channel_flush(p->channel) < 0)
			return -1;
		ret = channel_fill(p->channel);
		if (ret <= 0)
			return ret < 0 ? -1 : 0;
	}
}

bool parser_rest(struct parser *p, uint64_t now_ns, uint64_t idle_ns)
{
	if (!p->channel || p->asked || p->first || p->last_id != p->rest_id || !p->busy_ns) {
		p->rest_id = p->last_id;
		p->busy_ns = now_ns;
		return false;
	}
	if (now_ns < p->busy_ns + idle_ns)
		return false;
	parser_worker_end(p);
	p->at = 0;
	return true;
}

int parser_next(struct parser *p, uint64_t now_ns, struct parsed *answer)
{
	char late[64];
	int ret;

	/* parser_rest() has ended it */
	if (!p->channel && !p->broken && p->first)
		p->broken = hand_over_all(p) || parser_worker_start(p);
	for (;;) {
		ret = converse(p, now_ns, answer);
		if (ret > 0)
			return 1;
		if (p->broken)
			return 0;
		if (ret < 0) {
			ret = replace_worker(p, NULL, answer);
		} else if (p->asked && now_ns >= p->asked_until_ns) {
			snprintf(late, sizeof(late), "needed more than %llu s",
				 (unsigned long long)(p->limit_ns / 1000000000));
			ret = replace_worker(p, late, answer);
		} else {
			return 0;
		}
		if (ret)
			return 1;
	}
}

void parser_run(struct parser *p, uint64_t now_ns)
{
	struct parsed answer;

	while (parser_next(p, now_ns, &answer) == 1) {
		const struct parser_reply reply = p->reply;

		if (reply.take)
			reply.take(reply.ctx, reply.tag, &answer);
	}
}
