/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command after `--`, stopped before its first instruction until launch_go(). Functions
 * return 0 or a negative errno. */
#pragma once

struct collector;

struct command {
	pid_t pid;
	int keeper; /* socket to the keeper: if it is closed, the keeper ends the command */
	int status;
	bool ended;
};

/* Start the command, stopped at its first instruction. */
int launch_start(struct collector *c);
/* Let the command run. */
int launch_go(struct collector *c);
/* End the command when the collector ends: SIGTERM, or SIGKILL if it never ran. */
void launch_end(struct collector *c, bool ran);
