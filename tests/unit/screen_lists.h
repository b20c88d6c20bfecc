/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates of the watch prompt and rows of the process picker. */
#ifndef TESTS_SCREEN_LISTS_H
#define TESTS_SCREEN_LISTS_H

#include "tui/screen/screen.h"

static const struct function_candidate candidates[] = {
    {"processCommand(client*)", "redis-server", "processCommand@redis-server"},
    {"processInput", "redis-server", "processInput@redis-server"},
    {"posix_spawn\x1b[2J", "libc.so.6", "posix_spawn@libc.so.6"},
};

static const struct picker_process processes[] = {
    {1, "root", 0.1, 'S', 1, "systemd", "/sbin/init", false, false},
    {1234, "redis", 62.4, 'S', 5, "redis-server", "/usr/bin/redis-server 127.0.0.1:6379", true,
     false},
    {4321, "postgres", 3.0, 'R', 1, "postgres", "postgres: checkpointer", true, false},
    {777, "mallory", 1.0, 'S', 1, "x\x1b]0;evil\a", "evil\n\xe2\x80\xaename", true, false},
    {888, "qemu", -1, 'S', 900, "qemu", "qemu-system-x86_64", true, false},
    {99, "root", 0, 'I', 1, "kworker/0:1", "", false, true},
};

#endif
