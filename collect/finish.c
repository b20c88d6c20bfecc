// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/finish.h"

#include <poll.h>
#include <unistd.h>

#include "analysis/base/debug_path.h"
#include "collect/functions.h"
#include "collect/keep_open.h"
#include "collect/kernel_functions.h"
#include "collect/modules.h"
#include "collect/opener.h"
#include "collect/ring.h"
#include "collect/share.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/steal.h"
#include "collect/stream.h"
#include "collect/thread_snapshots.h"
#include "collect/units.h"
#include "collect/waits.h"

#define MS 1000000ull

enum { SERVE_MS = 10000, SEND_MS = 1000 };

/* Search below the target's root folder first, because a container has its own debug files. */
static int open_debug(struct collector *c, pid_t pid, const char *name)
{
	char path[TARGET_PATH + 64];
	int fd;

	snprintf(path, sizeof(path), "usr/lib/debug/%s", name);
	fd = opener_open(c->files.opener, pid, path);
	return fd >= 0 ? fd : opener_open(c->files.opener, OPENER_HOST, path);
}

/* Open a separate debug file below /usr/lib/debug of the target or of the host. Returns a
 * descriptor or a negative errno. */
static int module_debug_file(struct collector *c, uint32_t module, const char *build_id,
			     const char *name)
{
	char path[TARGET_PATH];
	struct file_module *m;
	int fd = -ENOENT;

	if (!module || module > c->files.nr_modules)
		return -EINVAL;
	m = &c->files.modules[module - 1];
	if (debug_path_of_build_id(build_id, path, sizeof(path)) > 0)
		fd = open_debug(c, m->pid, path);
	if (fd < 0 && debug_path_of_link(m->path, name, path, sizeof(path)) > 0)
		fd = open_debug(c, m->pid, path);
	return fd;
}

void file_serve(struct collector *c, const struct req_file *req, bool debug)
{
	struct record rec = {.type = REC_FILE};
	int fd;

	if (debug) {
		fd = module_debug_file(c, req->module, req->build_id, req->name);
	} else {
		fd = module_content(c, req->module);
	}
	rec.file =
	    (struct rec_file){.module = req->module, .debug = debug, .error = fd < 0 ? fd : 0};
	/* if sending failed, the descriptor is still ours */
	if (channel_send(c->front, &rec, fd >= 0 ? fd : -1) && fd >= 0)
		close(fd);
}

void collector_finish(struct collector *c)
{
	struct record bye = {.type = REC_BYE};
	uint64_t until = now_ns() + SEND_MS * MS;

	if (c->kernel && c->slice.start && c->loop.heartbeat_ns) {
		functions_govern(c, now_ns());
		ring_drain(c);
		keep_open_release(c);
		snapshots_end(c);
		waits_end(c);
		share_hold(c);
		gates_close(c);
		for (unsigned int i = 0; i < c->functions.nr; i++)
			function_gate_close(c, c->functions.list[i]);
		for (unsigned int i = 0; i < c->functions.nr; i++)
			function_links_stop(c->functions.list[i], true);
		kernel_functions_sleep(c);
		kernel_side_layers(c->kernel, 0);
		ring_drain(c);
		/* the last target may die as the probes are removed */
		targets_end(c);
		slice_end(c, true);
		cost_note(c);
		steal_note(c);
	}
	keep_open_release(c);
	bye.bye.error = c->loop.error;
	send_record(c, &bye);
	while (channel_flush(c->front) == 1 && now_ns() < until) {
		struct pollfd p = {.fd = channel_fd(c->front), .events = POLLOUT};

		poll(&p, 1, 100);
	}
}

void files_serve(struct collector *c)
{
	uint64_t until = now_ns() + SERVE_MS * MS;
	const struct record *rec;
	int fd, got = 0, err = 0;

	while (got >= 0 && (err >= 0 || err == -EAGAIN) && now_ns() < until) {
		struct pollfd p = {.fd = channel_fd(c->front),
				   .events =
				       (short)(POLLIN | (channel_pending(c->front) ? POLLOUT : 0))};

		if (poll(&p, 1, 100) <= 0)
			continue;
		channel_flush(c->front);
		if (p.revents & ~POLLOUT)
			err = channel_fill(c->front);
		/* an answer that is not sent yet comes first: a full queue would refuse the next */
		while (!channel_pending(c->front) &&
		       (got = channel_next(c->front, &rec, &fd)) == 1) {
			if (fd >= 0)
				close(fd);
			if (rec->type == REQ_FILE || rec->type == REQ_DEBUG_FILE)
				file_serve(c, &rec->req_file, rec->type == REQ_DEBUG_FILE);
			channel_flush(c->front);
		}
	}
}
