/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and mappings of the targets. */
#ifndef PEAKTOP_COLLECT_MODULES_H
#define PEAKTOP_COLLECT_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/attach.h"

struct collector;
struct target;

enum { MAX_MODULES = 4096, MAX_MAPPINGS = 65536 };

/* A file of which a target maps code. */
struct file_module {
	uint64_t dev, inode, size;
	char *path;
	int fd; /* -1: not opened yet; if `remote`, of O_PATH only: no file system that can hang is
		   touched by using it */
	bool remote;
	int copy;  /* if `remote`: the content, in memory; -1: not copied yet */
	pid_t pid; /* whose mapping it was first seen in */
	uint64_t start, end;
};

struct file_mapping {
	pid_t pid;
	uint32_t module; /* from 1 */
	uint64_t start, end, offset;
	bool seen; /* in the scan going on */
};

struct module_table {
	struct file_module modules[MAX_MODULES];
	unsigned int nr_modules;
	struct file_mapping *mappings;
	unsigned int nr_mappings, cap_mappings;
	bool changed;
	struct opener *opener; /* NULL: no debug files, and no site can be checked */
	struct site_checks *checks;
};

int modules_scan(struct collector *c, struct target *t);
void modules_forget(struct collector *c, pid_t pid);
/* The process runs another program, or another process has its pid: the map of the code it made is
 * another file. */
void perf_map_forget(struct collector *c, pid_t pid);
/* Descriptor of a module's file; owned by the table. */
int module_file(struct collector *c, uint32_t module);
/* A descriptor of its content, for the parser; the caller's. */
int module_content(struct collector *c, uint32_t module);
/*
 * Does the file system answer for the instructions at these points? Ask before attaching to them:
 * the kernel reads them from the file, and nothing can interrupt it there. 0 or a negative errno.
 */
int module_answers(struct collector *c, uint32_t module, const struct attach_point *points,
		   size_t n);
/* Open a separate debug file under the fixed debug roots. */
int module_debug_file(struct collector *c, uint32_t module, const char *build_id, const char *name);
void modules_release(struct collector *c);

#endif
