/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that `doctor` makes with and without a target. */
#pragma once

struct collector;

/* Send a REC_CHECK for each right that probes, samples and kinds of causes need. */
void doctor_check_rights(struct collector *c);
/* Why the running kernel takes no program of peaktop's, as what follows "this kernel"; NULL: not
 * known. Only used to explain a refusal. */
const char *doctor_unfit_kernel(void);
