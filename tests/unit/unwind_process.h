/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the tests of the unwinder: the mappings and modules of a process that
 * belongs to the test, its registers and copies of its memory.
 */
#ifndef TESTS_UNIT_UNWIND_PROCESS_H
#define TESTS_UNIT_UNWIND_PROCESS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "analysis/unwind/unwind.h"

enum { PROCESS_MAPS = 256, PROCESS_MODULES = 64 };

struct process {
	struct unwind_mapping maps[PROCESS_MAPS];
	size_t nr_maps;
	char path[PROCESS_MODULES][256]; /* by module number; "" of none */
	struct module *module[PROCESS_MODULES];
	unsigned int nr_modules;
	struct unwind_map *map;
	struct unwinder *unwinder;
	unsigned int asked; /* how often a module was asked for */
};

/* Copy memory without the sanitiser looking on. Bytes copied. */
static inline size_t process_read(pid_t pid, uint64_t address, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)address, n};
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

/* What the kernel maps into every process is an ELF file too. */
static inline int process_vdso(pid_t pid, uint64_t start, uint64_t end)
{
	char bytes[1 << 14];
	size_t n = end - start < sizeof(bytes) ? end - start : sizeof(bytes);
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	n = process_read(pid, start, bytes, n);
	if (fd >= 0 && write(fd, bytes, n) != (ssize_t)n) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline unsigned int process_module(struct process *p, pid_t pid, const char *path,
					  uint64_t start, uint64_t end)
{
	unsigned int i;
	int fd;

	for (i = 1; i <= p->nr_modules; i++)
		if (!strcmp(p->path[i], path))
			return i;
	if (i == PROCESS_MODULES)
		return 0;
	fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : process_vdso(pid, start, end);
	if (fd < 0)
		return 0;
	if (module_open(&p->module[i], fd))
		p->module[i] = NULL;
	close(fd);
	if (!p->module[i])
		return 0;
	snprintf(p->path[i], sizeof(p->path[i]), "%s", path);
	module_set_name(p->module[i], path);
	p->nr_modules = i;
	return i;
}

static inline struct module *process_module_of(void *context, uint32_t number)
{
	struct process *p = context;

	p->asked++;
	return number < PROCESS_MODULES ? p->module[number] : NULL;
}

/* Read (again) what is mapped. */
static inline bool process_maps(struct process *p, pid_t pid)
{
	char name[64], line[512], perms[8], path[256];
	unsigned long start, end, offset;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return false;
	p->nr_maps = 0;
	while (fgets(line, sizeof(line), f) && p->nr_maps < PROCESS_MAPS) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, perms, &offset,
			   path) < 4 ||
		    perms[2] != 'x' || !strcmp(path, "[vsyscall]"))
			continue;
		p->maps[p->nr_maps++] = (struct unwind_mapping){
		    start, end, offset, path[0] ? process_module(p, pid, path, start, end) : 0};
	}
	fclose(f);
	unwind_map_free(p->map);
	p->map = unwind_map_new(p->maps, p->nr_maps);
	return p->map;
}

static inline bool process_begin(struct process *p, pid_t pid)
{
	memset(p, 0, sizeof(*p));
	p->unwinder = unwinder_new(process_module_of, p);
	return p->unwinder && process_maps(p, pid);
}

static inline void process_end(struct process *p)
{
	unsigned int i;

	for (i = 1; i <= p->nr_modules; i++)
		module_free(p->module[i]);
	unwind_map_free(p->map);
	unwinder_free(p->unwinder);
}

/* The address of a frame in the process; the first mapping of its place is meant. */
static inline uint64_t process_address(const struct process *p, const struct unwind_frame *f)
{
	size_t i;

	if (!f->module)
		return f->offset;
	for (i = 0; i < p->nr_maps; i++)
		if (p->maps[i].module == f->module && f->offset >= p->maps[i].offset &&
		    f->offset - p->maps[i].offset <= p->maps[i].end - p->maps[i].start)
			return f->offset - p->maps[i].offset + p->maps[i].start;
	return 0;
}

/* Name of the function of a frame. */
static inline const char *process_function(struct process *p, const struct unwind_frame *f)
{
	const struct module_function *function;

	if (!f->module)
		return "?";
	function = module_function_at_offset(p->module[f->module], f->function);
	return function && function->symbol ? function->symbol : "?";
}

static inline void process_registers(const struct user_regs_struct *r, uint64_t *to)
{
	const uint64_t in_order[ROW_REGISTERS] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						  r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
						  r->r12, r->r13, r->r14, r->r15, r->rip};

	memcpy(to, in_order, sizeof(in_order));
}

#endif
