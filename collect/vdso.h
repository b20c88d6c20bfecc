/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vDSO: an ELF file without a path, which the kernel maps into each process. All 64-bit
 * processes of a host have the same one, so peaktop copies its own and reads no memory of the
 * target.
 */
#pragma once

/* Bytes that the kernel maps for it: whole pages. 0: there is no vDSO. A mapping of another size
 * comes from another kernel (a restored process). */
uint64_t vdso_size(void);
/* A sealed copy in memory. The caller closes the descriptor. A negative errno on failure. */
int vdso_copy(void);
