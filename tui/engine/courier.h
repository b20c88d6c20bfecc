/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The courier: a process that does what the confined front may not do itself when `record --when`
 * has an answer. It writes lines to the journal and runs the command of --exec, as the invoking
 * user, and nothing else. It ends with the front. */
#pragma once

struct courier;

/* Fork it, before the front gives up its rights. `command`: NULL: lines only. 0 or a negative
 * errno. */
int courier_start(struct courier **out, const char *command, uid_t uid, gid_t gid);
/* Write a line to the journal. */
void courier_line(struct courier *c, const char *line);
/* Run the command with this text on its standard input. Without a command: nothing. */
void courier_run(struct courier *c, const char *text, size_t n);
/* One line about a command that failed, or did not end in time. False: there is none (now). */
bool courier_complaint(struct courier *c, char *out, size_t n);
/* There is nothing more to do: it waits a few seconds for a command that still runs, and ends.
 * courier_complaint() waits for that. */
void courier_finish(struct courier *c);
void courier_end(struct courier *c);
