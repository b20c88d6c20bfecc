/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs tell of the kernel's text: its functions, by an iterator, and its code. */
#pragma once

#include "bpf/records.h"

struct pt_kernel_name {
	pt_u64 address;
	char name[120]; /* cut off */
};

/* The context of on_kernel_code(). */
struct pt_kernel_code {
	pt_u64 address;
	pt_u64 before; /* the eight bytes that end there */
};
