/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files whose code the targets map, and these mappings. Modules are numbered from 1. */
#pragma once

#include "collect/attach.h"

struct collector;
struct mapping;
struct target;

enum { MAX_MODULES = 4096, MAX_MAPPINGS = 65536 };

/* What tells that a file was written to. */
struct file_version {
	int64_t modified_ns, changed_ns;
	uint64_t size;
};

/* How a file is kept from changing below its probes (module_hold.h). */
struct file_hold {
	struct file_version version; /* when the file was opened */
	int lease;		     /* -1: none */
	bool breaking;		     /* somebody waits to write until the probes are gone */
	bool busy;		     /* open for writing: not probed until that ends */
	bool unheld;		     /* no lease is possible: probed, and its version is watched */
	bool outdated;		     /* its content has changed: it is retired soon */
	bool stale;		     /* its content has changed: a module of the past */
};

/* A file whose code a target maps. */
struct file_module {
	uint64_t dev, inode, size;
	char *path;
	int fd; /* -1: not opened yet. If `remote`, an O_PATH descriptor, whose use never waits for
		   the file system */
	bool remote;
	bool made; /* not a file of code: its mappings belong to the perf map */
	int copy;  /* if `remote`: a copy of the content in memory; -1: not copied yet */
	pid_t pid; /* process in which it was first seen */
	uint64_t start, end;
	struct file_hold hold;
};

struct file_mapping {
	pid_t pid;
	uint32_t module; /* number of the module, from 1 */
	uint64_t start, end, offset;
	bool copied; /* a copy of the file in anonymous memory, which cannot be probed */
	bool seen;   /* found by the current scan */
};

struct module_table {
	struct file_module modules[MAX_MODULES];
	unsigned int nr_modules;
	unsigned int nr_followed; /* those that modules_follow() has compared with the others */
	struct file_mapping *mappings;
	unsigned int nr_mappings, cap_mappings;
	uint64_t mappings_version; /* counts their changes */
	bool changed;
	bool said_stale;
	struct opener *opener; /* NULL: debug files and checks of sites are not available */
	struct site_checks *checks;
};

/* Read the mappings of a target again and send what has changed. Returns 0 or a negative
 * errno. */
int modules_scan(struct collector *c, struct target *t);
/* The same if the size of the target's memory has changed, or after five seconds: a scan takes a
 * process of its own and the lock of the target's memory. */
void modules_look(struct collector *c, struct target *t);
/* The same if this address is in no mapping that is known, but not more often than 20 times a
 * second. */
void modules_check(struct collector *c, pid_t pid, uint64_t address);
/* Drop the mappings of a process that has ended. */
void modules_forget(struct collector *c, pid_t pid);
/* Forget the perf map of a process, because it runs another program or its pid was reused. */
void perf_map_forget(struct collector *c, pid_t pid);
/* True for a known file that holds code made at run time, as a memfd or a file in /dev/shm. */
bool module_is_made(const struct collector *c, const struct mapping *m);
/* True for the vDSO, which has no file and cannot be probed. */
bool module_is_vdso(const struct collector *c, uint32_t module);
/* False for the vDSO and for code that was made at run time. */
bool module_has_file(const struct collector *c, uint32_t module);
/* A descriptor of the file's content, for the parser, or a negative errno. The caller closes
 * it. */
int module_content(struct collector *c, uint32_t module);
/* Attach the program of the sites to points of a module, in one process: see attach_points(), and
 * code_check.h for the error -CODE_DIFFERS. */
int module_attach(struct collector *c, uint32_t module, pid_t pid, struct attach_points *points,
		  struct attachment *a);
/* The address at which `m` maps this place of a file; 0: it maps another one, or a copy. */
uint64_t mapping_address(const struct file_mapping *m, uint32_t module, uint64_t offset);
/* The mapping at an address of a process; NULL: none. */
const struct file_mapping *mapping_at(const struct collector *c, pid_t pid, uint64_t address);
void modules_release(struct collector *c);
