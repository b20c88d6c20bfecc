/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the process picker: view_picker.c (state and keys) and view_picker_draw.c (drawing).
 */
#pragma once

#include "tui/screen/screen_private.h"

enum picker_order { BY_PID, BY_USER, BY_CPU, BY_STATE, BY_THREADS, BY_COMMAND, NR_ORDERS };
enum { FILTER_MAX = 128, COMMAND_MAX = 256 };

struct picker_entry {
	uint32_t pid, threads;
	double cpu;
	char state;
	bool permitted, kernel;
	char user[24];
	char command[COMMAND_MAX];
};

struct view_picker {
	struct view view;
	struct picker_entry *all;
	size_t *shown;
	size_t nr;
	bool known;	 /* a list has arrived */
	bool has_shares; /* the shares of CPU time are known */
	struct list list;
	uint32_t selected; /* pid; 0: none yet */
	uint32_t ended;	   /* the selected process that has ended since the last key; 0: none */
	bool kernel;	   /* kernel threads are listed, too */
	size_t nr_hidden;  /* kernel threads that match and are not listed */
	enum picker_order order;
	bool reverse;
	char filter[FILTER_MAX];
	bool given;  /* the user has not typed the filter */
	bool typing; /* `/` was pressed: every character goes to the filter */
};

void view_picker_draw(const struct view *v, struct grid *g, struct rect r);
/* The number of rows of the whole view. */
int view_picker_height(const struct view *v, int cols);
