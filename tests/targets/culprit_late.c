// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_late SECONDS KIND: libcallback.so, stripped and without frame pointers. Opened while the
 * program runs (opened), or something between the program and a function of the program that it
 * calls back (called).
 */
#include <dlfcn.h>

#include "culprit.h"

enum { ITEMS = 8 };

typedef uint64_t (*work_fn)(uint64_t us);
typedef void (*each_fn)(const uint64_t *item, int n, void (*f)(uint64_t, void *), void *arg);

static char kind;
static work_fn work;
static each_fn each;

static void open_library(const char *program)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s", program);
	*strrchr(path, '/') = '\0';
	strncat(path, "/libcallback.so", sizeof(path) - strlen(path) - 1);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		die(path);
	work = (work_fn)dlsym(library, "callback_work");
	each = (each_fn)dlsym(library, "callback_each");
}

WATCHED void visit(uint64_t us, void *sum)
{
	SPIN_US(us);
	*(uint64_t *)sum += bystander(us);
}

WATCHED int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	if (x == 1000 || y == 1000)
		SPIN_US(1000);
	KEEP(bystander(x));
	return (x > y) - (x < y);
}

WATCHED void sort(uint64_t us)
{
	uint64_t item[ITEMS] = {5, 3, us, 9, 4, 8, 1, 2};

	qsort(item, ITEMS, sizeof(item[0]), compare);
	KEEP(bystander(item[0]));
}

WATCHED void traverse(uint64_t us)
{
	uint64_t item[ITEMS] = {1, 2, 3, 1, us}, sum = 0;

	each(item, ITEMS, visit, &sum);
	KEEP(bystander(sum));
}

WATCHED void load(uint64_t us)
{
	KEEP(work(us));
	KEEP(bystander(us));
}

static const char *program;

WATCHED void serve(uint64_t i)
{
	const uint64_t us = i % 4 ? 10 : 1000;

	SPIN_US(10);
	if (kind == 's')
		sort(us);
	else if (kind == 'c')
		traverse(us);
	else if (work)
		load(us);
	KEEP(bystander(i));
}

WATCHED void request(uint64_t i)
{
	if (kind == 'o' && i == 200)
		open_library(program);
	serve(i);
}

int main(int argc, char **argv)
{
	program = argv[0];
	target_begin(&argc, &argv);
	kind = argc > 2 ? argv[2][0] : 'o';
	if (kind == 'c')
		open_library(program);
	return culprit_run(argc, argv, request, 150);
}
