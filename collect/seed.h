/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Initialises the state of the threads of a new target before their first event. */
#pragma once

struct collector;

/* Tell the BPF programs which threads a new target has, and which system calls they are in. */
void threads_seed(struct collector *c, pid_t pid);
