// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/modules.h"
#include "analysis/base/array.h"
#include "collect/code_check.h"
#include "collect/file_lease.h"
#include "collect/module_hold.h"
#include "collect/opener.h"
#include "collect/probed.h"
#include "collect/process/live_thread.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/vdso.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* No device has this number. It marks modules that are perf maps of code made at run time;
 * their inode is the pid. */
#define PERF_MAP_DEV UINT64_MAX
/* The same for the vDSO, which is one module for all processes. */
#define VDSO_DEV (UINT64_MAX - 1)

#define SECOND_NS 1000000000ull
#define SCAN_NS (5 * SECOND_NS)

enum { CHECKS_PER_SECOND = 20 };

struct module_scan {
	struct collector *c;
	struct target *target;
	uint32_t perf_map; /* module for code without a file (perf map); 0: none */
	bool perf_map_tried;
	unsigned int at; /* index after the last mapping found, where the next search starts */
};

/* The module of this file; 0: it is new. */
static uint32_t module_find(const struct collector *c, const struct mapping *m)
{
	for (unsigned int i = c->files.nr_modules; i > 0; i--) {
		if (c->files.modules[i - 1].inode == m->inode &&
		    c->files.modules[i - 1].dev == m->dev)
			return i;
	}
	return 0;
}

static uint32_t module_of(struct collector *c, const struct target *t, const struct mapping *m)
{
	const struct mapping *of_file = m->copied_beside ? m->copied_beside : m;
	uint32_t found = module_find(c, m);
	struct file_module *mod;
	struct map_file about;

	if (found || c->files.nr_modules == MAX_MODULES)
		return found;
	mod = &c->files.modules[c->files.nr_modules];
	*mod = (struct file_module){.dev = m->dev,
				    .inode = m->inode,
				    .fd = -1,
				    .copy = -1,
				    .pid = t->pid,
				    .hold = {.lease = -1}};
	mod->start = of_file->start;
	mod->end = of_file->end;
	mod->path = strdup(m->path);
	if (!mod->path)
		return 0;
	c->files.nr_modules++;
	/* open the file now: it may be replaced or unmapped before it is needed */
	if (m->dev == VDSO_DEV) {
		mod->fd = vdso_copy();
	} else if (m->dev != PERF_MAP_DEV) {
		mod->fd = target_map_file(t->pid, mod->start, mod->end, &about);
		mod->size = about.size;
		mod->remote = about.remote;
		mod->made = about.made;
		module_opened(mod);
	}
	send_record(c,
		    &(struct record){.type = REC_MODULE,
				     .module = {.module = c->files.nr_modules,
						.dev = m->dev,
						.inode = m->inode,
						.path = mod->path,
						.size = mod->size,
						.name = strcmp(m->path, t->exe) ? "" : t->link}});
	return c->files.nr_modules;
}

bool module_is_made(const struct collector *c, const struct mapping *m)
{
	uint32_t module = module_find(c, m);

	return module && c->files.modules[module - 1].made;
}

/*
 * The perf map that a JIT compiler writes (/tmp/perf-PID.map), as a module whose offsets are
 * addresses of the process. Accept it only if the target's user or root owns it. 0: there is
 * none.
 */
static uint32_t perf_map_of(struct collector *c, const struct target *t)
{
	struct mapping m = {.inode = (uint64_t)t->pid, .dev = PERF_MAP_DEV};
	char path[64];
	struct stat st;
	uint32_t module = module_find(c, &m);
	int fd;

	if (module)
		return module;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", t->ns_pid);
	fd = opener_open(c->files.opener, t->pid, path + 1);
	if (fd < 0)
		return 0;
	m.path = path;
	module = !fstat(fd, &st) && (!st.st_uid || st.st_uid == t->uid) ? module_of(c, t, &m) : 0;
	if (module)
		c->files.modules[module - 1].fd = fd;
	else
		close(fd);
	return module;
}

static void mapping_send(struct collector *c, const struct file_mapping *fm, bool gone)
{
	c->files.mappings_version++;
	send_record(c, &(struct record){.type = REC_MAPPING,
					.mapping = {.pid = (uint32_t)fm->pid,
						    .module = fm->module,
						    .start = fm->start,
						    .end = fm->end,
						    .offset = fm->offset,
						    .gone = gone,
						    .copied = fm->copied}});
}

/* Find this mapping among those of earlier scans; NULL: it is new. */
static struct file_mapping *mapping_find(struct module_scan *s, const struct mapping *m)
{
	struct collector *c = s->c;

	for (unsigned int n = 0; n < c->files.nr_mappings; n++, s->at++) {
		struct file_mapping *fm;

		if (s->at >= c->files.nr_mappings)
			s->at = 0;
		fm = &c->files.mappings[s->at];
		if (fm->pid == s->target->pid && fm->start == m->start && fm->end == m->end &&
		    fm->offset == m->offset && fm->copied == !!m->copied_beside &&
		    c->files.modules[fm->module - 1].inode == m->inode &&
		    c->files.modules[fm->module - 1].dev == m->dev) {
			s->at++;
			return fm;
		}
	}
	return NULL;
}

/* The same mapping as one of the target's perf map. False: it has none. */
static bool made_mapping(struct module_scan *s, const struct mapping *m, struct mapping *made)
{
	if (!s->perf_map_tried)
		s->perf_map = perf_map_of(s->c, s->target);
	s->perf_map_tried = true;
	*made = (struct mapping){.start = m->start,
				 .end = m->end,
				 .offset = m->start,
				 .dev = PERF_MAP_DEV,
				 .inode = (uint64_t)s->target->pid,
				 .path = ""};
	return s->perf_map;
}

/* A mapping that earlier scans did not find. Returns 0 or -ENOMEM. */
static int mapping_add(struct module_scan *s, const struct mapping *m, uint32_t module)
{
	struct collector *c = s->c;
	struct file_mapping *fm;

	if (!module || c->files.nr_mappings == MAX_MAPPINGS)
		return 0;
	if (array_grow(c->files.mappings, c->files.nr_mappings, c->files.cap_mappings,
		       MAX_MAPPINGS))
		return -ENOMEM;
	fm = &c->files.mappings[c->files.nr_mappings++];
	*fm = (struct file_mapping){.pid = s->target->pid,
				    .module = module,
				    .start = m->start,
				    .end = m->end,
				    .offset = m->offset,
				    .copied = m->copied_beside,
				    .seen = true};
	mapping_send(c, fm, false);
	c->files.changed = true;
	return 0;
}

static int mapping_seen(void *ctx, const struct mapping *m)
{
	struct module_scan *s = ctx;
	struct file_mapping *fm;
	struct mapping made;
	uint32_t module = 0;

	if (mapping_is_vdso(m)) {
		if (m->end - m->start != vdso_size())
			return 0;
		made = *m;
		made.dev = VDSO_DEV;
		made.inode = 1;
		m = &made;
	}
	fm = m->inode ? mapping_find(s, m) : NULL;
	if (!fm && m->inode)
		module = module_of(s->c, s->target, m);
	if (!m->inode || (module && s->c->files.modules[module - 1].made)) {
		if (!made_mapping(s, m, &made))
			return 0;
		fm = mapping_find(s, &made);
		module = s->perf_map;
		m = &made;
	}
	if (fm) {
		fm->seen = true;
		return 0;
	}
	return mapping_add(s, m, module);
}

static void mapping_drop(struct collector *c, unsigned int i)
{
	const struct file_mapping *m = &c->files.mappings[i];

	mapping_send(c, m, true);
	/* other code may be mapped there next */
	if (c->functions.nr)
		kernel_side_returns_forget(c->kernel, (uint32_t)m->pid, m->start, m->end);
	c->files.mappings[i] = c->files.mappings[--c->files.nr_mappings];
}

int modules_scan(struct collector *c, struct target *t)
{
	struct module_scan s = {.c = c, .target = t};
	uint64_t began = now_ns(), pages = target_pages(t->pid);
	int err;

	for (unsigned int i = 0; i < c->files.nr_mappings; i++) {
		if (c->files.mappings[i].pid == t->pid)
			c->files.mappings[i].seen = false;
	}
	err = target_mappings(t->pid, mapping_seen, &s);
	if (err)
		return err;
	/* an ended process maps nothing any more; its last stacks are unwound with what it had */
	if (!any_of(i, c->files.nr_mappings,
		    c->files.mappings[i].pid == t->pid && c->files.mappings[i].seen))
		return -ESRCH;
	for (unsigned int i = c->files.nr_mappings; i > 0; i--) {
		if (c->files.mappings[i - 1].pid == t->pid && !c->files.mappings[i - 1].seen)
			mapping_drop(c, i - 1);
	}
	t->scanned_ns = began;
	t->scanned_pages = pages;
	return 0;
}

void modules_look(struct collector *c, struct target *t)
{
	uint64_t pages;

	if (!t->pid)
		return;
	pages = target_pages(t->pid);
	if (!pages || pages != t->scanned_pages || now_ns() - t->scanned_ns > SCAN_NS)
		modules_scan(c, t);
}

uint64_t mapping_address(const struct file_mapping *m, uint32_t module, uint64_t offset)
{
	return m->module == module && !m->copied && offset >= m->offset &&
		       offset - m->offset < m->end - m->start
		   ? m->start + (offset - m->offset)
		   : 0;
}

const struct file_mapping *mapping_at(const struct collector *c, pid_t pid, uint64_t address)
{
	for (unsigned int i = 0; i < c->files.nr_mappings; i++) {
		const struct file_mapping *m = &c->files.mappings[i];

		if (m->pid == pid && address >= m->start && address < m->end)
			return m;
	}
	return NULL;
}

/* Code that a compiler makes at run time is in no file, however often the mappings are read. */
static bool check_is_due(struct target *t)
{
	uint64_t now = now_ns();

	if (now - t->checks_since_ns > SECOND_NS) {
		t->checks_since_ns = now;
		t->checks = 0;
	}
	return t->checks++ < CHECKS_PER_SECOND;
}

void modules_check(struct collector *c, pid_t pid, uint64_t address)
{
	struct target *t = target_by_pid(c, (uint32_t)pid);

	if (t && !mapping_at(c, pid, address) && check_is_due(t))
		modules_look(c, t);
}

void perf_map_forget(struct collector *c, pid_t pid)
{
	for (unsigned int i = 0; i < c->files.nr_modules; i++) {
		if (c->files.modules[i].dev == PERF_MAP_DEV &&
		    c->files.modules[i].inode == (uint64_t)pid)
			c->files.modules[i].inode = 0;
	}
}

void modules_forget(struct collector *c, pid_t pid)
{
	perf_map_forget(c, pid);
	for (unsigned int i = c->files.nr_mappings; i > 0; i--) {
		if (c->files.mappings[i - 1].pid == pid)
			mapping_drop(c, i - 1);
	}
}

/* A mapping of this file in any target; NULL: none. */
static const struct file_mapping *module_mapping(const struct collector *c, uint32_t module)
{
	return find_first(i, c->files.mappings, c->files.nr_mappings,
			  c->files.mappings[i].module == module);
}

/* Descriptor of a module's file, owned by the table, or a negative errno. */
static int module_file(struct collector *c, uint32_t module)
{
	struct map_file about;
	struct file_module *m;

	if (!module || module > c->files.nr_modules)
		return -EINVAL;
	m = &c->files.modules[module - 1];
	if (m->hold.stale)
		return -ESTALE;
	for (unsigned int i = 0; i < c->files.nr_mappings && m->fd < 0; i++) {
		struct file_mapping *fm = &c->files.mappings[i];

		if (fm->module != module)
			continue;
		m->fd = target_map_file(fm->pid, fm->start, fm->end, &about);
		m->remote = about.remote;
		module_opened(m);
	}
	return m->fd >= 0 || m->fd == -ETIMEDOUT ? m->fd : -ENOENT;
}

bool module_is_vdso(const struct collector *c, uint32_t module)
{
	return module && module <= c->files.nr_modules &&
	       c->files.modules[module - 1].dev == VDSO_DEV;
}

bool module_has_file(const struct collector *c, uint32_t module)
{
	return module && module <= c->files.nr_modules &&
	       c->files.modules[module - 1].dev < VDSO_DEV;
}

int module_content(struct collector *c, uint32_t module)
{
	const struct file_mapping *fm;
	int fd = module_file(c, module);
	struct file_module *m;

	if (fd < 0)
		return fd;
	m = &c->files.modules[module - 1];
	fm = module_mapping(c, module);
	if (m->remote && m->copy < 0)
		m->copy = fm ? target_map_copy(fm->pid, fm->start, fm->end) : -ENOENT;
	if (m->remote && m->copy < 0)
		return m->copy;
	fd = fcntl(m->remote ? m->copy : fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

/*
 * Check that the file system can provide the instructions at these points. The kernel reads them
 * from the file when it attaches, and that wait cannot be interrupted.
 */
static int module_answers(struct collector *c, uint32_t module, const struct attach_points *points)
{
	const struct file_mapping *fm = module_mapping(c, module);
	int err = 0;

	if (!c->files.modules[module - 1].remote)
		return 0;
	for (size_t i = 0; i < points->nr && !err; i++)
		err = fm ? target_map_answers(fm->pid, fm->start, fm->end, points->list[i].offset)
			 : -ENOENT;
	return err;
}

/*
 * Attach points in a process whose main thread has ended. The kernel finds a process's memory by
 * its main thread, so it would place no probe for this pid. Attach them in every process; the BPF
 * program compares the pid in the upper half of the cookie.
 */
static int attach_everywhere(struct collector *c, int fd, pid_t pid, struct attach_points *points,
			     struct attachment *a)
{
	struct target *t = target_by_pid(c, (uint32_t)pid);
	struct attach_points all = {.nr = points->nr};
	struct attach_point *list = calloc(points->nr, sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < points->nr; i++) {
		list[i] = points->list[i];
		list[i].cookie |= (uint64_t)(uint32_t)pid << PT_COOKIE_PID;
	}
	all.list = list;
	err = attach_points(a, kernel_side_program(c->kernel, PROGRAM_SITE),
			    kernel_side_uprobes(c->kernel) == UPROBE_MULTI, fd, 0, &all);
	points->refused = all.refused;
	free(list);
	if (!err && t && !t->probed_everywhere) {
		t->probed_everywhere = true;
		send_note(c, NOTE_WARNING,
			  "the main thread of pid %d (%s) has ended, so the kernel cannot limit "
			  "probes to this process: other processes that execute the same files run "
			  "into them, too; their calls do not count",
			  pid, t->comm);
	}
	return err;
}

int module_attach(struct collector *c, uint32_t module, pid_t pid, struct attach_points *points,
		  struct attachment *a)
{
	int fd = module_file(c, module), err;

	points->refused = points->nr;
	*a = (struct attachment){0};
	if (fd < 0 || !points->nr)
		return fd < 0 ? fd : 0;
	err = module_answers(c, module, points);
	if (!err)
		err = module_hold(c, module);
	if (!err)
		err = code_check_before(c, module, pid, points);
	if (err)
		return err;
	if (proc_number(pid) != pid)
		err = attach_everywhere(c, fd, pid, points, a);
	else
		err =
		    attach_points(a, kernel_side_program(c->kernel, PROGRAM_SITE),
				  kernel_side_uprobes(c->kernel) == UPROBE_MULTI, fd, pid, points);
	if (err)
		return err;
	a->probed = pid;
	a->nr_probes = points->nr;
	probed_add(pid, points->nr);
	err = code_check_after(c, module, pid, points);
	if (err)
		attachment_release(a, false);
	return err;
}

void modules_release(struct collector *c)
{
	for (unsigned int i = 0; i < c->files.nr_modules; i++) {
		if (c->files.modules[i].fd >= 0)
			close(c->files.modules[i].fd);
		if (c->files.modules[i].copy >= 0)
			close(c->files.modules[i].copy);
		if (c->files.modules[i].hold.lease >= 0)
			lease_release(c->files.modules[i].hold.lease);
		free(c->files.modules[i].path);
	}
	free(c->files.mappings);
	c->files.mappings = NULL;
	c->files.nr_modules = c->files.nr_mappings = c->files.cap_mappings = 0;
}
