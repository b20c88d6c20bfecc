// SPDX-License-Identifier: GPL-2.0-or-later
/* What libcopies-first.so and libcopies-second.so (copies.c) export. */
#include <stdint.h>

__attribute__((noinline)) uint64_t copies_serve(uint64_t i)
{
	return i * 31 + SECOND;
}

#if SECOND
uint64_t copies_other(uint64_t i)
{
	return i * 33;
}
#endif
