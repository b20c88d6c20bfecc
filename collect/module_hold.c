// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/module_hold.h"
#include "collect/code_check.h"

#include <sys/stat.h>

#include "analysis/base/array.h"
#include "collect/descend.h"
#include "collect/file_lease.h"
#include "collect/functions.h"
#include "collect/learn.h"
#include "collect/mmap_events.h"
#include "collect/state.h"
#include "collect/stream.h"

/* False: the file is not open, or asking could wait for its file system. */
static bool version_of(const struct file_module *m, struct file_version *v)
{
	struct stat st;

	if (m->fd < 0 || m->remote || fstat(m->fd, &st))
		return false;
	*v = (struct file_version){
	    .modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
	    .changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	    .size = (uint64_t)st.st_size};
	return true;
}

void module_opened(struct file_module *m)
{
	version_of(m, &m->hold.version);
}

/* A rename or another link changes only the time of the change: the code is the same. */
static bool version_changed(const struct file_module *m)
{
	struct file_version now;

	return version_of(m, &now) &&
	       (now.modified_ns != m->hold.version.modified_ns || now.size != m->hold.version.size);
}

/*
 * Remove all probes of a file and forget what is known of its content, because that changes, or
 * because another file has been mapped in its place since `since` (0: now).
 */
static void module_retire(struct collector *c, uint32_t module, uint64_t since)
{
	struct file_module *m = &c->files.modules[module - 1];

	if (m->hold.stale)
		return;
	m->hold.stale = true;
	/* the next scan takes the file for a new one, and looks soon */
	m->inode = 0;
	for (unsigned int i = 0; i < c->targets.nr; i++)
		c->targets.list[i]->scanned_pages = 0;
	/* first the descent, which shares sites of its function */
	descend_file_changed(c, module);
	learn_file_changed(c, module);
	functions_file_changed(c, module, since);
	code_check_forget_module(c, module);
	if (!c->files.said_stale)
		send_note(c, NOTE_WARNING,
			  "%s was %s while it was measured: its functions are looked up in the new "
			  "file, and calls until then are not seen",
			  m->path, since ? "replaced" : "overwritten");
	c->files.said_stale = true;
}

int module_hold(struct collector *c, uint32_t module)
{
	struct file_module *m = &c->files.modules[module - 1];
	struct file_hold *h = &m->hold;

	if (h->stale || h->outdated || h->breaking)
		return -ESTALE;
	if (h->lease >= 0)
		return lease_is_broken(h->lease) ? -ESTALE : 0;
	if (!m->remote && !h->unheld) {
		h->lease = lease_take(m->fd);
		h->busy = h->lease == -ETXTBSY;
		h->unheld = h->lease < 0 && !h->busy;
		h->lease = h->lease < 0 ? -1 : h->lease;
	}
	if (h->busy)
		return -ETXTBSY;
	/* with the lease it cannot change any more */
	h->outdated = version_changed(m);
	return h->outdated ? -ESTALE : 0;
}

void modules_hold_turn(struct collector *c)
{
	bool settled = attach_is_settled();

	lease_woken();
	for (uint32_t i = 0; i < c->files.nr_modules; i++) {
		struct file_hold *h = &c->files.modules[i].hold;

		if (h->lease < 0)
			continue;
		if (!h->breaking && (h->stale || lease_is_broken(h->lease))) {
			h->breaking = true;
			module_retire(c, i + 1, 0);
			settled = attach_is_settled();
		}
		if (!h->breaking || !settled)
			continue;
		lease_release(h->lease);
		h->lease = -1;
		h->breaking = false;
	}
}

void modules_hold_lost(struct collector *c)
{
	for (uint32_t i = 0; i < c->files.nr_modules; i++) {
		struct file_hold *h = &c->files.modules[i].hold;

		if (h->lease < 0)
			continue;
		lease_release(h->lease);
		h->lease = -1;
		h->breaking = false;
	}
}

/* Code was mapped in a process. */
static void mapped(void *ctx, pid_t pid, uint64_t at)
{
	struct collector *c = ctx;

	for (unsigned int i = 0; i < c->targets.nr; i++) {
		struct target *t = c->targets.list[i];

		if ((!pid || t->pid == pid) && !t->mapped_ns)
			t->mapped_ns = at;
	}
}

/* Retire the modules that those from `first` on have replaced: another file was renamed to their
 * path, and no target maps them any more. */
static void modules_replaced(struct collector *c, uint32_t first, uint64_t since)
{
	for (uint32_t i = first; i <= c->files.nr_modules; i++) {
		for (uint32_t old = 1; old < i; old++) {
			const struct file_module *m = &c->files.modules[old - 1];

			if (!m->hold.stale && m->fd >= 0 &&
			    !strcmp(m->path, c->files.modules[i - 1].path) &&
			    !any_of(n, c->files.nr_mappings, c->files.mappings[n].module == old))
				module_retire(c, old, since);
		}
	}
}

void modules_follow(struct collector *c)
{
	uint64_t since = now_ns();

	mmap_events_read(mapped, c);
	for (unsigned int i = 0; i < c->targets.nr; i++) {
		struct target *t = c->targets.list[i];

		if (!t->mapped_ns)
			continue;
		since = t->mapped_ns < since ? t->mapped_ns : since;
		t->mapped_ns = 0;
		modules_scan(c, t);
	}
	modules_replaced(c, c->files.nr_followed + 1, since);
	c->files.nr_followed = c->files.nr_modules;
}

void modules_hold_look(struct collector *c)
{
	for (uint32_t i = 0; i < c->files.nr_modules; i++) {
		struct file_module *m = &c->files.modules[i];

		if (m->hold.stale)
			continue;
		if (m->hold.outdated || (m->hold.unheld && version_changed(m)))
			module_retire(c, i + 1, 0);
		else if (m->hold.busy && module_hold(c, i + 1) != -ETXTBSY)
			c->files.changed = true;
	}
}

bool modules_hold_is_urgent(const struct collector *c)
{
	return any_of(i, c->files.nr_modules, c->files.modules[i].hold.breaking);
}
