// SPDX-License-Identifier: GPL-2.0-or-later
/* The library that dlopen.c opens late and plt.c is linked with. */
#include "target.h"

uint64_t plugin_work(uint64_t i);
uint64_t plugin_done(void);
static uint64_t done;

WATCHED uint64_t plugin_work(uint64_t i)
{
	done++;
	return i * 5 + 3;
}

uint64_t plugin_done(void)
{
	return done;
}
