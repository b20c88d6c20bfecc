/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the iterator over the kernel's functions writes. */
#pragma once

#include "bpf/records.h"

struct pt_kernel_name {
	pt_u64 address;
	char name[120]; /* cut off */
};
