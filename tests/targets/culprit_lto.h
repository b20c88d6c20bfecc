/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between culprit_lto.c and culprit_lto_part.c. */
#include <stdint.h>

uint64_t lto_request(uint64_t i, uint64_t us);
uint64_t lto_rounds(uint64_t us);
void lto_spin(uint64_t rounds);
