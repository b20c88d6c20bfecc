/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function whose name matches what the user is typing. */
#pragma once

struct function_candidate {
	const char *name;   /* demangled */
	const char *module; /* base name */
	const char *text;   /* the OP to give on the command line */
};
