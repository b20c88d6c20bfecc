// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_pipes.h"

#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/kernel_side_impl.h"
#include "collect/process/clock.h"

enum { KNOWN_NS = 1000000000, MAX_PROCESSES = 64, ENDS_READ = 64 };

/* The processes that have the pipe or the socket open. */
struct pipe_search {
	struct pt_pipe_end processes[MAX_PROCESSES]; /* `mode`: of all their descriptors of it */
	unsigned int nr;
	bool too_many;
};

static void end_take(struct pipe_search *s, const struct pt_pipe_end *end)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->processes[i].tgid == end->tgid) {
			s->processes[i].mode |= end->mode;
			return;
		}
	}
	if (s->nr < MAX_PROCESSES)
		s->processes[s->nr++] = *end;
	else
		s->too_many = true;
}

/* Reads the list of all descriptors of what is sought. Returns 0 or a negative errno. */
static int ends_read(struct kernel_side *k, const struct pt_sought *sought, struct pipe_search *s)
{
	struct pt_pipe_end ends[ENDS_READ];
	ssize_t got;
	int fd, err;

	if (!k->files)
		k->files = bpf_program__attach_iter(k->skel->progs.on_file, NULL);
	if (!k->files)
		return -errno;
	k->control->sought = *sought;
	fd = bpf_iter_create(bpf_link__fd(k->files));
	if (fd < 0)
		return -errno;
	while ((got = read(fd, ends, sizeof(ends))) > 0 || (got < 0 && errno == EAGAIN)) {
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(ends[0]); i++)
			end_take(s, &ends[i]);
	}
	err = got < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* True if a child of the process has the same end: a shell does not read what its command reads. */
static bool child_has_it(const struct pipe_search *s, const struct pt_pipe_end *parent)
{
	return any_of(i, s->nr,
		      s->processes[i].parent == parent->tgid &&
			  s->processes[i].mode == parent->mode);
}

/* The only process besides `self` with exactly this `mode`, or else with more; NULL: none, or
 * several. */
static const struct pt_pipe_end *only_process(const struct pipe_search *s, uint32_t self,
					      uint32_t mode)
{
	const struct pt_pipe_end *found[2] = {NULL};
	unsigned int nr[2] = {0};

	for (unsigned int i = 0; i < s->nr; i++) {
		const struct pt_pipe_end *p = &s->processes[i];
		bool both = p->mode != mode;

		if (p->tgid == self || !(p->mode & mode) || child_has_it(s, p))
			continue;
		found[both] = p;
		nr[both]++;
	}
	if (s->too_many || nr[0] > 1 || (!nr[0] && nr[1] != 1))
		return NULL;
	return found[!nr[0]];
}

/* True if `self` has started the process, or has started the shell that has. */
static bool is_child(const struct pipe_search *s, const struct pt_pipe_end *end, uint32_t self)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->processes[i].tgid == end->parent && s->processes[i].parent == self)
			return true;
	}
	return end->parent == self;
}

static struct pipe_end_known *pipe_known(struct kernel_side *k, const struct pipe_end_known *key)
{
	return find_first(i, k->pipes, PIPES_KNOWN,
			  k->pipes[i].mode == key->mode && k->pipes[i].self == key->self &&
			      !memcmp(&k->pipes[i].sought, &key->sought, sizeof(key->sought)));
}

/* Finds the only process but `key->self` that has `key->sought` open with `key->mode`. */
static const struct pipe_end_known *end_find(struct kernel_side *k,
					     const struct pipe_end_known *key)
{
	static const struct pipe_end_known not_looked_up;
	struct pipe_end_known *p = pipe_known(k, key);
	struct pipe_search s = {.nr = 0};
	const struct pt_pipe_end *end;
	uint64_t now = now_ns();

	if (p && now - p->at_ns < KNOWN_NS)
		return p->pid ? p : NULL;
	if (!scan_pace_allows(&k->scans, now))
		return &not_looked_up;
	if (!p)
		p = &k->pipes[k->next_pipe++ % PIPES_KNOWN];
	*p = *key;
	p->at_ns = now;
	end = ends_read(k, &p->sought, &s) ? NULL : only_process(&s, p->self, p->mode);
	k->scans.owed_ns += now_ns() - now;
	if (!end)
		return NULL;
	p->pid = end->tgid;
	p->is_child = is_child(&s, end, p->self);
	p->queued = end->queued;
	p->room = end->room;
	p->dropped = end->dropped;
	snprintf(p->comm, sizeof(p->comm), "%.*s", PT_COMM, end->comm);
	return p;
}

const struct pipe_end_known *kernel_pipe_end(struct kernel_side *k, uint64_t inode, bool reads,
					     uint32_t self)
{
	return end_find(k, &(struct pipe_end_known){.sought = {.inode = inode},
						    .mode = reads ? PT_PIPE_READS : PT_PIPE_WRITES,
						    .self = self});
}

const struct pipe_end_known *kernel_socket(struct kernel_side *k, const struct pt_sought *sought,
					   uint32_t self)
{
	return end_find(k, &(struct pipe_end_known){.sought = *sought,
						    .mode = PT_PIPE_READS | PT_PIPE_WRITES,
						    .self = self});
}

const char *pipe_end_text(const struct pipe_end_known *end, char *out, size_t n)
{
	if (end->pid)
		snprintf(out, n, "%s %u", end->comm, end->pid);
	else
		snprintf(out, n, "a process that was not looked up");
	return out;
}
