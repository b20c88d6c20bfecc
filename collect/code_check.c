// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/code_check.h"

#include <sys/mman.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/code_memory.h"
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/learn.h"
#include "collect/modules.h"
#include "collect/process/small_file.h"
#include "collect/reader.h"
#include "collect/site_check.h"
#include "collect/state.h"

enum {
	MAX_CHECKED = 1 << 20,
	MAX_HOLDS = 1024,
	CHANGED_IN_ROUND = 256, /* sites that are found changed */
	PAGE = 4096,
	SIGNAL_TRAP = 5,
	MANY_SIGNALS = 40, /* a runtime that handles so many does not handle SIGTRAP for itself */
	READY_NS = 200000, /* for so long after a registration the next one is surely fast */
};

/* A site that has or had a probe in one process. */
struct code_site {
	uint32_t module;
	uint64_t offset;
	uint8_t length;
	bool changed; /* its code was found to differ from the file */
};

struct code_process {
	pid_t pid;
	struct code_site *sites;
	unsigned int nr_sites, cap_sites;
};

/* A uprobe that only the collector's own memory has; see hold(). */
struct code_hold {
	uint32_t module;
	uint64_t offset;
	void *page;
	struct attachment uprobe;
};

struct code_checks {
	struct code_process *processes;
	unsigned int nr_processes, cap_processes;
	unsigned int next; /* process with which the next round begins */
	struct code_hold holds[MAX_HOLDS];
	unsigned int nr_holds;
	int nothing;		   /* a file that nobody maps; -1: there is none; see get_ready() */
	uint64_t registered_ns;	   /* end of the last registration of uprobes */
	struct code_piece *pieces; /* of the present comparison */
	unsigned int nr_pieces, cap_pieces;
};

/* ---- sites ------------------------------------------------------------ */

static struct code_process *process_find(struct code_checks *k, pid_t pid)
{
	return find_first(i, k->processes, k->nr_processes, k->processes[i].pid == pid);
}

static struct code_process *process_of(struct code_checks *k, pid_t pid)
{
	struct code_process *p = process_find(k, pid);

	if (p || array_grow(k->processes, k->nr_processes, k->cap_processes, MAX_CHECKED))
		return p;
	p = &k->processes[k->nr_processes++];
	*p = (struct code_process){.pid = pid};
	return p;
}

static struct code_site *site_find(const struct code_process *p, uint32_t module, uint64_t offset)
{
	return find_first(i, p->sites, p->nr_sites,
			  p->sites[i].offset == offset && p->sites[i].module == module);
}

/* True if we have or had a probe at this site, in whatever process: a forked child inherits it. */
static bool is_ours(const struct code_checks *k, uint32_t module, uint64_t offset)
{
	return any_of(i, k->nr_processes, site_find(&k->processes[i], module, offset));
}

/* ---- comparisons ------------------------------------------------------ */

/* Add the places at which a process maps a site to the comparison. */
static int pieces_add(struct collector *c, pid_t pid, const struct code_site *s, uint32_t point)
{
	struct code_checks *k = c->code;

	for (unsigned int i = 0; i < c->files.nr_mappings; i++) {
		const struct file_mapping *m = &c->files.mappings[i];
		uint64_t address, left;

		if (m->pid != pid)
			continue;
		address = mapping_address(m, s->module, s->offset);
		if (!address)
			continue;
		if (array_grow(k->pieces, k->nr_pieces, k->cap_pieces, MAX_CHECKED))
			return -ENOMEM;
		left = m->end - address;
		k->pieces[k->nr_pieces++] = (struct code_piece){
		    .address = address,
		    .offset = s->offset,
		    .map_start = m->start,
		    .map_end = m->end,
		    .point = point,
		    .length = s->length		      ? s->length
			      : left < CODE_MAX_BYTES ? (uint8_t)left
						      : CODE_MAX_BYTES,
		};
	}
	return 0;
}

/*
 * True if a breakpoint that is not ours can only be a uprobe of another program, which the kernel
 * shares with ours. If a debugger or the program itself has set it, a uprobe would take its
 * signals, and remove it in the end.
 */
static bool breakpoint_is_uprobe(pid_t pid)
{
	unsigned long long caught = 0;
	char buf[4096], *line;
	int tracer = 0;

	if (small_file_read(buf, sizeof(buf), "/proc/%d/status", pid) < 0)
		return false;
	line = strstr(buf, "\nTracerPid:");
	if (!line || sscanf(line, "\nTracerPid: %d", &tracer) != 1 || tracer)
		return false;
	line = strstr(buf, "\nSigCgt:");
	if (!line || sscanf(line, "\nSigCgt: %llx", &caught) != 1)
		return false;
	/* without a handler the signal of a breakpoint would end the program */
	return !(caught & 1ull << (SIGNAL_TRAP - 1)) ||
	       __builtin_popcountll(caught) >= MANY_SIGNALS;
}

static bool differs(const struct code_checks *k, const struct code_piece *p, uint32_t module,
		    pid_t pid)
{
	return p->state == CODE_CHANGED ||
	       (p->state == CODE_BREAKPOINT && !is_ours(k, module, p->offset) &&
		!breakpoint_is_uprobe(pid));
}

/* ---- uprobes that outlast the probes ---------------------------------- */

/*
 * Keep the kernel's uprobe at a site whose code the target has changed, without a breakpoint in
 * the target. A program that saves the code before it patches it may save our breakpoint, and write
 * it back later. If the kernel knows a uprobe there, the breakpoint then does no harm; otherwise it
 * ends the program. The uprobe is limited to this process, which maps the page so that the kernel
 * reads the instruction.
 */
static void hold(struct collector *c, uint32_t module, uint64_t offset)
{
	struct attach_point point = {.offset = offset};
	struct attach_points set = {.list = &point, .nr = 1};
	struct code_checks *k = c->code;
	struct code_hold *h = &k->holds[k->nr_holds];
	int fd;

	if (k->nr_holds == MAX_HOLDS || c->files.modules[module - 1].remote ||
	    any_of(i, k->nr_holds, k->holds[i].offset == offset && k->holds[i].module == module))
		return;
	fd = module_content(c, module);
	if (fd < 0)
		return;
	*h = (struct code_hold){.module = module, .offset = offset};
	h->page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(offset / PAGE * PAGE));
	if (h->page != MAP_FAILED &&
	    !attach_points(&h->uprobe, kernel_side_program(c->kernel, PROGRAM_SITE),
			   kernel_side_uprobes(c->kernel) == UPROBE_MULTI, fd, getpid(), &set))
		k->nr_holds++;
	else if (h->page != MAP_FAILED)
		munmap(h->page, 2 * PAGE);
	close(fd);
}

static void site_changed(struct collector *c, struct code_site *s)
{
	s->changed = true;
	hold(c, s->module, s->offset);
}

/* ---- the time between comparing and attaching ------------------------- */

/*
 * Before the kernel registers a uprobe, it waits up to 15 ms for all CPUs (an RCU grace period, for
 * its lock dup_mmap_sem), but not if it has just done so. Register a uprobe in a file that nobody
 * maps, so that the code does not change unseen during that wait: then a tenth of a millisecond is
 * left between the comparison and the breakpoint.
 */
static void get_ready(struct collector *c)
{
	struct attach_point point = {.offset = 0};
	struct attach_points set = {.list = &point, .nr = 1};
	struct attachment a;

	if (c->code->nothing < 0 || now_ns() - c->code->registered_ns < READY_NS)
		return;
	if (!attach_points(&a, kernel_side_program(c->kernel, PROGRAM_SITE),
			   kernel_side_uprobes(c->kernel) == UPROBE_MULTI, c->code->nothing,
			   getpid(), &set))
		attachment_release(&a, false);
}

static struct code_checks *checks_new(void)
{
	static const uint8_t nops[PAGE] = {0x90, 0x90};
	struct code_checks *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->nothing = memfd_create("peaktop-nothing", MFD_CLOEXEC);
	if (k->nothing >= 0 && write(k->nothing, nops, sizeof(nops)) != (ssize_t)sizeof(nops)) {
		close(k->nothing);
		k->nothing = -1;
	}
	return k;
}

/* ---- attaching -------------------------------------------------------- */

/* The first point whose code differs from the file, or points->nr. Negative errno: not known. */
static int64_t first_changed(struct collector *c, struct code_process *p, uint32_t module,
			     const struct attach_points *points)
{
	struct code_checks *k = c->code;
	int64_t found = (int64_t)points->nr;
	int err = 0;

	k->nr_pieces = 0;
	for (size_t i = 0; i < points->nr && !err; i++) {
		const struct code_site *known = site_find(p, module, points->list[i].offset);
		struct code_site s = {.module = module, .offset = points->list[i].offset};

		if (known && known->changed)
			return (int64_t)i;
		s.length = known ? known->length : site_length(c, module, s.offset);
		err = pieces_add(c, p->pid, &s, (uint32_t)i);
	}
	if (!err)
		err = code_memory_compare(p->pid, k->pieces, k->nr_pieces);
	for (unsigned int i = 0; i < k->nr_pieces && !err; i++) {
		const struct code_piece *piece = &k->pieces[i];
		if (piece->state == CODE_UNREADABLE)
			err = -EFAULT;
		else if (piece->point < found && differs(k, piece, module, p->pid))
			found = piece->point;
	}
	return err ? err : found;
}

static int sites_note(struct collector *c, struct code_process *p, uint32_t module,
		      const struct attach_points *points)
{
	for (size_t i = 0; i < points->nr; i++) {
		uint64_t offset = points->list[i].offset;

		if (site_find(p, module, offset))
			continue;
		if (array_append(p->sites, p->nr_sites, p->cap_sites, MAX_CHECKED,
				 (struct code_site){.module = module,
						    .offset = offset,
						    .length = site_length(c, module, offset)}))
			return -ENOMEM;
	}
	return 0;
}

static int points_check(struct collector *c, uint32_t module, pid_t pid,
			struct attach_points *points, bool attached)
{
	struct code_process *p;
	struct code_site *s;
	int64_t found;

	if (!points->nr)
		return 0;
	if (!c->code)
		c->code = checks_new();
	p = c->code ? process_of(c->code, pid) : NULL;
	if (!p)
		return -ENOMEM;
	if (attached)
		c->code->registered_ns = now_ns();
	else
		get_ready(c);
	found = first_changed(c, p, module, points);
	if (found < 0)
		return (int)found;
	if ((size_t)found == points->nr)
		return attached ? 0 : sites_note(c, p, module, points);
	points->refused = (size_t)found;
	s = site_find(p, module, points->list[found].offset);
	if (s)
		site_changed(c, s);
	return -CODE_DIFFERS;
}

int code_check_before(struct collector *c, uint32_t module, pid_t pid, struct attach_points *points)
{
	return points_check(c, module, pid, points, false);
}

int code_check_after(struct collector *c, uint32_t module, pid_t pid, struct attach_points *points)
{
	return points_check(c, module, pid, points, true);
}

/* ---- while there are probes ------------------------------------------- */

/* The code at this site of a process is not the file's any more. */
static void changed_found(struct collector *c, pid_t pid, uint32_t module, uint64_t offset)
{
	struct code_process *p = process_find(c->code, pid);
	struct code_site *s = p ? site_find(p, module, offset) : NULL;

	if (!s || s->changed)
		return;
	site_changed(c, s);
	functions_code_changed(c, module, offset);
	descend_code_changed(c, module, offset);
	learn_code_changed(c, module, offset);
}

/* Add the sites of the next processes to the comparison. */
static void pieces_of_round(struct collector *c)
{
	struct code_checks *k = c->code;
	unsigned int nr = k->nr_processes, sites = 0;

	if (nr > CODE_CHECK_PROCESSES)
		nr = CODE_CHECK_PROCESSES;
	k->nr_pieces = 0;
	for (; nr && sites < CODE_CHECK_SITES; nr--) {
		const struct code_process *p = &k->processes[k->next++ % k->nr_processes];
		unsigned int first = k->nr_pieces;

		sites += p->nr_sites;
		/* if it cannot be read now, a later round tries again */
		if (reader_hangs(p->pid, READER_CODE))
			continue;
		for (unsigned int i = 0; i < p->nr_sites; i++) {
			if (!p->sites[i].changed && pieces_add(c, p->pid, &p->sites[i], i))
				break;
		}
		for (unsigned int i = first; i < k->nr_pieces; i++)
			k->pieces[i].pid = p->pid;
	}
}

void code_check_turn(struct collector *c)
{
	struct code_checks *k = c->code;
	struct {
		pid_t pid;
		uint32_t module;
		uint64_t offset;
	} changed[CHANGED_IN_ROUND];
	unsigned int nr = 0, first;

	if (!k)
		return;
	first = k->next;
	pieces_of_round(c);
	if (k->nr_pieces)
		code_memory_compare_all(k->pieces, k->nr_pieces);
	for (unsigned int i = 0; i < k->nr_pieces && nr < CHANGED_IN_ROUND; i++) {
		const struct code_piece *piece = &k->pieces[i];
		const struct code_process *p = process_find(k, piece->pid);

		if (piece->state != CODE_CHANGED || !p)
			continue;
		changed[nr].pid = piece->pid;
		changed[nr].module = p->sites[piece->point].module;
		changed[nr++].offset = piece->offset;
	}
	/* then the next round begins with the same processes */
	if (nr == CHANGED_IN_ROUND)
		k->next = first;
	/* attaching the rest again replaces the list of pieces */
	for (unsigned int i = 0; i < nr; i++)
		changed_found(c, changed[i].pid, changed[i].module, changed[i].offset);
}

bool code_check_is_used(const struct collector *c)
{
	return c->code && c->code->nr_processes;
}

void code_check_forget(struct collector *c, pid_t pid)
{
	struct code_process *p = c->code ? process_find(c->code, pid) : NULL;

	if (!p)
		return;
	free(p->sites);
	*p = c->code->processes[--c->code->nr_processes];
}

static void hold_release(struct code_hold *h)
{
	attachment_release(&h->uprobe, false);
	munmap(h->page, 2 * PAGE);
}

void code_check_forget_module(struct collector *c, uint32_t module)
{
	struct code_checks *k = c->code;

	if (!k)
		return;
	for (unsigned int i = k->nr_holds; i > 0; i--) {
		if (k->holds[i - 1].module != module)
			continue;
		hold_release(&k->holds[i - 1]);
		k->holds[i - 1] = k->holds[--k->nr_holds];
	}
	for (unsigned int i = 0; i < k->nr_processes; i++) {
		struct code_process *p = &k->processes[i];
		unsigned int kept = 0;

		for (unsigned int s = 0; s < p->nr_sites; s++) {
			if (p->sites[s].module != module)
				p->sites[kept++] = p->sites[s];
		}
		p->nr_sites = kept;
	}
}

void code_check_release(struct collector *c)
{
	struct code_checks *k = c->code;

	if (!k)
		return;
	while (k->nr_holds)
		hold_release(&k->holds[--k->nr_holds]);
	while (k->nr_processes)
		free(k->processes[--k->nr_processes].sites);
	if (k->nothing >= 0)
		close(k->nothing);
	free(k->processes);
	free(k->pieces);
	free(k);
	c->code = NULL;
}
